package keys

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/note"
)

func made(t *testing.T) (string, *Keys) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "keys")
	k, err := LoadOrCreate(dir)
	require.NoError(t, err)
	return dir, k
}

// Keys are made once and are the same from then on. Nothing else is left in the
// folder, and no other user can read it.
func TestLoadOrCreate(t *testing.T) {
	dir, k := made(t)
	again, err := LoadOrCreate(dir)
	require.NoError(t, err)
	require.Equal(t, k, again)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	modes := map[string]os.FileMode{}
	for _, e := range entries {
		info, err := e.Info()
		require.NoError(t, err)
		modes[e.Name()] = info.Mode().Perm()
	}
	require.Equal(t, map[string]os.FileMode{"journal.key": 0o600, "digest.key": 0o600, "ledger.key": 0o600,
		"warrant.key": 0o600, "ledger.pub": 0o644, "warrant.pub": 0o644}, modes)
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	require.NotEqual(t, k.Journal(), k.Digest())
}

// The pairs belong together, in the forms that others read.
func TestPairs(t *testing.T) {
	dir, k := made(t)
	s, err := note.NewSigner(k.Ledger())
	require.NoError(t, err)
	v, err := note.NewVerifier(k.LedgerPublic())
	require.NoError(t, err)
	signed, err := note.Sign(&note.Note{Text: "x\n"}, s)
	require.NoError(t, err)
	_, err = note.Open(signed, note.VerifierList(v))
	require.NoError(t, err)

	require.Equal(t, k.WarrantPublic(), readPublic(t, dir, "warrant.pub"))
	require.True(t, ed25519.Verify(k.WarrantPublic(), []byte("m"), ed25519.Sign(k.Warrant(), []byte("m"))))
}

func readPublic(t *testing.T, dir, name string) any {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	block, _ := pem.Decode(b)
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	require.NoError(t, err)
	return parsed
}

// The key for intents is made when it is asked for, is the same from then on, and is no other key.
func TestIntentKey(t *testing.T) {
	dir, k := made(t)
	key, err := k.LoadOrCreateIntent()
	require.NoError(t, err)
	require.Equal(t, key.Public(), readPublic(t, dir, "intent.pub"))
	require.NotEqual(t, key, k.Warrant())
	again, err := LoadOrCreate(dir)
	require.NoError(t, err)
	same, err := again.LoadOrCreateIntent()
	require.NoError(t, err)
	require.Equal(t, key, same)
	require.NoError(t, os.Remove(filepath.Join(dir, "intent.key")))
	_, err = again.LoadOrCreateIntent()
	require.ErrorIs(t, err, ErrKeys)
	require.ErrorContains(t, err, "restore the key")
}

// What cannot be trusted is refused, with what to do.
func TestRefusals(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(dir string) error
		says   string
	}{
		{"key readable by a group", func(d string) error { return os.Chmod(filepath.Join(d, "journal.key"), 0o640) }, "chmod 600"},
		{"key readable by all", func(d string) error { return os.Chmod(filepath.Join(d, "warrant.key"), 0o604) }, "chmod 600"},
		{"folder open", func(d string) error { return os.Chmod(d, 0o755) }, "chmod 700"},
		{"short", func(d string) error { return os.WriteFile(filepath.Join(d, "journal.key"), make([]byte, 31), 0o600) }, "31 bytes"},
		{"long", func(d string) error { return os.WriteFile(filepath.Join(d, "digest.key"), make([]byte, 33), 0o600) }, "33 bytes"},
		{"huge", func(d string) error { return os.WriteFile(filepath.Join(d, "digest.key"), make([]byte, 9999), 0o600) }, "larger"},
		{"zeros", func(d string) error { return os.WriteFile(filepath.Join(d, "digest.key"), make([]byte, 32), 0o600) }, "zeros"},
		{"not a note key", func(d string) error { return os.WriteFile(filepath.Join(d, "ledger.key"), []byte("x"), 0o600) }, "note key"},
		{"not pem", func(d string) error { return os.WriteFile(filepath.Join(d, "warrant.key"), []byte("x"), 0o600) }, "PEM"},
		{"empty", func(d string) error { return os.Truncate(filepath.Join(d, "warrant.key"), 0) }, "PEM"},
		{"foreign public half", func(d string) error { return os.WriteFile(filepath.Join(d, "ledger.pub"), []byte("x"), 0o644) },
			"does not belong"},
		{"key lost", func(d string) error { return os.Remove(filepath.Join(d, "ledger.key")) }, "restore the key"},
		{"a folder for a key", func(d string) error {
			p := filepath.Join(d, "digest.key")
			if err := os.Remove(p); err != nil {
				return err
			}
			return os.Mkdir(p, 0o700)
		}, "not a regular file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir, _ := made(t)
			require.NoError(t, tc.change(dir))
			k, err := LoadOrCreate(dir)
			require.Nil(t, k)
			require.ErrorIs(t, err, ErrKeys)
			require.ErrorContains(t, err, tc.says)
		})
	}
}

// Only a public half that is missing is made again.
func TestPublicHalfIsRestored(t *testing.T) {
	dir, k := made(t)
	require.NoError(t, os.Remove(filepath.Join(dir, "ledger.pub")))
	require.NoError(t, os.Remove(filepath.Join(dir, "warrant.pub")))
	again, err := LoadOrCreate(dir)
	require.NoError(t, err)
	require.Equal(t, k, again)
	b, err := os.ReadFile(filepath.Join(dir, "ledger.pub"))
	require.NoError(t, err)
	require.Equal(t, k.LedgerPublic()+"\n", string(b))
}

// Of many that start together all get the same keys.
func TestConcurrentStart(t *testing.T) {
	for range 10 {
		dir := filepath.Join(t.TempDir(), "keys")
		got := make(chan *Keys, 16)
		failed := make(chan error, 16)
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				k, err := LoadOrCreate(dir)
				if err != nil {
					failed <- err
					return
				}
				got <- k
			})
		}
		wg.Wait()
		require.Empty(t, failed)
		first := <-got
		for range 15 {
			require.Equal(t, first, <-got)
		}
	}
}

// Keys are never printed.
func TestKeysAreSilent(t *testing.T) {
	dir, k := made(t)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		require.Equal(t, "keys in "+dir, fmt.Sprintf(verb, k))
		require.Equal(t, "keys in "+dir, fmt.Sprintf(verb, *k))
	}
	require.NotEqual(t, "windows", runtime.GOOS, "modes are tested here")
}
