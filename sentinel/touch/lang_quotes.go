package touch

import (
	"strings"
)

// quoted reads a string whose quote is at; a prefix may stand before it.
func (t *tokenizer) quoted(at int) {
	q, src := t.src[at], t.src
	if t.gone[q] {
		t.add(markToken, at+1)
		return
	}
	prefix := strings.ToLower(src[t.at:at])
	tok := token{kind: textToken, at: t.at, body: at + 1, brackets: t.depth, raw: strings.Contains(prefix, "r")}
	switch t.d.holes {
	case "f":
		tok.holes = strings.Contains(prefix, "f")
	case "`":
		tok.holes = q == '`'
	case "":
	default:
		tok.holes = q != '\''
	}
	tok.runs = q == '`' && t.d.holes != "`"
	if q != '`' && strings.HasPrefix(src[at:], strings.Repeat(string(q), 3)) && t.d.quotes == 0 && !t.d.dot {
		tok.body, tok.triple = at+3, true
		tok.stop = len(src)
		if i := strings.Index(src[at+3:], src[at:at+3]); i >= 0 {
			tok.stop = at + 3 + i
		}
		tok.end = min(tok.stop+3, len(src))
	} else {
		tok.stop = t.closing(at+1, q)
		tok.end = min(tok.stop+1, len(src))
		if tok.stop == len(src) {
			// an apostrophe, or a quote in what was taken for something else
			t.gone[q] = true
			t.add(markToken, at+1)
			return
		}
	}
	t.out = append(t.out, tok)
	t.at = tok.end
}

// closing returns where an unescaped q is.
func (t *tokenizer) closing(at int, q byte) int {
	for i := at; i < len(t.src); i++ {
		switch t.src[i] {
		case '\\':
			if !t.d.mirrors {
				i++
			}
		case q:
			return i
		}
	}
	return len(t.src)
}

var closes = map[byte]byte{'(': ')', '[': ']', '{': '}', '<': '>'}

// delimited reads what stands between a delimiter at and its partner.
func (t *tokenizer) delimited(at int) (stop int) {
	open := t.src[at]
	end, nests := closes[open]
	if !nests {
		return t.closing(at+1, open)
	}
	depth := 0
	for i := at; i < len(t.src); i++ {
		switch t.src[i] {
		case '\\':
			i++
		case open:
			depth++
		case end:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(t.src)
}

// quoteLike reads Perl's q(), qw(), qx(), s/// and their kin.
func (t *tokenizer) quoteLike(w string, at int) bool {
	switch w {
	case "q", "qq", "qw", "qx", "m", "qr", "s", "tr", "y":
	default:
		return false
	}
	for at < len(t.src) && t.src[at] == ' ' && w[0] == 'q' {
		at++
	}
	if at >= len(t.src) || nameByte(t.src[at]) || strings.IndexByte(" \t\n,;=)", t.src[at]) >= 0 || strings.HasPrefix(t.src[at:], "->") {
		return false
	}
	stop := t.delimited(at)
	tok := token{kind: textToken, at: t.at, body: at + 1, stop: stop, end: min(stop+1, len(t.src)), brackets: t.depth, holes: w == "qq" || w == "qx", runs: w == "qx", list: w == "qw", raw: w == "q"}
	switch w {
	case "s", "tr", "y":
		tok.kind = numberToken
		if _, nests := closes[t.src[at]]; !nests && stop < len(t.src) {
			tok.end = min(t.closing(stop+1, t.src[at])+1, len(t.src))
		}
		for tok.end < len(t.src) && letter(t.src[tok.end]) {
			tok.end++
		}
	case "m", "qr":
		tok.kind = numberToken
	}
	t.out = append(t.out, tok)
	t.at = tok.end
	return true
}

// percent reads Ruby's %q(), %w() and %x().
func (t *tokenizer) percent() bool {
	at, kind := t.at+1, byte('Q')
	if at < len(t.src) && strings.IndexByte("qQwWxiI", t.src[at]) >= 0 {
		kind = t.src[at]
		at++
	} else if t.operand() {
		return false
	}
	if at >= len(t.src) || nameByte(t.src[at]) || t.src[at] <= ' ' || t.src[at] == '=' {
		return false
	}
	stop := t.delimited(at)
	t.out = append(t.out, token{
		kind: textToken, at: t.at, body: at + 1, stop: stop, end: min(stop+1, len(t.src)), brackets: t.depth,
		holes: kind == 'Q' || kind == 'x', runs: kind == 'x', list: kind == 'w' || kind == 'W', raw: kind == 'q',
	})
	t.at = min(stop+1, len(t.src))
	return true
}
