package access

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/skills"
)

// Scope is something that a principal may do at the API.
type Scope string

// The scopes. None includes another.
const (
	Chat    Scope = "chat"    // conversations of the user
	Check   Scope = "check"   // decide only
	Call    Scope = "call"    // decide, record and report
	Approve Scope = "approve" // answer approvals
	Review  Scope = "review"  // read the ledger and what was decided
	Values  Scope = "values"  // be shown values of recorded calls, each time on record
	Label   Scope = "label"   // say whether decisions were right
	Admin   Scope = "admin"   // pause, purge, metrics
	ActAs   Scope = "act_as"  // name the user in a request
)

// Scopes lists all scopes.
func Scopes() []Scope {
	return []Scope{Chat, Check, Call, Approve, Review, Values, Label, Admin, ActAs}
}

// ParseScope returns the scope of that name. The error lists them.
func ParseScope(text string) (Scope, error) {
	if s := Scope(text); slices.Contains(Scopes(), s) {
		return s, nil
	}
	hint := ""
	names := make([]string, 0, len(Scopes()))
	for _, s := range Scopes() {
		names = append(names, string(s))
	}
	if near := skills.Nearest(text, names); near != "" {
		hint = fmt.Sprintf("; did you mean %s?", near)
	}
	return "", fmt.Errorf("%w: %q is no scope: there are %s%s", ErrToken, text, strings.Join(names, ", "), hint)
}

// UserTurnsHuman is Principal.UserTurns of a caller that passes on what a person wrote.
const UserTurnsHuman = "human"

// Limits are the limits of one principal. Zero is the server's default.
type Limits struct {
	// PerMinute is how many requests a minute may come.
	PerMinute int `json:"per_minute,omitempty"`
	// Burst is how many of them may come at once; zero is PerMinute.
	Burst int `json:"burst,omitempty"`
}

// Principal is who calls, by what the server keeps or an issuer signed, never by a body.
type Principal struct {
	// ID is stable and unique: "token:ID" or "oidc:ISSUER|SUBJECT".
	ID string
	// Name is who answers approvals, as the ledger has it: the user, or "token:NAME" of a token
	// without one. Approval rules compare it with the requester.
	Name string
	// User is on whose behalf its calls and conversations are. A principal without one must name
	// it in each request, and needs the scope ActAs for that.
	User   string
	Scopes []Scope
	// Skills are the most that its calls may use; an empty one is all that are configured.
	Skills skills.Scope
	Limits Limits
	// UserTurns says whether original_request is the user's own words: "human", or empty.
	UserTurns string
	// Group is the group of users whose tier counts.
	Group string
	// Expires is when it ends; zero is never.
	Expires time.Time
}

// May reports whether the principal has the scope.
func (p Principal) May(s Scope) bool { return slices.Contains(p.Scopes, s) }

// IsHuman reports whether the words that it passes on are a person's own.
func (p Principal) IsHuman() bool { return p.UserTurns == UserTurnsHuman }

// ActFor returns the user for whom a request is made. named is the user in the request; empty
// names none. The errors wrap ErrActAs: another user is named without the scope, or none is
// known, or the name is no user's id.
func (p Principal) ActFor(named string) (string, error) {
	switch {
	case named == "" && p.User == "":
		return "", fmt.Errorf("%w: the token is no user's, so the request must name one", ErrActAs)
	case named == "" || named == p.User:
		return p.User, nil
	case !p.May(ActAs):
		return "", fmt.Errorf("%w: naming another user needs the scope act_as", ErrActAs)
	}
	return named, CheckUser(named)
}

// NameFor returns who acts where a request is made for a user: the principal's name, empty where it is the
// user's own.
func (p Principal) NameFor(user string) string {
	if p.Name == user {
		return ""
	}
	return p.Name
}

type principalKey struct{}

// WithPrincipal returns ctx with who calls. Guard does so; tests and embedders may too.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// FromContext returns who calls. It is false where no Guard has looked.
func FromContext(ctx context.Context) (Principal, bool) {
	p, ok := ctx.Value(principalKey{}).(Principal)
	return p, ok
}

// userForm is what users' ids look like: as the orchestrator takes them.
var userForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$`)

// reservedPrefixes begin names that are no users': a user of that name would answer approvals
// as a token, or as a person of this machine.
var reservedPrefixes = []string{"token:", "local:", "oidc:", "uid:"}

// CheckUser refuses what is no user's id, or begins like a name that is no user's. The error wraps ErrActAs.
func CheckUser(user string) error {
	if !userForm.MatchString(user) {
		return fmt.Errorf("%w: a user's id has 1 to 128 letters, digits and . _ : @ -", ErrActAs)
	}
	for _, p := range reservedPrefixes {
		if strings.HasPrefix(strings.ToLower(user), p) {
			return fmt.Errorf("%w: a user's id can't begin with %s", ErrActAs, p)
		}
	}
	return nil
}

// Arrival is who came back from an issuer's sign-in, and what the issuer takes later.
type Arrival struct {
	Principal Principal
	// Renewal is for asking again about the person; empty where the issuer gives none. It is a secret.
	Renewal string
	// Session tells the issuer which of its sessions began so, for the sign-out there; empty where none is wanted. It
	// names the person, so it goes to the issuer alone.
	Session string
}
