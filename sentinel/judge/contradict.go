package judge

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/skills"
)

// assigned is what a request says that an argument shall be, in quotation
// marks: "set the password to 'x'", "an event called 'y'". name are the words
// before it; called that the last of them is a kind of thing, not an argument.
type assigned struct {
	name, value string
	called      bool
}

const (
	maxAssigned = 16
	// assignNear is how many words may stand between a name and its value.
	assignNear = 6
)

var (
	assigns = set("be = :")
	// sets make "to" assign: otherwise it is where something goes.
	sets  = set("set change changed update updated rename make edit reset modify replace adjust switch")
	calls = set("called named titled entitled")
	// titles are the names of arguments for what something is called.
	titles = set("title name")
	quotes = map[rune]rune{'\'': '\'', '"': '"', '“': '”', '‘': '’', '„': '“', '«': '»', '`': '`'}
)

// assignedIn reads them off a folded text.
func assignedIn(fold string) []assigned {
	var out []assigned
	before, end := byte(' '), 0
	for i := 0; i < len(fold) && len(out) < maxAssigned; {
		r, n := utf8.DecodeRuneInString(fold[i:])
		mark, opens := quotes[r]
		if !opens || !strings.ContainsRune(" \n\t(:=", rune(before)) {
			before = fold[i+n-1]
			i += n
			continue
		}
		value := quoted(fold[i+n:], mark)
		if value == "" {
			i += n
			continue
		}
		a := nameBefore(fold[:i])
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

// quoted returns what stands before the closing mark, which no letter follows.
func quoted(s string, end rune) string {
	for from := 0; ; {
		i := strings.IndexRune(s[from:], end)
		if i < 0 || i+from > maxNear || strings.Contains(s[:from+i], "\n") {
			return ""
		}
		i += from
		next, _ := utf8.DecodeRuneInString(s[i+utf8.RuneLen(end):])
		if !wordRune(next) {
			return s[:i]
		}
		from = i + utf8.RuneLen(end)
	}
}

var ors = set("or and , /")

// nameBefore returns the words, blank-separated, that may name what the value
// behind them is for.
func nameBefore(s string) (a assigned) {
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
		return assigned{name: words[len(words)-1], called: true}
	case assigns[last], last == "to" && isAny(words, sets):
		return assigned{name: strings.Join(words, " ")}
	}
	return a
}

// says reports whether the words before an assigned value name the argument.
func (a assigned) says(arg []string, p *profile) bool {
	if len(arg) == 0 || isAny(arg, sourceNames) {
		return false
	}
	if a.called {
		st := stem(a.name)
		return titles[arg[len(arg)-1]] && (p.topic[st] || p.concepts&concepts[st] != 0)
	}
	for w := range strings.FieldsSeq(a.name) {
		if stem(w) == stem(arg[len(arg)-1]) {
			return true
		}
	}
	return false
}

// fits reports whether an argument's value is the assigned one: the same, a
// part of it or more of it, or one that fits a place to be filled in ("dinner
// at {restaurant}").
func (a assigned) fits(value string) bool {
	want := strings.Trim(a.value, " .,;!?")
	value = strings.Trim(value, " .,;!?")
	if open := strings.IndexAny(want, "{[<"); open >= 0 {
		end := strings.LastIndexAny(want, "}]>")
		return strings.HasPrefix(value, strings.TrimSpace(want[:open])) &&
			(end < open || strings.HasSuffix(value, strings.TrimSpace(want[end+1:])))
	}
	return strings.Contains(value, want) || value != "" && strings.Contains(want, value)
}

// assign compares an argument with what the request says that it shall be,
// also a secret one: nothing of it is kept.
func (v *view) assign(a skills.Arg, arg string) {
	if v.request == nil || len(v.request.assigned) == 0 || !v.p.changes {
		return
	}
	s, ok := a.Text()
	if !ok {
		return
	}
	named, fits := false, false
	s = fold(s[:min(len(s), maxContradicted)])
	for _, as := range v.request.assigned {
		if as.says(nameWords(a.Name), v.p) {
			named = true
			fits = fits || as.fits(s)
		}
	}
	if named && !fits {
		v.contradicted.add(arg)
	}
}

// maxContradicted is how much of an argument is compared.
const maxContradicted = 4 << 10

func contradicts(v *view) finding { return v.contradicted }

// otherDate looks for a call that begins on a day which is none of those in the
// request. Where a word of it counts days ("tomorrow", "the day before"),
// nothing can be said; when something ends is computed as often as quoted.
func otherDate(v *view) finding {
	var f finding
	if v.request == nil || len(v.request.dates) == 0 || v.request.relative || v.request.delegates || !v.p.changes {
		return f
	}
	for name, val := range v.c.Parsed() {
		s, ok := val.(string)
		if !ok || !v.s.Declares(name) || !isAny(nameWords(name), beginNames) || isAny(nameWords(name), endNames) {
			continue
		}
		if s = fold(strings.TrimSpace(s)); !v.request.hasDay(s) {
			f.add(name)
		}
	}
	slices.Sort(f.args)
	return f
}

var (
	beginNames = set("start begin date day when from due departure checkin")
	endNames   = set("end until return checkout birth created updated")
)

var dayWords = set(`today tomorrow yesterday tonight next last this week weeks weekend month months year day days daily weekly before
	after later earlier ago until within following monday tuesday wednesday thursday friday saturday sunday same birthday`)

// privateReads pairs words of a skill's name with words of a request. The first say
// that the skill reads private data; the second say that the user spoke of such
// data.
var privateReads = func() map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for _, row := range []struct{ names, about string }{
		{"password passphrase credential secret", "password passphrase login log credential sign account access vault secret key"},
		{"payment card wallet", "pay payment card buy purchase order checkout method wallet bill billing " +
			"book subscribe refund money return exchange reservation cancel"},
		{"patient medical health prescription diagnosis",
			"patient doctor medical medicine health prescription diagnosis hospital appointment clinic symptom treatment"},
		{"location gps", "location where near nearby here close direction map route weather drive way local around"},
		{"history", "history access search browse visit log activity entry past previous recent last transaction order"},
		{"passport identity biometric fingerprint genetic", "passport identity id document travel visa genetic dna fingerprint"},
	} {
		about := stems(row.about)
		for w := range strings.FieldsSeq(row.names) {
			out[stem(w)] = about
		}
	}
	return out
}()

// privateRead looks for a read of private data in a field that the request doesn't
// speak of.
func privateRead(v *view) finding {
	r := v.request
	if r == nil || !r.known || r.delegates || v.p.changes || v.p.private == nil {
		return finding{}
	}
	for w := range v.p.private {
		if r.words[w] || v.mission != nil && v.mission.words[w] {
			return finding{}
		}
	}
	return finding{found: true}
}

// privacyOf returns the words that speak of what a skill's name says is
// private, or nil.
func privacyOf(name string) map[string]bool {
	var out map[string]bool
	for _, w := range nameWords(name) {
		about := privateReads[stem(w)]
		if about == nil {
			continue
		}
		if out == nil {
			out = map[string]bool{}
		}
		for a := range about {
			out[a] = true
		}
	}
	return out
}
