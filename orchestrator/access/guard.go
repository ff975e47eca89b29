package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/orchestrator/problem"
)

// The defaults of a Guard.
const (
	DefaultPerMinute = 600
	DefaultMaxBody   = 1 << 20
	maxAuthorization = 8 << 10
)

// Authenticator checks a bearer token that isn't ours. The errors are ErrUnauthenticated, or
// ErrAway where it can't be told at the moment.
type Authenticator interface {
	Authenticate(ctx context.Context, bearer string) (Principal, error)
}

// GuardOptions are the parts of a Guard.
type GuardOptions struct {
	// Tokens are ours; nil knows none.
	Tokens *Tokens
	// Issuer checks other bearer tokens; nil lets none in.
	Issuer Authenticator
	// Hosts are what the server is called: "host" for every port, "host:port" for one. Requests
	// to others are refused; so are all where there is none.
	Hosts []string
	// Origins are those whose pages may call: "https://vedette.example.com".
	Origins []string
	// Usual are the limits of principals that have none of their own. PerMinute is 600 if zero.
	Usual Limits
	// MaxBody bounds a request's body in bytes. If zero, 1 MiB; below zero the server bounds it.
	MaxBody int64
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Log is told of who was turned away, without any header; nil discards.
	Log *slog.Logger
	// Refuse answers who is turned away; nil is problem.Write.
	Refuse func(w http.ResponseWriter, r *http.Request, p *problem.Problem)
}

// Guard stands before handlers. It is safe for concurrent use.
type Guard struct {
	o     GuardOptions
	names names
	rates *rates
}

// NewGuard returns a Guard. The error names a host or an origin that is none.
func NewGuard(o GuardOptions) (*Guard, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.MaxBody = cmp.Or(o.MaxBody, DefaultMaxBody)
	o.Usual.PerMinute = cmp.Or(o.Usual.PerMinute, DefaultPerMinute)
	o.Usual.Burst = cmp.Or(o.Usual.Burst, o.Usual.PerMinute)
	n, err := newNames(o.Hosts, o.Origins)
	if err != nil {
		return nil, err
	}
	if o.Refuse == nil {
		o.Refuse = problem.Write
	}
	return &Guard{o: o, names: n, rates: newRates(o.Usual, o.Now)}, nil
}

// For returns a guard of the same callers and rates for handlers with another bound of bodies and another form of
// errors.
func (g *Guard) For(maxBody int64, refuse func(w http.ResponseWriter, r *http.Request, p *problem.Problem)) *Guard {
	other := *g
	other.o.MaxBody, other.o.Refuse = maxBody, refuse
	return &other
}

// Wrap lets a request through to next once it knows who calls: next finds the Principal with
// FromContext. The request's context ends when the token is revoked or expires.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	return g.WrapOpen(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, ended, prob := g.identify(r)
		if prob == nil {
			noteSeen(r.Context(), p)
			prob = g.spend(w, p)
		}
		if prob != nil {
			g.turnAway(r, p, prob)
			g.o.Refuse(w, r, prob)
			return
		}
		ctx, cancel := g.boundContext(WithPrincipal(r.Context(), p), p, ended)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	}))
}

// WrapOpen is Wrap without a token: for pages that sign people in. It refuses a foreign host and
// origin, a token in the URL, a body that is too large.
func (g *Guard) WrapOpen(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if prob := g.checkPlace(r); prob != nil {
			g.turnAway(r, Principal{}, prob)
			g.o.Refuse(w, r, prob)
			return
		}
		if g.o.MaxBody > 0 {
			if r.ContentLength > g.o.MaxBody {
				g.o.Refuse(w, r, problem.New(problem.TooLarge, fmt.Sprintf("the body has more than %d bytes", g.o.MaxBody)))
				return
			}
			r.Body = http.MaxBytesReader(w, r.Body, g.o.MaxBody)
		}
		next.ServeHTTP(w, r)
	})
}

