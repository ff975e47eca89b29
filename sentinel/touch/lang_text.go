package touch

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// decodeText undoes the escapes of a string literal, as most languages have
// them. Escapes that few know stay.
func decodeText(s string, decimal bool) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b = append(b, s[i])
			continue
		}
		i++
		var n int
		if b, n = escape(b, s[i:], decimal); n == 0 {
			b = append(b, '\\', s[i])
			continue
		}
		i += n - 1
	}
	return string(b)
}

// escape appends what an escape stands for whose backslash is gone, and returns
// how many bytes it took; 0 for one that is unknown.
func escape(b []byte, s string, decimal bool) ([]byte, int) {
	c := s[0]
	switch {
	case strings.IndexByte("\\\"'`/$@#", c) >= 0:
		return append(b, c), 1
	case c == '\n':
		return b, 1
	case strings.IndexByte("ntrefav0b", c) >= 0 && (c != '0' || len(s) < 2 || !digit(s[1])):
		return append(b, map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'e': 27, 'f': '\f', 'a': 7, 'v': 11, '0': 0, 'b': 8}[c]), 1
	case digit(c):
		n := 1
		for n < 3 && n < len(s) && digit(s[n]) {
			n++
		}
		base := 8
		if decimal {
			base = 10
		}
		if v, err := strconv.ParseUint(s[:n], base, 9); err == nil && v < 256 {
			return append(b, byte(v)), n
		}
	case c == 'x' || c == 'u' || c == 'U':
		return hexEscape(b, s)
	case strings.HasPrefix(s, "N{SOLIDUS}"):
		return append(b, '/'), len("N{SOLIDUS}")
	}
	return b, 0
}

func hexEscape(b []byte, s string) ([]byte, int) {
	digits := s[1:]
	var n int
	if strings.HasPrefix(digits, "{") {
		i := strings.IndexByte(digits, '}')
		if i < 0 || i > 9 {
			return b, 0
		}
		digits, n = digits[1:i], i+2
	} else {
		most := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[0]]
		i := 0
		for i < most && i < len(digits) && strings.IndexByte("0123456789abcdefABCDEF", digits[i]) >= 0 {
			i++
		}
		digits, n = digits[:i], i+1
	}
	v, err := strconv.ParseUint(digits, 16, 32)
	switch {
	case err != nil || v > utf8.MaxRune:
		return b, 0
	case s[0] == 'x' && v < 256:
		return append(b, byte(v)), n
	}
	return utf8.AppendRune(b, rune(v)), n
}

// hole is a piece of a string with expressions in it: text, or an expression.
type hole struct {
	text string
	expr bool
}

// pieces splits the body of a string at its expressions.
func pieces(body string, kind string) []hole {
	var out []hole
	from := 0
	cut := func(at, start, stop, end int) {
		if at > from {
			out = append(out, hole{text: body[from:at]})
		}
		out = append(out, hole{text: body[start:stop], expr: true})
		from = end
	}
	for i := 0; i < len(body) && len(out) < 64; i++ {
		c := body[i]
		rest := body[i:]
		if start, stop, end := interpolation(rest, kind); end > 0 {
			cut(i, i+start, i+stop, i+end)
			i = from - 1
			continue
		}
		if c == '\\' || kind == "f" && strings.HasPrefix(rest, "{{") {
			i++
		}
	}
	if from < len(body) {
		out = append(out, hole{text: body[from:]})
	}
	return out
}

// interpolation says where the expression that rest starts with begins and
// stops, and where the text goes on; end is 0 where it starts with none.
func interpolation(rest, kind string) (start, stop, end int) {
	at := -1
	switch c := rest[0]; {
	case kind == `\(` && strings.HasPrefix(rest, `\(`),
		kind == "#" && strings.HasPrefix(rest, "#{"),
		(kind == "`" || kind == "$") && strings.HasPrefix(rest, "${"),
		kind == "$" && strings.HasPrefix(rest, "$("):
		at = 1
	case kind == "f" && c == '{' && !strings.HasPrefix(rest, "{{"), kind == "$" && strings.HasPrefix(rest, "{$"):
		at = 0
	case kind == "$" && c == '$' && len(rest) > 1 && (letter(rest[1]) || rest[1] == '_'):
		j := 1
		for j < len(rest) && nameByte(rest[j]) {
			j++
		}
		if rest[:j] == "$ENV" && strings.HasPrefix(rest[j:], "{") {
			if k := balanced(rest[j:], '{', '}'); k > 0 {
				j += k + 1
			}
		}
		return 0, j, j
	}
	if at < 0 {
		return 0, 0, 0
	}
	j := balanced(rest[at:], rest[at], closes[rest[at]])
	if j == 0 {
		return 0, 0, 0
	}
	return at + 1, at + j, at + j + 1
}

// balanced returns where the bracket that s starts with is closed; 0 if it
// isn't within what people write.
func balanced(s string, open, end byte) int {
	depth := 0
	for i := range min(len(s), 256) {
		switch s[i] {
		case open:
			depth++
		case end:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return 0
}
