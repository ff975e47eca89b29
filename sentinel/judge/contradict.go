package judge

import (
	"strings"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/skills"
)

// assigned is what a request says that an argument shall be, in quotation
// marks: "set the password to 'x'", "an event called 'y'".
type assigned struct{ name, value string }

const (
	maxAssigned = 16
	// assignNear is how many words may stand between a name and its value.
	assignNear = 6
)

var (
	assigns = set("to is be as = :")
	calls   = set("called named titled entitled")
	// titles are the names of arguments for what something is called.
	titles = set("title name")
	quotes = map[rune]rune{'\'': '\'', '"': '"', '“': '”', '‘': '’', '„': '“', '«': '»', '`': '`'}
)

// assignedIn reads them off a folded text.
func assignedIn(fold string) []assigned {
	var out []assigned
	before := byte(' ')
	for i := 0; i < len(fold) && len(out) < maxAssigned; {
		r, n := utf8.DecodeRuneInString(fold[i:])
		end, opens := quotes[r]
		if !opens || !strings.ContainsRune(" \n\t(:=", rune(before)) {
			before = fold[i+n-1]
			i += n
			continue
		}
		value := quoted(fold[i+n:], end)
		if value == "" {
			i += n
			continue
		}
		if name := nameBefore(fold[:i]); name != "" {
			out = append(out, assigned{name, value})
		}
		i += n + len(value)
		before = fold[i-1]
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

// nameBefore returns the words, blank-separated, that may name what the value
// behind them is for, or "".
func nameBefore(s string) string {
	if i := strings.LastIndexAny(s, ".!?;\n"); i >= 0 {
		s = s[i+1:]
	}
	words := strings.FieldsFunc(strings.ReplaceAll(strings.ReplaceAll(s, ":", " : "), "=", " = "), func(r rune) bool { return r == ' ' || r == ',' || r == '(' })
	if len(words) == 0 {
		return ""
	}
	last := words[len(words)-1]
	if calls[last] {
		return last
	}
	if !assigns[last] {
		return ""
	}
	return strings.Join(words[max(0, len(words)-assignNear):len(words)-1], " ")
}

// says reports whether the words before an assigned value name the argument.
func (a assigned) says(arg []string) bool {
	if len(arg) == 0 || isAny(arg, sourceNames) {
		return false
	}
	if calls[a.name] {
		return titles[arg[len(arg)-1]]
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
		return strings.HasPrefix(value, strings.TrimSpace(want[:open])) && (end < open || strings.HasSuffix(value, strings.TrimSpace(want[end+1:])))
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
		if as.says(nameWords(a.Name)) {
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

// otherDate looks for a call whose dates are none of those in the request.
// Where a word of it counts days ("tomorrow", "the day before"), nothing can be
// said.
func otherDate(v *view) finding {
	var f finding
	spoken := false
	if v.request == nil || len(v.request.dates) == 0 || v.request.relative || v.request.delegates || !v.p.changes {
		return f
	}
	v.s.Walk(v.c.Parsed(), func(a skills.Arg) {
		s, ok := a.Text()
		if !ok || a.Marks.Has(skills.Content) || a.Marks.Has(skills.Secret) {
			return
		}
		s = fold(strings.TrimSpace(s))
		if _, isDate := isoDate(s); !isDate {
			return
		}
		spoken = spoken || v.request.hasDate(s)
		if arg := topLevel(a.Pointer); v.s.Declares(arg) {
			f.add(arg)
		} else {
			f.add("")
		}
	})
	if spoken {
		return finding{}
	}
	return f
}

var dayWords = set(`today tomorrow yesterday tonight next last this week weeks weekend month months year day days daily weekly before
	after later earlier ago until within following monday tuesday wednesday thursday friday saturday sunday same birthday`)

// privateReads are the words of a skill's name that say that it reads what is
// nobody else's business, and the words of a request that have to do with it.
var privateReads = func() map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for _, row := range []struct{ names, about string }{
		{"password passphrase credential secret", "password passphrase login log credential sign account access vault secret key"},
		{"payment card wallet", "pay payment card buy purchase order checkout method wallet bill billing book subscribe refund money return exchange reservation cancel"},
		{"patient medical health prescription diagnosis", "patient doctor medical medicine health prescription diagnosis hospital appointment clinic symptom treatment"},
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

// privateRead looks for a read of what is private, in a field that nobody
// spoke of.
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
