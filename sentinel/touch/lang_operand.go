package touch

import (
	"strings"
)

var (
	// skipped are words that stand before an operand and change nothing here.
	skipped = set("return await new my our local var let const val yield print puts echo not and throw else do then begin async typeof void say final auto static public if unless while until elif elsif p pp go defer")
	defines = set("def function sub fn func fun defp defun define proc")
	places  = map[string]string{"__dirname": ".", "os.sep": "/", "path.sep": "/", "file.separator": "/", "file::separator": "/", "os.path.sep": "/", "path.posix.sep": "/", "directory_separator": "/", "file.pathseparator": "/", "file::separator_": "/", "os.curdir": ".", "os.pardir": "..",
		"process.env.home": "~", "env.home": "~", "$home": "~", "__dir__": ".", "$env.home": "~", "os.altsep": "/", "posixpath.sep": "/", "os.extsep": "."}
)

// operand reads a value with all that hangs on it: members, calls, indexes.
func (g *program) operand() val {
	was := g.start
	g.start = g.p
	defer func() { g.start = was }()
	for range 16 {
		if g.p >= len(g.toks) {
			return unknownVal()
		}
		t := g.toks[g.p]
		switch t.kind {
		case textToken:
			g.p++
			v := g.literal(t)
			g.quoted(t, v)
			if t.runs {
				g.called(call{name: "system", args: []val{v}})
			}
			return g.postfix(v)
		case numberToken:
			g.p++
			return g.postfix(val{s: g.word(t), shown: g.word(t), known: true, num: true})
		case lineToken:
			return unknownVal()
		case wordToken:
			w := g.word(t)
			if next := g.kind(1); skipped[w] && (next == textToken || next == wordToken || next == numberToken || g.peek(1) == "[" || g.peek(1) == "{") || skipped[w] && (w == "return" || w == "await" || w == "not" || w == "if" || w == "while") {
				g.p++
				continue
			}
			return g.name()
		}
		if v, ok := g.bracketed(g.word(t)); ok {
			return v
		}
		if !unaries[g.word(t)] {
			return unknownVal()
		}
		g.p++
	}
	return unknownVal()
}

// unaries are marks that may stand before an operand.
var unaries = set("- ! & * \\ @ + # ~ :: -> ... ^ . < ** :")

// bracketed reads what an opening bracket starts.
func (g *program) bracketed(w string) (val, bool) {
	switch w {
	case "(":
		g.p++
		if g.d.comment == ";" && g.kind(0) == wordToken { // Lisp's calls
			name := strings.ToLower(g.peek(0))
			name = name[strings.LastIndexAny(strings.TrimSuffix(name, "/files"), "/:")+1:]
			g.p++
			return g.callOf(textOf(""), "", name, g.group(")")), true
		}
		list := g.group(")")
		v := val{many: true, list: list, known: allKnown(list)}
		if len(list) == 1 {
			v = list[0]
		}
		return g.postfix(v), true
	case "[":
		g.p++
		list := g.group("]")
		return g.postfix(val{many: true, list: list, known: allKnown(list)}), true
	case "{":
		g.p++
		return g.postfix(val{many: true, list: g.group("}")}), true
	}
	return val{}, false
}

func allKnown(list []val) bool {
	for _, v := range list {
		if !v.known {
			return false
		}
	}
	return len(list) > 0
}

// group reads up to a closing bracket: the values between the commas.
func (g *program) group(end string) []val {
	var out []val
	for g.p < len(g.toks) {
		at := g.p
		switch w := g.peek(0); {
		case w == end:
			g.p++
			return out
		case w == "," || w == ";" || w == ":" || w == "=>" || g.kind(0) == lineToken:
			g.p++
			continue
		case w == ")" || w == "]" || w == "}":
			return out
		}
		v := g.expr()
		if g.peek(0) == "as" && g.kind(1) == wordToken {
			g.p++
			g.bindNames(v)
			continue
		}
		if g.p == at {
			g.p++
			continue
		}
		if len(out) < 256 {
			out = append(out, v)
		}
	}
	return out
}

// name reads a name with its members, and the call or assignment behind it.
func (g *program) name() val {
	w := g.word(g.toks[g.p])
	switch {
	case w == "for" || w == "foreach":
		return g.loop()
	case defines[w] && g.kind(1) == wordToken, w == "function" && g.peek(1) == "(":
		return g.define()
	case w == "lambda":
		for g.p < len(g.toks) && g.peek(0) != ":" && g.kind(0) != lineToken {
			g.p++
		}
		return g.expr()
	}
	full := g.members(w)
	lower := strings.ToLower(full)
	switch op := g.peek(0); op {
	case "=", ":=", "<-", "||=", "??=":
		g.p++
		v := g.expr()
		g.bind(full, v)
		return v
	case "+=", ".=":
		g.p++
		v := concat(g.lookup(full, lower), g.expr())
		g.bind(full, v)
		return v
	}
	return g.reached(w, full, lower)
}

