package ids

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// Callers name what they begin, such as conversations, and ids are one name space for the whole database. So
// a caller's name is kept with a mark of its owner: what two owners call by one name are two things,
// and no name tells whether another owner uses it.

const (
	markBegins = ".u" // between the name and the mark
	markDigits = 24   // of the mark, in hexadecimal: 96 bits
	maxMarked  = 128 - len(markBegins) - markDigits
)

// OfName returns the id of what an owner calls by name. Each kind of owner has ids of its own. A name that is
// too long to be shown with its mark within 128 characters is cut, and only its mark tells it.
func OfName(kind, owner, name string) string {
	h := sha256.New()
	for _, part := range []string{"vedette/conversation/v1", kind, owner, name} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write([]byte(part))
	}
	return name[:min(len(name), maxMarked)] + markBegins + hex.EncodeToString(h.Sum(nil))[:markDigits]
}

// NameOf returns what the owner calls the thing of an id: the name that OfName was given, or the id where it
// is none of that owner's.
func NameOf(kind, owner, id string) string {
	if at := len(id) - markDigits - len(markBegins); at > 0 && strings.HasPrefix(id[at:], markBegins) {
		if name := id[:at]; OfName(kind, owner, name) == id {
			return name
		}
	}
	return id
}
