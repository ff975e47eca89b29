package ledger

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"
	"unicode/utf8"
)

// Limits of an Entry, in bytes.
const (
	MaxID   = 64
	MaxKind = 32
	MaxKey  = 256
	MaxBody = 256 << 10
)

// ErrEntry is returned for an entry that the ledger does not take. A field of it
// is missing, too long or not text, or its body is not JSON.
var ErrEntry = errors.New("entry cannot be recorded")

// Entry is what is appended. ID, Time and Kind are required.
//
// ID is made of letters, digits, '-' and '_', at most MaxID, and unique. Kind
// has at most MaxKind bytes, the other keys MaxKey; all are valid UTF-8 without
// control characters. Body is JSON of at most MaxBody bytes; empty means none.
type Entry struct {
	ID           string          `json:"id"`
	Time         time.Time       `json:"time"`
	Kind         string          `json:"kind"`
	Call         string          `json:"call,omitempty"`
	Decision     string          `json:"decision,omitempty"`
	Conversation string          `json:"conversation,omitempty"`
	User         string          `json:"user,omitempty"`
	Agent        string          `json:"agent,omitempty"`
	Skill        string          `json:"skill,omitempty"`
	Outcome      string          `json:"outcome,omitempty"`
	Gate         string          `json:"gate,omitempty"`
	Code         string          `json:"code,omitempty"`
	Body         json.RawMessage `json:"body,omitempty"`
}

// Record is an entry with its place in the ledger, counted from 0.
type Record struct {
	Index int64 `json:"index"`
	Entry
}

// field is one text field: where it is, what it is called, how long it may be.
type field struct {
	name  string
	value *string
	max   int
}

// listTextFields lists the text fields in the order of the leaf and of the columns.
func (e *Entry) listTextFields() [11]field {
	return [...]field{
		{"id", &e.ID, MaxID}, {"kind", &e.Kind, MaxKind}, {"call", &e.Call, MaxKey},
		{"decision", &e.Decision, MaxKey}, {"conversation", &e.Conversation, MaxKey}, {"user", &e.User, MaxKey},
		{"agent", &e.Agent, MaxKey}, {"skill", &e.Skill, MaxKey}, {"outcome", &e.Outcome, MaxKey},
		{"gate", &e.Gate, MaxKey}, {"code", &e.Code, MaxKey},
	}
}

// Validate reports what keeps the entry out of the ledger. The ErrEntry names the
// field and its size, never its content.
func (e *Entry) Validate() error {
	if !isValidID(e.ID) {
		return fmt.Errorf("%w: id needs 1 to %d letters, digits, '-' or '_'", ErrEntry, MaxID)
	}
	if e.Kind == "" {
		return fmt.Errorf("%w: kind is empty", ErrEntry)
	}
	if !isValidTime(e.Time) {
		return fmt.Errorf("%w: time is zero or out of range", ErrEntry)
	}
	for _, f := range e.listTextFields() {
		if len(*f.value) > f.max {
			return fmt.Errorf("%w: %s has %d bytes, at most %d", ErrEntry, f.name, len(*f.value), f.max)
		}
		if !isSingleLineText(*f.value) {
			return fmt.Errorf("%w: %s is not plain UTF-8 text", ErrEntry, f.name)
		}
	}
	if len(e.Body) > MaxBody {
		return fmt.Errorf("%w: body has %d bytes, at most %d", ErrEntry, len(e.Body), MaxBody)
	}
	if len(e.Body) > 0 && !json.Valid(e.Body) {
		return fmt.Errorf("%w: body is not JSON", ErrEntry)
	}
	return nil
}

func isValidID(s string) bool {
	if s == "" || len(s) > MaxID {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// isValidTime holds the time to what fits into nanoseconds since 1970.
func isValidTime(t time.Time) bool {
	return t.Unix() > 0 && t.Unix() < math.MaxInt64/int64(time.Second)
}

func isSingleLineText(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] == 0x7f {
			return false
		}
	}
	return utf8.ValidString(s)
}

// leafTag starts every leaf, so that its bytes mean nothing else anywhere.
const leafTag = "vedette/ledger/leaf/v1\n"

// appendLeaf appends the canonical encoding of r to b:
//
//	leafTag | index u64 | time in ns u64 | 11 fields and the body, each length u32 | bytes
//
// All numbers are big-endian. Every field has its length in front of it, so two
// different records never have the same leaf.
func appendLeaf(b []byte, r *Record) []byte {
	b = append(b, leafTag...)
	b = binary.BigEndian.AppendUint64(b, uint64(r.Index))
	b = binary.BigEndian.AppendUint64(b, uint64(r.Time.UnixNano()))
	for _, f := range r.listTextFields() {
		b = binary.BigEndian.AppendUint32(b, uint32(len(*f.value)))
		b = append(b, *f.value...)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(r.Body)))
	return append(b, r.Body...)
}

// ParseLeaf reads a leaf back, as a Proof holds it. It takes nothing but what the ledger writes: the error
// is ErrProof for all else.
func ParseLeaf(b []byte) (Record, error) {
	var r Record
	if len(b) < len(leafTag)+16 || string(b[:len(leafTag)]) != leafTag {
		return r, ErrProof
	}
	b = b[len(leafTag):]
	index, ns := binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])
	if index > math.MaxInt64 || ns > math.MaxInt64 {
		return r, ErrProof
	}
	r.Index, r.Time = int64(index), time.Unix(0, int64(ns)).UTC()
	b = b[16:]
	var part []byte
	var ok bool
	for _, f := range r.listTextFields() {
		if part, b, ok = cut(b, f.max); !ok {
			return Record{}, ErrProof
		}
		*f.value = string(part)
	}
	if part, b, ok = cut(b, MaxBody); !ok || len(b) != 0 {
		return Record{}, ErrProof
	}
	if len(part) > 0 {
		r.Body = append(r.Body, part...)
	}
	if r.Validate() != nil {
		return Record{}, ErrProof
	}
	return r, nil
}

// cut takes one length-prefixed part of at most limit bytes off b.
func cut(b []byte, limit int) (part, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	n := binary.BigEndian.Uint32(b)
	if uint64(n) > uint64(limit) || uint64(n) > uint64(len(b)-4) {
		return nil, nil, false
	}
	return b[4 : 4+n], b[4+n:], true
}
