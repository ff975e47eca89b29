package http

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/warrant"
)

const (
	canary      = "SECRET-TOKEN-42"
	canaryToken = "eyJhbGciOi.the-signed-warrant.c2lnbmF0dXJl"
)

// said writes what a server knows of a request, in the way that a mode names.
func said(mode string, r *http.Request) string {
	auth := r.Header.Get("Authorization")
	switch mode {
	case "base64":
		return base64.StdEncoding.EncodeToString([]byte(auth))
	case "query":
		return url.QueryEscape(auth)
	case "json":
		b, _ := json.Marshal(r.Header)
		return string(b)
	case "lines":
		return auth[:12] + "\n " + auth[12:]
	case "shortened":
		return auth[:len(auth)-3] + "…"
	}
	return fmt.Sprintf("debug: %v %s", r.Header, r.URL)
}

// A server that tells what it was sent tells the model no configured secret and no warrant. It
// may answer well, badly, or with a redirect.
func TestSecretsDoNotComeBack(t *testing.T) {
	for _, status := range []int{200, 302, 400, 500} {
		for _, mode := range []string{"plain", "base64", "query", "json", "lines", "shortened"} {
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", "https://example.com/?"+r.Header.Get("Authorization"))
				w.WriteHeader(status)
				_, _ = io.WriteString(w, said(mode, r)+" and the rest")
			})
			res, err := run(t, s, opts{"url": s.at("/x?api_key=QUERY-SECRET-7"), "headers": opts{"Authorization": "Bearer " + canary,
				"Accept": "text/plain"}}, opts{},
				func(o *Options) { o.Token = func(skills.Order, Request) (string, error) { return canaryToken, nil } })
			all := res.Content
			if status == 200 {
				require.NoError(t, err)
			} else {
				var answer *StatusError
				require.ErrorAs(t, err, &answer)
				all = err.Error() + answer.Body
			}
			require.Contains(t, all, "and the rest", mode)
			for _, secret := range []string{canary, canary[:12], "QUERY-SECRET", canaryToken, "RUNSRVQ"} {
				require.NotContains(t, all, secret, "%d %s", status, mode)
			}
			require.Equal(t, "Bearer "+canary, s.arrived()[0].header.Get("Authorization"), "the server itself gets it")
			require.Equal(t, canaryToken, s.arrived()[0].header.Get(warrant.Header))
		}
	}
}

// What the configuration says to everybody is no secret.
func TestPlainHeadersMayComeBack(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Header.Get("Accept")) })
	res, err := run(t, s, opts{"url": s.at("/"), "headers": opts{"Accept": "application/json"}}, opts{})
	require.NoError(t, err)
	require.Equal(t, "application/json", res.Content)
}

// Where the limit cuts an answer in the middle of a secret, its beginning goes too.
func TestSecretAtTheLimit(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/bad" {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = io.WriteString(w, strings.Repeat("x", maxSnippet-9)+canary)
	})
	o := opts{"url": s.at("/"), "output_limit": maxSnippet, "headers": opts{"X-Key": canary}}
	res, err := run(t, s, o, opts{})
	require.NoError(t, err)
	require.True(t, res.Truncated)
	require.NotContains(t, res.Content, "SECR")
	o["url"] = s.at("/bad")
	_, err = run(t, s, o, opts{})
	require.ErrorContains(t, err, "xxx")
	require.NotContains(t, err.Error(), "SECR")
}

// The client's own errors quote an answer that is no HTTP, and a redirect to what is no
// address: without the secret.
func TestSecretsInBrokenAnswers(t *testing.T) {
	for name, answer := range map[string]string{
		"status line": "HTTP/1.1 " + canary + " no\r\n\r\n",
		"header":      "HTTP/1.1 200 OK\r\n" + canary + "\r\n\r\n",
		"length":      "HTTP/1.1 200 OK\r\nContent-Length: " + canary + "\r\n\r\n",
		"encoding":    "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + canary + "\r\n\r\n",
		"location":    "HTTP/1.1 302 Found\r\nLocation: https://[" + canary + "/%zz\r\nContent-Length: 0\r\n\r\n",
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_, _ = io.WriteString(c, answer)
				_ = c.Close()
			}
		})
		_, err := run(t, s, opts{"url": s.at("/"), "headers": opts{"Authorization": "Bearer " + canary}}, opts{})
		require.Error(t, err, name)
		for e := err; e != nil; {
			require.NotContains(t, fmt.Sprintf("%v %+v", e, e), canary, name)
			wrapped, ok := e.(interface{ Unwrap() error })
			if !ok {
				break
			}
			e = wrapped.Unwrap()
		}
	}
}