// reached is the value of a name that is used, with what hangs on it. w is how
// the name starts where it is written.
func (g *program) reached(w, full, lower string) val {
	if p, ok := places[lower]; ok || w[0] == '$' && places["$"+lower] != "" {
		if !ok {
			p = places["$"+lower]
		}
		return g.postfix(textOf(p))
	}
	on, last := "", lower
	self := unknownVal()
	if i := strings.LastIndexByte(full, '.'); i >= 0 {
		on, last = strings.ToLower(full[:i]), strings.ToLower(full[i+1:])
		self = g.lookup(full[:i], on)
	}
	v := g.lookup(full, lower)
	if self.known && !v.known { // x.read_text
		v = unknownVal()
	}
	if v.fn != "" && v.fn != last {
		last, on = v.fn, ""
	} else if v.text() && w[0] == '$' && g.peek(0) == "(" {
		last, on = strings.ToLower(v.s), "" // PHP calls what a string names
	}
	return g.postfixOf(v, self, on, last)
}

// members reads a name and those that hang on it: a.b.c.
func (g *program) members(w string) string {
	g.p++
	full := bare(w)
	for g.p+1 < len(g.toks) && g.toks[g.p+1].kind == wordToken && len(full) <= 256 {
		sep := g.peek(0)
		if sep != "." && sep != "::" && sep != "->" && sep != "?." && sep != "&." && (sep != ":" || !g.tight()) || sep == "." && g.d.dot {
			break
		}
		full += "." + bare(g.peek(1))
		g.p += 2
	}
	return full
}

// tight reports whether nothing stands around the mark: os:cmd, not a ? b : c.
func (g *program) tight() bool {
	t := g.toks[g.p]
	return g.p > 0 && g.toks[g.p-1].end == t.at && g.toks[g.p+1].at == t.end
}

func (g *program) lookup(full, lower string) val {
	if v, ok := g.vars[bare(full)]; ok {
		return v
	}
	v := unknownVal()
	last := lower[strings.LastIndexByte(lower, '.')+1:]
	if functionNames[last] {
		v.fn = last
	}
	return v
}

// loop binds the names of a for to what they run over.
func (g *program) loop() val {
	g.p++
	if g.peek(0) == "each" {
		g.p++
	}
	start := g.p
	for n := range 16 {
		w := g.peek(n)
		switch {
		case w == "in" || w == "of":
			g.p += n + 1
			v := g.element(g.expr())
			g.bindTokens(start, start+n, v)
			return unknownVal()
		case g.kind(n) == lineToken || w == "{" || w == ";":
			n = 16
		case w == "(" && n > 0: // Perl: for my $f (LIST)
			g.p += n + 1
			v := unknownVal()
			if list := g.group(")"); len(list) > 0 {
				v = g.element(list[0])
			}
			g.bindTokens(start, start+n, v)
			g.bind("_", v)
			return unknownVal()
		}
		if n == 16 {
			break
		}
	}
	v := g.element(g.expr()) // Perl: unlink for LIST
	g.bind("_", v)
	if g.peek(0) == "as" {
		g.p++
		g.bindNames(v)
	}
	return unknownVal()
}

// bindTokens gives v to the names among some tokens.
func (g *program) bindTokens(from, to int, v val) {
	for i := from; i < to; i++ {
		if w := g.word(g.toks[i]); g.toks[i].kind == wordToken && w != "const" && w != "let" && w != "var" && w != "my" {
			g.bind(w, v)
		}
	}
}

// element is what each of v's elements is.
func (g *program) element(v val) val {
	if v.each {
		return v
	}
	if v.many && len(v.list) > 0 {
		return v.list[0]
	}
	return val{shown: "$", param: v.param}
}

// define notes a function's parameters.
func (g *program) define() val {
	g.p++
	name := ""
	if g.kind(0) == wordToken {
		name = strings.ToLower(bare(g.peek(0)))
		g.p++
	}
	for g.peek(0) == "." && g.kind(1) == wordToken {
		g.p += 2
	}
	g.fun = name
	if g.peek(0) != "(" {
		return unknownVal()
	}
	g.p++
	for range 32 {
		w := g.peek(0)
		if w == ")" || g.p >= len(g.toks) {
			break
		}
		if g.kind(0) == wordToken && w != "" {
			g.vars[bare(w)] = val{shown: "$", param: name + "()"}
		}
		g.p++
	}
	return unknownVal()
}
