package judge

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// minToken is the shortest part of a skill's name that counts as mentioned:
// "fs" or "do" would be found in anything.
const minToken = 3

// findIntentMention looks for a part of the skill's name as a word of the user's
// own request. The mission doesn't count: a model may have written it.
func findIntentMention(c sentinel.Call) finding {
	request := c.Grant().OwnRequest()
	if request == "" || c.Skill() == nil {
		return finding{}
	}
	var few [4]string
	tokens := appendNameTokens(few[:0], c.Skill().Name())
	for word := range strings.FieldsFuncSeq(request, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		for _, t := range tokens {
			if strings.EqualFold(word, t) {
				return finding{found: true}
			}
		}
	}
	return finding{}
}

// appendNameTokens adds the parts of a skill's name to a list.
func appendNameTokens(list []string, name string) []string {
	for p := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '.' || r == '_' || r == '-' || r == ' ' }) {
		if utf8.RuneCountInString(p) >= minToken {
			list = append(list, p)
		}
	}
	return list
}

// findTraversal looks for a path that climbs: ".." in a string that has a path
// separator. Coarse on purpose; the guard resolves paths, this one notes.
func findTraversal(c sentinel.Call) finding {
	return findInArgs(c, func(_ string, v any) bool {
		s, ok := v.(string)
		return ok && strings.Contains(s, "..") && strings.ContainsAny(s, `/\`)
	})
}

// findOddKey looks for a key that no sane schema would declare: a sign of
// injection, or of a model that has lost the thread.
func findOddKey(c sentinel.Call) finding {
	return findInArgs(c, func(key string, _ any) bool { return !isPlainKey(key) })
}

// isPlainKey reports whether a key is letters of one script, digits after the first, and
// underscores. A Latin name with a letter of another script is none: that is how
// look-alikes are made. Nor is one with a letter that isn't seen.
func isPlainKey(k string) bool {
	latin, other := false, false
	for i, c := range k {
		switch {
		case c == '_', i > 0 && c >= '0' && c <= '9':
		case c >= 'a' && c <= 'z':
			latin = true
		case unicode.Is(unicode.Latin, c):
			latin = true
		case unicode.IsLetter(c) && !strings.ContainsRune(unseenLetters, c), i > 0 && unicode.IsMark(c):
			other = true
		default:
			return false
		}
	}
	return k != "" && !(latin && other)
}

// unseenLetters are the letters that no script shows: the fillers of Hangul.
const unseenLetters = "\u115f\u1160\u3164\uffa0"

// findReadOnly looks at the declared effect: a read leaves nothing to undo.
func findReadOnly(c sentinel.Call) finding {
	return finding{found: c.Effect() == skills.Read}
}

// findInArgs reports whether any key and value, at any depth, fits. Items of a list are tried
// under the list's key. args names the declared arguments in which one did, in order.
func findInArgs(c sentinel.Call, fits func(key string, v any) bool) finding {
	var f finding
	for name, v := range c.Parsed() {
		if !anyValueFits(name, v, fits) {
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

func anyValueFits(key string, v any, fits func(string, any) bool) bool {
	if fits(key, v) {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if anyValueFits(k, e, fits) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if anyValueFits(key, e, fits) {
				return true
			}
		}
	}
	return false
}
