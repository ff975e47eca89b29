package vedette

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
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
		case first == "email" || first == "agent" || n == "exec.commit":
			// skills, not code
		case strings.HasPrefix(n, "sentinel.un"):
			requireKey(t, n)
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

// The API page names packages and names that programs can use.
func TestAPIIsTrue(t *testing.T) {
	text, err := os.ReadFile("docs/api.md")
	require.NoError(t, err)
	known, checked := declared(t), 0
	for _, m := range quoted.FindAllStringSubmatch(string(text), -1) {
		if n := m[1]; n != "vedette.yaml" {
			require.True(t, known[n], "docs/api.md names %s, which is nowhere", n)
			checked++
		}
	}
	require.Greater(t, checked, 20, "the page names code")
	for _, m := range folder.FindAllStringSubmatch(string(text), -1) {
		require.DirExists(t, m[1], "docs/api.md names a package")
	}
}

// unstable is the sentence of each package on which no program may rely.
const unstable = "The package isn't stable: docs/api.md lists those that are."

// A package that isn't among those that programs import says so in its comment; what is
// internal and what belongs to the command line aside.
func TestAPIOthersSayThatTheyAreNotStable(t *testing.T) {
	text, err := os.ReadFile("docs/api.md")
	require.NoError(t, err)
	_, table, ok := strings.Cut(string(text), "## What programs import\n")
	require.True(t, ok)
	table, _, _ = strings.Cut(table, "\n## ")
	stable := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z/]+)` \\|").FindAllStringSubmatch(table, -1) {
		require.Contains(t, rooms, m[1], "docs/api.md names a package")
		stable[m[1]] = true
	}
	require.Len(t, stable, 10)
	for pkg := range rooms {
		aside := pkg == "" || strings.Contains("/"+pkg+"/", "/internal/") || strings.HasPrefix(pkg, "examples/") ||
			strings.HasPrefix(pkg, "cmd/") && !stable[pkg]
		if aside {
			continue
		}
		says := strings.Contains(packageComment(t, pkg), unstable)
		require.Equal(t, !stable[pkg], says, "the comment of package %s: %s", pkg, unstable)
	}
}

// packageComment returns the comments of a package as one line.
func packageComment(t *testing.T, pkg string) string {
	t.Helper()
	files, err := filepath.Glob(pkg + "/*.go")
	require.NoError(t, err)
	require.NotEmpty(t, files, pkg)
	var all []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.PackageClauseOnly)
		require.NoError(t, err)
		all = append(all, strings.Fields(f.Doc.Text())...)
	}
	return strings.Join(all, " ")
}

// requireKey holds a configuration key that a page names against the schema.
func requireKey(t *testing.T, key string) {
	t.Helper()
	raw, err := os.ReadFile("config/vedette.schema.json")
	require.NoError(t, err)
	var at struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	require.NoError(t, json.Unmarshal(raw, &at))
	for part := range strings.SplitSeq(key, ".") {
		require.Contains(t, at.Properties, part, "docs/architecture.md names the key %s", key)
		next := at.Properties[part]
		at.Properties = nil
		require.NoError(t, json.Unmarshal(next, &at))
	}
}

// The tests that the architecture page names are there, and the files in which it
// says that something is done.
func TestArchitectureNamesTests(t *testing.T) {
	text, err := os.ReadFile("docs/architecture.md")
	require.NoError(t, err)
	all := map[string]bool{}
	for _, list := range declaredTests(t) {
		for _, name := range list {
			all[name] = true
		}
	}
	named := regexp.MustCompile("`(Test[A-Za-z]+)`").FindAllSubmatch(text, -1)
	require.NotEmpty(t, named)
	for _, m := range named {
		require.True(t, all[string(m[1])], "docs/architecture.md names the test %s, which is nowhere", m[1])
	}
	files := regexp.MustCompile("`([a-z]+/[a-z_/]+\\.go)`").FindAllSubmatch(text, -1)
	require.NotEmpty(t, files)
	for _, m := range files {
		require.FileExists(t, string(m[1]))
	}
}

// drawn returns the folders in the drawing of the rooms: a name, or several, ends
// with a slash, those that are indented are below the one above them.
func drawn(t *testing.T, drawing string) map[string]bool {
	t.Helper()
	out, top := map[string]bool{}, ""
	name := regexp.MustCompile(`^[a-z/]+/?(\{[a-z,]+\})?$`)
	for line := range strings.Lines(drawing) {
		left, _, _ := strings.Cut(strings.TrimSpace(line), "  ")
		below := strings.HasPrefix(line, " ")
		for word := range strings.FieldsSeq(left) {
			require.Regexp(t, name, word, "the drawing of the rooms")
			stem, braces, _ := strings.Cut(strings.TrimSuffix(strings.TrimSuffix(word, "/"), "}"), "{")
			if !below {
				top = stem
			} else if !strings.HasPrefix(stem, top+"/") {
				stem = top + "/" + stem
			}
			for part := range strings.SplitSeq(braces, ",") {
				out[strings.TrimSuffix(stem+part, "/")] = true
			}
		}
	}
	return out
}

// The drawing of the rooms shows folders that are there, and every package but
// those that help others, or tests, alone.
func TestArchitectureDrawsTheRooms(t *testing.T) {
	text, err := os.ReadFile("docs/architecture.md")
	require.NoError(t, err)
	_, after, _ := strings.Cut(string(text), "## The rooms\n\n```\n")
	drawing, _, ok := strings.Cut(after, "```")
	require.True(t, ok)
	folders := drawn(t, drawing)
	require.Greater(t, len(folders), 30)
	for f := range folders {
		require.DirExists(t, f, "the drawing of the rooms")
	}
	beside := map[string]bool{"agents/llm/scripted": true, "sentinel/store/keys": true} // told in the line of the room they are in
	for pkg := range rooms {
		helper := strings.Contains("/"+pkg+"/", "/internal/") || strings.HasSuffix(pkg, "test")
		if pkg == "" || helper || folders[pkg] {
			continue
		}
		require.True(t, beside[pkg] && strings.Contains(drawing, path.Base(pkg)), "the drawing of the rooms leaves out %s", pkg)
	}
}

// The page on intents has a row for each of the seed document's 55 and its six faults, and the tests that it names are there.
func TestIntentPageNamesTests(t *testing.T) {
	text, err := os.ReadFile("docs/intent.md")
	require.NoError(t, err)
	for n := 1; n <= 55; n++ {
		require.Equal(t, 1, strings.Count(string(text), fmt.Sprintf("\n| I%d |", n)), "docs/intent.md, row I%d", n)
	}
	for n := 1; n <= 6; n++ {
		require.Equal(t, 1, strings.Count(string(text), fmt.Sprintf("\n| %d: ", n)), "docs/intent.md, fault %d", n)
	}
	all := declaredTests(t)
	named := regexp.MustCompile("`([a-z/-]+)\\.(Test\\w+)`").FindAllStringSubmatch(string(text), -1)
	require.NotEmpty(t, named)
	for _, m := range named {
		found := false
		for pkg, list := range all {
			found = found || strings.HasSuffix("/"+pkg, "/"+m[1]) && slices.Contains(list, m[2])
		}
		require.True(t, found, "docs/intent.md names the test %s.%s, which is nowhere", m[1], m[2])
	}
}
