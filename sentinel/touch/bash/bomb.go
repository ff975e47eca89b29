package bash

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// isBreeding reports whether a function starts itself more than once, or in the
// background, whatever happens, alone or through others: a fork bomb under any
// name. Functions are looked at as they are declared, the last of a circle with
// the others.
func (s *shell) isBreeding(f *syntax.FuncDecl) bool {
	name := f.Name.Value
	b := bomb{names: map[string]bool{name: true}, memo: map[*syntax.Stmt]bool{}, called: []string{}}
	b.calls(f.Body)
	def := s.ownNames()
	if len(def.calls) < maxFuncs {
		setKey(&def.calls, name, b.called)
	}
	b.called = nil
	others := s.listCircle(name)
	for _, o := range others {
		b.names[o] = true
	}
	if len(others) > 0 {
		clear(b.memo)
	}
	return b.in(f.Body) || slices.ContainsFunc(others, func(o string) bool { return def.funcs[o] != nil && b.in(def.funcs[o]) })
}

// listCircle returns the other functions that name calls, by way of others or not,
// and that call it back.
func (s *shell) listCircle(name string) []string {
	if !slices.ContainsFunc(slices.Collect(maps.Values(s.def.calls)), func(list []string) bool { return slices.Contains(list, name) }) ||
		s.def.calls[name] == nil {
		return nil
	}
	called, back := map[string]bool{name: true}, map[string]bool{name: true}
	for range maxCircle {
		for n, list := range s.def.calls {
			for _, to := range list {
				called[to] = called[to] || called[n]
				back[n] = back[n] || back[to]
			}
		}
	}
	var out []string
	for n := range s.def.calls {
		if n != name && called[n] && back[n] {
			out = append(out, n)
		}
	}
	return out
}

const (
	maxCircle = 4    // functions that call each other in a circle
	maxFuncs  = 64   // functions whose calls are remembered
	maxCalled = 32   // calls remembered of each
	maxInline = 1024 // bytes of a command line in a word that is looked into
)

// breedsList reports whether a script starts itself in that way, or starts
// processes without end.
func breedsList(list []*syntax.Stmt) bool {
	b := bomb{names: map[string]bool{}, memo: map[*syntax.Stmt]bool{}}
	return slices.ContainsFunc(list, b.in)
}

// startsItself reports whether a script may be one to look at: most aren't.
func startsItself(text string) bool {
	return strings.ContainsAny(text, "|&") &&
		(strings.Contains(text, "$0") || strings.Contains(text, "${0") || strings.Contains(text, "BASH_SOURCE") || strings.Contains(text, "%0"))
}

type bomb struct {
	names map[string]bool
	found bool
	memo  map[*syntax.Stmt]bool // so that nesting is walked once
	// called gathers the names that are called, where it isn't nil.
	called []string
}

func (b *bomb) in(st *syntax.Stmt) bool {
	b.walk(st)
	return b.found
}

func (b *bomb) walk(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.IfClause, *syntax.CaseClause, *syntax.ForClause, *syntax.FuncDecl:
			return false // it may end
		case *syntax.CallExpr:
			for _, st := range listInlined(n) {
				b.walk(st)
			}
		case *syntax.BinaryCmd:
			if isPiped(n) {
				b.pipe(n)
				return false
			}
			if n.Op == syntax.AndStmt || n.Op == syntax.OrStmt {
				b.walk(n.X)
				return false
			}
		case *syntax.Stmt:
			if n.Background && b.calls(n) {
				b.found = true
			}
		}
		return !b.found
	})
}

func isPiped(n *syntax.BinaryCmd) bool { return n.Op == syntax.Pipe || n.Op == syntax.PipeAll }

// pipe walks the stages of a pipeline, two of which are enough.
func (b *bomb) pipe(n *syntax.BinaryCmd) {
	hits := 0
	for n != nil && !b.found {
		next, _ := n.X.Cmd.(*syntax.BinaryCmd)
		stages := []*syntax.Stmt{n.Y}
		if next == nil || !isPiped(next) || n.X.Background {
			next, stages = nil, append(stages, n.X)
		}
		for _, st := range stages {
			if b.calls(st) {
				hits++
			}
			b.walk(st)
		}
		b.found = b.found || hits > 1
		n = next
	}
}

