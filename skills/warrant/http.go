package warrant

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Errors of VerifyHTTP, besides ErrInvalid, ErrExpired, ErrSpent and
// ErrOptions. After any of them, don't handle the request.
var (
	// ErrMissing means that the request carries no token.
	ErrMissing = errors.New("warrant: the request carries none")
	// ErrAudience means that the token is for another receiver.
	ErrAudience = errors.New("warrant: issued for another receiver")
	// ErrFuture means that the token was issued in the future or lives longer than the receiver
	// admits. Compare the clocks of both machines.
	ErrFuture = errors.New("warrant: issued in the future, or valid for too long")
	// ErrBody means that body, method or target are not those that were allowed.
	ErrBody = errors.New("warrant: issued for another request")
	// ErrBodyTooLarge means that the body is longer than VerifyOptions.MaxBody.
	ErrBodyTooLarge = errors.New("warrant: the request's body is too large")
	// ErrSeen means that VerifyOptions.Seen could not tell whether the token is new.
	ErrSeen = errors.New("warrant: could not check for reuse")
	// ErrNoCaller means that the token names no user.
	ErrNoCaller = errors.New("warrant: the token names no user")
)

const (
	defaultMaxBody     = 1 << 20
	defaultLeeway      = 5 * time.Second
	maxLeeway          = 5 * time.Minute
	defaultMaxLifetime = 10 * time.Minute
)

// VerifyOptions configures VerifyHTTP. Audience, Seen and either Key or Keys are
// required: without one of them every request is refused with ErrOptions.
type VerifyOptions struct {
	// Key is the signer's public key, whatever key id a token names.
	Key ed25519.PublicKey
	// Keys are public keys by key id, instead of Key.
	Keys map[string]ed25519.PublicKey
	// Audience is the name of this receiver, compared byte for byte.
	Audience string
	// Seen remembers a token's id until exp, and says in the same atomic step whether it is new.
	// It is called last, so that a request which is refused for another reason uses no id up. A
	// Seen from NewSeen does it in memory. A receiver whose work may be repeated freely can
	// return true, nil.
	Seen func(ctx context.Context, id string, exp time.Time) (firstTime bool, err error)
	// Now is the clock. If nil, time.Now.
	Now func() time.Time
	// Leeway is how far the two clocks may differ. If zero, 5 s; at most 5 minutes.
	Leeway time.Duration
	// MaxLifetime is the longest time from now to a token's expiry, Leeway
	// aside. If zero, 10 minutes.
	MaxLifetime time.Duration
	// MaxBody is the longest body in bytes that is read. If zero, 1 MiB.
	MaxBody int64
	// SkipBody leaves the body unread. The handler must then compare
	// BodyDigest of what it reads with Claims.Body before it acts on any of it.
	SkipBody bool
	// SkipTarget leaves Claims.Target to the handler, for a receiver behind a
	// proxy that rewrites paths.
	SkipTarget bool

	needCaller bool // set by VerifyCaller
}

// VerifyHTTP checks the token that r carries and returns what it says. It reads
// the body, up to MaxBody, and puts it back, so that a handler can read it
// again; nothing of the body is read before the token has proved to be good.
// On an error the Claims are empty and the request must be refused; its
// text holds nothing from the request, save what Seen puts into its own. See the package comment for what else a
// receiver has to see to.
func VerifyHTTP(r *http.Request, o VerifyOptions) (Claims, error) {
	if err := o.fillDefaults(); err != nil {
		return Claims{}, err
	}
	tokens := r.Header.Values(Header)
	switch {
	case len(tokens) == 0 || len(tokens) == 1 && tokens[0] == "":
		return Claims{}, ErrMissing
	case len(tokens) > 1:
		return Claims{}, invalidError("more than one in a request")
	}
	c, err := parseToken(tokens[0], o.findKey)
	if err != nil {
		return Claims{}, err
	}
	if err := o.checkUse(c); err != nil {
		return Claims{}, err
	}
	if o.needCaller && c.User == "" {
		return Claims{}, ErrNoCaller
	}
	if err := o.checkRequest(r, c); err != nil {
		return Claims{}, err
	}
	// An id is remembered for as long as the leeway lets its token live.
	first, err := o.Seen(r.Context(), c.ID, c.Expires.Add(o.Leeway))
	if err != nil {
		return Claims{}, fmt.Errorf("%w: %w", ErrSeen, err)
	}
	if !first {
		return Claims{}, ErrSpent
	}
	return c, nil
}

