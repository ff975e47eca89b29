package warrant

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	audience = "https://mail.internal/send"
	body     = `{"to":"a@b.c"}`
)

func newKey(seed string) ed25519.PrivateKey {
	sum := sha256.Sum256([]byte(seed))
	return ed25519.NewKeyFromSeed(sum[:])
}

func public(k ed25519.PrivateKey) ed25519.PublicKey { return k.Public().(ed25519.PublicKey) }

// wire is a receiver and the sender it trusts.
type wire struct {
	*clock
	t      *testing.T
	signer *HTTPSigner
	opts   VerifyOptions
}

func newWire(t *testing.T) *wire {
	c := newClock()
	s, err := NewHTTPSigner(newKey("k1"), "k1")
	require.NoError(t, err)
	seen := NewSeen(SeenOptions{Now: c.Now})
	return &wire{clock: c, t: t, signer: s, opts: VerifyOptions{
		Key: public(newKey("k1")), Audience: audience, Now: c.Now, Seen: seen.First,
	}}
}

func (w *wire) claims() Claims {
	return Claims{
		Audience: audience, ID: "j1", Digest: digest, Skill: "email.send", CallID: "c1",
		Body: BodyDigest([]byte(body)), IssuedAt: w.now, Expires: w.now.Add(time.Minute),
	}
}

func (w *wire) token(c Claims) string {
	w.t.Helper()
	token, err := w.signer.Token(c)
	require.NoError(w.t, err)
	return token
}

func request(token string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/send?x=1", strings.NewReader(body))
	r.Header.Set(Header, token)
	return r
}

func (w *wire) verify(r *http.Request) error {
	w.t.Helper()
	c, err := VerifyHTTP(r, w.opts)
	if err != nil {
		require.Equal(w.t, Claims{}, c)
	}
	return err
}

// A good token gives its claims and leaves the body to be read; the second time it is spent.
func TestVerifyHTTP(t *testing.T) {
	w := newWire(t)
	want := w.claims()
	want.Target = TargetDigest(http.MethodPost, "/send?x=1")
	token := w.token(want)
	r := request(token)
	got, err := VerifyHTTP(r, w.opts)
	require.NoError(t, err)
	require.Equal(t, want, got)
	read, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.Equal(t, body, string(read))
	require.NoError(t, r.Body.Close())
	require.ErrorIs(t, w.verify(request(token)), ErrSpent)
}

// Over a real connection, with a body of unknown length, behind a router that strips a prefix.
func TestVerifyHTTPOverLoopback(t *testing.T) {
	w := newWire(t)
	mux := http.NewServeMux()
	mux.Handle("/mail/", http.StripPrefix("/mail", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		c, err := VerifyHTTP(r, w.opts)
		if err != nil {
			http.Error(rw, err.Error(), http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(rw, c.CallID+" ")
		_, _ = io.Copy(rw, r.Body)
	})))
	srv := httptest.NewServer(mux)
	defer srv.Close()
	send := func(path, token string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+path, io.MultiReader(strings.NewReader(body)))
		require.NoError(t, err)
		req.Header.Set(Header, token)
		res, err := srv.Client().Do(req)
		require.NoError(t, err)
		defer func() { _ = res.Body.Close() }()
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res.StatusCode, string(text)
	}
	c := w.claims()
	c.Target = TargetDigest(http.MethodPost, "/mail/a%2Fb?q=%20x")
	code, text := send("/mail/a%2Fc?q=%20x", w.token(c))
	require.Equal(t, http.StatusUnauthorized, code, text)
	code, text = send("/mail/a%2Fb?q=%20x", w.token(c))
	require.Equal(t, http.StatusOK, code, text)
	require.Equal(t, "c1 "+body, text)
}

// Each claim is compared, each for its own reason, and a refusal uses no id up.
func TestVerifyHTTPRefusesClaims(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*Claims)
		want   error
	}{
		"audience":          {func(c *Claims) { c.Audience += "/" }, ErrAudience},
		"audience's case":   {func(c *Claims) { c.Audience = strings.ToUpper(c.Audience) }, ErrAudience},
		"expired":           {func(c *Claims) { c.IssuedAt, c.Expires = c.IssuedAt.Add(-time.Hour), c.IssuedAt.Add(-5*time.Second) }, ErrExpired},
		"within the leeway": {func(c *Claims) { c.IssuedAt, c.Expires = c.IssuedAt.Add(-time.Hour), c.IssuedAt.Add(-4*time.Second) }, nil},
		"issued too late":   {func(c *Claims) { c.IssuedAt = c.IssuedAt.Add(6 * time.Second) }, ErrFuture},
		"issued a bit late": {func(c *Claims) { c.IssuedAt = c.IssuedAt.Add(5 * time.Second) }, nil},
		"lives too long":    {func(c *Claims) { c.Expires = c.IssuedAt.Add(10*time.Minute + 6*time.Second) }, ErrFuture},
		"lives for long":    {func(c *Claims) { c.Expires = c.IssuedAt.Add(10*time.Minute + 5*time.Second) }, nil},
		"body":              {func(c *Claims) { c.Body = BodyDigest([]byte(body + " ")) }, ErrBody},
		"no body":           {func(c *Claims) { c.Body = BodyDigest(nil) }, ErrBody},
		"method":            {func(c *Claims) { c.Target = TargetDigest(http.MethodPut, "/send?x=1") }, ErrBody},
		"query":             {func(c *Claims) { c.Target = TargetDigest(http.MethodPost, "/send?x=2") }, ErrBody},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t)
			c := w.claims()
			row.change(&c)
			require.ErrorIs(t, w.verify(request(w.token(c))), row.want)
			if row.want != nil {
				require.NoError(t, w.verify(request(w.token(w.claims()))), "the id is still unused")
			}
		})
	}
}

