package bash

import "mvdan.cc/sh/v3/syntax"

// place is where a function was called: how many sides of pipes and background
// commands are around it, and how many parts that may not run.
type place struct{ aside, branches int }

// findBreeding looks for what starts itself beside itself, whatever happens: a
// fork bomb under any name. from is where it was started first.
func (s *shell) findBreeding(from place) {
	if s.aside > from.aside && s.branches == from.branches {
		s.addDanger(ForkBomb)
	}
}

// isItself reports whether a word is the script that is running.
func isItself(w *syntax.Word) bool {
	parts := w.Parts
	if q, ok := parts[0].(*syntax.DblQuoted); ok && len(q.Parts) > 0 {
		parts = q.Parts
	}
	p, ok := parts[0].(*syntax.ParamExp)
	return w.Lit() == "%0" || ok && len(parts) == 1 &&
		p.Param != nil && p.Exp == nil && (p.Param.Value == "0" || p.Param.Value == "BASH_SOURCE")
}

// runWhile reads a loop. One that never ends and waits for nothing that it starts
// fills the machine with processes.
func (s *shell) runWhile(w *syntax.WhileClause, in stream) stream {
	if isConstant(w.Cond, w.Until) && isFlood(w.Do) {
		s.addDanger(ForkBomb)
	}
	s.runStatements(w.Cond, in)
	s.branches-- // what is in it runs as long as the condition holds
	out := s.runUnsure(w.Do, in)
	s.branches++
	return out
}

// isConstant reports whether a loop's condition never changes.
func isConstant(cond []*syntax.Stmt, until bool) bool {
	if len(cond) != 1 {
		return false
	}
	switch cmd := cond[0].Cmd.(type) {
	case *syntax.CallExpr:
		if len(cmd.Args) == 0 {
			return false
		}
		name := cmd.Args[0].Lit()
		if until {
			return name == "false"
		}
		return name == "true" || name == ":" || name == "[" && len(cmd.Args) == 3 && cmd.Args[1].Lit() == "1"
	case *syntax.ArithmCmd:
		w, ok := cmd.X.(*syntax.Word)
		return ok && !until && w.Lit() == "1"
	}
	return false
}

// instant are the commands that take no time.
var instant = toSet("echo printf true : let disown")

// isFlood reports whether a loop's body starts something in the background and
// does nothing that takes time.
func isFlood(body []*syntax.Stmt) bool {
	starts := false
	for _, st := range body {
		if st.Background {
			starts = true
			continue
		}
		if sub, ok := st.Cmd.(*syntax.Subshell); ok && isFlood(sub.Stmts) {
			starts = true
			continue
		}
		call, ok := st.Cmd.(*syntax.CallExpr)
		if !ok {
			return false
		}
		if len(call.Args) > 0 && !instant[call.Args[0].Lit()] {
			return false
		}
	}
	return starts
}
