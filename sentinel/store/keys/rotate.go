package keys

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// nextLedger is the file of the key that is to come after the ledger's.
const nextLedger = "ledger.next.key"

// checkRotation refuses a folder in which a rotation was broken off: with either key alone the ledger's chain
// would break.
func (k *Keys) checkRotation() error {
	_, err := os.Lstat(k.filePath(nextLedger))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("key file: %w", err)
	}
	return fmt.Errorf("%w: %s is there, so a rotation of the ledger's key was broken off: finish it with vedette ledger rotate-key --by NAME",
		ErrKeys, k.filePath(nextLedger))
}

// LoadForRotation is LoadOrCreate for the one who rotates the ledger's key, also where that was broken off.
func LoadForRotation(dir string) (*Keys, error) { return load(dir, false) }

// NextLedger returns the key that is to come after the ledger's, as an encoded note key of the same name. It is
// made once: a rotation that was broken off goes on with the same key.
func (k *Keys) NextLedger() (string, error) {
	name, _, _ := strings.Cut(k.ledgerPub, "+")
	b, err := k.loadOrMake(nextLedger, "", func() ([]byte, error) {
		skey, _, err := note.GenerateKey(rand.Reader, name)
		return []byte(skey + "\n"), err
	})
	if err != nil {
		return "", err
	}
	skey := strings.TrimSuffix(string(b), "\n")
	if _, err := notePublicKey(skey); err != nil {
		return "", fmt.Errorf("%w: %s is not an Ed25519 note key: remove it, and rotate again", ErrKeys, k.filePath(nextLedger))
	}
	return skey, nil
}

// TakeNextLedger puts the next key in the place of the ledger's, whose private half is gone then. Its public half
// stays as ledger-HASH.pub, whose path is returned. Broken off at any step, it can be done again.
func (k *Keys) TakeNextLedger() (kept string, err error) {
	next, err := k.NextLedger()
	if err != nil {
		return "", err
	}
	public, err := notePublicKey(next)
	if err != nil {
		return "", err
	}
	parts := strings.SplitN(k.ledgerPub, "+", 3)
	kept = k.filePath("ledger-" + parts[1] + ".pub")
	if err := os.Rename(k.filePath("ledger.pub"), kept); err != nil {
		return "", fmt.Errorf("keep the old public key: %w", err)
	}
	if err := errors.Join(syncFolder(k.dir), os.Rename(k.filePath(nextLedger), k.filePath("ledger.key"))); err != nil {
		return "", fmt.Errorf("put the next key in place: %w", err)
	}
	k.ledger, k.ledgerPub = next, public
	return filepath.Clean(kept), k.writeOrCheckPublic("ledger.pub", []byte(public+"\n"))
}
