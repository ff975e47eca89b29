package house_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/internal/house"
)

// Every figure is that of the files as they lie there: tests, other modules and hidden
// folders aside.
func TestMeasure(t *testing.T) {
	wide := "// " + strings.Repeat("w", house.MaxColumns-2)
	m, err := house.Measure(fstest.MapFS{
		"a/one.go": {Data: []byte("package a\n\nimport _ \"example.test/m/b\"\nimport _ \"fmt\"\n\n" +
			"type box struct{ open, full bool; shut bool; n int }\n\nfunc (b *box) fill(n, m int) {}\nfunc (b box) readHTTPBody() {}\nfunc " +
			"Exported() {}\n" +
			"// whoever comes\nvar text = \"nobody is here\"\nvar key = \"nobody\"\n")},
		"a/two.go": {Data: []byte("package a\n\nfunc (b *box) empty() {}\nfunc (g *list[T]) add() {}\n\ntype list[T any] struct{}\n" +
			wide + "\n")},
		"a/one_test.go":        {Data: []byte("package a\n\nfunc helper() {}\n")},
		"b/b.go":               {Data: []byte("package b\n\nfunc main() {}\n")},
		"other/go.mod":         {Data: []byte("module other\n")},
		"other/x.go":           {Data: []byte("package x\n\nfunc elsewhere() {}\n")},
		".hidden/x.go":         {Data: []byte("package x\n\nfunc hidden() {}\n")},
		"a/testdata/broken.go": {Data: []byte("not go")},
	}, "example.test/m")
	require.NoError(t, err)
	require.Equal(t, 3, m.Files)
	require.Equal(t, house.Spread{Package: "a", Type: "box", Files: []string{"one.go", "two.go"}}, m.Spreads[0])
	require.Equal(t, house.FanOut{Package: "a", Imports: []string{"b"}}, m.FanOuts[0])
	require.Equal(t, house.Struct{Package: "a", Type: "box", Bools: 3}, m.Structs[0])
	require.Len(t, m.Functions, 4)
	require.Equal(t, []string{"read", "HTTP", "Body"}, m.Functions[1].Words())
	require.Len(t, m.SingleWords(), 3)
	require.Equal(t, "list", m.Functions[3].Receiver)
	require.Equal(t, 5, m.MedianName())
	require.Equal(t, 0, m.MedianParameters())
	require.Len(t, m.Wide, 1)
	require.Equal(t, "a/two.go", m.Wide[0].Pos.Filename)
	require.Len(t, m.Banned, 2, "a comment and a text; a key is no sentence")
	rows := map[string]string{}
	for _, r := range m.Rows() {
		rows[r.Name] = r.Value
	}
	require.Equal(t, "2", rows["widest receiver: files its methods lie in"])
	require.Equal(t, "75%", rows["unexported functions of a single word"])
	require.Equal(t, "3", rows["bools in one struct, most"])
}

// A file that is no Go is named.
func TestMeasureNamesBrokenFiles(t *testing.T) {
	_, err := house.Measure(fstest.MapFS{"a/x.go": {Data: []byte("pack")}}, "m")
	require.ErrorContains(t, err, "a/x.go can't be parsed")
}
