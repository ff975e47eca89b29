//go:build unix

package sentinel_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// makeFIFO makes a FIFO that has no writer: a plain open of it waits for ever.
func makeFIFO(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, syscall.Mkfifo(path, 0o600))
}
