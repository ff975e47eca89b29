package judge

import (
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch"
)

// namesOwner reports whether the words of the user (or a clean mission) name the
// owner of an address: 2 for all of the local part, 1 for its first name. The words
// must hold the digits too, and a common word names no owner.
func (v *view) namesOwner(val value) int {
	return max(v.request.namesOwner(val), v.mission.namesOwner(val))
}

func (t *text) namesOwner(val value) int {
	at := strings.LastIndexByte(val.fold, '@')
	if t == nil || at <= 0 || !isEmail(val.fold) || val.routed() {
		return 0
	}
	return t.names(localParts(val.fold[:at]))
}

func (t *text) names(parts []string) int {
	first, all := false, len(parts) > 0
	for i, p := range parts {
		seen := t.people[p]
		if hasDigit(p) && !seen {
			return 0
		}
		seen = seen && len(p) > 2 && !impersonal[p] && (t.proper[p] || saying[stem(p)] == 0 && concepts[stem(p)] == 0) && !functionWords[p]
		first = first || i == 0 && seen
		all = all && seen
	}
	switch {
	case all:
		return 2
	case first:
		return 1
	}
	return 0
}

// localParts splits "mark.black-2134" and "fred9246" into letters and digits.
func localParts(s string) []string {
	var out []string
	start, kind := 0, byte(0)
	for i := 0; i <= len(s); i++ {
		k := byte(0)
		if i < len(s) {
			switch c := s[i]; {
			case c >= '0' && c <= '9':
				k = 2
			case alnum(c):
				k = 1
			}
		}
		if k != kind {
			if kind != 0 {
				out = append(out, s[start:i])
			}
			start, kind = i, k
		}
	}
	return out
}

// nearMiss reports whether a value is almost, and not quite, a name or an
// address of the user's own words: other letters that look alike, or one
// character away in an address or account.
func (v *view) nearMiss(val value) bool {
	if v.request == nil || val.kind < recipient || holds(v.request.fold, val) {
		return false
	}
	if val.fold = touch.UnicodeHost(val.fold); len(val.fold) > maxNear {
		return false
	}
	if s := skeleton(val.fold); s != val.fold && !foreign(v.request.fold) {
		for w := range strings.FieldsFuncSeq(s, func(r rune) bool { return !wordRune(r) }) {
			if len(w) > 2 && v.request.raw[w] {
				return true
			}
		}
	}
	addressLike := strings.ContainsAny(val.fold, "@.") || hasDigit(val.fold)
	if !addressLike || len(val.fold) < minAccount {
		return false
	}
	for w := range strings.FieldsSeq(v.request.fold) {
		w = strings.Trim(w, ".,:;!?()'\"<>[]")
		if len(w) >= minAccount && oneEdit(w, val.fold) {
			return true
		}
	}
	return false
}

const maxNear = 128

// foreign reports whether a text itself has letters that skeleton changes.
func foreign(s string) bool { return skeleton(s) != s }

var alike = strings.NewReplacer(
	"а", "a", "е", "e", "о", "o", "р", "p", "с", "c", "х", "x", "у", "y", "і", "i", "ѕ", "s", "ј", "j",
	"ԁ", "d", "һ", "h", "к", "k", "м", "m", "т", "t", "в", "b", "н", "h",
	"α", "a", "ο", "o", "ρ", "p", "ε", "e", "ι", "i", "κ", "k", "ν", "v", "τ", "t", "υ", "u", "χ", "x", "ı", "i", "ɑ", "a", "ɡ", "g",
)

// skeleton writes letters of other scripts as the Latin ones they look like.
func skeleton(s string) string {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return alike.Replace(s)
		}
	}
	return s
}

// oneEdit reports whether one insertion, deletion, substitution or swap of
// neighbours makes b of a, and a isn't b.
func oneEdit(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 || a == b {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	if a[i+1:] == b[i+1:] {
		return true
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
