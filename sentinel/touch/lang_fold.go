package touch

import (
	"slices"
	"strings"
)

// join reads an operator and its right side.
func (g *program) join(v val) (val, bool) {
	t := g.toks[g.p]
	switch t.kind {
	case textToken:
		prev := g.toks[g.p-1]
		if prev.kind == textToken && g.d.beside || g.d.adjoin && prev.kind == wordToken {
			return concat(v, g.operand()), true
		}
		return v, false
	case wordToken:
		switch w := g.word(t); {
		case w == "or":
			g.p++
			return either(v, g.operand()), true
		case g.d.adjoin && g.toks[g.p-1].kind == textToken && g.vars[w].known:
			return concat(v, g.operand()), true
		}
		return v, false
	case markToken:
		return g.operator(v, g.word(t))
	}
	return v, false
}

func either(a, b val) val {
	if a.known || a.s != "" {
		return a
	}
	return b
}

func (g *program) operator(v val, op string) (val, bool) {
	switch op {
	case "+", "..", "~", "<>", "++", "<<":
		g.p++
		return concat(v, g.operand()), true
	case ".":
		if !g.d.dot {
			return v, false
		}
		g.p++
		return concat(v, g.operand()), true
	case "/":
		g.p++
		w := g.operand()
		if v.num || w.num || v.blank() && w.blank() {
			return unknownVal(), true
		}
		return joinPath([]val{v, w}, true), true
	case "%":
		if !v.text() {
			return v, false
		}
		g.p++
		return format(v.s, args(g.operand()), false), true
	case "||", "??":
		g.p++
		return either(v, g.operand()), true
	case "=", ":=", "<-", "||=", "+=", ".=":
		return v, false
	}
	return v, false
}

func args(v val) []val {
	if v.many {
		return v.list
	}
	return []val{v}
}

// format fills the places of a format: %s, or {} and {0}.
func format(s string, list []val, curly bool) val {
	out := textOf("")
	for n := 0; s != ""; n++ {
		i := strings.IndexByte(s, '%')
		if curly {
			i = strings.IndexByte(s, '{')
		}
		if i < 0 || n > 64 {
			break
		}
		out = concat(out, textOf(s[:i]))
		at, j := n, 1
		if curly {
			if j = strings.IndexByte(s[i:], '}'); j < 0 {
				return unknownVal()
			}
			if k := s[i+1 : i+j]; len(k) == 1 && digit(k[0]) {
				at = int(k[0] - '0')
			} else if k != "" {
				at = len(list)
			}
		} else {
			for ; i+j < len(s) && strings.IndexByte("0123456789.-+ ", s[i+j]) >= 0; j++ {
			}
		}
		switch {
		case at >= len(list):
			out = concat(out, unknownVal())
		case !list[at].num:
			out = concat(out, list[at])
		default:
			if c, ok := list[at].number(); ok && i+j < len(s) && s[i+j] == 'c' && c < 128 {
				out = concat(out, textOf(string(rune(c))))
			} else {
				out = concat(out, textOf(list[at].s))
			}
		}
		s = s[min(i+j+1, len(s)):]
	}
	return concat(out, textOf(s))
}

// literal is the value of a text token.
func (g *program) literal(t token) val {
	body := g.src[t.body:t.stop]
	if t.list {
		v := val{many: true, known: true}
		for w := range strings.FieldsSeq(body) {
			if len(v.list) < 256 {
				v.list = append(v.list, textOf(w))
			}
		}
		return v
	}
	if t.holes && g.inner < 3 {
		if list := pieces(body, g.d.holes); slices.ContainsFunc(list, func(h hole) bool { return h.expr }) {
			return g.fill(list, t.raw)
		}
	}
	if !t.raw {
		body = decodeText(body, g.d.decimal)
	}
	return textOf(body)
}

// fill evaluates the expressions in a string.
func (g *program) fill(list []hole, raw bool) val {
	out := textOf("")
	for _, h := range list {
		switch {
		case !h.expr && raw:
			out = concat(out, textOf(h.text))
		case !h.expr:
			out = concat(out, textOf(decodeText(h.text, g.d.decimal)))
		default:
			v := g.sub(h.text)
			v.num = false
			out = concat(out, v)
		}
	}
	return out
}

// sub evaluates an expression that stands inside a string.
func (g *program) sub(text string) val {
	toks, p, src := g.toks, g.p, g.src
	g.src, g.toks, g.p = text, tokens(text, g.d), 0
	g.inner++
	defer func() {
		g.toks, g.p, g.src = toks, p, src
		g.inner--
	}()
	return g.expr()
}
