package touch

import (
	"strings"
)

func (g *program) postfix(v val) val {
	return g.postfixOf(v, unknownVal(), "", "")
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
			v = g.invoked(from, self, on, last)
			on, last, self = last, "", v
		case w == "[" || w == "{" && (last == "env" || last == "environ"):
			g.p++
			v, on, last = g.index(v, on, last, g.keys(w))
			self = unknownVal()
		case g.accesses(w):
			if last != "" {
				on = last
			}
			self, last = v, strings.ToLower(bare(g.peek(1)))
			v = g.accessed(self, last)
			if g.peek(0) != "(" && g.noArgs(self, last) {
				v = g.callOf(self, on, last, nil)
				on, last, self = last, "", v
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
			return g.settled(v, self, on, last)
		}
	}
	return g.settled(v, self, on, last)
}

// settled is v where nothing follows: a call, if its name needs no brackets.
func (g *program) settled(v, self val, on, last string) val {
	if last != "" && g.noArgs(self, last) {
		return g.callOf(self, on, last, nil)
	}
	return v
}

// accessed reads a member, and what may be assigned to it.
func (g *program) accessed(self val, last string) val {
	g.p += 2
	v := g.member(self, last)
	if g.peek(0) == "=" {
		g.p++
		g.expr()
	}
	return v
}

// accesses reports whether a mark leads to a member.
func (g *program) accesses(w string) bool {
	return (w == "." && !g.d.dot || w == "->" || w == "?." || w == "&." || w == "::" || w == ":" && g.tightSafe()) && g.kind(1) == wordToken
}

// invoked reads a call's arguments. A path whose method is called is kept.
func (g *program) invoked(from int, self val, on, last string) val {
	at := g.p
	v := g.callOf(self, on, last, g.group(")"))
	if now := g.p; self.text() && !v.text() {
		g.p = at - 3 // before the dot
		g.middle(from, self, last)
		g.p = now
	}
	return v
}

// keys reads what stands in an index; Perl's bare words are keys.
func (g *program) keys(open string) []val {
	if open == "{" && g.kind(0) == wordToken && g.peek(1) == "}" {
		g.p += 2
		return []val{textOf(g.peek(-2))}
	}
	return g.group(closing[open])
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
	if functionNames[last] {
		out.fn = last
	}
	return out
}
