package ledger

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// ErrHead is returned for bytes that are no head of this ledger, or whose
// signature is not by its key.
var ErrHead = errors.New("not a head signed by this ledger's key")

// Signer signs tree heads. It holds a private key: do not print it.
type Signer struct {
	signer   note.Signer
	verifier note.Verifier
	public   string
}

// NewSigner makes a signer of an encoded Ed25519 note key
// (PRIVATE+KEY+name+hash+data). Its name becomes the first line of every head.
func NewSigner(skey string) (*Signer, error) {
	s, err := note.NewSigner(skey)
	if err != nil {
		return nil, errors.New("ledger key is not a note signing key: restore the key file")
	}
	// note.NewSigner has checked the form: five parts, the last a byte for the
	// algorithm and a seed.
	parts := strings.SplitN(skey, "+", 5)
	raw, err := base64.StdEncoding.DecodeString(parts[4])
	if err != nil || len(raw) != 1+ed25519.SeedSize {
		return nil, errors.New("ledger key is not an Ed25519 note key: restore the key file")
	}
	pub, ok := ed25519.NewKeyFromSeed(raw[1:]).Public().(ed25519.PublicKey)
	if !ok {
		return nil, errors.New("ledger key has no Ed25519 public half")
	}
	vkey, err := note.NewEd25519VerifierKey(s.Name(), pub)
	if err != nil {
		return nil, fmt.Errorf("ledger key: %w", err)
	}
	v, err := note.NewVerifier(vkey)
	if err != nil {
		return nil, fmt.Errorf("ledger key: %w", err)
	}
	return &Signer{signer: s, verifier: v, public: vkey}, nil
}

// PublicKey is the encoded note key (name+hash+data) that Verify needs.
func (s *Signer) PublicKey() string { return s.public }

// Format writes nothing but the public key, whatever the verb.
func (s Signer) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.public)) }

// Head is a signed statement about the first Size records.
//
// It is a checkpoint as C2SP's tlog-checkpoint has it, with the time as its extension line. Its text has four
// lines, followed by the signature in the note format:
//
//	name of the key, which is the ledger's origin
//	size in decimal
//	root hash in base64
//	time 2026-01-02T15:04:05.000000006Z
type Head struct {
	Origin string    `json:"origin"`
	Size   int64     `json:"size"`
	Root   tlog.Hash `json:"root"`
	Time   time.Time `json:"time"`
}

const headTime = "2006-01-02T15:04:05.000000000Z"

func (h Head) formatSignedText() string {
	return h.Origin + "\n" + strconv.FormatInt(h.Size, 10) + "\n" + h.Root.String() + "\ntime " +
		h.Time.UTC().Format(headTime) + "\n"
}

func (h Head) signAsNote(by ...*Signer) ([]byte, error) {
	signers := make([]note.Signer, len(by))
	for i, s := range by {
		signers[i] = s.signer
	}
	return note.Sign(&note.Note{Text: h.formatSignedText()}, signers...)
}

// ParseHead checks the signature of a head and reads it. It takes only what the
// ledger would have written itself; anything else is an ErrHead.
func ParseHead(signed []byte, publicKey string) (Head, error) {
	v, err := note.NewVerifier(strings.TrimSpace(publicKey))
	if err != nil {
		return Head{}, errors.New("ledger public key is not a note key: use the content of ledger.pub")
	}
	return openSignedHead(signed, v)
}

// PeekHead reads what a head says, and checks no signature: what it says proves nothing.
func PeekHead(signed []byte) (Head, error) {
	text, _, found := strings.Cut(string(signed), "\n\n")
	if !found {
		return Head{}, ErrHead
	}
	return parseHeadText(text + "\n")
}

// SplitHeads finds the heads in a text that holds any number of them, such as a file that heads are appended to.
// A head that was cut off is left out.
func SplitHeads(text []byte) [][]byte {
	var out [][]byte
	var above, block string // paragraphs
	finish := func() {
		if strings.HasPrefix(block, signaturePrefix) && above != "" {
			if areSignatures(block) {
				out = append(out, []byte(above+"\n"+block))
			}
			block = ""
		}
		above, block = block, ""
	}
	for l := range strings.Lines(string(text)) {
		switch {
		case l != "\n" && strings.HasSuffix(l, "\n"):
			block += l
		case block != "":
			finish()
		}
	}
	finish()
	return out
}

// areSignatures reports whether each line is a signature in full: one that was cut off would seem a stranger's.
func areSignatures(block string) bool {
	for l := range strings.Lines(block) {
		last := l[strings.LastIndexByte(l, ' ')+1:]
		raw, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(last, "\n"))
		if !strings.HasPrefix(l, signaturePrefix) || err != nil || len(raw) < 4+ed25519.SignatureSize {
			return false
		}
	}
	return true
}

// signaturePrefix begins each signature of a note: a dash and a space.
const signaturePrefix = "\u2014 "

func openSignedHead(signed []byte, v note.Verifier) (Head, error) {
	n, err := note.Open(signed, note.VerifierList(v))
	if err != nil {
		return Head{}, ErrHead
	}
	h, err := parseHeadText(n.Text)
	if err != nil {
		return Head{}, err
	}
	if h.Origin != v.Name() {
		return Head{}, ErrHead
	}
	return h, nil
}

func parseHeadText(text string) (Head, error) {
	lines := strings.Split(text, "\n")
	if len(lines) != 5 || lines[4] != "" {
		return Head{}, ErrHead
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil || size < 0 {
		return Head{}, ErrHead
	}
	root, err := tlog.ParseHash(lines[2])
	if err != nil {
		return Head{}, ErrHead
	}
	at, err := time.Parse("time "+headTime, lines[3])
	if err != nil {
		return Head{}, ErrHead
	}
	h := Head{Origin: lines[0], Size: size, Root: root, Time: at}
	if h.formatSignedText() != text { // no "+7", no "007", no other spelling of the time
		return Head{}, ErrHead
	}
	return h, nil
}
