package eval

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Two builds without a revision, or with the same one and changes of their own, are
// two. A clean revision alone names a build.
func TestBuildName(t *testing.T) {
	program := func(text string) string {
		f := filepath.Join(t.TempDir(), "vedette")
		require.NoError(t, os.WriteFile(f, []byte(text), 0o600))
		return f
	}
	one, two := program("one"), program("two")
	for _, b := range []Build{{Version: "(devel)"}, {Version: "(devel)", Revision: "abc", Modified: true}} {
		x, err := buildName(b, one)
		require.NoError(t, err)
		y, err := buildName(b, two)
		require.NoError(t, err)
		again, err := buildName(b, program("one"))
		require.NoError(t, err)
		require.NotEqual(t, x, y)
		require.Equal(t, x, again)
		require.NotEmpty(t, manifest{Build: x}.listDifferences(manifest{Build: y}))
	}
	name, err := buildName(Build{Version: "v1.2.3", Revision: "abc"}, "nowhere")
	require.NoError(t, err)
	require.Equal(t, "v1.2.3 abc", name)
	_, err = buildName(Build{Version: "(devel)"}, filepath.Join(t.TempDir(), "gone"))
	require.ErrorContains(t, err, "can't be read")
}
