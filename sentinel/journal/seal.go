package journal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
)

const (
	keySize   = 32
	nonceSize = 12
	tagSize   = 16
	// wrappedSize is the size of every row of keys: key id, nonce, key and tag. It
	// never varies, so that an erased key can be overwritten where it is.
	wrappedSize = 4 + nonceSize + keySize + tagSize
)

// KeyRing holds the keys that wrap the values' keys. New values use Current;
// the others are there to read what was wrapped before a change of keys. Ids
// are the operator's choice and go into the database.
type KeyRing struct {
	Current uint32
	Keys    map[uint32][32]byte
}

// SingleKey is a ring of one key, with id 1.
func SingleKey(key [32]byte) KeyRing {
	return KeyRing{Current: 1, Keys: map[uint32][32]byte{1: key}}
}

// Format writes the number of keys, never a key, whatever the verb.
func (k KeyRing) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "keyring of %d, current %d", len(k.Keys), k.Current)
}

// sealer wraps and unwraps. It is immutable and safe for concurrent use.
type sealer struct {
	current uint32
	rings   map[uint32]cipher.AEAD
}

func newSealer(ring KeyRing) (*sealer, error) {
	s := &sealer{current: ring.Current, rings: map[uint32]cipher.AEAD{}}
	for id, key := range maps.All(ring.Keys) {
		if key == [32]byte{} {
			return nil, fmt.Errorf("journal key %d is all zeros: load the key file", id)
		}
		a, err := newAEAD(key[:])
		if err != nil {
			return nil, err
		}
		s.rings[id] = a
	}
	if s.rings[s.current] == nil {
		return nil, fmt.Errorf("journal key %d, the current one, is not on the ring", ring.Current)
	}
	return s, nil
}

func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// valueNonce is the nonce of every value. Each value has a key of its own that
// seals nothing else, so the nonce has nothing to keep apart.
var valueNonce [nonceSize]byte

// seal returns the sealed data and its wrapped key, both bound to ad.
func (s *sealer) seal(data, ad []byte) (sealed, wrapped []byte, err error) {
	var random [keySize + nonceSize]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, nil, err
	}
	key, nonce := random[:keySize], random[keySize:]
	a, err := newAEAD(key)
	if err != nil {
		return nil, nil, err
	}
	sealed = a.Seal(make([]byte, 0, len(data)+tagSize), valueNonce[:], data, ad)
	wrapped = binary.BigEndian.AppendUint32(make([]byte, 0, wrappedSize), s.current)
	wrapped = append(wrapped, nonce...)
	wrapped = s.rings[s.current].Seal(wrapped, nonce, key, ad)
	clear(key)
	return sealed, wrapped, nil
}

var (
	errNoKey = errors.New("wrapped by a key that is not on the ring")
	errOpen  = errors.New("does not open")
)

// unwrapValueKey returns the value's key, which the ring's key has wrapped.
func (s *sealer) unwrapValueKey(wrapped, ad []byte) ([]byte, error) {
	if len(wrapped) != wrappedSize {
		return nil, errOpen
	}
	ring := s.rings[binary.BigEndian.Uint32(wrapped)]
	if ring == nil {
		return nil, errNoKey
	}
	key, err := ring.Open(nil, wrapped[4:4+nonceSize], wrapped[4+nonceSize:], ad)
	if err != nil {
		return nil, errOpen
	}
	return key, nil
}

// openSealed returns the data of a value.
func (s *sealer) openSealed(sealed, wrapped, ad []byte) ([]byte, error) {
	key, err := s.unwrapValueKey(wrapped, ad)
	if err != nil {
		return nil, err
	}
	defer clear(key)
	a, err := newAEAD(key)
	if err != nil {
		return nil, err
	}
	data, err := a.Open(nil, valueNonce[:], sealed, ad)
	if err != nil {
		return nil, errOpen
	}
	return data, nil
}

// adTag starts the data that is authenticated with every value.
const adTag = "vedette/journal/v1\n"

// appendAssociated appends everything about a value but its bytes. Each part is
// framed by its length, so that no two values have the same.
func appendAssociated(b []byte, v *Value) []byte {
	b = append(b, adTag...)
	for _, n := range [...]int64{v.ID, v.Created.UnixMilli(), v.Expires.UnixMilli()} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	for _, s := range [...]string{v.Call, v.Conversation, v.User, v.Kind, v.Name} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	return b
}
