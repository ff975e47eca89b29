package ledger

import (
	"encoding/json"
	"fmt"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/vedette-dev/vedette/internal/owntest"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// While the disk is full no append is acknowledged, also not a rotation of the key. Once there is room the ledger goes
// on from what is durable, under the key that it had, and verifies. The limit on files is a real one.
func TestDiskFull(t *testing.T) {
	if owntest.Elsewhere(t) { // the limit is one of the whole process
		return
	}
	signal.Ignore(syscall.SIGXFSZ) // or the kernel would end the process
	defer signal.Reset(syscall.SIGXFSZ)
	signer := newSigner(t)
	path := filepath.Join(t.TempDir(), "v.db")
	st := openStore(t, path)
	l, err := Open(t.Context(), st, signer, Options{})
	require.NoError(t, err)
	appendGroups(t, st, l, 0, 3)
	before, err := l.ExportHead(t.Context())
	require.NoError(t, err)
	big := func(from int) error {
		return st.Submit(t.Context(), func(tx *store.Tx) error {
			for i := range 20 {
				e := entry(from + i)
				e.Body = json.RawMessage(fmt.Sprintf("%q", strings.Repeat("x", 40<<10)))
				if _, err := l.AppendTx(tx, e); err != nil {
					return err
				}
			}
			return nil
		})
	}
	var old unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &old))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 8 << 10, Max: old.Max}))
	errs := []error{big(100), big(200), l.RotateKey(t.Context(), newSigner(t), "ann"), big(300)}
	held, err := l.ExportHead(t.Context())
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &old))
	require.NoError(t, err)
	for _, err := range errs {
		require.ErrorIs(t, err, store.ErrUnavailable)
	}
	require.Equal(t, before, held, "a head that isn't durable is given to no anchor")
	require.NoError(t, big(400))
	head, err := l.ExportHead(t.Context())
	require.NoError(t, err)
	report, err := Verify(t.Context(), path, VerifyOptions{PublicKey: signer.PublicKey(), Heads: [][]byte{before, head}})
	require.NoError(t, err)
	require.Equal(t, []int64{23, 23}, []int64{report.Records, report.Proved})
	require.Equal(t, []string{signer.PublicKey()}, report.Keys)
}
