package http

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/warrant"
)

// tokenLife is how long a receiver accepts the token of an outgoing call.
const tokenLife = time.Minute

// SignWith returns an Options.Token that signs calls which leave the process. Their receivers
// check them by skills/warrant. The argument now is the clock. Every token has an id of its
// own: an idempotent call that is sent again has the same call id, and a receiver takes each
// id once.
func SignWith(signer *warrant.HTTPSigner, now func() time.Time) func(skills.Order, Request) (string, error) {
	return func(o skills.Order, r Request) (string, error) {
		id, err := uuid.NewRandom()
		if err != nil {
			return "", fmt.Errorf("make an id for the token: %w", err)
		}
		at := now()
		return signer.Token(warrant.Claims{
			Audience: r.Audience, ID: id.String(), Digest: o.Digest(), Skill: o.Skill, CallID: o.CallID,
			Body: warrant.BodyDigest(r.Body), Target: warrant.TargetDigest(r.Method, r.Target),
			User: o.User, Conversation: o.Conversation, IssuedAt: at, Expires: at.Add(tokenLife),
		})
	}
}
