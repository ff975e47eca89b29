package ledger

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
)

// algCosignature is the type of a key that cosigns, by C2SP's signed-note registry.
const algCosignature = 4

// cosignatureSize is the size of a cosignature: a time, and an Ed25519 signature.
const cosignatureSize = 8 + ed25519.SignatureSize

// Witness checks the cosignatures of one witness (C2SP tlog-cosignature, cosignature/v1): that it saw a head,
// and that the ledger has only grown up to it.
type Witness struct {
	name string
	hash uint32
	key  ed25519.PublicKey
}

// ParseWitness reads a witness's key: name+hash+base64, as signed notes have it, of the type of cosignatures.
func ParseWitness(vkey string) (*Witness, error) {
	refused := errors.New("a witness's key is name+hash+base64 of the type Ed25519 cosignature, as its operator publishes it")
	name, rest, _ := strings.Cut(strings.TrimSpace(vkey), "+")
	hash, data, _ := strings.Cut(rest, "+")
	sum, err := strconv.ParseUint(hash, 16, 32)
	raw, derr := base64.StdEncoding.DecodeString(data)
	if err != nil || derr != nil || len(hash) != 8 || name == "" || strings.ContainsAny(name, " \t\n") ||
		len(raw) != 1+ed25519.PublicKeySize || raw[0] != algCosignature {
		return nil, refused
	}
	w := &Witness{name: name, hash: uint32(sum), key: raw[1:]}
	if id := sha256.Sum256(append([]byte(name+"\n"), raw...)); binary.BigEndian.Uint32(id[:]) != w.hash {
		return nil, refused
	}
	return w, nil
}

// Name is the witness's name. With KeyHash and Verify it makes a note.Verifier.
func (w *Witness) Name() string { return w.name }

// KeyHash is what tells the witness's key from others of its name.
func (w *Witness) KeyHash() uint32 { return w.hash }

// Verify checks a cosignature over the text of a note.
func (w *Witness) Verify(text, sig []byte) bool {
	if len(sig) != cosignatureSize {
		return false
	}
	at := binary.BigEndian.Uint64(sig)
	signed := append([]byte("cosignature/v1\ntime "+strconv.FormatUint(at, 10)+"\n"), text...)
	return ed25519.Verify(w.key, signed, sig[8:])
}

// CosignedAt returns when the witness saw the head. ErrHead: the head doesn't bear a cosignature of its key. It
// says nothing of the ledger's own signature.
func (w *Witness) CosignedAt(signed []byte) (time.Time, error) {
	n, err := note.Open(signed, note.VerifierList(w))
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: witness %s has not cosigned it", ErrHead, w.name)
	}
	raw, err := base64.StdEncoding.DecodeString(n.Sigs[0].Base64)
	if err != nil || len(raw) != 4+cosignatureSize {
		return time.Time{}, ErrHead
	}
	return time.Unix(int64(binary.BigEndian.Uint64(raw[4:])), 0).UTC(), nil
}

// AddCosignatures puts the lines of a witness's answer under a head. Lines that are no signatures are ErrHead.
func AddCosignatures(signed []byte, lines string) ([]byte, error) {
	if lines == "" || !strings.HasSuffix(lines, "\n") {
		return nil, ErrHead
	}
	for l := range strings.Lines(lines) {
		if !strings.HasPrefix(l, signaturePrefix) {
			return nil, ErrHead
		}
	}
	out := append(append([]byte(nil), signed...), lines...)
	_, err := note.Open(out, note.VerifierList())
	var unverified *note.UnverifiedNoteError
	if !errors.As(err, &unverified) { // not even the form of a note
		return nil, ErrHead
	}
	return out, nil
}
