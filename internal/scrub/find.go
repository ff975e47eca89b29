package scrub

import (
	"slices"
	"strings"
)

// Found is a secret that Find found: text[From:To].
type Found struct {
	From, To int
	// Labelled is set where a label such as "password:" says that it is one; otherwise its
	// shape does.
	Labelled bool
}

// Find returns what is shaped like a secret in a text that this process has not issued:
// tokens with a known head, private keys, payment cards, and what a label names, whatever
// its length ("password: x7"). It returns at most limit of them, in order. It is linear.
// A label stands in English, French, German, Spanish, Portuguese, Italian, Dutch, Russian,
// Chinese or Japanese.
func Find(text string, limit int) []Found {
	out := findLabelled(text, limit)
	for i := 0; i < len(text) && len(out) < limit; {
		if isBlank(text[i]) {
			i++
			continue
		}
		end := i
		for end < len(text) && !isBlank(text[end]) {
			end++
		}
		from, to := trimQuotes(text, i, end)
		switch {
		case strings.HasPrefix(text[from:], pemHead):
			if n := strings.Index(text[from:], pemTail); n >= 0 {
				to = from + n
			} else {
				to = len(text)
			}
			out = append(out, Found{From: from, To: to})
			end = max(end, to)
		case IsToken(text[from:to]):
			out = append(out, Found{From: from, To: to})
		}
		i = end
	}
	for at := 0; at < len(text) && len(out) < limit; {
		from, to, ok := findCard(text, at)
		if !ok {
			break
		}
		out, at = append(out, Found{From: from, To: to}), to
	}
	slices.SortFunc(out, func(a, b Found) int { return a.From - b.From })
	return out
}

const (
	pemHead = "-----BEGIN "
	pemTail = "-----END "
)

func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// tokenHeads begin the tokens of well-known services.
var tokenHeads = []string{"AKIA", "ASIA", "ghp_", "gho_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "sk-",
	"sk_live_", "AIza", "eyJhbGciOi"}

// minToken is the least length in bytes of a token with a known head.
const minToken = 20

// IsToken reports whether a word is a token of a well-known service: it has such a token's
// head and length. Signs around it don't count.
func IsToken(word string) bool {
	word = strings.Trim(word, tokenEdges)
	return len(word) >= minToken && slices.ContainsFunc(tokenHeads, func(h string) bool { return strings.HasPrefix(word, h) })
}

const tokenEdges = ".,:;!?()'\"<>[]=`{}\\"

// trimQuotes moves the ends of text[from:to] past the signs around a token.
func trimQuotes(text string, from, to int) (int, int) {
	for from < to && strings.IndexByte(tokenEdges, text[from]) >= 0 {
		from++
	}
	for to > from && strings.IndexByte(tokenEdges, text[to-1]) >= 0 {
		to--
	}
	return from, to
}

// HasCard reports whether a text has the number of a payment card in one group or in
// groups of four. The length and the check digit tell it.
func HasCard(text string) bool {
	_, _, ok := findCard(text, 0)
	return ok
}

// findCard finds the first number of a payment card from a place on.
func findCard(s string, at int) (from, to int, ok bool) {
	for i := at; i < len(s); i++ {
		if s[i] < '3' || s[i] > '6' || i > 0 && (isLetterOrDigit(s[i-1]) || s[i-1] == '+') {
			continue
		}
		var d []byte
		j := i
		for j < len(s) && len(d) < 20 && (isDigit(s[j]) || isGap(s[j]) && !isGap(s[j-1])) {
			if !isGap(s[j]) {
				d = append(d, s[j]-'0')
			}
			j++
		}
		if j < len(s) && isGap(s[j-1]) { // the blank behind it
			j--
		}
		if (len(d) == 16 || len(d) == 15) && passesLuhn(d) && (j == len(s) || !isLetterOrDigit(s[j])) {
			return i, j, true
		}
	}
	return 0, 0, false
}

func passesLuhn(d []byte) bool {
	sum := 0
	for i, c := range d {
		n := int(c)
		if (len(d)-i)%2 == 0 {
			if n *= 2; n > 9 {
				n -= 9
			}
		}
		sum += n
	}
	return sum%10 == 0
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetterOrDigit(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'z' }

func isGap(c byte) bool { return c == ' ' || c == '-' }
