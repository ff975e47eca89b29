package access

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/vedette-dev/vedette/skills"
)

// SecretPrefix begins every secret, so that scanners and people know one.
const SecretPrefix = "vdt_"

// The bounds of tokens.
const (
	secretBytes = 32
	secretChars = 43 // of 32 bytes in base64 without padding
	maxTokens   = 10_000
	maxSkills   = 200
	// MaxPerMinute bounds Limits.PerMinute.
	MaxPerMinute = 1_000_000
	// MaxLife bounds how far away an expiry may be.
	MaxLife = 10 * 366 * 24 * time.Hour
)

// The errors of this package.
var (
	// ErrToken refuses a token that can't be made.
	ErrToken = errors.New("the token can't be made")
	// ErrNotFound: no token has that id, or several begin so.
	ErrNotFound = errors.New("no such token")
	// ErrRevoked: the token was revoked already.
	ErrRevoked = errors.New("the token was revoked already")
	// ErrUnauthenticated is a secret that lets no caller in: unknown, revoked, expired, no secret.
	ErrUnauthenticated = errors.New("the token is not valid")
	// ErrAway: the issuer of a token can't be asked at the moment.
	ErrAway = errors.New("the issuer of the token can't be asked")
	// ErrDeclined: an issuer signed no person in.
	ErrDeclined = errors.New("the issuer signed no person in")
	// ErrActAs refuses the user that a request names, or names not.
	ErrActAs = errors.New("the request can't be made for that user")
)

// Wanted is the token that is to be made.
type Wanted struct {
	// Name tells tokens apart. No two that are valid share one.
	Name string `json:"name"`
	// User is on whose behalf it acts; empty for a token that names the user in each request.
	User   string  `json:"user,omitempty"`
	Scopes []Scope `json:"scopes"`
	// Skills are the most that its calls may use: names and domains such as email.*; none is all.
	Skills []string `json:"skills,omitempty"`
	Limits Limits   `json:"limits,omitzero"`
	// UserTurns is "human" for a caller that passes on what a person wrote.
	UserTurns string    `json:"user_turns,omitempty"`
	Group     string    `json:"group,omitempty"`
	Expires   time.Time `json:"expires,omitzero"`
}

// Token is a token as it is kept and listed: without its secret.
type Token struct {
	ID string `json:"id"`
	Wanted
	Created   time.Time `json:"created"`
	CreatedBy string    `json:"created_by"`
	Revoked   time.Time `json:"revoked,omitzero"`
	RevokedBy string    `json:"revoked_by,omitempty"`
}

// Made is a token that was just made, with the secret that is shown once.
type Made struct {
	Token
	Secret string `json:"secret"`
}

// State says in a word whether the token counts: valid, expired or revoked.
func (t Token) State(now time.Time) string {
	switch {
	case !t.Revoked.IsZero():
		return "revoked"
	case !t.Expires.IsZero() && !now.Before(t.Expires):
		return "expired"
	}
	return "valid"
}

// principal is who calls with the token. The row was checked when it was made.
func (t Token) principal() (Principal, error) {
	p := Principal{
		ID: "token:" + t.ID, Name: t.User, User: t.User, Scopes: slices.Clone(t.Scopes), Limits: t.Limits,
		UserTurns: t.UserTurns, Group: t.Group, Expires: t.Expires,
	}
	if p.Name == "" {
		p.Name = "token:" + t.Name
	}
	if len(t.Skills) == 0 {
		return p, nil
	}
	var err error
	p.Skills, err = skills.NewScope(t.Skills...)
	if err == nil && p.Skills.Empty() { // an empty scope would be all
		err = fmt.Errorf("%w: its skills name none", ErrToken)
	}
	return p, err
}

// nameForm is what names of tokens and groups look like.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// check refuses what can't be made, with all mistakes at once.
func (w Wanted) check(now time.Time) error {
	var errs []error
	refuse := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: "+format, append([]any{ErrToken}, args...)...))
	}
	if !nameForm.MatchString(w.Name) {
		refuse("its name needs 1 to 64 letters, digits and . _ -")
	}
	if w.Group != "" && !nameForm.MatchString(w.Group) {
		refuse("the group's name needs 1 to 64 letters, digits and . _ -")
	}
	if w.User != "" {
		if err := CheckUser(w.User); err != nil {
			refuse("%w", err)
		}
	}
	errs = append(errs, w.checkScopes())
	if len(w.Skills) > 0 {
		if _, err := (Token{Wanted: w}).principal(); err != nil {
			refuse("its skills: %w", err)
		}
	}
	if len(w.Skills) > maxSkills {
		refuse("it names %d skills, at most %d; name domains such as email.*", len(w.Skills), maxSkills)
	}
	if l := w.Limits; l.PerMinute < 0 || l.PerMinute > MaxPerMinute || l.Burst < 0 || l.Burst > MaxPerMinute {
		refuse("its limits must be from 1 to %d a minute", MaxPerMinute)
	}
	if w.UserTurns != "" && w.UserTurns != UserTurnsHuman {
		refuse("user_turns is %q or empty", UserTurnsHuman)
	}
	if !w.Expires.IsZero() && (!w.Expires.After(now) || w.Expires.After(now.Add(MaxLife))) {
		refuse("it must expire later than now, and within ten years")
	}
	return errors.Join(errs...)
}

// checkScopes refuses scopes that there are not, and a token that could do nothing.
func (w Wanted) checkScopes() error {
	if len(w.Scopes) == 0 {
		return fmt.Errorf("%w: it has no scope, and could do nothing", ErrToken)
	}
	for i, s := range w.Scopes {
		if _, err := ParseScope(string(s)); err != nil {
			return err
		}
		if slices.Contains(w.Scopes[:i], s) {
			return fmt.Errorf("%w: it has the scope %s twice", ErrToken, s)
		}
	}
	for _, s := range []Scope{Chat, Call} {
		if w.User == "" && slices.Contains(w.Scopes, s) && !slices.Contains(w.Scopes, ActAs) {
			return fmt.Errorf("%w: scope %s works for a user: name one, or add the scope act_as", ErrToken, s)
		}
	}
	return nil
}

// newSecret makes a secret of 256 random bits.
func newSecret() string {
	b := make([]byte, secretBytes)
	_, _ = rand.Read(b) // it never fails
	return SecretPrefix + base64.RawURLEncoding.EncodeToString(b)
}

// IsSecret reports whether a text has the form of a secret of ours. There is one form for each:
// bits that say nothing must be zero.
func IsSecret(text string) bool {
	rest, ok := strings.CutPrefix(text, SecretPrefix)
	if !ok || len(rest) != secretChars {
		return false
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(rest)
	return err == nil && len(b) == secretBytes && !strings.ContainsAny(rest, "\r\n")
}

// isPlainName reports whether a text may stand in a record as who did something.
func isPlainName(text string) bool {
	return text != "" && len(text) <= 128 && !strings.ContainsFunc(text, unicode.IsControl)
}
