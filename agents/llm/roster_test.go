package llm_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"io"
	"strings"

	"github.com/vedette-dev/vedette/agents/llm"
)

// paths lists the configuration paths of a joined error, in order.
func paths(err error) []string {
	var p *llm.PathError
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []string
		for _, e := range joined.Unwrap() {
			all = append(all, paths(e)...)
		}
		return all
	}
	if errors.As(err, &p) {
		return []string{p.Path}
	}
	return nil
}

// Every fault of a configuration is reported at once, each at its own key.
func TestRosterReportsEveryFault(t *testing.T) {
	good := llm.Config{Model: "m", BaseURL: "https://example.com/v1"}
	_, err := llm.NewRoster(llm.RosterConfig{
		Models: map[string]llm.Config{
			"fast":    {BaseURL: "ftp://example.com", Timeout: -1, Effort: "extreme", Context: -1, MaxResponse: -1, APIKey: "a\nb"},
			"primary": good,
			"third":   {Model: "m", BaseURL: "https://user:canary@example.com", Effort: "low"},
			"query":   {Model: "m", BaseURL: "https://example.com/?key=canary"},
			"odd":     {Model: "m", BaseURL: "https://example.com", Schemaless: "prose"},
			"notools": {Model: "m", BaseURL: "https://example.com", Schemaless: llm.ViaTool, SupportsTools: ptr(false)},
			"rel":     {Model: "m", BaseURL: "example.com"},
			"bad.dot": good,
			"other":   {Name: "else", Model: "m", BaseURL: "https://example.com"},
		},
		Roles: map[string][]string{
			"sentinel": {"fsat", "primary", "primary"}, "agent": {}, "orchestrator": {"fast"}, "a b": {"primary"},
		},
	})
	require.Equal(t, []string{
		"models",
		"models.fast.model", "models.fast.base_url", "models.fast.api_key", "models.fast.timeout", "models.fast.effort", "models.fast.context",
		"models.fast.max_response",
		"models.notools.schemaless", "models.odd.schemaless",
		"models.other", "models.query.base_url", "models.rel.base_url",
		"models.third.base_url", "models.third.effort",
		"roles", "roles.agent", "roles.sentinel[0]", "roles.sentinel[2]",
	}, paths(err))
	require.NotContains(t, err.Error(), "canary")
	require.Contains(t, err.Error(), `no model is named "fsat"; known: `)
}

// A role is its chain in order; what is not configured is not there.
func TestRosterRoles(t *testing.T) {
	s := serve(t, answer(fine))
	r, err := llm.NewRoster(llm.RosterConfig{
		Models: map[string]llm.Config{"fast": {Model: "m", BaseURL: s.URL}, "primary": {Model: "n", BaseURL: s.URL}},
		Roles:  map[string][]string{"sentinel": {"fast", "primary"}},
	})
	require.NoError(t, err)
	t.Cleanup(r.Close)
	chain, err := r.ForRole("sentinel")
	require.NoError(t, err)
	require.Equal(t, []string{"fast", "primary"}, []string{chain[0].Name(), chain[1].Name()})
	chain[0] = nil
	again, err := r.ForRole("sentinel")
	require.NoError(t, err)
	require.NotNil(t, again[0], "a caller can't change the roster")
	_, err = r.ForRole("judge")
	require.Equal(t, []string{"roles"}, paths(err))
	c, ok := r.Lookup("primary")
	require.True(t, ok)
	_, err = c.Chat(t.Context(), ask("hi"))
	require.NoError(t, err)
	_, ok = r.Lookup("nobody")
	require.False(t, ok)
	require.Equal(t, []string{"fast", "primary"}, r.Names())
}

// One after the other, requests of all models of one host use one connection.
func TestRosterKeepsConnectionsWarm(t *testing.T) {
	var opened atomic.Int64
	s := httptest.NewUnstartedServer(answer(fine))
	s.Config.ConnState = func(_ net.Conn, st http.ConnState) {
		if st == http.StateNew {
			opened.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	r, err := llm.NewRoster(llm.RosterConfig{Models: map[string]llm.Config{"a": {Model: "m", BaseURL: s.URL},
		"b": {Model: "n", BaseURL: s.URL}}})
	require.NoError(t, err)
	t.Cleanup(r.Close)
	for _, name := range []string{"a", "b", "a", "b"} {
		c, _ := r.Lookup(name)
		_, err := c.Chat(t.Context(), ask("hi"))
		require.NoError(t, err)
	}
	require.EqualValues(t, 1, opened.Load())
}

// No way of printing a configuration or a client shows the key.
func TestKeyIsNeverPrinted(t *testing.T) {
	cfg := llm.Config{Name: "fast", Model: "m", BaseURL: "https://example.com/v1", APIKey: "canary", Timeout: time.Second}
	c, err := llm.New(cfg, nil)
	require.NoError(t, err)
	var out bytes.Buffer
	for _, v := range []any{cfg, &cfg, c, c.Config(), struct{ C llm.Config }{cfg}, map[string]llm.Config{"x": cfg}, []*llm.Client{c}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		b, err := json.Marshal(v)
		require.NoError(t, err)
		out.Write(b)
		slog.New(slog.NewTextHandler(&out, nil)).Info("x", "v", v)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "v", v)
	}
	require.NotContains(t, out.String(), "canary")
	require.Contains(t, out.String(), "redacted")
	require.Empty(t, c.Config().APIKey)

	bad := llm.Config{Name: "fast", Model: "m", BaseURL: "https://u:canary@example.com/v1?k=canary"}
	require.NotContains(t, fmt.Sprint(bad), "canary")
	_, err = llm.New(bad, nil)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "canary")
	_, err = llm.New(llm.Config{Name: "a.b"}, nil)
	require.Equal(t, []string{"models"}, paths(err))
}

