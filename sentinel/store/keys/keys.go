// Package keys makes and loads the secrets that must live outside of the database.
// There is one file for each purpose, in one folder.
//
//	journal.key   32 random bytes; wraps the keys of the journal's values
//	ledger.key    Ed25519 note key; signs tree heads       ledger.pub   its public half
//	warrant.key   Ed25519, PKCS #8 in PEM; signs tokens    warrant.pub  its public half
//	digest.key    32 random bytes; keys the digests in the ledger
//	agents.key    32 random bytes; the keys of agents are derived from it
//	intent.key    Ed25519, PKCS #8 in PEM; signs intents   intent.pub   its public half
//
// The last pair is made when it is asked for: see LoadOrCreateIntent.
//
// While the ledger's key is rotated, or the ledger archived, there is a ledger.next.key besides. Afterwards
// ledger-HASH.pub has the public half of the key before.
//
// The package isn't stable: docs/api.md lists those that are.
//
// The folder has mode 0700, the .key files 0600. Wider permissions are an error
// that says what to do. So are another size or content, and a public half that is
// not the key's. The package repairs nothing in silence: a key that others could
// read must be replaced, not hidden. Only a missing .pub is written again.
//
// A .key that is missing while its .pub is there is an error too. With a new key
// every signature made so far would seem to be a stranger's.
//
// Do not keep the folder in the same backup as the database. Together they open
// the journal, and erased values in old backups with it.
package keys

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/mod/sumdb/note"
)

// ErrKeys is returned when the folder or a file in it cannot be trusted.
var ErrKeys = errors.New("key file refused")

// LedgerName is the name of ledger keys; it is the first line of signed heads.
const LedgerName = "vedette/ledger"

// Keys are the loaded secrets. Printing one shows the folder alone.
type Keys struct {
	dir     string
	journal [32]byte
	digest  [32]byte
	warrant ed25519.PrivateKey

	mu        *sync.RWMutex // guards the ledger's key, which an archive exchanges
	ledger    string
	ledgerPub string
}

// Journal is the key that wraps the keys of the journal's values.
func (k *Keys) Journal() [32]byte { return k.journal }

// Digest is the key for salted digests.
func (k *Keys) Digest() [32]byte { return k.digest }

// LoadAgents loads the secret that the keys of agents are derived from, and makes it where it is missing: a reader has no
// need of it. The error is an ErrKeys where it can't be trusted.
func (k *Keys) LoadAgents() (secret [32]byte, err error) {
	err = k.loadRandomKey("agents.key", &secret)
	return secret, err
}

// Ledger is the encoded note key that signs tree heads.
func (k *Keys) Ledger() string {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.ledger
}

// LedgerPublic is the encoded note key that verifies tree heads.
func (k *Keys) LedgerPublic() string {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.ledgerPub
}

func (k *Keys) setLedger(private, public string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ledger, k.ledgerPub = private, public
}

// Warrant is the key that signs tokens for executors elsewhere.
func (k *Keys) Warrant() ed25519.PrivateKey { return bytes.Clone(k.warrant) }

// WarrantPublic verifies what Warrant signed.
func (k *Keys) WarrantPublic() ed25519.PublicKey {
	pub, _ := k.warrant.Public().(ed25519.PublicKey)
	return pub
}

// LoadOrCreateIntent is the key that signs trusted intents. It is made where there is none: a server that takes no
// intents, and one that only reads, has none. The error is an ErrKeys when it cannot be trusted.
func (k *Keys) LoadOrCreateIntent() (key ed25519.PrivateKey, err error) {
	err = k.loadSigningKey("intent", &key)
	return key, err
}

// Format writes the name of the folder, never a key, whatever the verb.
func (k Keys) Format(f fmt.State, _ rune) { _, _ = fmt.Fprintf(f, "keys in %s", k.dir) }

// LoadOrCreate loads the keys in dir, making the folder and what is missing in
// it. Two processes that start together get the same keys. The error is an
// ErrKeys when something there cannot be trusted.
func LoadOrCreate(dir string) (*Keys, error) { return load(dir, true) }

