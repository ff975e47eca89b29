package bash

import (
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch/programs"
)

// maxList is how many words one list may hand out.
const maxList = 256

// xargsJob is what the words of xargs or parallel say.
type xargsJob struct {
	s       *shell
	words   []field // of the command
	replace string
	items   []field
	lines   bool // of parallel: each is a command line
}

// floodOptions say how many programs run beside each other.
var floodOptions = toSet("-P --max-procs -j --jobs")

// newXargsJob reads the words of xargs, with what its input names; of parallel too,
// and with what follows ":::".
func newXargsJob(s *shell, name string, args []field, in stream) *xargsJob {
	s.made.opens++
	a := &action{s: s, at: s, name: name, args: args, use: programs.ReadWords(name, listWords(nil, args))}
	j := &xargsJob{s: s, replace: "{}", lines: name == "parallel"}
	for _, p := range a.use.Parts {
		f := a.fieldOf(&p)
		switch {
		case p.Role == programs.Command, p.Role == programs.Line:
			j.words = a.wordsOf(p)
		case floodOptions[p.Option]:
			if n := strings.Trim(f.text, "0"); in.endless && isNumber(f.text) && (n == "" || len(f.text) > 3) {
				s.addDanger(ForkBomb) // programs without bound for input without end
			}
		case p.Option == "-a" || strings.HasPrefix(p.Option, "--arg"):
			s.addAccess(f, Read)
			in = s.readFileStream(f, in)
		case strings.HasPrefix(p.Option, "-i") || strings.HasPrefix(p.Option, "-I") || p.Option == "--replace" || p.Option == "-J":
			j.replace = orElse(f.text, j.replace)
		default:
			s.mentionWords([]field{f})
		}
	}
	if !j.takeGivenItems() {
		j.items = j.listInputItems(in)
	}
	return j
}

// takeGivenItems takes the words behind ":::" for the items.
func (j *xargsJob) takeGivenItems() bool {
	s := j.s
	if !j.lines {
		return false
	}
	for i, a := range j.words {
		if strings.HasPrefix(a.text, "::::") && i+1 < len(j.words) {
			s.addAccess(j.words[i+1], Read)
			j.items = j.listInputItems(s.readFileStream(j.words[i+1], stream{}))
			j.words = j.words[:i]
			return true
		}
		if a.text == ":::" || a.text == ":::+" {
			given := j.words[i+1:]
			j.words = j.words[:i]
			if hasWord(given, ":::") && (namesScaryProgram(joinTexts(j.words)) || namesScaryProgram(joinTexts(given))) {
				s.addUnread(UnreadCode) // each word of one list with each of the others
			}
			j.items = slices.DeleteFunc(slices.Clone(given), func(f field) bool { return strings.HasPrefix(f.text, ":::") })
			return true
		}
	}
	return false
}

// listInputItems returns what a stream hands out, one field each.
func (j *xargsJob) listInputItems(in stream) []field {
	switch {
	case in.known:
		var out []field
		for line := range strings.Lines(strings.ReplaceAll(in.text, "\x00", "\n")) {
			if !j.s.budget.takeItems(1) || len(out) > maxList {
				j.s.budget.over = true
				return nil
			}
			out = append(out, literalField(strings.TrimSpace(line)))
		}
		return out
	case in.open:
		return in.listEntries()
	}
	return nil
}

// runEachItem runs the words once for each item.
func (j *xargsJob) runEachItem() {
	s, words, items := j.s, j.words, j.items
	if len(items) > maxList {
		s.budget.over = true
		return
	}
	if len(words) == 0 {
		for _, it := range items {
			if j.lines && it.unknown {
				s.addOpaque("parallel")
			} else if j.lines {
				s.guessLine(it.text)
			}
		}
		return
	}
	for _, it := range items {
		if j.lines && strings.ContainsAny(words[0].text, " \t;|&") {
			g := s.fork()
			if it.blank { // its text is this variable's
				g.ownNames().vars["read"] = value{it.toFrags()}
			}
			g.guessLine(joinTexts(s.substituteItems(words, j.replace, []field{it})))
			continue
		}
		s.runWords(s.substituteItems(words, j.replace, []field{it}), stream{})
		if parts := strings.Fields(it.text); len(parts) > 1 && !it.unknown {
			s.runWords(s.substituteItems(words, j.replace, literalFields(parts)), stream{})
		}
	}
	if len(items) == 0 {
		s.runWords(words, stream{})
	}
}