// As many connections as a pool was made for stay open between two waves of
// requests: the second wave dials none.
func TestPoolKeepsAWaveWarm(t *testing.T) {
	const wave = 200
	var opened atomic.Int64
	arrived, release := make(chan struct{}, wave), make(chan struct{})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-release
		answer(fine)(w, r)
	}))
	s.Config.ConnState = func(_ net.Conn, st http.ConnState) {
		if st == http.StateNew {
			opened.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	hc := llm.NewPool(wave)
	t.Cleanup(hc.CloseIdleConnections)
	c, err := llm.New(llm.Config{Name: "m", Model: "m", BaseURL: s.URL}, hc)
	require.NoError(t, err)
	for range 2 {
		errs := make(chan error, wave)
		for range wave {
			go func() {
				_, err := c.Chat(t.Context(), ask("hi"))
				errs <- err
			}()
		}
		for range wave {
			<-arrived
		}
		for range wave { // all are under way at once, so each has a connection
			release <- struct{}{}
		}
		for range wave {
			require.NoError(t, <-errs)
		}
	}
	require.EqualValues(t, wave, opened.Load())
}

// A roster that could not be made knows nothing, and whoever asks it is told so.
func TestNilRoster(t *testing.T) {
	r, err := llm.NewRoster(llm.RosterConfig{Models: map[string]llm.Config{"m": {}}})
	require.Error(t, err)
	require.Nil(t, r)
	_, err = r.ForRole("sentinel")
	require.EqualError(t, err, `roles: no model is configured for role "sentinel"`)
	_, known := r.Lookup("m")
	require.False(t, known)
	require.Empty(t, r.Names())
	r.Close()
}

// carrier answers without a server and notes whose requests it carried.
type carrier struct {
	name string
	seen *[]string
}

func (c carrier) RoundTrip(*http.Request) (*http.Response, error) {
	*c.seen = append(*c.seen, c.name)
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(fine))}, nil
}

// A roster's requests go through the pool that it was given, and where each
// model has a carrier of its own through that.
func TestRosterCarriesRequests(t *testing.T) {
	var seen []string
	models := map[string]llm.Config{"a": {Model: "m", BaseURL: "http://a.test"}, "b": {Model: "m", BaseURL: "http://b.test"}}
	pool := &http.Client{Transport: carrier{"pool", &seen}}
	for _, tc := range []struct {
		transport func(string) http.RoundTripper
		want      []string
	}{{nil, []string{"pool", "pool"}}, {func(m string) http.RoundTripper { return carrier{m, &seen} }, []string{"a", "b"}}} {
		seen = nil
		r, err := llm.NewRoster(llm.RosterConfig{Models: models, HTTP: pool, Transport: tc.transport})
		require.NoError(t, err)
		for _, name := range r.Names() {
			c, ok := r.Lookup(name)
			require.True(t, ok)
			_, err := c.Chat(t.Context(), ask("hi"))
			require.NoError(t, err)
		}
		require.Equal(t, tc.want, seen)
	}
}

// Each fault of a roster is at its place and says what would be right.
func TestRostersSayWhatIsWrong(t *testing.T) {
	fits := llm.Config{Model: "m", BaseURL: "http://x.test"}
	other := fits
	other.Name = "b"
	for want, cfg := range map[string]llm.RosterConfig{
		`models: the name "a b" is not made of`:       {Models: map[string]llm.Config{"a b": fits}},
		`models.a: is configured under another name`:  {Models: map[string]llm.Config{"a": other}},
		`roles: the name "a b" is not made of`:        {Models: map[string]llm.Config{"a": fits}, Roles: map[string][]string{"a b": {"a"}}},
		`roles.r: names no model; give at least one`:  {Models: map[string]llm.Config{"a": fits}, Roles: map[string][]string{"r": nil}},
		`roles.r[0]: no model is named "z"; known: a`: {Models: map[string]llm.Config{"a": fits}, Roles: map[string][]string{"r": {"z"}}},
		`roles.r[1]: "a" is in this chain already`:    {Models: map[string]llm.Config{"a": fits}, Roles: map[string][]string{"r": {"a", "a"}}},
	} {
		_, err := llm.NewRoster(cfg)
		require.ErrorContains(t, err, want)
	}
	r, err := llm.NewRoster(llm.RosterConfig{Models: map[string]llm.Config{"a": fits}})
	require.NoError(t, err)
	_, err = r.ForRole("r")
	require.ErrorContains(t, err, `no model is configured for role "r"`)
}
