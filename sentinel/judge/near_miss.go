package judge

import (
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch"
)

const maxNear = 128

// hasLookalikes reports whether a text itself has letters that latinSkeleton changes.
func hasLookalikes(s string) bool { return latinSkeleton(s) != s }

var lookalikes = strings.NewReplacer(
	"а", "a", "е", "e", "о", "o", "р", "p", "с", "c", "х", "x", "у", "y", "і", "i", "ѕ", "s", "ј", "j",
	"ԁ", "d", "һ", "h", "к", "k", "м", "m", "т", "t", "в", "b", "н", "h",
	"α", "a", "ο", "o", "ρ", "p", "ε", "e", "ι", "i", "κ", "k", "ν", "v", "τ", "t", "υ", "u", "χ", "x", "ı", "i", "ɑ", "a", "ɡ", "g",
)

// latinSkeleton writes letters of other scripts as the Latin ones they look like.
func latinSkeleton(s string) string {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return lookalikes.Replace(s)
		}
	}
	return s
}

// isOneEdit reports whether one insertion, deletion, substitution or swap of
// neighbours makes b of a, and a isn't b.
func isOneEdit(a, b string) bool {
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

// findNearMiss looks for a recipient or host that is almost one of the request's.
func findNearMiss(v *view) finding {
	var f finding
	for i, val := range v.values {
		if i >= maxValues && val.kind >= recipient || i < maxValues && isNearMiss(v, val) {
			f.add(val.arg)
		}
	}
	return f
}

// isNearMiss reports whether a value is almost, and not quite, a name or an
// address of the user's own words: other letters that look alike, or one
// character away in an address or account.
func isNearMiss(v *view, val value) bool {
	if v.request == nil || val.kind < recipient || holdsValue(v.own.fold, val) {
		return false
	}
	in := v.request
	if holdsValue(in.fold, val) { // it was pasted, maybe beside what it is almost
		in = v.own
	}
	if val.fold = touch.UnicodeHost(val.fold); len(val.fold) > maxNear {
		return false
	}
	if s := latinSkeleton(val.fold); s != val.fold && !hasLookalikes(in.fold) {
		for w := range strings.FieldsFuncSeq(s, func(r rune) bool { return !isWordRune(r) }) {
			if len(w) > 2 && in.raw[w] {
				return true
			}
		}
	}
	addressLike := strings.ContainsAny(val.fold, "@.") || hasDigit(val.fold)
	if !addressLike || len(val.fold) < minAccount {
		return false
	}
	for w := range strings.FieldsSeq(in.fold) {
		w = strings.Trim(w, ".,:;!?()'\"<>[]")
		if len(w) >= minAccount && isOneEdit(w, val.fold) {
			return true
		}
	}
	return false
}
