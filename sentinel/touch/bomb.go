package touch

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// breeds reports whether a function starts itself more than once, or in the
// background, whatever happens: a fork bomb under any name.
func breeds(f *syntax.FuncDecl) bool {
	b := bomb{name: f.Name.Value, memo: map[*syntax.Stmt]bool{}}
	b.walk(f.Body)
	return b.found
}

type bomb struct {
	name  string
	found bool
	memo  map[*syntax.Stmt]bool // so that nesting is walked once
}

func (b *bomb) walk(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.IfClause, *syntax.CaseClause, *syntax.ForClause:
			return false // it may end
		case *syntax.BinaryCmd:
			if (n.Op == syntax.Pipe || n.Op == syntax.PipeAll) && b.calls(n.X) && b.calls(n.Y) {
				b.found = true
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

// calls reports whether a statement calls the function.
func (b *bomb) calls(st *syntax.Stmt) bool {
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
	case *syntax.CallExpr:
		if len(cmd.Args) == 0 {
			return false
		}
		name := cmd.Args[0].Lit()
		return name == b.name || name == "$0"
	case *syntax.TimeClause:
		return cmd.Stmt != nil && b.calls(cmd.Stmt)
	}
	return false // if, for, case, while: it may end
}
