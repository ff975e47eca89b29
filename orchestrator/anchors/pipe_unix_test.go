//go:build unix

package anchors_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/vedette-dev/vedette/orchestrator/anchors"
)

// A pipe in the place of an anchor's file, which no other side has open, hangs no start.
func TestPipeInPlaceOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "heads.txt")
	require.NoError(t, unix.Mkfifo(path, 0o600))
	place := anchors.NewFile(path)
	_, err := place.Read(t.Context())
	require.ErrorContains(t, err, "no regular file")
	require.ErrorContains(t, place.Put(t.Context(), anchors.Kept{Signed: []byte("x")}), "no regular file")
}
