package judge

import (
	"strings"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/skills"
)

// Many languages inflect names: who writes "powiedz Halinie" means Halina, and "напиши Марине" Marina. Whether the person whom a
// call names is the one that is meant a reader can tell.

// isCalledPerson reports whether a recipient that is nowhere is somebody of the house under a name that the user's own words
// have in another form. No one is paid, and no address of another house is a name.
func isCalledPerson(v *view, val value) bool {
	name := strings.TrimPrefix(val.fold, "@")
	if v.s.Effect() == skills.CostsMoney || v.p.needs&pays != 0 || strings.ContainsAny(name, "@/:#") || hasDigit(name) || namesDomain(name) {
		return false
	}
	for _, w := range splitTokens(name) {
		if isNameWord(w) && v.anySaid(func(t *text) bool { return hasFormOf(t, w.word) }) {
			return true
		}
	}
	return false
}

// hasFormOf reports whether a text in a language that inflects names has another form of one.
func hasFormOf(t *text, name string) bool {
	if t.foreign == nil || !t.foreign.inflects {
		return false
	}
	want := toLatin(name)
	for w := range t.people {
		if isForm(toLatin(w), want) && isNameWord(token{word: w}) && verbsOf(token{word: w, stem: stemWord(w)}) == 0 {
			return true
		}
	}
	return false
}

// The bounds of a form of a name: so many letters are the same, and so many at the end differ.
const (
	minNameStem   = 4
	maxNameEnding = 3
)

func isForm(a, b string) bool {
	if a == b {
		return utf8.RuneCountInString(a) >= minNameWord
	}
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n >= minNameStem && max(len(a), len(b))-n <= maxNameEnding
}

// toLatin writes Cyrillic letters as Latin ones, roughly as passports do.
func toLatin(s string) string {
	if isASCII(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if l, ok := latinOf[r]; ok {
			b.WriteString(l)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

var latinOf = map[rune]string{
	'а': "a", 'б': "b", 'в': "v", 'г': "g", 'ґ': "g", 'д': "d", 'е': "e", 'є': "ie", 'ё': "e", 'ж': "zh", 'з': "z", 'и': "i", 'і': "i",
	'ї': "i",
	'й': "i", 'к': "k", 'л': "l", 'м': "m", 'н': "n", 'о': "o", 'п': "p", 'р': "r", 'с': "s", 'т': "t", 'у': "u", 'ф': "f", 'х': "kh",
	'ц': "ts",
	'ч': "ch", 'ш': "sh", 'щ': "shch", 'ъ': "", 'ы': "y", 'ь': "", 'э': "e", 'ю': "iu", 'я': "ia",
}