func load(dir string, whole bool) (*Keys, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("key folder: %w", err)
	}
	if err := prepareFolder(dir); err != nil {
		return nil, err
	}
	k := &Keys{dir: dir, mu: &sync.RWMutex{}}
	// Every file is looked at, so that one start tells about all of them.
	err = errors.Join(k.loadRandomKey("journal.key", &k.journal), k.loadRandomKey("digest.key", &k.digest),
		k.loadLedgerKey(), k.loadSigningKey("warrant", &k.warrant))
	if err == nil && whole {
		err = k.checkRotation()
	}
	if err != nil {
		return nil, err
	}
	return k, nil
}

func prepareFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("key folder: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("key folder: %w", err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%w: folder %s has mode %04o, others can read it: chmod 700 %s", ErrKeys, dir, info.Mode().Perm(), dir)
	}
	return nil
}

func (k *Keys) loadRandomKey(name string, into *[32]byte) error {
	b, err := k.loadOrMake(name, "", func() ([]byte, error) {
		b := make([]byte, 32)
		_, err := rand.Read(b)
		return b, err
	})
	if err != nil {
		return err
	}
	if len(b) != len(into) {
		return fmt.Errorf("%w: %s has %d bytes, not %d: restore it from a backup", ErrKeys, k.filePath(name), len(b), len(into))
	}
	if [32]byte(b) == [32]byte{} {
		return fmt.Errorf("%w: %s is all zeros: restore it from a backup", ErrKeys, k.filePath(name))
	}
	*into = [32]byte(b)
	return nil
}

func (k *Keys) loadLedgerKey() error {
	b, err := k.loadOrMake("ledger.key", "ledger.pub", func() ([]byte, error) {
		skey, _, err := note.GenerateKey(rand.Reader, LedgerName)
		return []byte(skey + "\n"), err
	})
	if err != nil {
		return err
	}
	skey := strings.TrimSuffix(string(b), "\n")
	vkey, err := notePublicKey(skey)
	if err != nil {
		return fmt.Errorf("%w: %s is not an Ed25519 note key: restore it from a backup", ErrKeys, k.filePath("ledger.key"))
	}
	k.setLedger(skey, vkey)
	return k.writeOrCheckPublic("ledger.pub", []byte(vkey+"\n"))
}

// notePublicKey derives the public note key. note.NewSigner checks the form, after
// which there are five parts, the last a byte for the algorithm and a seed.
func notePublicKey(skey string) (string, error) {
	s, err := note.NewSigner(skey)
	if err != nil {
		return "", err
	}
	raw, err := base64.StdEncoding.DecodeString(strings.SplitN(skey, "+", 5)[4])
	if err != nil || len(raw) != 1+ed25519.SeedSize {
		return "", ErrKeys
	}
	pub, ok := ed25519.NewKeyFromSeed(raw[1:]).Public().(ed25519.PublicKey)
	if !ok {
		return "", ErrKeys
	}
	return note.NewEd25519VerifierKey(s.Name(), pub)
}

// loadSigningKey loads NAME.key and NAME.pub.
func (k *Keys) loadSigningKey(name string, into *ed25519.PrivateKey) error {
	b, err := k.loadOrMake(name+".key", name+".pub", func() ([]byte, error) {
		_, priv, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			return nil, err
		}
		der, err := x509.MarshalPKCS8PrivateKey(priv)
		return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), err
	})
	if err != nil {
		return err
	}
	refused := fmt.Errorf("%w: %s is not an Ed25519 key in PEM: restore it from a backup", ErrKeys, k.filePath(name+".key"))
	block, rest := pem.Decode(b)
	if block == nil || block.Type != "PRIVATE KEY" || len(rest) != 0 {
		return refused
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return refused
	}
	priv, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return refused
	}
	*into = priv
	der, err := x509.MarshalPKIXPublicKey(priv.Public())
	if err != nil {
		return fmt.Errorf("public key: %w", err)
	}
	return k.writeOrCheckPublic(name+".pub", pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

func (k *Keys) filePath(name string) string { return filepath.Join(k.dir, name) }
