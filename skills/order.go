package skills

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"time"
)

// Order is one call as an Executor sees it: exactly what was judged. Its
// digest is what a warrant is for.
type Order struct {
	CallID       string
	GrantID      string
	User         string
	Conversation string
	Skill        string
	SkillDigest  string
	// Remote is the principal who runs the call elsewhere. Empty, an Executor runs it.
	Remote string
	// Args is the canonical JSON (RFC 8785) of the arguments.
	Args string
	// Deadline ends the run early; zero means the skill's timeout alone.
	Deadline time.Time
}

// Digest identifies the call: grant, user, conversation, skill, the skill's
// own digest and the canonical arguments, each framed by its length so that
// no two different calls share a byte string. Call id and deadline are not
// part of it: the same call proposed twice has the same digest. A call that another program
// runs has a digest of its own, with who runs it.
func (o Order) Digest() string {
	var space [1024]byte // most calls fit, and need no memory of their own
	b := space[:0]
	if o.Remote != "" {
		for _, f := range [...]string{"vedette/remote-call/v1", o.Remote} {
			b = append(binary.BigEndian.AppendUint64(b, uint64(len(f))), f...)
		}
	}
	for _, f := range [...]string{"vedette/call/v1", o.GrantID, o.User, o.Conversation, o.Skill, o.SkillDigest, o.Args} {
		b = append(binary.BigEndian.AppendUint64(b, uint64(len(f))), f...)
	}
	sum := sha256.Sum256(b)
	const head = "sha256:"
	var text [len(head) + 2*sha256.Size]byte
	copy(text[:], head)
	hex.Encode(text[len(head):], sum[:])
	return string(text[:])
}

// IdempotencyKey is the key a repeat of the same call carries: the call id.
func (o Order) IdempotencyKey() string { return o.CallID }

// Caller returns for whom the order runs.
func (o Order) Caller() Caller {
	return Caller{User: o.User, Conversation: o.Conversation, CallID: o.CallID, IdempotencyKey: o.IdempotencyKey()}
}