// The header must be there once, of sensible length.
func TestVerifyHTTPHeader(t *testing.T) {
	w := newWire(t)
	good := w.token(w.claims())
	r := request(good)
	r.Header.Del(Header)
	require.ErrorIs(t, w.verify(r), ErrMissing)
	require.ErrorIs(t, w.verify(request("")), ErrMissing)
	r = request(good)
	r.Header.Add(Header, good)
	require.ErrorIs(t, w.verify(r), ErrInvalid)
	require.ErrorIs(t, w.verify(request(good+", "+good)), ErrInvalid)
	require.ErrorIs(t, w.verify(request(good+strings.Repeat("A", MaxToken))), ErrInvalid)
	require.ErrorIs(t, w.verify(request(strings.Repeat(".", MaxToken))), ErrInvalid)
	require.NoError(t, w.verify(request(good)))
}

// sign makes a token out of any header and payload with the right key.
func sign(head, payload string) string {
	signed := encoding.EncodeToString([]byte(head)) + "." + encoding.EncodeToString([]byte(payload))
	return signed + "." + encoding.EncodeToString(ed25519.Sign(newKey("k1"), []byte(signed)))
}

// Signed by the right key, and still refused: everything that HTTPSigner would not have written.
func TestVerifyHTTPRefusesOtherForms(t *testing.T) {
	w := newWire(t)
	const goodHead = `{"alg":"EdDSA","kid":"k1","typ":"vedette-warrant+jwt"}`
	raw, err := json.Marshal(w.claims().toPayload())
	require.NoError(t, err)
	good := string(raw)
	require.Equal(t, w.token(w.claims()), sign(goodHead, good))

	heads := []string{
		"", "null", "{}", "[]", goodHead + goodHead, " " + goodHead,
		`{"alg":"none","kid":"k1","typ":"vedette-warrant+jwt"}`,
		`{"alg":"None","kid":"k1","typ":"vedette-warrant+jwt"}`,
		`{"alg":"HS256","kid":"k1","typ":"vedette-warrant+jwt"}`,
		`{"alg":"Ed25519","kid":"k1","typ":"vedette-warrant+jwt"}`,
		`{"alg":"EdDSA","kid":"k1","typ":"JWT"}`,
		`{"alg":"EdDSA","kid":"k1"}`,
		`{"ALG":"EdDSA","kid":"k1","typ":"vedette-warrant+jwt"}`,
		`{"alg":"none","alg":"EdDSA","kid":"k1","typ":"vedette-warrant+jwt"}`,
		`{"alg":"EdDSA","crit":["x"],"kid":"k1","typ":"vedette-warrant+jwt"}`,
		`{"alg":"EdDSA","jwk":{},"kid":"k1","typ":"vedette-warrant+jwt"}`,
	}
	for _, head := range heads {
		require.ErrorIs(t, w.verify(request(sign(head, good))), ErrInvalid, head)
	}
	payloads := []string{
		"", "null", "{}", "[]", good + "\n", strings.Replace(good, ",", ", ", 1),
		strings.Replace(good, `"aud":"`, `"aud":"x","aud":"`, 1),
		strings.Replace(good, `"aud"`, `"AUD"`, 1),
		strings.Replace(good, `{`, `{"admin":true,`, 1),
		strings.Replace(good, `"aud":"`+audience+`"`, `"aud":["`+audience+`"]`, 1),
		strings.Replace(good, `"jti":"j1"`, `"jti":""`, 1),
		strings.Replace(good, `"jti":"j1",`, ``, 1),
		strings.Replace(good, `"skill":"email.send"`, `"skill":"`+strings.Repeat("x", 257)+`"`, 1),
		strings.Replace(good, `"body":"`, `"body":"0`, 1),
		strings.Replace(good, `"iat":`, `"target":"","iat":`, 1),
		strings.Replace(good, `"iat":`, `"target":"x","iat":`, 1),
		strings.Replace(good, `"exp":1`, `"exp":1.0e9,"x":1`, 1),
		strings.Replace(good, `"exp":`, `"exp":9223372036`, 1),
		strings.Replace(good, `"iat":`, `"iat":-`, 1),
	}
	for _, payload := range payloads {
		require.NotEqual(t, good, payload)
		require.ErrorIs(t, w.verify(request(sign(goodHead, payload))), ErrInvalid, payload)
	}
	require.NoError(t, w.verify(request(sign(goodHead, good))))
}

