package touch

import (
	"strings"
)

// span is an expression of a program whose text is known: a literal, or what
// is put together from literals.
type span struct {
	at, end int
	text    string
	runs    bool // a command by its quotes
	folded  bool // no literal
	access  Access
	part    bool // belongs to a larger one
}

// call is one call of a function by a program.
type call struct {
	name string // in lower case, the last of its names
	on   string // the names before it, in lower case
	args []val
	self val // what the method belongs to
}

// program reads a program's expressions without running it: literals, what is
// joined of them, the variables that hold them. Statements are taken in the
// order in which they stand, twice, so that a name may be used before it is
// given. What it doesn't understand is unknown, and stops nothing.
type program struct {
	d     dialect
	src   string
	toks  []token
	p     int
	depth int
	vars  map[string]val
	owner map[string]string // of a parameter: its function
	spans []span
	calls []call
	last  bool // the second reading
	fun   string
	inner int // strings inside strings
	undos int
	start int // of the operand
	steps int // expressions read, for measuring
}

const (
	maxExpr  = 64 // levels of brackets
	maxJoins = 512
	maxSpans = 512
	maxCalls = 1024
)

func readProgram(src string, d dialect) *program {
	g := &program{d: d, src: src, toks: tokens(src, d), vars: map[string]val{}, owner: map[string]string{}}
	g.pass()
	g.last, g.spans, g.calls = true, g.spans[:0], g.calls[:0]
	g.pass()
	return g
}

func (g *program) pass() {
	g.p, g.fun, g.undos = 0, "", 0
	for g.p < len(g.toks) {
		at := g.p
		g.statement()
		if g.p == at {
			g.p++
		}
	}
}

func (g *program) peek(n int) string {
	if g.p+n >= len(g.toks) || g.p+n < 0 {
		return ""
	}
	t := g.toks[g.p+n]
	if t.kind == textToken || t.kind == numberToken {
		return ""
	}
	return g.src[t.at:t.end]
}

func (g *program) kind(n int) tokenKind {
	if g.p+n >= len(g.toks) {
		return lineToken
	}
	return g.toks[g.p+n].kind
}

func (g *program) word(t token) string { return g.src[t.at:t.end] }

// statement reads one, or a piece of one.
func (g *program) statement() {
	switch w := g.peek(0); {
	case g.kind(0) == lineToken, w == ";", w == "}", w == ")", w == "]", w == ",", w == ":":
		g.p++
		return
	case w == "{" && g.depth > maxExpr:
		g.p++
		return
	}
	if g.several() {
		return
	}
	v := g.expr()
	for g.peek(0) == "," { // bare lists
		g.p++
		g.expr()
	}
	if g.peek(0) == "as" && g.kind(1) == wordToken {
		g.p++
		g.bindNames(v)
	}
}

// several is a, b = x, y.
func (g *program) several() bool {
	n := 0
	var names []string
	for g.kind(n) == wordToken && len(names) < 8 {
		names = append(names, g.peek(n))
		if g.peek(n+1) != "," {
			break
		}
		n += 2
	}
	if len(names) < 2 || g.peek(n+1) != "=" {
		return false
	}
	g.p += n + 2
	var list []val
	for {
		list = append(list, g.expr())
		if g.peek(0) != "," {
			break
		}
		g.p++
	}
	if len(list) == 1 && list[0].many {
		list = list[0].list
	}
	for i, name := range names {
		v := unknownVal()
		if len(list) == len(names) {
			v = list[i]
		} else if len(list) == 1 && list[0].each {
			v = list[0]
		}
		g.bind(name, v)
	}
	return true
}

func (g *program) bind(name string, v val) {
	name = bare(name)
	if old, ok := g.vars[name]; ok && g.last && !v.known && old.param != "" {
		return
	}
	g.vars[name] = v
}

// bare is a name without what marks it as a variable.
func bare(name string) string { return strings.TrimLeft(name, "$@%&*") }

// bindNames gives v to the names that follow, up to what ends them.
func (g *program) bindNames(v val) {
	for range 12 {
		switch w := g.peek(0); {
		case g.kind(0) == wordToken && w != "in" && w != "of":
			g.bind(w, v)
		case w == "," || w == "(" || w == "=>" || w == "|" || w == "[":
		default:
			return
		}
		g.p++
	}
}

// expr reads operands and what joins them, and notes what the whole is.
func (g *program) expr() val {
	if g.p >= len(g.toks) {
		return unknownVal()
	}
	if g.depth++; g.depth > maxExpr {
		g.depth--
		g.p++
		return unknownVal()
	}
	defer func() { g.depth-- }()
	g.steps++
	from, first := g.p, len(g.spans)
	v := g.operand()
	folded := false
	for n := 0; g.p < len(g.toks); n++ {
		if n > maxJoins {
			v = unknownVal()
		}
		next, more := g.join(v)
		if !more {
			break
		}
		v, folded = next, true
	}
	g.note(from, first, v, folded)
	return v
}

// note keeps the text of the tokens from one on as a span.
func (g *program) note(from, first int, v val, folded bool) {
	if g.inner > 0 || from >= len(g.toks) || len(g.spans) >= maxSpans {
		return
	}
	one := g.p == from+1 && g.toks[from].kind == textToken
	switch {
	case one, !folded && len(g.spans) == first+1 && g.spans[first].text == v.s:
		return
	case folded && v.s != "", v.text() && v.s != "" && (g.kind(0) != wordToken || g.p > from+1):
		for i := first; i < len(g.spans); i++ {
			g.spans[i].part = true
		}
	}
	if v.text() && v.s != "" && g.p > from {
		t := g.toks[from]
		g.spans = append(g.spans, span{at: t.at, end: g.toks[g.p-1].end, text: v.s, folded: true})
	}
}

// quoted keeps a literal as a span.
func (g *program) quoted(t token, v val) {
	if g.inner > 0 {
		return
	}
	list := []val{v}
	if v.many {
		list = v.list
	}
	for _, w := range list {
		if w.text() && len(g.spans) < maxSpans {
			g.spans = append(g.spans, span{at: t.at, end: t.end, text: w.s, runs: t.runs})
		}
	}
}

// middle keeps a path whose method is called, such as Path(…).read_text().
func (g *program) middle(from int, v val, method string) {
	if g.inner > 0 || !v.text() || !rooted(v.s) || g.p < 2 || from+1 >= g.p || len(g.spans) >= maxSpans {
		return
	}
	g.spans = append(g.spans, span{at: g.toks[from].at, end: g.toks[g.p-1].end, text: v.s, folded: true, access: byName(method)})
}
