package judge

import "strings"

var (
	// negations are words behind which an address is named to be left out.
	negations = wordSet(`not never except without excluding don't dont doesn't nicht nie niemals ausser ohne pas jamais sauf nunca
		excepto salvo exceto tranne mai niet nooit behalve`)
	// urges take the sense of leaving out from a negation: "don't forget to write to".
	urges = wordSet("forget hesitate fail only just worry miss vergessen vergiss nur seulement oublie oublier olvides solo vergeet")
)

// negatedNear is how many words behind a negation it may still speak of.
const negatedNear = 6

// dropExcluded is a folded text without the addresses that it says are to be left
// out: "don't write to x@y.test".
func dropExcluded(text string) string {
	if !strings.ContainsAny(text, "@0123456789") && !strings.Contains(text, "://") {
		return text
	}
	var b strings.Builder
	left, from, at := 0, 0, 0
	var fields []string
	for f := range strings.FieldsSeq(text) {
		fields = append(fields, f)
	}
	for i, f := range fields {
		at += strings.Index(text[at:], f)
		w := strings.Trim(strings.ReplaceAll(f, "’", "'"), ".,:;!?()\"<>[]")
		k, _ := classifyAddress(w)
		switch {
		case negations[w] && !(i+1 < len(fields) && urges[strings.Trim(fields[i+1], ".,:;!?")]):
			left = negatedNear
		case left > 0 && k != noTarget:
			b.WriteString(text[from:at])
			b.WriteString("-")
			from = at + len(f)
		case left > 0:
			left--
		}
		if end := rune(f[len(f)-1]); strings.ContainsRune(".;!?", end) || k == noTarget && strings.ContainsRune(",:", end) {
			left = 0
		}
		at += len(f)
	}
	if from == 0 {
		return text
	}
	b.WriteString(text[from:])
	return b.String()
}
