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
			return g.postfix(v, "", "")
		case numberToken:
			g.p++
			return g.postfix(val{s: g.word(t), shown: g.word(t), known: true, num: true}, "", "")
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
		switch w := g.word(t); w {
		case "(":
			g.p++
			if g.d.comment == ";" && g.kind(0) == wordToken { // Lisp's calls
				name := strings.ToLower(g.peek(0))
				name = name[strings.LastIndexAny(strings.TrimSuffix(name, "/files"), "/:")+1:]
				g.p++
				return g.callOf(textOf(""), "", name, g.group(")"))
			}
			list := g.group(")")
			v := val{many: true, list: list, known: allKnown(list)}
			if len(list) == 1 {
				v = list[0]
			}
			return g.postfix(v, "", "")
		case "[":
			g.p++
			list := g.group("]")
			return g.postfix(val{many: true, list: list, known: allKnown(list)}, "", "")
		case "{":
			g.p++
			return g.postfix(val{many: true, list: g.group("}")}, "", "")
		case "-", "!", "&", "*", "\\", "@", "+", "#", "~", "::", "->", "...", "^", ".", "<", "**", ":":
			g.p++
		default:
			return unknownVal()
		}
	}
	return unknownVal()
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
	g.p++
	full := bare(w)
	for g.p+1 < len(g.toks) && g.toks[g.p+1].kind == wordToken {
		sep := g.peek(0)
		if sep != "." && sep != "::" && sep != "->" && sep != "?." && sep != "&." && (sep != ":" || !g.tight()) || sep == "." && g.d.dot {
			break
		}
		full += "." + bare(g.peek(1))
		g.p += 2
		if len(full) > 256 {
			break
		}
	}
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
	if p, ok := places[lower]; ok || places["$"+lower] != "" && w[0] == '$' {
		if !ok {
			p = places["$"+lower]
		}
		return g.postfix(textOf(p), "", "")
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
	if forks[last] || codeRuns[last] || codeEvals[last] || treeRemovers[last] || oneGone[last] {
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
			stop := g.p
			g.p = start
			if g.peek(0) == "(" {
				g.p++
			}
			for g.p < start+n {
				if w := g.peek(0); g.kind(0) == wordToken && w != "const" && w != "let" && w != "var" && w != "my" {
					g.bind(g.peek(0), v)
				}
				g.p++
			}
			g.p = stop
			return unknownVal()
		case g.kind(n) == lineToken || w == "{" || w == ";":
			n = 16
		case w == "(" && n > 0: // Perl: for my $f (LIST)
			g.p += n + 1
			list := g.group(")")
			v := unknownVal()
			if len(list) > 0 {
				v = g.element(list[0])
			}
			g.bind(g.peek(0), v)
			for i := start; i < start+n; i++ {
				if g.toks[i].kind == wordToken {
					g.bind(g.word(g.toks[i]), v)
				}
			}
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

func (g *program) postfix(v val, on, last string) val {
	return g.postfixOf(v, unknownVal(), on, last)
}

// postfixOf reads what follows a value: calls, indexes, members. last is the
// name that a call would use, on the names before it.
func (g *program) postfixOf(v, self val, on, last string) val {
	from := g.start
	for g.p < len(g.toks) {
		t := g.toks[g.p]
		switch w := g.peek(0); {
		case w == "(" && (last != "" || v.fn != ""):
			if last == "" {
				last = v.fn
			}
			g.p++
			at, was := g.p, self
			v = g.callOf(self, on, last, g.group(")"))
			if now := g.p; was.text() && !v.text() {
				g.p = at - 3
				g.middle(from, was, last)
				g.p = now
			}
			on, last, self = last, "", v
		case w == "[" || w == "{" && (last == "env" || last == "environ"):
			g.p++
			var list []val
			if w == "{" && g.kind(0) == wordToken && g.peek(1) == "}" {
				list = []val{textOf(g.peek(0))} // Perl's words are keys
				g.p += 2
			} else {
				list = g.group(closing[w])
			}
			v, on, last = g.index(v, on, last, list)
			self = unknownVal()
		case (w == "." && !g.d.dot || w == "->" || w == "?." || w == "&." || w == "::" || w == ":" && g.tightSafe()) && g.kind(1) == wordToken:
			if last != "" {
				on = last
			}
			self = v
			last = strings.ToLower(bare(g.peek(1)))
			g.p += 2
			v = g.member(self, last)
			if g.peek(0) != "(" && g.noArgs(self, last) {
				v = g.callOf(self, on, last, nil)
				on, last, self = last, "", v
			}
			if g.peek(0) == "=" {
				g.p++
				g.expr()
			}
		case g.d.bare && last != "" && g.bareArgs(t):
			v = g.callOf(self, on, last, g.bareList())
			return v
		case (w == "{" || w == "do") && g.peek(1) == "|", w == "do" && g.peek(2) == "|":
			g.p++
			if w == "do" && g.peek(0) != "|" {
				g.p++
			}
			g.bindNames(g.element(either(self, v)))
			return v
		default:
			if last != "" && g.noArgs(self, last) {
				return g.callOf(self, on, last, nil)
			}
			return v
		}
	}
	if last != "" && g.noArgs(self, last) {
		return g.callOf(self, on, last, nil)
	}
	return v
}

var closing = map[string]string{"[": "]", "{": "}"}

func (g *program) tightSafe() bool { return g.p > 0 && g.p+1 < len(g.toks) && g.tight() }

// noArgs are names that work without brackets where nothing follows.
func (g *program) noArgs(self val, last string) bool {
	switch last {
	case "fork", "home", "homedir", "reverse", "pwd", "tmpdir", "unlink", "rmtree", "delete", "deletedir", "deleterecursively", "downcase", "strip", "chomp", "execute", "!":
		return g.d.bare || self.known
	}
	return false
}

// bareArgs reports whether a call's arguments follow without brackets.
func (g *program) bareArgs(t token) bool {
	prev := g.toks[g.p-1]
	if prev.end == t.at || t.kind == lineToken || prev.kind != wordToken {
		return false
	}
	switch t.kind {
	case textToken:
		return true
	case numberToken:
		return g.src[prev.at] != '$' && digit(g.src[t.at])
	case wordToken:
		w := g.word(t)
		return !strings.HasPrefix(g.src[prev.at:], "$") && !skipped[w] && !bareStops[w]
	}
	switch w := g.word(t); w {
	case "[", "(", "\\":
		return g.src[prev.at] != '$'
	case ":": // a symbol
		return g.d.quotes == 'r' && g.kind(1) == wordToken
	}
	return false
}

var bareStops = set("for foreach in of is or and do then end x eq ne lt gt if unless while until as else")

// bareList reads arguments that no bracket ends.
func (g *program) bareList() []val {
	var out []val
	for g.p < len(g.toks) && len(out) < 64 {
		at := g.p
		out = append(out, g.expr())
		if g.p == at {
			break
		}
		if w := g.peek(0); w != "," && w != "=>" {
			if g.peek(0) == "for" || g.peek(0) == "foreach" {
				g.loop()
			}
			break
		}
		g.p++
	}
	return out
}

// index is v[list].
func (g *program) index(v val, on, last string, list []val) (val, string, string) {
	if len(list) == 0 {
		if v.many {
			return g.element(v), on, ""
		}
		return unknownVal(), on, ""
	}
	key := list[0]
	name := strings.ToLower(key.s)
	switch {
	case (last == "env" || last == "environ" || last == "_server" || last == "_env" || last == "getenv") && (name == "home" || name == "userprofile"):
		return textOf("~"), "", ""
	case last == "dir" && key.text(): // Ruby's Dir["/*"]
		return val{s: key.s, shown: key.s, known: true, each: true}, "", ""
	case key.text() && name != "" && !v.many: // os["system"]
		return g.member(v, name), last, name
	case key.num && v.many:
		if n, ok := key.number(); ok && n >= 0 && n < len(v.list) {
			return v.list[n], on, ""
		}
	case v.text() && len(list) == 1 && key.s == "1" && g.backwards():
		return reverseVal(v), "", ""
	}
	return val{shown: "$", each: v.each && v.many}, on, ""
}

// backwards reports whether the index that was just read is [::-1].
func (g *program) backwards() bool {
	if g.p < 1 {
		return false
	}
	end := g.toks[g.p-1].end
	return strings.HasSuffix(strings.Join(strings.Fields(g.src[max(0, end-12):end]), ""), "[::-1]")
}

// member is a part of v that has a name of its own.
func (g *program) member(v val, last string) val {
	switch {
	case last == "sep" || last == "separator":
		return textOf("/")
	case last == "parent" && v.text():
		i := strings.LastIndexByte(strings.TrimRight(v.s, "/"), '/')
		if i <= 0 && strings.HasPrefix(v.s, "/") {
			return textOf("/")
		}
		if i > 0 {
			return textOf(v.s[:i])
		}
		return textOf(".")
	case last == "home" && v.known:
		return v
	}
	out := unknownVal()
	if forks[last] || codeRuns[last] || codeEvals[last] || treeRemovers[last] || oneGone[last] {
		out.fn = last
	}
	return out
}
