package judge

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// The signals by name, as they stand in Evidence and Reason.
const (
	SignalIntentMention = "intent_mention"
	SignalTraversal     = "traversal"
	SignalOddKey        = "odd_key"
	SignalReadOnly      = "read_only"
)

// signal is one row of the judge's table: what it is called, what it adds in
// hundredths, and the function that looks for it. look sees the Call alone,
// keeps nothing and changes nothing.
type signal struct {
	name   string
	amount int
	look   func(sentinel.Call) finding
}

// finding is what a signal saw. args are declared top-level arguments.
type finding struct {
	found bool
	args  []string
	more  int // what it adds to the signal's own amount: never above zero
}

// table is the whole judge. A row whose amount is positive must not look at
// the arguments; see the package comment.
func table() []signal {
	return []signal{
		{SignalIntentMention, +10, intentMention},
		{SignalTraversal, -20, traversal},
		{SignalOddKey, -10, oddKey},
		{SignalReadOnly, +5, readOnly},
	}
}

// minToken is the shortest part of a skill's name that counts as mentioned:
// "fs" or "do" would be found in anything.
const minToken = 3

// intentMention looks for a part of the skill's name as a word of the user's
// own request. The mission doesn't count: a model may have written it.
func intentMention(c sentinel.Call) finding {
	request, ok := c.Grant().Request()
	if !ok || c.Skill() == nil {
		return finding{}
	}
	var few [4]string
	tokens := nameTokens(few[:0], c.Skill().Name())
	for word := range strings.FieldsFuncSeq(request, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		for _, t := range tokens {
			if strings.EqualFold(word, t) {
				return finding{found: true}
			}
		}
	}
	return finding{}
}

// nameTokens adds the parts of a skill's name to a list.
func nameTokens(list []string, name string) []string {
	for p := range strings.FieldsFuncSeq(name, func(r rune) bool { return strings.ContainsRune("._- ", r) }) {
		if utf8.RuneCountInString(p) >= minToken {
			list = append(list, p)
		}
	}
	return list
}

// traversal looks for a path that climbs: ".." in a string that has a path
// separator. Coarse on purpose; the guard resolves paths, this one notes.
func traversal(c sentinel.Call) finding {
	return inArgs(c, func(_ string, v any) bool {
		s, ok := v.(string)
		return ok && strings.Contains(s, "..") && strings.ContainsAny(s, `/\`)
	})
}

// oddKey looks for a key that no sane schema would declare: a sign of
// injection, or of a model that has lost the thread.
func oddKey(c sentinel.Call) finding {
	return inArgs(c, func(key string, _ any) bool { return !plainKey(key) })
}

func plainKey(k string) bool {
	for i := range len(k) {
		c := k[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return k != ""
}

// readOnly looks at the declared effect: a read leaves nothing to undo.
func readOnly(c sentinel.Call) finding {
	return finding{found: c.Effect() == skills.Read}
}

// inArgs reports whether any key and value, at any depth, fits; items of a
// list are tried under the list's key. args names the declared arguments in
// which one did, in order.
func inArgs(c sentinel.Call, fits func(key string, v any) bool) finding {
	var f finding
	for name, v := range c.Parsed() {
		if !anyIn(name, v, fits) {
			continue
		}
		f.found = true
		if s := c.Skill(); s != nil && s.Declares(name) {
			f.args = append(f.args, name)
		}
	}
	slices.Sort(f.args)
	return f
}

func anyIn(key string, v any, fits func(string, any) bool) bool {
	if fits(key, v) {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if anyIn(k, e, fits) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if anyIn(key, e, fits) {
				return true
			}
		}
	}
	return false
}
