package bash

import (
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch/path"
	"github.com/vedette-dev/vedette/sentinel/touch/programs"
)

const (
	// maxTries is how many of an unknown program's arguments are read as
	// commands, and maxTrial how deep such guesses may nest.
	maxTries = 6
	maxTrial = 3
)

// textOptions are the options whose value is text for people.
var textOptions = toSet("-m --message --msg --title --body --text --comment --note --notes --desc --description --subject --summary " +
	"--prompt --query --grep --pattern --regex --regexp --label --reason --name --content --match --search")

// programOptions are those whose value a program is likely to run.
var programOptions = toSet("-c -e -x -E -X -ex -o --exec --execute --cmd --command --run --eval --shell --hook --script --call --do " +
	"--on-change --before --after --pre --post")

// tryUnknown reads the words of a program that no row is of: what they mention,
// what was just written under its name, and what they would be as a command.
func (a *action) tryUnknown() {
	s := a.s
	s.mentionWords(a.args)
	if s.replayFile("", a.argv[0], a.args) {
		return
	}
	for i, f := range a.args {
		opt, val, joined := strings.Cut(f.text, "=")
		if textOptions[opt] || i > 0 && textOptions[a.args[i-1].text] {
			continue
		}
		if joined && !strings.ContainsAny(f.text, " \n") {
			f = f.withText(val)
		}
		if s.isCore(f) || len(f.text) > 2 && f.text[0] == '-' && s.isCore(f.slice(2, 0)) {
			s.addUnread(UnreadProgram)
		}
		if i > 0 && programOptions[a.args[i-1].text] && strings.ContainsAny(f.text, "({`$;") {
			s.tryCode(f)
		}
	}
	s.tryCommands(a.name, a.args)
}

// isCore reports whether a word names a device or a tree that matters.
func (fv *fileView) isCore(f field) bool {
	if f.text == "" || strings.IndexByte("/~.", f.text[0]) < 0 {
		return false
	}
	if fv.isOnDevice(f) {
		return true
	}
	k, _ := fv.findTree(f.text)
	return k == path.RootTree || k == path.HomeTree || k == path.SystemTree
}

// tryCommands reads words as if the program ran them: from each word that names
// a program on, and each that may be a command line. Only what can't be undone
// counts; most programs run nothing.
func (s *shell) tryCommands(name string, args []field) {
	if s.trial >= maxTrial || isShell(name) || s.quiet && s.trial == 0 {
		return // the last: text that may be another language's, whose words are no programs
	}
	left := maxTries
	for i := 0; i < len(args) && left > 0; i++ {
		f := args[i]
		opt, val, joined := strings.Cut(f.text, "=")
		switch {
		case textOptions[f.text]:
			i++
		case textOptions[opt]:
		case scary[scaryName(f.text)]:
			if s.trySuffix(args[i:]) {
				left--
			}
		case strings.ContainsAny(f.text, " \t\n"):
			runs := i > 0 && programOptions[args[i-1].text]
			if joined && len(opt) > 1 && opt[0] == '-' {
				f.text, runs = val, runs || programOptions[opt]
			}
			if s.tryLine(f.text, runs) {
				left--
			}
		}
	}
}

// trySuffix tries words as a command.
func (s *shell) trySuffix(words []field) bool {
	if s.tried {
		return false
	}
	if scaryName(words[0].text) == "mkfs" && !slices.ContainsFunc(words[1:], func(f field) bool { return strings.ContainsAny(f.text, `/\`) }) {
		return false // a list of programs
	}
	s.try(func(f *shell) {
		f.tried = true // what follows has been tried already
		f.runWords(words, stream{})
	})
	return true
}

func (s *shell) tryWords(words []field) { s.try(func(f *shell) { f.runWords(words, stream{}) }) }

// tryLine tries text as a command line. With runs it stands where programs take
// one; otherwise a sentence is left alone.
func (s *shell) tryLine(text string, runs bool) bool {
	text = strings.TrimLeft(text, " \t\n!:|\\")
	if !namesScary(text) || !runs && isSentence(text) {
		return false
	}
	s.try(func(f *shell) {
		f.tried = !runs
		f.parseText(text)
	})
	return true
}

// tryCode reads text as code of whatever language: only what can't be undone
// counts.
func (s *shell) tryCode(f field) {
	t := s.readAside(func(g *shell) {
		g.quiet = true
		g.trial++
		g.readCode(f, "")
	})
	for _, code := range t.Dangers {
		s.addDanger(code)
	}
	if len(t.Unread) > 0 {
		s.addUnread(UnreadCode)
	}
}

// try reads with a shell whose findings are thrown away but for its dangers.
func (s *shell) try(read func(*shell)) {
	t := s.readAside(func(f *shell) {
		f.quiet = true
		f.trial++
		read(f)
	})
	for _, code := range t.Dangers {
		s.addDanger(code)
	}
}

// namesScary reports whether a scary program stands somewhere in text.
func namesScary(text string) bool {
	for text != "" {
		i := strings.IndexAny(text, " \t\n;|&()`'\"$<>{}!\\=,")
		if i < 0 {
			return scary[scaryName(text)]
		}
		if i > 1 && scary[scaryName(text[:i])] {
			return true
		}
		text = text[i+1:]
	}
	return false
}

// smallWords make a sentence.
var smallWords = toSet("the is are was were will would should can could not never don't does what how why when please because instead")

// isSentence reports whether text has the small words that no command has.
func isSentence(text string) bool {
	for w := range strings.FieldsSeq(text) {
		if smallWords[strings.ToLower(strings.Trim(w, ".,:;!?"))] {
			return true
		}
	}
	return false
}

// noteTraits remembers what a command says of the whole line: whether it only
// reads, and whether it takes names for files.
func (a *action) noteTraits() {
	s := a.s
	if !a.use.Known || !a.use.Reads || a.use.Network {
		s.made.impure = s.made.impure || !s.quiet && !instant[a.name]
	}
	if a.use.Input == programs.Items {
		s.made.opens++
	}
}