// Require is a handler behind Wrap for principals with one of the scopes alone.
func (g *Guard) Require(next http.Handler, scopes ...Scope) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, ok := FromContext(r.Context())
		if prob := CheckScope(p, scopes...); !ok || prob != nil {
			if !ok {
				prob = problem.New(problem.Internal, "")
			}
			g.turnAway(r, p, prob)
			problem.Write(w, r, prob)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// CheckScope returns the problem of a principal that has none of the scopes, nil where it has one.
func CheckScope(p Principal, scopes ...Scope) *problem.Problem {
	names := make([]string, 0, len(scopes))
	for _, s := range scopes {
		if p.May(s) {
			return nil
		}
		names = append(names, string(s))
	}
	prob := problem.New(problem.ScopeMissing, "the token lacks the scope "+strings.Join(names, " or "))
	prob.Challenge = `Bearer realm="vedette", error="insufficient_scope", scope="` + strings.Join(names, " ") + `"`
	return prob
}

// SignIn returns who signs in with a token, ours or an issuer's. The errors are ErrUnauthenticated
// and ErrAway. Sessions that live on ask Alive, and Spend for each request.
func (g *Guard) SignIn(ctx context.Context, bearer string) (Principal, error) {
	p, _, err := g.admit(ctx, bearer)
	return p, err
}

// Alive reports whether a principal that signed in earlier still counts.
func (g *Guard) Alive(p Principal) bool {
	if !p.Expires.IsZero() && !g.o.Now().Before(p.Expires) {
		return false
	}
	if strings.HasPrefix(p.ID, "token:") {
		return g.o.Tokens != nil && g.o.Tokens.Alive(p.ID)
	}
	return true
}

// Spend counts a request of a principal who was let in by a session, as Wrap counts the others. It
// returns how long to wait where the principal's rate is spent, else zero.
func (g *Guard) Spend(p Principal) time.Duration {
	_, _, wait := g.rates.spend(p)
	return wait
}

// admit asks who issued the token.
func (g *Guard) admit(ctx context.Context, bearer string) (Principal, <-chan struct{}, error) {
	switch {
	case strings.HasPrefix(bearer, SecretPrefix):
		if g.o.Tokens == nil {
			return Principal{}, nil, ErrUnauthenticated
		}
		return g.o.Tokens.admit(bearer)
	case g.o.Issuer == nil:
		return Principal{}, nil, ErrUnauthenticated
	}
	p, err := g.o.Issuer.Authenticate(ctx, bearer)
	if err == nil && (p.ID == "" || p.Expires.IsZero() || !g.o.Now().Before(p.Expires) || strings.HasPrefix(p.ID, "token:")) {
		err = ErrUnauthenticated
	}
	if err != nil {
		return Principal{}, nil, err
	}
	return p, nil, nil
}

// identify reads the Authorization header.
func (g *Guard) identify(r *http.Request) (Principal, <-chan struct{}, *problem.Problem) {
	bearer, prob := readBearer(r.Header.Values("Authorization"))
	if prob != nil {
		return Principal{}, nil, prob
	}
	p, ended, err := g.admit(r.Context(), bearer)
	switch {
	case err == nil:
		return p, ended, nil
	case errors.Is(err, ErrAway):
		return p, nil, problem.New(problem.Unavailable, "the issuer of the token can't be asked").Later(5 * time.Second)
	}
	return p, nil, unauthenticated("the token is not valid: it is unknown, revoked or expired", "invalid_token")
}

// unauthenticated is a 401 with its challenge.
func unauthenticated(detail, reason string) *problem.Problem {
	p := problem.New(problem.Unauthenticated, detail)
	p.Challenge = `Bearer realm="vedette"`
	if reason != "" {
		p.Challenge += `, error="` + reason + `"`
	}
	return p
}

// readBearer reads the values of the Authorization header: there must be one, of the scheme
// Bearer, with a token of the characters that RFC 6750 allows.
func readBearer(values []string) (string, *problem.Problem) {
	switch {
	case len(values) == 0:
		return "", unauthenticated("the request has no Authorization header", "")
	case len(values) > 1:
		return "", problem.New(problem.BadRequest, "the request has more than one Authorization header")
	case len(values[0]) > maxAuthorization:
		return "", problem.New(problem.HeadersTooLarge, "the Authorization header is too long")
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", unauthenticated("the Authorization header must be Bearer and a token", "")
	}
	if !isBearerToken(token) {
		return "", unauthenticated("the Authorization header holds no token", "invalid_request")
	}
	return token, nil
}

// isBearerToken reports whether a text is a b64token of RFC 6750.
func isBearerToken(text string) bool {
	body := strings.TrimRight(text, "=")
	for i := range len(body) {
		c := body[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("-._~+/", rune(c)) {
			return false
		}
	}
	return body != ""
}

// spend counts the request against its principal's rate, and says in headers what is left.
func (g *Guard) spend(w http.ResponseWriter, p Principal) *problem.Problem {
	l, left, wait := g.rates.spend(p)
	h := w.Header()
	h.Set("RateLimit-Limit", strconv.Itoa(l.Burst))
	h.Set("RateLimit-Remaining", strconv.Itoa(left))
	full := float64(l.Burst-left) * 60 / float64(l.PerMinute)
	h.Set("RateLimit-Reset", strconv.Itoa(int(math.Ceil(full))))
	if wait > 0 {
		return problem.New(problem.RateLimited, fmt.Sprintf("the token may send %d requests a minute", l.PerMinute)).Later(wait)
	}
	return nil
}

// boundContext ends with the principal: when its token is revoked or expires.
func (g *Guard) boundContext(ctx context.Context, p Principal, ended <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := func() { cancel(context.Canceled) }
	if !p.Expires.IsZero() {
		timer := time.AfterFunc(p.Expires.Sub(g.o.Now()), func() { cancel(ErrUnauthenticated) })
		stop = func() { timer.Stop(); cancel(context.Canceled) }
	}
	if ended == nil {
		return ctx, stop
	}
	go func() { // it ends with the request
		select {
		case <-ended:
			cancel(ErrUnauthenticated)
		case <-ctx.Done():
		}
	}()
	return ctx, stop
}

// turnAway logs who was refused, by what the server knows: nothing of the request stands in it
// but its id.
func (g *Guard) turnAway(r *http.Request, p Principal, prob *problem.Problem) {
	level := slog.LevelInfo
	args := []any{"code", string(prob.Code), "request_id", problem.RequestID(r.Context())}
	if p.ID != "" {
		args = append(args, "principal", p.ID)
	}
	if prob.Code == problem.TokenInURL {
		level = slog.LevelWarn
		if id := g.findTokenInURL(r); id != "" {
			args = append(args, "revoke", id)
		}
	}
	g.o.Log.Log(r.Context(), level, "a request was turned away", args...)
}
