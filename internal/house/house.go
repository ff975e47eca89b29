// Package house measures how a Go module reads: how far the methods of a type are
// spread, how functions are called, how wide lines are, which words comments use.
//
// `go run ./internal/house/table [FOLDER]` prints the figures; the tests at the root
// hold their bounds. Test files, vendored code and hidden folders are left out. The
// figures say nothing of what code does: never turn a method into a function of many
// parameters to please them, which is why the median of parameters is measured too.
package house

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// Spread is a type and the files that hold its methods.
type Spread struct {
	Package, Type string
	Files         []string
}

// Function is a function or a method that its package keeps to itself.
type Function struct {
	Package, Name string
	// Receiver is the type of a method, empty for a function.
	Receiver   string
	Parameters int
	Pos        token.Position
}

// Words are the words that its name is made of.
func (f Function) Words() []string { return splitName(f.Name) }

// Struct is a struct type and how many of its fields are bools.
type Struct struct {
	Package, Type string
	Bools         int
}

// FanOut is a package and the packages of its module that it imports.
type FanOut struct {
	Package string
	Imports []string
}

// Place is a line of a file.
type Place struct {
	Pos  token.Position
	Text string
}

// Measures are what Measure found. Lists are in order, the worst first where there is
// one.
type Measures struct {
	Files, Lines int
	Spreads      []Spread
	Functions    []Function
	Structs      []Struct
	FanOuts      []FanOut
	// Wide are lines of code of more than MaxColumns columns.
	Wide []Place
	// Banned are comments and texts that hold one of the banned words.
	Banned []Place
}

// MaxColumns is the most columns that a line of code may have. A tab counts as one.
const MaxColumns = 140

// bannedWords hide who does something, or that read as another tongue.
var bannedWords = []string{"nobody", "whoever", "anew", "in vain"}

// Measure reads all Go files of fsys. module is the module's path, by which imports of
// its own are known. The error is that of a file that can't be read or parsed.
func Measure(fsys fs.FS, module string) (*Measures, error) {
	m := &measuring{module: module, set: token.NewFileSet(), spreads: map[[2]string]map[string]bool{}, imports: map[string]map[string]bool{}}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") ||
			d.Name() == "testdata" || d.Name() == "vendor" || isModule(fsys, name)):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		return m.readFile(fsys, name)
	})
	if err != nil {
		return nil, err
	}
	m.sortLists()
	return &m.Measures, nil
}

func isModule(fsys fs.FS, dir string) bool {
	_, err := fs.Stat(fsys, path.Join(dir, "go.mod"))
	return err == nil
}

type measuring struct {
	Measures
	module  string
	set     *token.FileSet
	spreads map[[2]string]map[string]bool // by package and type
	imports map[string]map[string]bool    // by package
}

func (m *measuring) readFile(fsys fs.FS, name string) error {
	src, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	f, err := parser.ParseFile(m.set, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("%s can't be parsed: %w", name, err)
	}
	m.Files++
	m.readLines(name, string(src))
	pkg := path.Dir(name)
	m.readImports(pkg, f)
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			m.readFunction(pkg, name, d)
		case *ast.GenDecl:
			m.readTypes(pkg, d)
		}
	}
	m.readWords(f)
	return nil
}

func (m *measuring) readLines(name, src string) {
	for i, line := range strings.Split(src, "\n") {
		m.Lines++
		if len([]rune(line)) > MaxColumns && !strings.HasPrefix(strings.TrimSpace(line), "//go:") {
			m.Wide = append(m.Wide, Place{token.Position{Filename: name, Line: i + 1}, line})
		}
	}
}

func (m *measuring) readImports(pkg string, f *ast.File) {
	if m.imports[pkg] == nil {
		m.imports[pkg] = map[string]bool{}
	}
	for _, i := range f.Imports {
		if rest, ok := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), m.module+"/"); ok {
			m.imports[pkg][rest] = true
		}
	}
}

