package warrant

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A token is refused where it is made if a receiver would refuse it.
func TestTokenRefuses(t *testing.T) {
	w := newWire(t)
	for name, change := range map[string]func(*Claims){
		"no audience":    func(c *Claims) { c.Audience = "" },
		"no id":          func(c *Claims) { c.ID = "" },
		"no digest":      func(c *Claims) { c.Digest = "" },
		"no skill":       func(c *Claims) { c.Skill = "" },
		"no call id":     func(c *Claims) { c.CallID = "" },
		"no body":        func(c *Claims) { c.Body = "" },
		"upper case":     func(c *Claims) { c.Body = strings.ToUpper(c.Body) },
		"bad target":     func(c *Claims) { c.Target = "/send" },
		"not UTF-8":      func(c *Claims) { c.Skill = "\xff" },
		"long audience":  func(c *Claims) { c.Audience = strings.Repeat("x", 513) },
		"long when sent": func(c *Claims) { c.Audience = strings.Repeat("<", 512) },
		"no issue":       func(c *Claims) { c.IssuedAt = time.Time{} },
		"no expiry":      func(c *Claims) { c.Expires = time.Time{} },
		"no life":        func(c *Claims) { c.Expires = c.IssuedAt },
		"endless":        func(c *Claims) { c.Expires = time.Unix(1<<50, 0) },
	} {
		c := w.claims()
		change(&c)
		token, err := w.signer.Token(c)
		require.ErrorIs(t, err, ErrOptions, name)
		require.Empty(t, token)
	}
	for _, none := range []*HTTPSigner{nil, {}} {
		_, err := none.Token(w.claims())
		require.ErrorIs(t, err, ErrOptions)
	}
	for _, key := range []ed25519.PrivateKey{nil, newKey("x")[:32]} {
		_, err := NewHTTPSigner(key, "k")
		require.ErrorIs(t, err, ErrOptions)
	}
	for _, id := range []string{"", strings.Repeat("k", 129), "\xff"} {
		_, err := NewHTTPSigner(newKey("x"), id)
		require.ErrorIs(t, err, ErrOptions)
	}
}

// A life of less than a second still has one on the wire.
func TestTokenRounding(t *testing.T) {
	w := newWire(t)
	c := w.claims()
	c.IssuedAt, c.Expires = w.now.Add(100*time.Millisecond), w.now.Add(300*time.Millisecond)
	got, err := VerifyHTTP(request(w.token(c)), w.opts)
	require.NoError(t, err)
	require.Equal(t, w.now, got.IssuedAt)
	require.Equal(t, w.now.Add(time.Second), got.Expires)
}

// Printing a signer shows no key, and changing the caller's slice changes nothing.
func TestHTTPSignerKeepsItsKey(t *testing.T) {
	w := newWire(t)
	key := newKey("k1")
	s, err := NewHTTPSigner(key, "k1")
	require.NoError(t, err)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x"} {
		out := fmt.Sprintf(verb, s) + fmt.Sprintf(verb, *s)
		require.NotContains(t, out, strings.Trim(fmt.Sprintf("%d", []byte(key[:8])), "[]"))
		require.NotContains(t, out, fmt.Sprintf("%x", []byte(key[:8])))
	}
	clear(key)
	w.signer = s
	require.NoError(t, w.verify(request(w.token(w.claims()))))
}

// Options that would check less than they seem to are refused.
func TestVerifyOptions(t *testing.T) {
	w := newWire(t)
	good := w.opts
	for name, change := range map[string]func(*VerifyOptions){
		"no key":          func(o *VerifyOptions) { o.Key = nil },
		"two kinds":       func(o *VerifyOptions) { o.Keys = map[string]ed25519.PublicKey{"k1": o.Key} },
		"short key":       func(o *VerifyOptions) { o.Key = o.Key[:31] },
		"no audience":     func(o *VerifyOptions) { o.Audience = "" },
		"no seen":         func(o *VerifyOptions) { o.Seen = nil },
		"negative leeway": func(o *VerifyOptions) { o.Leeway = -1 },
		"large leeway":    func(o *VerifyOptions) { o.Leeway = time.Hour },
		"negative life":   func(o *VerifyOptions) { o.MaxLifetime = -1 },
		"negative body":   func(o *VerifyOptions) { o.MaxBody = -1 },
	} {
		w.opts = good
		change(&w.opts)
		require.ErrorIs(t, w.verify(request(w.token(w.claims()))), ErrOptions, name)
	}
	require.ErrorIs(t, (&wire{t: t}).verify(request("x")), ErrOptions, "the zero value")
}

