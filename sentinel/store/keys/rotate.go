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
// would break. A key for another file of the ledger, which has another name, may wait there.
func (k *Keys) checkRotation() error {
	next, ok, err := k.readNext()
	if err != nil || !ok || noteName(next) != noteName(k.Ledger()) {
		return err
	}
	return fmt.Errorf("%w: %s is there, so a rotation of the ledger's key was broken off: finish it with vedette ledger rotate-key --by NAME",
		ErrKeys, k.filePath(nextLedger))
}

// readNext reads the key that is to come; ok is false where there is none.
func (k *Keys) readNext() (skey string, ok bool, err error) {
	b, err := readSecretFile(k.filePath(nextLedger))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", false, nil
	case err != nil:
		return "", false, err
	}
	skey = strings.TrimSuffix(string(b), "\n")
	if _, err := notePublicKey(skey); err != nil {
		return "", false, fmt.Errorf("%w: %s is not an Ed25519 note key: remove it, and rotate or archive again", ErrKeys, k.filePath(nextLedger))
	}
	return skey, true, nil
}

// noteName is the name of an encoded private note key (PRIVATE+KEY+name+…).
func noteName(skey string) string {
	parts := strings.SplitN(skey, "+", 4)
	if len(parts) < 4 {
		return ""
	}
	return parts[2]
}

// LoadForRotation is LoadOrCreate for the one who rotates the ledger's key, also where that was broken off.
func LoadForRotation(dir string) (*Keys, error) { return load(dir, false) }

// NextLedger returns the key that is to come after the ledger's, as an encoded note key of the same name. It is
// made once: a rotation that was broken off goes on with the same key.
func (k *Keys) NextLedger() (string, error) { return k.makeNext(noteName(k.Ledger())) }

// LedgerForNextFile returns the key that signs the file of the ledger that is to go on in place of the one in use. Its
// name is no other file's. It is made once: an archive that was broken off goes on with the same key.
func (k *Keys) LedgerForNextFile() (string, error) {
	skey, ok, err := k.PendingLedger()
	if err != nil || ok {
		return skey, err
	}
	return k.makeNext(LedgerName + "/" + strings.ToLower(rand.Text()[:16]))
}

// PendingLedger returns the key that LedgerForNextFile has made and TakeNextLedger hasn't taken. ok is false where there
// is none.
func (k *Keys) PendingLedger() (skey string, ok bool, err error) {
	skey, ok, err = k.readNext()
	return skey, ok && noteName(skey) != noteName(k.Ledger()), err
}

// DropPendingLedger removes what LedgerForNextFile has made for an archive that came to nothing. inUse is the public key
// of the ledger: where that is the pending one, the archive is to be finished first, and the error is ErrKeys.
func (k *Keys) DropPendingLedger(inUse string) error {
	skey, ok, err := k.PendingLedger()
	if err != nil || !ok {
		return err
	}
	public, err := notePublicKey(skey)
	if err == nil && public == inUse {
		err = fmt.Errorf("%w: an archive of the ledger isn't finished, since the file before can't be closed: see vedette doctor", ErrKeys)
	}
	if err != nil {
		return err
	}
	return errors.Join(os.Remove(k.filePath(nextLedger)), syncFolder(k.dir))
}

func (k *Keys) makeNext(name string) (string, error) {
	_, err := k.loadOrMake(nextLedger, "", func() ([]byte, error) {
		skey, _, err := note.GenerateKey(rand.Reader, name)
		return []byte(skey + "\n"), err
	})
	if err != nil {
		return "", err
	}
	skey, _, err := k.readNext()
	return skey, err
}

// TakeNextLedger puts the next key in the place of the ledger's, whose private half is gone then. Its public half
// stays as ledger-HASH.pub, whose path is returned. Broken off at any step, it can be done again.
func (k *Keys) TakeNextLedger() (kept string, err error) {
	next, ok, err := k.readNext()
	if err == nil && !ok {
		err = errors.New("there is no next ledger key")
	}
	if err != nil {
		return "", err
	}
	public, err := notePublicKey(next)
	if err != nil {
		return "", err
	}
	parts := strings.SplitN(k.LedgerPublic(), "+", 3)
	kept = k.filePath("ledger-" + parts[1] + ".pub")
	if err := os.Rename(k.filePath("ledger.pub"), kept); err != nil {
		return "", fmt.Errorf("keep the old public key: %w", err)
	}
	if err := errors.Join(syncFolder(k.dir), os.Rename(k.filePath(nextLedger), k.filePath("ledger.key"))); err != nil {
		return "", fmt.Errorf("put the next key in place: %w", err)
	}
	k.setLedger(next, public)
	return filepath.Clean(kept), k.writeOrCheckPublic("ledger.pub", []byte(public+"\n"))
}