// Caller is for whom a request was made.
type Caller struct {
	// User and Conversation are ids, in the words of the program that embeds
	// Vedette: the receiver knows the same user by the same id.
	User, Conversation string
	// CallID is the call's id, as the ledger has it.
	CallID string
	// IdempotencyKey is the same for every run of one call.
	IdempotencyKey string
}

// Caller returns for whom the request was made; ok is false where the token
// names no user.
func (c Claims) Caller() (caller Caller, ok bool) {
	return Caller{User: c.User, Conversation: c.Conversation, CallID: c.CallID, IdempotencyKey: c.CallID}, c.User != ""
}

// VerifyCaller is VerifyHTTP for a receiver that works for one user at a time: it
// refuses a token without a user with ErrNoCaller.
func VerifyCaller(r *http.Request, o VerifyOptions) (Caller, Claims, error) {
	o.needCaller = true
	c, err := VerifyHTTP(r, o)
	caller, _ := c.Caller()
	if err != nil {
		return Caller{}, Claims{}, err
	}
	return caller, c, nil
}

// fillDefaults fills in the defaults, or says what has none.
func (o *VerifyOptions) fillDefaults() error {
	if (len(o.Key) == 0) == (len(o.Keys) == 0) {
		return fmt.Errorf("%w: give either Key or Keys", ErrOptions)
	}
	if len(o.Key) != 0 && len(o.Key) != ed25519.PublicKeySize {
		return fmt.Errorf("%w: an Ed25519 public key has %d bytes, not %d", ErrOptions, ed25519.PublicKeySize, len(o.Key))
	}
	if o.Audience == "" {
		return fmt.Errorf("%w: name this receiver as Audience", ErrOptions)
	}
	if o.Seen == nil {
		return fmt.Errorf("%w: give a Seen, for example NewSeen(SeenOptions{}).First", ErrOptions)
	}
	if o.Leeway < 0 || o.Leeway > maxLeeway || o.MaxLifetime < 0 || o.MaxBody < 0 {
		return fmt.Errorf("%w: a duration or size is negative, or Leeway over %v", ErrOptions, maxLeeway)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Leeway == 0 {
		o.Leeway = defaultLeeway
	}
	if o.MaxLifetime == 0 {
		o.MaxLifetime = defaultMaxLifetime
	}
	if o.MaxBody == 0 {
		o.MaxBody = defaultMaxBody
	}
	return nil
}

func (o *VerifyOptions) findKey(kid string) ed25519.PublicKey {
	if len(o.Key) != 0 {
		return o.Key
	}
	return o.Keys[kid]
}

// checkUse checks who may use the token, and when.
func (o *VerifyOptions) checkUse(c Claims) error {
	now := o.Now()
	switch {
	case c.Audience != o.Audience:
		return ErrAudience
	case !now.Before(c.Expires.Add(o.Leeway)):
		return ErrExpired
	case c.IssuedAt.After(now.Add(o.Leeway)), c.Expires.After(now.Add(o.MaxLifetime).Add(o.Leeway)):
		return ErrFuture
	}
	return nil
}

// checkRequest compares the request with the one that was allowed.
func (o *VerifyOptions) checkRequest(r *http.Request, c Claims) error {
	if c.Target != "" && !o.SkipTarget && c.Target != TargetDigest(r.Method, requestTarget(r)) {
		return ErrBody
	}
	if o.SkipBody {
		return nil
	}
	body, err := o.readBody(r)
	if err != nil {
		return err
	}
	if BodyDigest(body) != c.Body {
		return ErrBody
	}
	return nil
}

// requestTarget returns path and query as they came over the wire: a router that strips
// a prefix changes r.URL, but not r.RequestURI.
func requestTarget(r *http.Request) string {
	if strings.HasPrefix(r.RequestURI, "/") {
		return r.RequestURI
	}
	return r.URL.RequestURI()
}

func (o *VerifyOptions) readBody(r *http.Request) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	if r.ContentLength > o.MaxBody {
		return nil, ErrBodyTooLarge
	}
	original := r.Body
	body, err := io.ReadAll(http.MaxBytesReader(nil, original, o.MaxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, ErrBodyTooLarge
	case err != nil:
		return nil, fmt.Errorf("%w: the body broke off", ErrBody)
	}
	r.Body = restored{bytes.NewReader(body), original}
	return body, nil
}

// restored is a body that was read, with the Close of the one it came from.
type restored struct {
	io.Reader
	io.Closer
}
