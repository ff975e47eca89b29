package judge

import (
	"strings"
	"unicode/utf8"
)

// assignment is what a request says that an argument shall be, in quotation
// marks: "set the password to 'x'", "an event called 'y'". name are the words
// before it; called that the last of them is a kind of thing, not an argument.
type assignment struct {
	name, value string
	called      bool
}

const (
	maxAssigned = 16
	// assignNear is how many words may stand between a name and its value.
	assignNear = 6
)

var (
	assigns = wordSet("be = :")
	// sets make "to" assign: otherwise it is where something goes.
	sets  = wordSet("set change changed update updated rename make edit reset modify replace adjust switch")
	calls = wordSet("called named titled entitled")
	// titles are the names of arguments for what something is called.
	titles = wordSet("title name")
	quotes = map[rune]rune{'\'': '\'', '"': '"', '“': '”', '‘': '’', '„': '“', '«': '»', '`': '`'}
)

// readAssignments reads the assignments off a folded text.
func readAssignments(fold string) []assignment {
	var out []assignment
	before, end := byte(' '), 0
	for i := 0; i < len(fold) && len(out) < maxAssigned; {
		r, n := utf8.DecodeRuneInString(fold[i:])
		mark, opens := quotes[r]
		if !opens || !strings.ContainsRune(" \n\t(:=", rune(before)) {
			before = fold[i+n-1]
			i += n
			continue
		}
		value := readQuoted(fold[i+n:], mark)
		if value == "" {
			i += n
			continue
		}
		a := readAssignedName(fold[:i])
		if end > 0 && len(out) > 0 && ors[strings.TrimSpace(fold[min(end, i):i])] {
			a = out[len(out)-1] // "to 'x' or 'y'"
		}
		if a.value = value; a.name != "" {
			out = append(out, a)
		}
		i += n + len(value) + utf8.RuneLen(mark)
		before, end = fold[i-1], i
	}
	return out
}

// readQuoted returns what stands before the closing mark, which no letter follows.
func readQuoted(s string, end rune) string {
	for from := 0; ; {
		i := strings.IndexRune(s[from:], end)
		if i < 0 || i+from > maxNear || strings.Contains(s[:from+i], "\n") {
			return ""
		}
		i += from
		next, _ := utf8.DecodeRuneInString(s[i+utf8.RuneLen(end):])
		if !isWordRune(next) {
			return s[:i]
		}
		from = i + utf8.RuneLen(end)
	}
}

var ors = wordSet("or and , /")

// readAssignedName returns the words, blank-separated, that may name what the value
// behind them is for.
func readAssignedName(s string) (a assignment) {
	if i := strings.LastIndexAny(s, ".!?;\n"); i >= 0 {
		s = s[i+1:]
	}
	words := strings.FieldsFunc(strings.ReplaceAll(strings.ReplaceAll(s, ":", " : "), "=", " = "),
		func(r rune) bool { return r == ' ' || r == ',' || r == '(' })
	if len(words) < 2 {
		return a
	}
	last := words[len(words)-1]
	words = words[max(0, len(words)-assignNear) : len(words)-1]
	switch {
	case calls[last]:
		return assignment{name: words[len(words)-1], called: true}
	case assigns[last], last == "to" && isAny(words, sets):
		return assignment{name: strings.Join(words, " ")}
	}
	return a
}

// namesArgument reports whether the words before an assigned value name the argument.
func (a assignment) namesArgument(arg []string, p *profile) bool {
	if len(arg) == 0 || isAny(arg, sourceNames) {
		return false
	}
	if a.called {
		st := stemWord(a.name)
		return titles[arg[len(arg)-1]] && (p.topic[st] || p.concepts&concepts[st] != 0)
	}
	for w := range strings.FieldsSeq(a.name) {
		if stemWord(w) == stemWord(arg[len(arg)-1]) {
			return true
		}
	}
	return false
}

// fitsValue reports whether an argument's value is the assigned one: the same, a
// part of it or more of it, or one that fits a place to be filled in ("dinner
// at {restaurant}").
func (a assignment) fitsValue(value string) bool {
	want := strings.Trim(a.value, " .,;!?")
	value = strings.Trim(value, " .,;!?")
	if open := strings.IndexAny(want, "{[<"); open >= 0 {
		end := strings.LastIndexAny(want, "}]>")
		return strings.HasPrefix(value, strings.TrimSpace(want[:open])) &&
			(end < open || strings.HasSuffix(value, strings.TrimSpace(want[end+1:])))
	}
	return strings.Contains(value, want) || value != "" && strings.Contains(want, value)
}

func findContradiction(v *view) finding { return v.contradicted }
