package skills

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/vedette-dev/vedette/internal/scrub"
)

// CredentialResolver is a program's own way to find what a user's call authenticates with. A
// token from a vault is an example. It is asked after the call was allowed and its warrant
// redeemed, once a call and credential, and what it returns is kept no longer than the call.
// It must be safe for concurrent use.
type CredentialResolver interface {
	// Credential returns the user's credential of that name. An error, or an
	// empty text, is a credential that is missing: the model is told no more, and
	// the log only which one it is and what an operator can do.
	Credential(ctx context.Context, name string, c Caller) (string, error)
}

// Credentials are all credentials that a configuration names.
type Credentials interface {
	CredentialResolver
	// Names returns the names that skills may use, sorted.
	Names() []string
}

// CodeCredentialMissing is all that a model is told of a credential that isn't to
// be had.
const CodeCredentialMissing = "credential_missing"

// CredentialError is a credential that a skill needs and that this user has not.
// Nothing was done, and no breaker counts it: it speaks against one user's setup.
type CredentialError struct {
	// Name is the credential's name in the configuration.
	Name string
	// Why is what is wrong with it and Remedy what an operator can do: fixed words
	// for the log, without a value, a path or a user. The model is told neither.
	Why, Remedy string
}

// Error returns CodeCredentialMissing.
func (e *CredentialError) Error() string { return CodeCredentialMissing }

// Is makes a CredentialError one of ErrBadInput and so of ErrNoEffect.
func (e *CredentialError) Is(target error) bool {
	return target == ErrBadInput || target == ErrNoEffect
}

// The bounds of a credential in bytes. A shorter one couldn't be told from
// ordinary words in what comes back.
const (
	MinCredential = scrub.MinLength
	MaxCredential = 16 << 10
)

// ResolveCredential returns a user's credential of that name. The error is a
// *CredentialError, or wraps ErrNoEffect where ctx ended. A credential out of
// bounds, or with a NUL in it, counts as missing; blanks around one are dropped.
func ResolveCredential(ctx context.Context, from CredentialResolver, name string, c Caller) (string, error) {
	if from == nil {
		return "", missingCredential(name)
	}
	value, err := from.Credential(ctx, name, c)
	if ctx.Err() != nil {
		return "", fmt.Errorf("%w: %w", ErrNoEffect, ctx.Err())
	}
	value = strings.TrimSpace(value)
	switch {
	case err != nil || value == "":
		return "", missingCredential(name)
	case len(value) < MinCredential:
		return "", &CredentialError{name, fmt.Sprintf("it has fewer than %d bytes", MinCredential),
			"store a longer one: a short one can't be told from words in an answer"}
	case len(value) > MaxCredential:
		return "", &CredentialError{name, fmt.Sprintf("it has more than %d bytes", MaxCredential),
			"store the credential alone, without other text"}
	case strings.ContainsRune(value, 0):
		return "", &CredentialError{name, "it holds a NUL", "store it as text"}
	}
	return value, nil
}

func missingCredential(name string) *CredentialError {
	return &CredentialError{name, "there is none for this user, or it can't be read",
		"store the user's own where credentials." + name + " of the configuration says"}
}

// UseCredentials lets a Go function take the user's credentials of these names
// with CredentialFrom.
func UseCredentials(names ...string) FuncOption {
	return func(o *funcOptions) { o.Credentials = append(o.Credentials, names...) }
}

// wallet holds what one run of a Go skill has taken.
type wallet struct {
	from   CredentialResolver
	may    []string
	caller Caller

	mu    sync.Mutex
	taken []string
}

type walletKey struct{}

// CredentialFrom returns the credential of that name of the user for whom a Go
// skill runs. ctx is the context that its function was given. The skill must have
// named it with UseCredentials. The error is a *CredentialError that the function
// returns as it is; what the function returns otherwise is scrubbed of the
// credential. Keep it no longer than the call.
func CredentialFrom(ctx context.Context, name string) (string, error) {
	w, _ := ctx.Value(walletKey{}).(*wallet)
	if w == nil || !slices.Contains(w.may, name) {
		return "", &CredentialError{name, "the Go skill doesn't name it",
			"name it with skills.UseCredentials where the program declares the skill"}
	}
	value, err := ResolveCredential(ctx, w.from, name, w.caller)
	if err != nil {
		return "", err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.taken = append(w.taken, value)
	return value, nil
}

// scrubResult takes what was taken out of what a function returned.
func (w *wallet) scrubResult(res Result, err error) (Result, error) {
	w.mu.Lock()
	s := scrub.New(w.taken...)
	w.mu.Unlock()
	res.Content, res.Note = s.Text(res.Content), s.Text(res.Note)
	var missing *CredentialError
	var f *Failure
	switch {
	case errors.As(err, &missing):
		return res, &CredentialError{s.Text(missing.Name), s.Text(missing.Why), s.Text(missing.Remedy)}
	case errors.As(err, &f) && f != nil:
		return res, &Failure{Code: f.Code, Unknown: f.Unknown, Err: s.Error(f.Err)}
	}
	return res, s.Error(err)
}