// An id is new once, until it expires; then it is neither new nor kept.
func TestSeen(t *testing.T) {
	c := newClock()
	s := NewSeen(SeenOptions{MaxIDs: 2, Now: c.Now})
	first := func(id string, exp time.Time) bool {
		t.Helper()
		ok, err := s.First(t.Context(), id, exp)
		require.NoError(t, err)
		return ok
	}
	start, exp := c.now, c.now.Add(time.Minute)
	require.True(t, first("a", exp))
	require.False(t, first("a", exp))
	require.True(t, first("b", exp.Add(time.Minute)))
	_, err := s.First(t.Context(), "c", exp)
	require.Error(t, err, "full")
	require.False(t, first("a", exp), "a known id is known also when full")
	c.now = exp
	require.False(t, first("a", exp), "expired")
	require.True(t, first("c", exp.Add(time.Minute)), "there is room again")
	c.now = start
	require.False(t, first("a", exp), "forgotten, and the clock set back")
}

// Of many that bring one id at once, one is first.
func TestSeenConcurrently(t *testing.T) {
	s := NewSeen(SeenOptions{})
	var n atomic.Int64
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			if ok, err := s.First(t.Context(), "a", time.Now().Add(time.Hour)); ok && err == nil {
				n.Add(1)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, n.Load())
}

// Any bytes in the header: no panic, and only what a signer wrote gets through.
func FuzzParseToken(f *testing.F) {
	s, err := NewHTTPSigner(newKey("k1"), "k1")
	if err != nil {
		f.Fatal(err)
	}
	good, err := s.Token((&wire{clock: newClock()}).claims())
	if err != nil {
		f.Fatal(err)
	}
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`))
	for _, seed := range []string{good, good + "=", good[1:], "", "..", none + ".e30.", strings.Replace(good, ".", "..", 1)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		c, err := parseToken(token, func(string) ed25519.PublicKey { return public(newKey("k1")) })
		if (err == nil) != (token == good) {
			t.Fatalf("accepted=%v for %q", err == nil, token)
		}
		if err != nil && c != (Claims{}) {
			t.Fatal("claims beside an error")
		}
	})
}

// Any payload under a right signature: what is accepted is, byte for byte, what
// the signer writes for the claims that were read.
func FuzzParseClaims(f *testing.F) {
	s, err := NewHTTPSigner(newKey("k1"), "k1")
	if err != nil {
		f.Fatal(err)
	}
	good, err := s.Token((&wire{clock: newClock()}).claims())
	if err != nil {
		f.Fatal(err)
	}
	payload, err := encoding.DecodeString(strings.Split(good, ".")[1])
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(payload))
	f.Add(strings.Replace(string(payload), "aud", "Aud", 1))
	f.Add(strings.Replace(string(payload), "email", `\u0065mail`, 1))
	f.Add(`{"aud":"a","aud":"b"}`)
	f.Add(`{"exp":1e3}`)
	f.Fuzz(func(t *testing.T, payload string) {
		token := sign(`{"alg":"EdDSA","kid":"k1","typ":"vedette-warrant+jwt"}`, payload)
		c, err := parseToken(token, func(string) ed25519.PublicKey { return public(newKey("k1")) })
		if err != nil {
			return
		}
		if again, err := s.Token(c); err != nil || again != token {
			t.Fatalf("accepted what a signer doesn't write: %q (%v)", payload, err)
		}
	})
}
