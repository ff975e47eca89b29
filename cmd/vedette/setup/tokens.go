package setup

import (
	"context"
	"errors"
	"os"

	"github.com/vedette-dev/vedette/internal/advice"
	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/control"
)

type (
	// Token is a token of the HTTP API, without its secret.
	Token = access.Token
	// WantedToken is a token that is to be made.
	WantedToken = access.Wanted
	// MadeToken is a token that was just made, with its secret.
	MadeToken = access.Made
	// TokenLimits are the limits of one token.
	TokenLimits = access.Limits
	// TokenScope is something that a token may do.
	TokenScope = access.Scope
)

// UserTurnsHuman is WantedToken.UserTurns of a caller that passes on what a person wrote.
const UserTurnsHuman = access.UserTurnsHuman

// The scopes that commands tell apart.
const (
	ScopeApprove = access.Approve
	ScopeActAs   = access.ActAs
)

// TokenScopes lists the names of all scopes.
func TokenScopes() []string {
	var out []string
	for _, s := range access.Scopes() {
		out = append(out, string(s))
	}
	return out
}

// Tokens reaches the tokens of a database: through the process that runs on it, or in the
// database itself where no process does.
type Tokens struct {
	process *control.Client
	offline access.Offline
	whole   bool // the configuration is known, and with it the keys
}

// List returns all tokens, the oldest first.
func (t *Tokens) List(ctx context.Context) ([]Token, error) {
	list, err := t.process.ListTokens(ctx)
	if errors.Is(err, control.ErrNotRunning) { // reading needs no process, and keeps none from starting
		return t.offline.List(ctx)
	}
	return list, err
}

// Create makes a token in the name of the system's user.
func (t *Tokens) Create(ctx context.Context, w WantedToken) (m MadeToken, err error) {
	err = t.reachTokens(ctx, func() error {
		m, err = t.process.CreateToken(ctx, w)
		return err
	}, func() error {
		m, err = t.offline.Create(ctx, w, control.NameLocal(os.Getuid()))
		return err
	})
	return m, adviseOnToken(err)
}

// Revoke ends a token in the name of the system's user, by its id or the beginning of it.
func (t *Tokens) Revoke(ctx context.Context, begin string) (out Token, err error) {
	err = t.reachTokens(ctx, func() error {
		out, err = t.process.RevokeToken(ctx, begin)
		return err
	}, func() error {
		out, err = t.offline.Revoke(ctx, begin, control.NameLocal(os.Getuid()))
		return err
	})
	return out, adviseOnToken(err)
}

// reachTokens asks the process, and opens the database where none listens.
func (t *Tokens) reachTokens(ctx context.Context, ask, open func() error) error {
	return reachEither(ctx, ask, open, either{t.offline.Database, t.whole, "keep tokens",
		"stop that program, and start it again afterwards: it may be of an earlier version"})
}

// adviseOnToken adds what a person can do about a token that can't be made or revoked.
func adviseOnToken(err error) error {
	if errors.Is(err, access.ErrNotFound) {
		return &advice.Error{Err: err, Todo: "vedette token list shows the ids"}
	}
	return err
}
