package store

import (
	"fmt"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/vedette-dev/vedette/internal/owntest"
)

// When the disk takes no more, submissions are refused and nothing of them
// stays; when it does again, so does the store. The disk is real: the process
// may not make files larger than they are.
func TestDiskRecovers(t *testing.T) {
	if owntest.Elsewhere(t) { // the limit is one of the whole process
		return
	}
	signal.Ignore(syscall.SIGXFSZ) // or the kernel would end the process
	defer signal.Reset(syscall.SIGXFSZ)
	s := open(t, Options{})
	require.NoError(t, s.Submit(t.Context(), put("before")))
	var old unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &old))
	big := func(tx *Tx) error {
		for i := range 200 {
			if _, err := tx.Exec(`INSERT INTO items (id) VALUES (?)`, fmt.Sprintf("%d%s", i, strings.Repeat("x", 4000))); err != nil {
				return err
			}
		}
		return nil
	}
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 160 << 10, Max: old.Max}))
	first, second := s.Submit(t.Context(), big), s.Submit(t.Context(), big)
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &old))
	require.ErrorIs(t, first, ErrUnavailable)
	require.ErrorIs(t, second, ErrUnavailable)
	require.Equal(t, []string{"before"}, items(t, s))
	require.NoError(t, s.Submit(t.Context(), put("later")))
	require.NoError(t, s.Submit(t.Context(), big))
	require.Len(t, items(t, s), 202)
}
