package keys_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/store/keys"
)

// The next key takes the place of the ledger's from any step at which that was broken off, the old public key stays,
// and a folder in the midst of it is refused to all others.
func TestRotateLedgerKey(t *testing.T) {
	for name, breakOff := range map[string]func(t *testing.T, dir, old string){
		"not broken off": func(*testing.T, string, string) {},
		"old public key moved": func(t *testing.T, dir, old string) {
			require.NoError(t, os.Rename(filepath.Join(dir, "ledger.pub"), filepath.Join(dir, old)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "keys")
			k, err := keys.LoadOrCreate(dir)
			require.NoError(t, err)
			public, private := k.LedgerPublic(), k.Ledger()
			next, err := k.NextLedger()
			require.NoError(t, err)
			again, err := k.NextLedger()
			require.NoError(t, err)
			require.Equal(t, next, again)
			_, err = keys.LoadOrCreate(dir)
			require.ErrorIs(t, err, keys.ErrKeys)
			require.ErrorContains(t, err, "vedette ledger rotate-key")
			breakOff(t, dir, "ledger-"+strings.Split(public, "+")[1]+".pub")

			k, err = keys.LoadForRotation(dir)
			require.NoError(t, err)
			require.Equal(t, public, k.LedgerPublic())
			kept, err := k.TakeNextLedger()
			require.NoError(t, err)
			require.Equal(t, next, k.Ledger())
			text, err := os.ReadFile(kept)
			require.NoError(t, err)
			require.Equal(t, public+"\n", string(text))

			k, err = keys.LoadOrCreate(dir)
			require.NoError(t, err)
			require.Equal(t, next, k.Ledger())
			files, err := os.ReadDir(dir)
			require.NoError(t, err)
			for _, f := range files {
				text, err := os.ReadFile(filepath.Join(dir, f.Name()))
				require.NoError(t, err)
				require.NotContains(t, string(text), private, "the old private key is gone")
			}
			require.NoError(t, os.Remove(filepath.Join(dir, "ledger.pub"))) // broken off before the last step
			_, err = keys.LoadOrCreate(dir)
			require.NoError(t, err)
		})
	}
}
