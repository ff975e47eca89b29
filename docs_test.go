package vedette

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// declared returns every top-level name of the module, as "pkg.Name",
// "Type.Method" and "pkg.Type.Method".
func declared(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	require.NoError(t, filepath.WalkDir(".", func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			for _, n := range names(d) {
				out[f.Name.Name+"."+n] = true
				out[n] = true
			}
		}
		return nil
	}))
	return out
}

func names(d ast.Decl) []string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return []string{d.Name.Name}
		}
		typ := d.Recv.List[0].Type
		if s, ok := typ.(*ast.StarExpr); ok {
			typ = s.X
		}
		if id, ok := typ.(*ast.Ident); ok {
			return []string{id.Name + "." + d.Name.Name}
		}
	case *ast.GenDecl:
		var out []string
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				out = append(out, s.Name.Name)
				if i, ok := s.Type.(*ast.InterfaceType); ok {
					for _, m := range i.Methods.List {
						for _, n := range m.Names {
							out = append(out, s.Name.Name+"."+n.Name)
						}
					}
				}
			case *ast.ValueSpec:
				for _, n := range s.Names {
					out = append(out, n.Name)
				}
			}
		}
		return out
	}
	return nil
}

var (
	quoted = regexp.MustCompile("`([a-zA-Z]+(?:\\.[a-zA-Z]+)+)`")
	folder = regexp.MustCompile("`([a-z]+(?:/[a-z_]+)+)`")
)

// The architecture page names functions, types and folders that exist.
func TestArchitectureIsTrue(t *testing.T) {
	text, err := os.ReadFile("docs/architecture.md")
	require.NoError(t, err)
	known := declared(t)
	checked := 0
	for _, m := range quoted.FindAllStringSubmatch(string(text), -1) {
		n := m[1]
		switch first, _, _ := strings.Cut(n, "."); {
		case strings.HasSuffix(n, ".go") || strings.HasSuffix(n, ".md"):
			require.FileExists(t, n)
		case first == "email" || first == "agent" || n == "sentinel.unavailable" || n == "sentinel.unjudgeable":
			// skills and configuration keys, not code
		default:
			require.True(t, known[n], "docs/architecture.md names %s, which is nowhere", n)
			checked++
		}
	}
	require.Greater(t, checked, 20, "the page names code")
	for _, m := range folder.FindAllStringSubmatch(string(text), -1) {
		dirs, err := filepath.Glob("*/" + m[1])
		require.NoError(t, err)
		if _, err := os.Stat(m[1]); err != nil {
			require.NotEmpty(t, dirs, "docs/architecture.md names the folder %s, which is nowhere", m[1])
		}
	}
}
