package programs

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// TestTableLoads reads the whole table: every row is well-formed, sorted and
// there once.
func TestTableLoads(t *testing.T) {
	table, err := loadTable(tableFiles)
	require.NoError(t, err)
	require.NotEmpty(t, table.programs)
}

func TestTableErrorsNameLines(t *testing.T) {
	for text, want := range map[string]string{
		"rm: args delete...\nrm: reads\n":                "table/x.tbl:2: row \"rm\" is already in table/x.tbl:1",
		"rm: args delete...\n\nls: args list...\n":       "table/x.tbl:3: row \"ls\" stands behind \"rm\"",
		"rm: args vanish...\n":                           "table/x.tbl:1: clause \"args vanish...\": kind \"vanish\" is unknown",
		"rm: doubt cloud_destory\n":                      "code \"cloud_destory\" is no doubt",
		"rm: like srm\n":                                 "no row is named \"srm\"",
		"  args read...\n":                               "a line starts with a blank",
		"rm\n":                                           "the row has no \": \" behind its names",
		"rm: if -x reads\n":                              "the condition has no \": \" behind it",
		"rm: args read+sharp\n":                          "sign \"sharp\" of a kind is unknown",
		"rm: input runs\n":                               "input \"runs\" is unknown",
		"rm: value file\n":                               "\"file\" is no option and no key",
		"rm: script -f\n":                                "a script and code need a language",
		"rm: nonsense\n":                                 "clause \"nonsense\" is unknown",
		"@a: like @b\n@b: like @a\nrm: like @a; reads\n": "like itself",
	} {
		_, err := loadTable(fstest.MapFS{"table/x.tbl": {Data: []byte(text)}})
		require.ErrorContains(t, err, want, text)
	}
}
