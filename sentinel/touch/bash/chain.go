package bash

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// chain is what variables held before a chain of "&&" gave them another value: any part
// behind the first may not run.
type chain struct {
	outer  *chain
	before map[string]value
}

// rememberValue keeps what a variable held first, for each chain around. A chain that is
// nil is none.
func (c *chain) rememberValue(name string, old value) {
	for ; c != nil; c = c.outer {
		if _, ok := c.before[name]; !ok {
			setKey(&c.before, name, old)
		}
	}
}

// runChain reads "x && y". What y assigns is sure as long as the chain goes on; behind it
// the variable may hold what it held before.
func runChain(s *shell, b *syntax.BinaryCmd, in stream) stream {
	outer, own := s.chain, s.linked
	whole := own == nil
	if whole {
		own = &chain{outer: outer}
	}
	s.linked = nil
	if isChain(b.X) {
		s.linked = own
	}
	x := s.runStatement(b.X, in)
	s.linked = nil
	if s.aside == 0 {
		s.branches++
	}
	if !alwaysSucceeds(b.X) {
		s.chain = own
	}
	y := s.runStatement(b.Y, in)
	s.chain = outer
	if whole {
		own.doubtAssignments(s)
	}
	known := x.known && y.known && len(x.others)+len(y.others) == 0
	out := stream{open: true, known: known, text: x.text + y.text, taint: x.taint}
	out.mix(y.taint)
	return out
}

// isChain reports whether a statement is a chain and nothing else.
func isChain(st *syntax.Stmt) bool {
	b, ok := st.Cmd.(*syntax.BinaryCmd)
	return ok && b.Op == syntax.AndStmt && !st.Negated && !st.Background && len(st.Redirs) == 0
}

// alwaysSucceeds reports whether a statement has no way to fail: an assignment of plain
// words, or a command that says so.
func alwaysSucceeds(st *syntax.Stmt) bool {
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || st.Negated || len(st.Redirs) > 0 {
		return false
	}
	if len(call.Args) > 0 {
		return len(call.Assigns) == 0 && (call.Args[0].Lit() == "true" || call.Args[0].Lit() == ":")
	}
	return !slices.ContainsFunc(call.Assigns, func(a *syntax.Assign) bool {
		return a.Array != nil || a.Index != nil || a.Value != nil && a.Value.Lit() == ""
	})
}

// doubtAssignments lets what was there before stand in place of what a chain has assigned.
func (c *chain) doubtAssignments(s *shell) {
	for _, name := range slices.Sorted(maps.Keys(c.before)) {
		now, old := s.def.vars[name], c.before[name]
		if old == nil {
			s.markVariable(name, perhapsVar, 0)
		}
		if !s.budget.takeItems(1+len(old)/maxAlts) || now.equalTexts(old) {
			continue
		}
		if v, ok := mixUnsure(s.budget, now, old); ok {
			s.ownNames().vars[name] = v
		} else if now.isUnknown() || !old.isUnknown() { // both count
			s.ownNames().vars[name] = append(now[:len(now):len(now)], old...)
		}
	}
}

// mixUnsure returns a known value in whose place another known one may stand.
func mixUnsure(b *Budget, now, old value) (value, bool) {
	if len(old) != 1 || old.isUnknown() || now.isUnknown() || now.isUnsure() {
		return nil, false
	}
	for _, f := range now {
		if len(f) == 0 || !b.TakeBytes(f.size()+64*len(f)+len(old[0].text())) {
			return nil, false
		}
	}
	return markUnsure(now, old[0].otherText()), true
}

// otherText is the text of a value where another stands in place of its unsure parts.
func (f frags) otherText() string {
	var b strings.Builder
	for _, p := range f {
		if p.unsure {
			b.WriteString(p.bare)
		} else {
			b.WriteString(p.s)
		}
	}
	return b.String()
}
