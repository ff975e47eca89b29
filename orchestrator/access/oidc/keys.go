package oidc

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	gooidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/time/rate"
)

const (
	askEvery  = 10 * time.Second // how often the issuer may be asked, on average
	askBurst  = 6                // and how often at once
	maxAnswer = 1 << 20
	maxHops   = 3
)

// errTooOften is a question to the issuer that was not sent.
var errTooOften = errors.New("the issuer was asked too often")

// boundTransport bounds how often the issuer is asked, and what it answers: tokens with made-up keys
// would have it asked each time.
type boundTransport struct {
	next http.RoundTripper
	rate *rate.Limiter
	now  func() time.Time
}

// newClient returns the client that asks the issuer.
func newClient(next http.RoundTripper, now func() time.Time) *http.Client {
	t := boundAsking(next, rate.NewLimiter(rate.Every(askEvery), askBurst), now)
	return &http.Client{Transport: t, Timeout: askTime, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) >= maxHops || !isAddressOfKeys(r.URL.String()) {
			return errors.New("the issuer leads to an address that isn't safe")
		}
		return nil
	}}
}

// boundAsking bounds a transport, or http.DefaultTransport where it is nil.
func boundAsking(next http.RoundTripper, most *rate.Limiter, now func() time.Time) *boundTransport {
	return &boundTransport{next: cmp.Or(next, http.DefaultTransport), rate: most, now: now}
}

// RoundTrip sends a question unless too many were sent lately.
func (t *boundTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !t.rate.AllowN(t.now(), 1) {
		return nil, errTooOften
	}
	res, err := t.next.RoundTrip(r)
	if err == nil {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(res.Body, maxAnswer), res.Body}
	}
	return res, err
}

type troubleKey struct{}

// keyTrouble says why a signature wasn't checked: go-oidc passes on no cause.
type keyTrouble struct{ away bool }

// watchedKeys tells a signature that is wrong from keys that could not be had.
type watchedKeys struct{ gooidc.KeySet }

// fetchFailed begins the errors of keys that could not be had.
const fetchFailed = "fetching keys "

// VerifySignature implements oidc.KeySet.
func (k watchedKeys) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	b, err := k.KeySet.VerifySignature(ctx, jwt)
	if trouble, ok := ctx.Value(troubleKey{}).(*keyTrouble); ok && err != nil {
		text := err.Error()
		trouble.away = len(text) > len(fetchFailed) && text[:len(fetchFailed)] == fetchFailed && !errors.Is(err, errTooOften)
	}
	return b, err
}