func (m *measuring) readFunction(pkg, file string, d *ast.FuncDecl) {
	receiver := receiverOf(d)
	if receiver != "" {
		key := [2]string{pkg, receiver}
		if m.spreads[key] == nil {
			m.spreads[key] = map[string]bool{}
		}
		m.spreads[key][path.Base(file)] = true
	}
	if ast.IsExported(d.Name.Name) || d.Name.Name == "main" || d.Name.Name == "init" || d.Name.Name == "_" {
		return
	}
	m.Functions = append(m.Functions, Function{pkg, d.Name.Name, receiver, d.Type.Params.NumFields(), m.set.Position(d.Pos())})
}

// receiverOf is the name of the type that a method belongs to; empty for a function.
func receiverOf(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

func (m *measuring) readTypes(pkg string, d *ast.GenDecl) {
	for _, s := range d.Specs {
		t, ok := s.(*ast.TypeSpec)
		if !ok {
			continue
		}
		if st, ok := t.Type.(*ast.StructType); ok {
			m.Structs = append(m.Structs, Struct{pkg, t.Name.Name, countBools(st)})
		}
	}
}

func countBools(s *ast.StructType) (n int) {
	for _, f := range s.Fields.List {
		if id, ok := f.Type.(*ast.Ident); ok && id.Name == "bool" {
			n += max(1, len(f.Names))
		}
	}
	return n
}

// readWords looks for banned words in comments and in texts with a blank: others are
// keys and codes.
func (m *measuring) readWords(f *ast.File) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if n.Kind == token.STRING && strings.Contains(n.Value, " ") {
				m.findBanned(n.Pos(), n.Value)
			}
		case *ast.ImportSpec:
			return false
		}
		return true
	})
	for _, g := range f.Comments {
		m.findBanned(g.Pos(), g.Text())
	}
}

func (m *measuring) findBanned(pos token.Pos, text string) {
	words := " " + strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r < 'a' || r > 'z' }), " ") + " "
	for _, w := range bannedWords {
		for range strings.Count(words, " "+w+" ") {
			m.Banned = append(m.Banned, Place{m.set.Position(pos), w})
		}
	}
}

func (m *measuring) sortLists() {
	for key, files := range m.spreads {
		m.Spreads = append(m.Spreads, Spread{key[0], key[1], slices.Sorted(maps.Keys(files))})
	}
	slices.SortFunc(m.Spreads, func(a, b Spread) int {
		return cmp.Or(len(b.Files)-len(a.Files), cmp.Compare(a.Package+"."+a.Type, b.Package+"."+b.Type))
	})
	for pkg, list := range m.imports {
		m.FanOuts = append(m.FanOuts, FanOut{pkg, slices.Sorted(maps.Keys(list))})
	}
	slices.SortFunc(m.FanOuts, func(a, b FanOut) int {
		return cmp.Or(len(b.Imports)-len(a.Imports), cmp.Compare(a.Package, b.Package))
	})
	slices.SortFunc(m.Structs, func(a, b Struct) int {
		return cmp.Or(b.Bools-a.Bools, cmp.Compare(a.Package+"."+a.Type, b.Package+"."+b.Type))
	})
}

// SingleWords are the functions whose names are one word.
func (m *Measures) SingleWords() (out []Function) {
	for _, f := range m.Functions {
		if len(f.Words()) == 1 {
			out = append(out, f)
		}
	}
	return out
}

// MedianName is the median length of the functions' names, in characters.
func (m *Measures) MedianName() int {
	return median(m.Functions, func(f Function) int { return len([]rune(f.Name)) })
}

// MedianParameters is the median number of the functions' parameters, receivers aside.
func (m *Measures) MedianParameters() int {
	return median(m.Functions, func(f Function) int { return f.Parameters })
}

func median(list []Function, of func(Function) int) int {
	if len(list) == 0 {
		return 0
	}
	var values []int
	for _, f := range list {
		values = append(values, of(f))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// splitName splits a name in mixed capitals into its words: readHTTPBody is read, HTTP
// and Body.
func splitName(name string) (words []string) {
	runes, start := []rune(name), 0
	for i := 1; i < len(runes); i++ {
		lower, next := isLower(runes[i-1]), i+1 < len(runes) && isLower(runes[i+1])
		if runes[i] == '_' || isUpper(runes[i]) && (lower || next) {
			words = append(words, string(runes[start:i]))
			start = i
		}
	}
	return append(words, string(runes[start:]))
}

func isLower(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' }
func isUpper(r rune) bool { return r >= 'A' && r <= 'Z' }
