package programs

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// compileAll compiles every row and checks that the rows of each section are
// sorted.
func compileAll(t *testing.T, files fs.FS) error {
	t.Helper()
	table, err := loadTable(files)
	errs := []error{err}
	for name := range table.entries {
		if name[0] != '@' {
			_, err = table.compileProgram(name)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// TestTableLoads reads the whole table: every row is well-formed, sorted within
// its section and there once.
func TestTableLoads(t *testing.T) {
	require.NoError(t, compileAll(t, tableFiles))
	names, err := fs.Glob(tableFiles, "table/*.tbl")
	require.NoError(t, err)
	for _, file := range names {
		text, err := fs.ReadFile(tableFiles, file)
		require.NoError(t, err)
		last, sources := "", 0
		for line := range strings.Lines(string(text)) {
			switch {
			case strings.TrimSpace(line) == "" || line[0] == '#' || line[0] == ' ':
			case strings.HasPrefix(line, "@source "):
				last, sources = "", sources+1
			default:
				names, _, _ := strings.Cut(strings.TrimSpace(line)+" ", ": ")
				require.NotZero(t, sources, "%s: row %q has no @source above it", file, names)
				require.Less(t, last, names, "%s: sort the rows of a section", file)
				last = names
			}
		}
	}
}

func TestTableErrorsNameLines(t *testing.T) {
	for text, want := range map[string]string{
		"rm: args delete...\nrm: reads\n":   "table/x.tbl:2: row \"rm\" is already in table/x.tbl:1",
		"ls: reads\n\nrm: args vanish...\n": "table/x.tbl:3: clause \"args vanish...\": kind \"vanish\" is unknown",
		"rm: doubt cloud_destory\n":         "code \"cloud_destory\" is no doubt",
		"rm: like srm\n":                    "no row is named \"srm\"",
		"  args read...\n":                  "starts with a blank",
		"rm\n":                              "the row has no \": \" behind its names",
		"rm: if -x reads\n":                 "the condition has no \": \" behind it",
		"rm: args read+sharp\n":             "sign \"sharp\" of a kind is unknown",
		"rm: input runs\n":                  "input \"runs\" is unknown",
		"rm: value file\n":                  "\"file\" is no option and no key",
		"rm: script -f\n":                   "a script and code need a language",
		"rm: nonsense\n":                    "clause \"nonsense\" is unknown",
		"@a: like @b\n@b: like @a\nrm: like @a; reads\n": "like itself",
	} {
		err := compileAll(t, fstest.MapFS{"table/x.tbl": {Data: []byte(text)}})
		require.ErrorContains(t, err, want, text)
	}
}

func BenchmarkLoadTable(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_, err := loadTable(tableFiles)
		require.NoError(b, err)
	}
}
