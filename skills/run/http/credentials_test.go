package http

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/runtest"
)

// book knows one user's credential.
type book struct{ user, value string }

func (b book) Names() []string { return []string{"github"} }
func (b book) Credential(_ context.Context, _ string, c skills.Caller) (string, error) {
	if c.User != b.user {
		return "", errors.New("nothing for " + c.User)
	}
	return b.value, nil
}

// The user's credential goes to the server and nowhere else.
func TestCredentialHeader(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprintf(w, "you sent %v", r.Header) })
	o := opts{"url": s.at("/"), "credentials": opts{"Authorization": "Bearer {github}"}}
	res, err := run(t, s, o, opts{}, func(o *Options) { o.Credentials = book{"u1", canary} })
	require.NoError(t, err)
	require.Equal(t, "Bearer "+canary, s.arrived()[0].header.Get("Authorization"))
	require.Contains(t, res.Content, "you sent")
	require.NotContains(t, res.Content, canary)

	for _, b := range []book{{"u2", canary}, {"u1", "short"}, {"u1", "SECRET\r\nX-Evil: 1"}} {
		_, err = run(t, s, o, opts{}, func(o *Options) { o.Credentials = b })
		require.EqualError(t, err, "skill failed: credential_missing")
		require.ErrorIs(t, err, skills.ErrNoEffect)
	}
	require.Len(t, s.arrived(), 1, "nothing was sent without it")
}

// These are mistakes of the configuration: a credential that isn't known, a header that is
// taken, a skill that takes a command line.
func TestRefusesCredentials(t *testing.T) {
	kit := runtest.New(t)
	for name, row := range map[string]struct {
		headers, credentials opts
		want                 []string
	}{
		"unknown": {nil, opts{"X-A": "{githb}"}, []string{"run.http.credentials.X-A"}},
		"none":    {nil, opts{"X-A": "github"}, []string{"run.http.credentials.X-A"}},
		"two":     {nil, opts{"X-A": "{github}{github}"}, []string{"run.http.credentials.X-A"}},
		"taken":   {opts{"x-a": "1"}, opts{"X-A": "{github}"}, []string{"run.http.credentials.X-A"}},
		"ours":    {nil, opts{"Vedette-Warrant": "{github}"}, []string{"run.http.credentials.Vedette-Warrant"}},
		"good":    {opts{"x-b": "1"}, opts{"X-A": "{github}"}, nil},
	} {
		o := opts{"url": "https://example.com/", "credentials": row.credentials}
		if row.headers != nil {
			o["headers"] = row.headers
		}
		_, err := New(runtest.Compile(t, spec(o), nil), kit.Redeemer, Options{Credentials: book{}})
		require.ElementsMatch(t, row.want, runtest.Paths(err), "%s: %v", name, err)
	}
	sp := spec(opts{"url": "https://example.com/", "credentials": opts{"X-A": "{github}"}})
	_, err := New(runtest.Compile(t, sp, nil), kit.Redeemer, Options{})
	require.Equal(t, []string{"run.http.credentials.X-A"}, runtest.Paths(err), "no credentials at all")
	sp.Parameters = json.RawMessage(`{"type":"object","properties":{"line":{"type":"string","x-shell":true}}}`)
	_, err = New(runtest.Compile(t, sp, nil), kit.Redeemer, Options{Credentials: book{}})
	require.Equal(t, []string{"run.http.credentials"}, runtest.Paths(err))
}
