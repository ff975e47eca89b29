package judge

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// origin is where a value was seen, the best first.
type origin uint8

const (
	grounded     origin = iota // the user's words, a clean mission, trusted output
	named                      // an address whose owner's name the user wrote
	halfNamed                  // one that has a name of the user's words, and more
	unknown                    // nowhere, and there is no history to look in
	nowhere                    // nowhere, though there is a history
	outside                    // only in untrusted output
	namedNo                    // named, nowhere in the history
	namedOut                   // named, seen in untrusted output alone
	halfNo                     // halfNamed, nowhere in the history
	halfOut                    // halfNamed, seen in untrusted output alone
	described                  // nowhere quoted; the user said how to choose it
	describedNo                // described, nowhere in the history
	describedOut               // described, seen in untrusted output alone
	numOrigins   = iota
)

// cost is what an origin costs a value of a kind, in hundredths. In no row may
// an outside value cost less than one that is nowhere, nor that less than an
// unknown one: or text that a stranger wrote would buy something.
var cost = [...][numOrigins]int{
	reference: {nowhere: 5, outside: 5},
	account:   {named: 0, halfNamed: 5, unknown: 10, nowhere: 15, outside: 20, namedNo: 5, namedOut: 10, halfNo: 10, halfOut: 15},
	readHost:  {unknown: 10, nowhere: 10, outside: 15},
	amount:    {unknown: 5, nowhere: 10, outside: 15},
	recipient: {
		named: 0, halfNamed: 10, unknown: 33, nowhere: 33, outside: 35, namedNo: 5, namedOut: 10, halfNo: 15, halfOut: 25,
		described: 15, describedNo: 20, describedOut: 20,
	},
	host: {unknown: 33, nowhere: 33, outside: 35},
}

// unvouched is what a recipient costs in a call that reaches others if the user
// wrote only the owner's name. No trusted text holds the address or its domain. Each
// amount asks a person: a stranger can have an address that begins with a name.
// Where nothing is known of what came before, a change that can be undone costs less
// by undoable, and a call that isn't in the request is asked about for that alone.
var unvouched = [numOrigins]int{named: 31, halfNamed: 32, namedNo: 32, halfNo: 33, namedOut: 33, halfOut: 34}

const undoable = 10

// family is the signal under which a kind of value is shown.
var family = [...]string{
	reference: "ref", account: "target", readHost: "host", amount: "amount", recipient: "recipient", host: "host",
}

var originWord = [numOrigins]string{
	named: "named", halfNamed: "named", unknown: "unknown", nowhere: "nowhere", outside: "untrusted",
	namedNo: "named", namedOut: "named_untrusted", halfNo: "named", halfOut: "named_untrusted",
	described: "described", describedNo: "described", describedOut: "described_untrusted",
}

// maxValues bounds how many values are looked up. Those beyond count as the
// worst of their kind, so that nothing can be hidden behind a long list.
const maxValues = 256

// grounding gives the worst value of each family. What costs most decides, so
// that a second, better value buys nothing.
func (v *view) grounding() []sentinel.Evidence {
	type worst struct {
		cost int
		word string
		args []string
	}
	var found map[string]*worst
	var order []string
	for i, val := range v.values {
		o := v.origin(val, i >= maxValues)
		n := v.cost(val, o)
		if n == 0 {
			continue
		}
		f := family[val.kind]
		w := found[f]
		if w == nil {
			if w = (&worst{}); found == nil {
				found = map[string]*worst{}
			}
			found[f] = w
			order = append(order, f)
		}
		if n > w.cost {
			w.cost, w.word, w.args = n, originWord[o], nil
		}
		if n == w.cost && val.arg != "" && !slices.Contains(w.args, val.arg) {
			w.args = append(w.args, val.arg)
		}
	}
	slices.Sort(order)
	var out []sentinel.Evidence
	for _, f := range order {
		w := found[f]
		out = append(out, sentinel.Evidence{Signal: f + "_" + w.word, Amount: -w.cost, Args: w.args})
	}
	return out
}

// origin says where a value comes from. Without a request nothing is said of
// what wasn't seen: an operator's own call has no words to be held against.
func (v *view) origin(val value, tooMany bool) origin {
	if !tooMany && v.grounds(val) {
		return grounded
	}
	out := tooMany || v.strange(val)
	history := len(v.trusted)+len(v.untrusted) > 0
	name := 0
	if !tooMany && (val.kind == recipient || val.kind == account) {
		name = v.namesOwner(val)
	}
	pick := func(plain, absent, from origin) origin {
		switch {
		case out:
			return from
		case v.request == nil:
			return grounded
		case history:
			return absent
		}
		return plain
	}
	switch {
	case out && v.ordered(val): // named it may be; a stranger told the model to use it
		return outside
	case name == 2:
		return pick(named, namedNo, namedOut)
	case name == 1:
		return pick(halfNamed, halfNo, halfOut)
	case !tooMany && v.described(val):
		return pick(described, describedNo, describedOut)
	}
	return pick(unknown, nowhere, outside)
}

// cost is what the value's origin costs it in this call.
func (v *view) cost(val value, o origin) int {
	if n := unvouched[o]; n > 0 && val.kind == recipient && v.outgoing() && !v.vouched(val) {
		if (o == named || o == halfNamed) && v.related {
			return cost[val.kind][o]
		}
		if (o == named || o == halfNamed) && (v.s.Effect() == skills.Create || v.s.Effect() == skills.Modify) {
			return n - undoable
		}
		return n
	}
	if o == outside && val.target && (val.kind == reference || val.kind == account) && v.final() {
		return strangersTarget
	}
	return cost[val.kind][o]
}