// No other's signature, and no bent one, is accepted.
func TestVerifyHTTPRefusesSignatures(t *testing.T) {
	w := newWire(t)
	good := w.token(w.claims())
	parts := strings.Split(good, ".")
	stranger, err := NewHTTPSigner(newKey("stranger"), "k1")
	require.NoError(t, err)
	foreign, err := stranger.Token(w.claims())
	require.NoError(t, err)
	last := parts[2][len(parts[2])-1]
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	bent := parts[2][:len(parts[2])-1] + string(digits[(strings.IndexByte(digits, last)+1)%64])
	for name, token := range map[string]string{
		"none":             parts[0] + "." + parts[1] + ".",
		"two parts":        parts[0] + "." + parts[1],
		"four parts":       good + "." + parts[2],
		"stranger":         foreign,
		"swapped":          parts[0] + "." + parts[1] + "." + strings.Split(foreign, ".")[2],
		"short":            parts[0] + "." + parts[1] + "." + parts[2][:40],
		"trailing bits":    parts[0] + "." + parts[1] + "." + bent,
		"padding":          good + "==",
		"newline":          parts[0] + "." + parts[1] + "." + parts[2][:10] + "\n" + parts[2][10:],
		"newline in claim": parts[0] + "." + parts[1][:10] + "\n" + parts[1][10:] + "." + parts[2],
		"leading space":    " " + good,
		"bearer":           "Bearer " + good,
	} {
		require.ErrorIs(t, w.verify(request(token)), ErrInvalid, name)
	}
	require.NoError(t, w.verify(request(good)))
}

// With several keys, a token's key id picks the one, and only that one.
func TestVerifyHTTPKeys(t *testing.T) {
	w := newWire(t)
	w.opts.Key = nil
	keys := map[string]ed25519.PublicKey{"k1": public(newKey("k1")), "k2": public(newKey("k2")), "bad": {1, 2, 3}}
	w.opts.Keys = maps.Clone(keys)
	token := w.token(w.claims())
	delete(w.opts.Keys, "k1")
	require.ErrorIs(t, w.verify(request(token)), ErrInvalid, "unknown id")
	w.opts.Keys["k1"] = keys["k2"]
	require.ErrorIs(t, w.verify(request(token)), ErrInvalid, "the wrong key")
	w.opts.Keys["k1"] = keys["bad"]
	require.ErrorIs(t, w.verify(request(token)), ErrInvalid, "a broken key")
	w.opts.Keys["k1"] = keys["k1"]
	require.NoError(t, w.verify(request(token)))
}

// A body is read up to MaxBody, only for a good token, and may be absent.
func TestVerifyHTTPBody(t *testing.T) {
	w := newWire(t)
	w.opts.MaxBody = int64(len(body))
	token := w.token(w.claims())
	for _, length := range []int64{int64(len(body)) + 1, -1} {
		r := request(token)
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body+" ")), length
		require.ErrorIs(t, w.verify(r), ErrBodyTooLarge)
	}
	r := request(token)
	r.Body, r.ContentLength = io.NopCloser(iotest.ErrReader(errors.New("the body was touched"))), w.opts.MaxBody+1
	require.ErrorIs(t, w.verify(r), ErrBodyTooLarge, "a declared length is believed where it is too long")

	r = request(token)
	r.Body = io.NopCloser(iotest.ErrReader(errors.New("canary")))
	err := w.verify(r)
	require.ErrorIs(t, err, ErrBody)
	require.NotContains(t, err.Error(), "canary")

	r = request(token + "x")
	r.Body = io.NopCloser(iotest.ErrReader(errors.New("the body was touched")))
	require.ErrorIs(t, w.verify(r), ErrInvalid)
	require.NoError(t, w.verify(request(token)), "exactly MaxBody is fine")

	c := w.claims()
	c.ID, c.Body = "j2", BodyDigest(nil)
	r = httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set(Header, w.token(c))
	require.NoError(t, w.verify(r))

	w.opts.SkipBody, w.opts.SkipTarget = true, true
	c.ID, c.Target = "j3", TargetDigest("GET", "/elsewhere")
	r = request(w.token(c))
	require.NoError(t, w.verify(r))
	unread, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.Equal(t, body, string(unread))
}

// A Seen that can't answer refuses, and is given id and the end of the leeway.
func TestVerifyHTTPSeen(t *testing.T) {
	w := newWire(t)
	away := errors.New("away")
	w.opts.Seen = func(_ context.Context, id string, exp time.Time) (bool, error) {
		require.Equal(t, "j1", id)
		want := w.now.Add(time.Minute + 5*time.Second)
		require.Equal(t, want, exp)
		return true, away
	}
	err := w.verify(request(w.token(w.claims())))
	require.ErrorIs(t, err, ErrSeen)
	require.ErrorIs(t, err, away)
}
