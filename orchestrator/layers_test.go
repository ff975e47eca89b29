package orchestrator

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// layers are the types of this package from below. A type names none of a layer above
// its own, so it can call nothing there.
var layers = [][]string{
	{"agentRun", "agentJournal", "place", "workPlace", "placeRequest", "turnJournal", "processes", "turnSpending",
		"turnNeeds"},
	{"turn", "resultsWait"},
	{"conversation", "conversationNeeds", "recalledConversation"},
	{"restorer", "restoration", "recovery"},
	{"Orchestrator", "Conversation", "router", "openTable", "door"},
}

// The layers call one another one way.
func TestLayersAreOneWay(t *testing.T) {
	rank := map[string]int{}
	for i, types := range layers {
		for _, name := range types {
			rank[name] = i
		}
	}
	seen := map[string]bool{}
	for file, parsed := range parseOwnFiles(t) {
		for _, decl := range parsed.Decls {
			for owner, body := range declaredBy(decl) {
				own, ok := rank[owner]
				if !ok {
					continue
				}
				seen[owner] = true
				for _, name := range namedTypes(body) {
					above, ok := rank[name]
					require.False(t, ok && above > own, "%s: %s names %s, which is above it", file, owner, name)
				}
			}
		}
	}
	require.Len(t, seen, len(rank), "every type of the layers is there")
}

func parseOwnFiles(t *testing.T) map[string]*ast.File {
	t.Helper()
	names, err := fs.Glob(os.DirFS("."), "*.go")
	require.NoError(t, err)
	out := map[string]*ast.File{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		out[name], err = parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
	}
	require.NotEmpty(t, out)
	return out
}

// declaredBy returns the type that a method belongs to, or the types of a declaration.
func declaredBy(decl ast.Decl) map[string]ast.Node {
	out := map[string]ast.Node{}
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil {
			out[strings.TrimPrefix(typeName(d.Recv.List[0].Type), "*")] = d
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if s, ok := spec.(*ast.TypeSpec); ok {
				out[s.Name.Name] = s
			}
		}
	}
	return out
}

func typeName(e ast.Expr) string {
	if star, ok := e.(*ast.StarExpr); ok {
		return typeName(star.X)
	}
	return fmt.Sprint(e)
}

// namedTypes returns the names that stand for types: of fields and parameters, behind
// a star, in composite literals and assertions.
func namedTypes(n ast.Node) []string {
	var out []string
	add := func(e ast.Expr) {
		if e == nil {
			return
		}
		ast.Inspect(e, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				out = append(out, id.Name)
			}
			_, qualified := n.(*ast.SelectorExpr)
			return !qualified
		})
	}
	ast.Inspect(n, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.Field:
			add(x.Type)
		case *ast.CompositeLit:
			add(x.Type)
		case *ast.TypeAssertExpr:
			add(x.Type)
		case *ast.ValueSpec:
			add(x.Type)
		}
		return true
	})
	return slices.Compact(out)
}

// Each phase of a turn has a name of its own.
func TestPhasesHaveNames(t *testing.T) {
	var names []string
	for p := phaseAdmitting; p <= phaseOver; p++ {
		names = append(names, p.String())
	}
	require.Equal(t, []string{"admitting", "opening", "working", "closing", "over"}, names)
}