// grounds reports whether somebody who may be believed wrote the value. A
// mission is a model's word: it doesn't vouch for what a stranger wrote too.
func (v *view) grounds(val value) bool {
	if val.exact != "" {
		return v.writes(val.exact)
	}
	if v.request != nil && v.request.grounds(val) || v.attested(val.fold, func(r string) bool { return holds(r, val) }) {
		return true
	}
	return v.mission != nil && v.mission.grounds(val) && (val.kind == reference || !v.strange(val))
}

// strange reports whether untrusted output has the value.
func (v *view) strange(val value) bool {
	return v.c.Trace().Strange(func(s *sentinel.Said) bool { return holds(s.Fold(), val) })
}

func (t *text) grounds(val value) bool {
	switch val.kind {
	case amount:
		return slices.Contains(t.sums.all, val.amount)
	case reference:
		if t.hasDate(val.fold) || t.namesFile(val.fold) {
			return true
		}
	}
	if val.kind >= account {
		return holds(t.meant, val) || t.hasWords(val)
	}
	return holds(t.fold, val) || t.hasWords(val)
}

// hasWords is for names of one or a few words: each must be there, in any
// order and number. Anything with a digit or a sign in it must be written out.
func (t *text) hasWords(val value) bool {
	n := 0
	for w := range strings.FieldsSeq(val.fold) {
		w = strings.TrimLeft(w, "#@")
		for _, r := range w {
			if !wordRune(r) || r >= '0' && r <= '9' {
				return false
			}
		}
		if len(w) < 2 || !t.words[stem(w)] {
			return false
		}
		n++
	}
	return n > 0 && n <= maxTargetWords
}

var fileSigns = strings.NewReplacer("-", " ", "_", " ")

// namesFile finds a file by what people call it: without folder and extension,
// and with blanks for the signs that stand for them.
func (t *text) namesFile(s string) bool {
	s = s[strings.LastIndexAny(s, `/\`)+1:]
	if i := strings.LastIndexByte(s, '.'); i > 2 && len(s)-i <= 6 {
		s = s[:i]
	}
	return len(s) >= 4 && (whole(t.fold, s) || whole(t.fold, fileSigns.Replace(s)))
}

// holds reports whether a folded text has the value as a whole: "ann@x.org" is
// not in "joann@x.org", nor "x.org" in "x.org.evil.net".
func holds(text string, val value) bool {
	want := val.fold
	switch val.kind {
	case host, readHost:
		return holdsHost(text, want)
	case recipient, account:
		if c := compact(want); len(c) >= minAccount && hasDigit(c) && holdsCompact(text, c) {
			return true
		}
		if d := phoneDigits(want); d != "" && holdsDigits(text, d) {
			return true
		}
	}
	return whole(text, strings.Trim(want, `"'`))
}

func whole(text, want string) bool {
	if want == "" {
		return false
	}
	for from := 0; ; {
		i := strings.Index(text[from:], want)
		if i < 0 {
			return false
		}
		i += from
		if !joinsBefore(text[:i], want) && !joinsAfter(text[i+len(want):], want) {
			return true
		}
		_, n := utf8.DecodeRuneInString(text[i:])
		from = i + n
	}
}

func joinsBefore(s, want string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	if wordRune(r) {
		return s != "" && !unspaced(r, want[0])
	}
	return s != "" && strings.ContainsAny(want, "@.") && strings.ContainsRune("._+-@", r) && len(s) > 1 && s[len(s)-2] > ' '
}

// joinsAfter looks at what follows: a dot ends a sentence only before a blank.
func joinsAfter(s, want string) bool {
	if s == "" {
		return false
	}
	r, n := utf8.DecodeRuneInString(s)
	if wordRune(r) {
		return !strings.HasPrefix(s, "th ") && !unspaced(r, want[len(want)-1])
	}
	if !strings.ContainsAny(want, "@.") || !strings.ContainsRune(".-@", r) {
		return false
	}
	next, _ := utf8.DecodeRuneInString(s[n:])
	return wordRune(next)
}

// holdsHost finds a URL's host, with or without "www.": what the user named
// may be asked for any of its pages.
func holdsHost(text, url string) bool {
	if _, rest, ok := strings.Cut(url, "://"); ok {
		url = rest
	}
	if i := strings.IndexAny(url, `/\?#`); i >= 0 {
		url = url[:i]
	}
	if i := strings.LastIndexByte(url, '@'); i >= 0 {
		url = url[i+1:]
	}
	url = strings.TrimPrefix(url, "www.")
	return strings.Contains(url, ".") && (whole(text, url) || whole(text, "www."+url))
}

const minAccount = 8

// holdsCompact finds an account number that people write in groups.
func holdsCompact(text, c string) bool {
	for from := 0; from < len(text); from++ {
		if text[from] != c[0] || from > 0 && alnum(text[from-1]) {
			continue
		}
		i, j := from, 0
		for i < len(text) && j < len(c) && (text[i] == c[j] || j > 0 && separator(text[i]) && !separator(text[i-1])) {
			if text[i] == c[j] {
				j++
			}
			i++
		}
		if j == len(c) && (i == len(text) || !alnum(text[i])) {
			return true
		}
	}
	return false
}

func separator(b byte) bool { return b == ' ' || b == '-' }

func alnum(b byte) bool { return b >= 'a' && b <= 'z' || b >= '0' && b <= '9' || b >= utf8.RuneSelf }

// compact drops the blanks and hyphens of a value of letters and digits;
// anything else gives "".
func compact(s string) string {
	out := make([]byte, 0, len(s))
	for i := range len(s) {
		switch c := s[i]; {
		case c == ' ' || c == '-':
		case c < utf8.RuneSelf && alnum(c):
			out = append(out, c)
		default:
			return ""
		}
	}
	return string(out)
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }
