package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
)

// Twelve mistakes in two files are twelve errors, each where it stands, and
// none of them causes another.
func TestTwelveMistakes(t *testing.T) {
	dir := filepath.Join("testdata", "twelve")
	_, err := config.Load(filepath.Join(dir, "vedette.yaml"), config.Options{Env: env(nil)})
	require.Error(t, err)
	abs, aerr := filepath.Abs(dir)
	require.NoError(t, aerr)
	got := filepath.ToSlash(strings.ReplaceAll(strings.ReplaceAll(err.Error(), abs, "DIR"), dir+string(filepath.Separator), ""))
	golden(t, filepath.Join(dir, "golden.txt"), []byte(got+"\n"))
	var list config.Errors
	require.ErrorAs(t, err, &list)
	require.Len(t, list, 12)

	// The golden file can't tell whether a column is right: the text there can.
	starts := []string{"true}", "htpp:", "2", "20}", "fats", "permision:", "email.sned", "block", `"."`, "0}", "agent:", `"${NO_SUCH`}
	for i, e := range list {
		src, err := os.ReadFile(e.File)
		require.NoError(t, err)
		line := []rune(strings.Split(string(src), "\n")[e.Line-1])
		require.True(t, strings.HasPrefix(string(line[e.Column-1:]), starts[i]), "%s: the place shows %q", e, string(line[e.Column-1:]))
	}
}
