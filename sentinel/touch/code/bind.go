package code

import "strings"

// definers introduce names in brackets, binders those and the word behind them.
const (
	definers = " def function func fn fun sub class lambda for foreach case catch except as let const var my our local match "
	binders  = definers + "in of is import global nonlocal del with val state "
)

// frame is an open bracket. Where ok is set, the words in it are operands.
type frame struct {
	at int
	ok bool
}

// fillBoundNames puts texts in the places of the names that stand for them, and
// reports whether there are any. Such a name is bound once, to one text, and is
// an operand wherever else it stands.
func (r *reader) fillBoundNames() bool {
	bound, uses := r.findBoundTexts(), map[string][]int{}
	stack := []frame{{-1, true}}
	for i := 0; i < len(r.toks) && len(bound) > 0; i++ {
		t, top := r.toks[i], &stack[len(stack)-1]
		name := strings.TrimLeft(t.text, "$@%")
		switch at, is := bound[name]; {
		case r.match[i] >= 0:
			stack = append(stack, frame{i, r.holdsOperands(i, *top)})
		case r.open[i] >= 0:
			stack = stack[:len(stack)-1]
		case t.kind == wordTok && r.hidesBinding(t.text):
			return false
		case t.kind == wordTok && isAmong(binders, t.text) && !r.isSign(top.at, "{"):
			top.ok = top.at < 0
		case !is || i == at || t.kind != wordTok && t.kind != textTok:
		case i+2 == at && (top.at < 0 || r.isSign(top.at, "{")):
		case t.kind == textTok || !r.isOperand(i, *top):
			delete(bound, name)
		default:
			uses[name] = append(uses[name], i)
		}
	}
	filled := false
	for name, at := range bound {
		// Elsewhere a call may change the text that it gets.
		if isAmong(" python js go java kotlin scala ", r.lang) || len(uses[name]) == 1 {
			for _, i := range uses[name] {
				r.toks[i].text, r.toks[i].kind, r.toks[i].joined, filled = r.toks[at].text, textTok, true, true
			}
		}
	}
	return filled
}

// hidesBinding reports whether a word may bind names out of sight.
func (r *reader) hidesBinding(w string) bool {
	return r.lookUpWord(w).class == "eval" || isAmong(" extract parse_str ", w)
}

// findBoundTexts returns the names that begin a statement which binds them to a text
// alone, and where that text stands.
func (r *reader) findBoundTexts() map[string]int {
	bound := map[string]int{}
	for i := range len(r.toks) - 2 {
		t, v := r.toks[i], r.toks[i+2]
		begins := i == 0 || t.first || r.isSign(i-1, ";") || isAmong(" let const var my our local val String ", r.wordAt(i-1))
		ends := i+3 >= len(r.toks) || r.isSign(i+3, ";") || r.isSign(i+3, "}") || r.toks[i+3].first && r.toks[i+3].kind == wordTok
		literal := v.kind == textTok && !v.open && !v.made && len(v.text) > 0
		binds := t.kind == wordTok && t.text != "$_" && (r.isSign(i+1, "=") || r.isSign(i+1, ":="))
		if binds && begins && ends && literal && len(bound) < maxArgs {
			bound[strings.TrimLeft(t.text, "$@%")] = i + 2
		}
	}
	return bound
}

// holdsOperands reports whether the words in a bracket are operands: those of a
// call or a list, not the parameters of a function or the parts of a pattern.
func (r *reader) holdsOperands(i int, outer frame) bool {
	after, k := r.match[i]+1, i-1
	for r.isSign(k-1, ".") && r.wordAt(k-2) != "" {
		k -= 2
	}
	switch {
	case r.isSign(i, "{"), r.toks[i].open:
		return true
	case r.isSign(after, "="), r.isSign(after, "=>"), r.isSign(after, ":="), r.isSign(after, "{"),
		r.wordAt(after) == "in", r.wordAt(after) == "of":
		return false
	case r.wordAt(i-1) != "":
		return !isAmong(definers, r.wordAt(i-1)) && !isAmong(definers, r.wordAt(k-1))
	}
	return outer.ok && (r.isSign(i-1, "(") || r.isSign(i-1, "[") || r.isSign(i-1, ",") && outer.at >= 0 ||
		r.isSign(i-1, "=") || r.isSign(i-1, "+"))
}

// isOperand reports whether the word at i stands where a value is read.
func (r *reader) isOperand(i int, top frame) bool {
	if next := i + 1; next < len(r.toks) && r.toks[next].kind == signTok {
		if t := r.toks[next].text; !isAmong(" ) , ] ; } + ", t) && t != r.d.concat || r.isSign(next+1, "+") || r.isSign(next+1, "=") {
			return false
		}
	} else if next < len(r.toks) && !r.toks[next].first {
		return false
	}
	before := r.wordAt(i - 1)
	switch {
	case before != "":
		return before == "return" || r.d.bare && !isAmong(binders, before)
	case r.isSign(i-1, "("), r.isSign(i-1, "["), r.isSign(i-1, ","):
		return top.ok && top.at >= 0 && !r.isSign(top.at, "{")
	}
	return r.isSign(i-1, "+") || r.isSign(i-1, "=") || i > 0 && r.toks[i-1].text == r.d.concat && r.toks[i-1].blank
}
