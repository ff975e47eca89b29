package touch

import "mvdan.cc/sh/v3/syntax"

// breeds reports whether a function starts itself more than once, or in the
// background, whatever happens: a fork bomb under any name.
func breeds(f *syntax.FuncDecl) bool {
	b := bomb{name: f.Name.Value}
	b.walk(f.Body)
	return b.found
}

type bomb struct {
	name  string
	found bool
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
	hit := false
	syntax.Walk(st, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.IfClause, *syntax.CaseClause, *syntax.ForClause:
			return false
		case *syntax.CallExpr:
			if len(n.Args) > 0 && (n.Args[0].Lit() == b.name || n.Args[0].Lit() == "$0") {
				hit = true
			}
		}
		return !hit
	})
	return hit
}
