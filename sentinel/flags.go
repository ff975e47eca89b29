package sentinel

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The flags of texts: characters that a reader does not see or that make a
// terminal, a model and a person read different things.
const (
	// FlagBidi: marks that turn the direction of writing.
	FlagBidi = "bidi"
	// FlagZeroWidth: characters without width or shape: zero-width spaces,
	// tag characters, soft hyphens, fillers. A joiner between two emoji, or
	// letters of a script that has joiners, is none.
	FlagZeroWidth = "zero_width"
	// FlagControl: control characters but tab, line feed and carriage
	// return; line and paragraph separators too.
	FlagControl = "control"
)

// Flag says that a text in an argument holds unseen characters.
type Flag struct {
	// Code is one of the Flag constants.
	Code string `json:"code"`
	// Args are the declared top-level arguments it was seen in, sorted;
	// what stood in others shows in the code alone.
	Args []string `json:"args,omitempty"`
}

// Flags are the flags of the arguments' strings and keys, sorted by code.
func (c Call) Flags() []Flag { return slices.Clone(c.parts().flags) }

// FlagCodes are the codes of Flags.
func (c Call) FlagCodes() []string {
	flags := c.parts().flags
	out := make([]string, len(flags))
	for i, f := range flags {
		out[i] = f.Code
	}
	return out
}

// flagArgs flags a call's arguments. Their canonical text shows at a glance
// that most have nothing to flag: all beyond plain ASCII, and every control
// character, stands in it as another byte or behind a backslash.
func (c *callParts) flagArgs() {
	plain := true
	for i := 0; i < len(c.args) && plain; i++ {
		plain = c.args[i] < 0x7f && c.args[i] != '\\'
	}
	if plain {
		return
	}
	where := map[string]map[string]bool{}
	for _, k := range slices.Sorted(maps.Keys(c.parsed)) {
		var found flagSet
		found.addValue(k)
		found.addValue(c.parsed[k])
		name := ""
		if c.skill != nil && c.skill.Declares(k) {
			name = k
		}
		for _, code := range found.sortedCodes() {
			if where[code] == nil {
				where[code] = map[string]bool{}
			}
			if name != "" {
				where[code][name] = true
			}
		}
	}
	for _, code := range slices.Sorted(maps.Keys(where)) {
		c.flags = append(c.flags, Flag{code, slices.Sorted(maps.Keys(where[code]))})
	}
}

// TextFlags returns the flags of one text, sorted. It is linear.
func TextFlags(s string) []string {
	var f flagSet
	f.addText(s)
	return f.sortedCodes()
}

type flagSet struct{ bidi, zero, control bool }

func (f flagSet) sortedCodes() []string {
	var out []string
	for _, c := range []struct {
		set  bool
		code string
	}{{f.bidi, FlagBidi}, {f.control, FlagControl}, {f.zero, FlagZeroWidth}} {
		if c.set {
			out = append(out, c.code)
		}
	}
	return out
}

func (f *flagSet) addValue(v any) {
	switch v := v.(type) {
	case string:
		f.addText(v)
	case map[string]any:
		for k, e := range v {
			f.addText(k)
			f.addValue(e)
		}
	case []any:
		for _, e := range v {
			f.addValue(e)
		}
	}
}

func (f *flagSet) addText(s string) {
	before := rune(' ')
	for i, r := range s {
		switch {
		case r >= 0x20 && r < 0x7f || r == '\n' || r == '\t' || r == '\r':
		case r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029:
			f.control = true
		case isBidi(r):
			f.bidi = true
		case isUnseen(r) && !(isJoiner(r) && hasJoinableSides(before, s[i+utf8.RuneLen(r):])):
			f.zero = true
		}
		before = r
	}
}

func isBidi(r rune) bool {
	return r == 0x061c || r == 0x200e || r == 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

func isUnseen(r rune) bool {
	switch {
	case r >= 0xe0000 && r <= 0xe0fff: // tags, variation selectors beyond 16
		return true
	case r >= 0x200b && r <= 0x200d, r >= 0x2060 && r <= 0x2065, r >= 0x206a && r <= 0x206f, r >= 0xfff9 && r <= 0xfffb:
		return true
	}
	return strings.ContainsRune("\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u2800\u3164\ufeff\uffa0", r)
}

func isJoiner(r rune) bool { return r == 0x200c || r == 0x200d }

// hasJoinableSides reports whether a joiner has something to join on both sides.
func hasJoinableSides(before rune, rest string) bool {
	after, _ := utf8.DecodeRuneInString(rest)
	return isJoinable(before) && isJoinable(after)
}

func isJoinable(r rune) bool {
	return r > 0xff && r != utf8.RuneError && unicode.IsGraphic(r) &&
		!unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Armenian, unicode.Georgian, unicode.Han, unicode.Hangul)
}
