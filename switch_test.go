package vedette

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// switchVar is the variable of the environment that says which mutant is in force.
const switchVar = "VEDETTE_TEST_MUTANT"

// switchboard has many mutants compiled into one program. A function that holds a broken
// line is there twice: as it is, and broken under another name. It calls the broken one
// where that mutant is in force. To compile the house takes longer than to run the tests,
// and so it is compiled once.
type switchboard struct {
	numbers map[string]string         // of the mutants that can be switched, by key
	files   map[string][]numberedLine // by file
}

// numberedLine is a mutant and the number by which it is put in force.
type numberedLine struct {
	mutant
	number string
}

func newSwitchboard() *switchboard {
	return &switchboard{numbers: map[string]string{}, files: map[string][]numberedLine{}}
}

func (m mutant) key() string { return strings.Join([]string{m.file, m.old, m.new}, "\x00") }

// add takes a mutant that lies within the body of one function. Others are left alone:
// their file is compiled with nothing else broken.
func (b *switchboard) add(t *testing.T, m mutant) {
	t.Helper()
	if b.numbers[m.key()] != "" || readSource(t, m.file).functionOf(m) == nil {
		return
	}
	number := fmt.Sprintf("%04d", len(b.numbers)+1)
	b.numbers[m.key()] = number
	b.files[m.file] = append(b.files[m.file], numberedLine{m, number})
}

func (b *switchboard) addAll(t *testing.T, list []mutantOf) {
	t.Helper()
	for _, m := range list {
		b.add(t, m.mutant)
	}
}

// overlay writes what tells the compiler of all mutants, and returns its path.
func (b *switchboard) overlay(t *testing.T) string {
	t.Helper()
	replaced := map[string][]byte{}
	for file, list := range b.files {
		src := readSource(t, file)
		replaced[file] = src.splice(t, list)
		replaced[filepath.Join(filepath.Dir(file), "mutant_switch.go")] = fmt.Appendf(nil,
			"package %s\n\nimport \"os\"\n\nvar mutantInForce = os.Getenv(%q)\n", src.tree.Name.Name, switchVar)
	}
	return writeOverlay(t, replaced)
}

// writeOverlay writes files that stand in place of those below the module.
func writeOverlay(t *testing.T, replaced map[string][]byte) string {
	t.Helper()
	dir, list := t.TempDir(), map[string]string{}
	for file, text := range replaced {
		at, err := filepath.Abs(file)
		require.NoError(t, err)
		list[at] = filepath.Join(dir, fmt.Sprintf("%d.go", len(list)))
		require.NoError(t, os.WriteFile(list[at], text, 0o600))
	}
	text, err := json.Marshal(map[string]any{"Replace": list})
	require.NoError(t, err)
	path := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}

// source is a file that is read as Go.
type source struct {
	text  string
	tree  *ast.File
	files *token.FileSet
}

func readSource(t *testing.T, file string) source {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	s := source{text: string(text), files: token.NewFileSet()}
	s.tree, err = parser.ParseFile(s.files, file, text, parser.SkipObjectResolution)
	require.NoError(t, err)
	return s
}

func (s source) at(p token.Pos) int { return s.files.Position(p).Offset }

// ownPrograms is a folder whose code also runs in programs that get no environment.
const ownPrograms = "skills/run/exec/"

// functionOf returns the function in whose body a mutant's line is. It is nil for one that
// can't be there twice, such as one that recovers: only what was deferred itself can.
func (s source) functionOf(m mutant) *ast.FuncDecl {
	from := strings.Index(s.text, m.old)
	for _, d := range s.tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil || from <= s.at(f.Body.Lbrace) || from+len(m.old) > s.at(f.Body.Rbrace) {
			continue
		}
		if strings.HasPrefix(m.file, ownPrograms) || slices.Contains([]string{"init", "main", "_"}, f.Name.Name) || recovers(f.Body) {
			return nil
		}
		return f
	}
	return nil
}

// recovers reports whether a body recovers from a panic itself, and not what is in it.
func recovers(body *ast.BlockStmt) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name == "recover" {
			found = true
		}
		_, inner := n.(*ast.FuncLit)
		return !inner
	})
	return found
}

// edit puts a text in place of what is between two places.
type edit struct {
	from, to int
	text     string
}

// splice returns the file with a broken copy of each mutant's function.
func (s source) splice(t *testing.T, list []numberedLine) []byte {
	t.Helper()
	var edits []edit
	var copies strings.Builder
	calls := map[*ast.FuncDecl]string{} // how each calls its copies
	for _, m := range list {
		f := s.functionOf(m.mutant)
		require.NotNil(t, f, m.name)
		if calls[f] == "" {
			var more []edit
			more, calls[f] = s.nameParameters(f)
			edits = append(edits, more...)
		}
		name := f.Name.Name + "Mutant" + m.number
		call := "return " + strings.Replace(calls[f], "NAME", name, 1)
		if f.Type.Results == nil {
			call = strings.TrimPrefix(call, "return ") + "; return"
		}
		open := s.at(f.Body.Lbrace) + 1
		edits = append(edits, edit{open, open, fmt.Sprintf(" if mutantInForce == %q { %s };", m.number, call)})
		from := strings.Index(s.text, m.old)
		copies.WriteString("\n" + s.text[s.at(f.Pos()):s.at(f.Name.Pos())] + name + s.text[s.at(f.Name.End()):from] + m.new +
			s.text[from+len(m.old):s.at(f.End())] + "\n")
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return a.from - b.from })
	var out strings.Builder
	at := 0
	for _, e := range edits {
		out.WriteString(s.text[at:e.from] + e.text)
		at = e.to
	}
	out.WriteString(s.text[at:] + copies.String())
	return []byte(out.String())
}

// nameParameters gives a name to each parameter that has none, and returns a call of a
// function NAME with all of them.
func (s source) nameParameters(f *ast.FuncDecl) (edits []edit, call string) {
	nameAll := func(list *ast.FieldList) (names []string) {
		for _, field := range list.List {
			next := func() string { return fmt.Sprintf("unnamed%d", len(edits)+1) }
			if len(field.Names) == 0 {
				names = append(names, next())
				edits = append(edits, edit{s.at(field.Type.Pos()), s.at(field.Type.Pos()), next() + " "})
			}
			for _, id := range field.Names {
				name := id.Name
				if name == "_" {
					name = next()
					edits = append(edits, edit{s.at(id.Pos()), s.at(id.End()), name})
				}
				names = append(names, name)
			}
			if _, ok := field.Type.(*ast.Ellipsis); ok {
				names[len(names)-1] += "..."
			}
		}
		return names
	}
	call = "NAME"
	if f.Recv != nil {
		call = nameAll(f.Recv)[0] + ".NAME"
	}
	if f.Type.TypeParams != nil {
		call += "[" + strings.Join(nameAll(f.Type.TypeParams), ", ") + "]"
	}
	return edits, call + "(" + strings.Join(nameAll(f.Type.Params), ", ") + ")"
}