// calls reports whether a statement calls one of the names, or the script.
func (b *bomb) calls(st *syntax.Stmt) bool {
	if call, ok := st.Cmd.(*syntax.CallExpr); ok {
		return b.call(call)
	}
	if n, ok := st.Cmd.(*syntax.BinaryCmd); ok && isPiped(n) {
		return b.look(st)
	}
	hit, ok := b.memo[st]
	if !ok {
		hit = b.look(st)
		b.memo[st] = hit
	}
	return hit
}

func (b *bomb) look(st *syntax.Stmt) bool {
	switch cmd := st.Cmd.(type) {
	case *syntax.BinaryCmd:
		return b.calls(cmd.X) || b.calls(cmd.Y)
	case *syntax.Block:
		return slices.ContainsFunc(cmd.Stmts, b.calls)
	case *syntax.Subshell:
		return slices.ContainsFunc(cmd.Stmts, b.calls)
	case *syntax.TimeClause:
		return cmd.Stmt != nil && b.calls(cmd.Stmt)
	}
	return false // if, for, case, while: it may end
}

func (b *bomb) call(cmd *syntax.CallExpr) bool {
	if len(cmd.Args) == 0 {
		return false
	}
	name := cmd.Args[0].Lit()
	if b.called != nil && len(b.called) < maxCalled && !slices.Contains(b.called, name) {
		b.called = append(b.called, name)
	}
	if b.names[name] || name == "%0" || len(cmd.Args) < 3 && isItself(cmd.Args[0]) {
		return true
	}
	return slices.ContainsFunc(listInlined(cmd), b.calls)
}

// isItself reports whether a word is the script that is running.
func isItself(w *syntax.Word) bool {
	parts := w.Parts
	if len(parts) == 1 {
		if q, ok := parts[0].(*syntax.DblQuoted); ok {
			parts = q.Parts
		}
	}
	if len(parts) != 1 {
		return false
	}
	p, ok := parts[0].(*syntax.ParamExp)
	return ok && p.Param != nil && p.Exp == nil && (p.Param.Value == "0" || p.Param.Value == "BASH_SOURCE")
}

// listInlined returns the statements in the words of eval and sh -c.
func listInlined(cmd *syntax.CallExpr) []*syntax.Stmt {
	if len(cmd.Args) < 2 {
		return nil
	}
	name := cmd.Args[0].Lit()
	if name != "eval" && !isShell(programName(name)) {
		return nil
	}
	for _, w := range cmd.Args[1:] {
		text := w.Lit()
		if len(w.Parts) == 1 {
			if q, ok := w.Parts[0].(*syntax.SglQuoted); ok {
				text = q.Value
			}
		}
		if text == "" || text[0] == '-' || len(text) > maxInline {
			continue
		}
		if list, err := parseAs(NewBudget(), syntax.LangBash, text); err == nil {
			return list
		}
	}
	return nil
}

// runWhile reads a loop. One that never ends and waits for nothing that it starts
// fills the machine with processes.
func (s *shell) runWhile(w *syntax.WhileClause, in stream) {
	if isConstant(w.Cond, w.Until) && isFlood(w.Do) {
		s.addDanger(ForkBomb)
	}
	s.runStatements(w.Cond, in)
	s.feedLoop(w.Cond, in)
	s.runUnsure(w.Do, in)
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

// findFlood looks for programs started without bound for input without end.
func (s *shell) findFlood(args []field, in stream) {
	if !in.endless {
		return
	}
	for i, a := range args {
		opt, n, _ := strings.Cut(a.text, "=")
		switch {
		case opt == "-P" || opt == "--max-procs" || opt == "-j" || opt == "--jobs":
			if n == "" && i+1 < len(args) {
				n = args[i+1].text
			}
		case len(opt) > 2 && (opt[:2] == "-P" || opt[:2] == "-j"):
			n = opt[2:]
		default:
			continue
		}
		if isNumber(n) && (strings.Trim(n, "0") == "" || len(n) > 3) {
			s.addDanger(ForkBomb)
		}
	}
}
