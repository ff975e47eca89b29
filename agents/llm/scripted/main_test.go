package scripted_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/llm/scripted"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder collects exchanges, which arrive from several goroutines.
type recorder struct {
	mu  sync.Mutex
	all []scripted.Exchange
}

func (r *recorder) log(x scripted.Exchange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, x)
}

func (r *recorder) rules() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for _, x := range r.all {
		names = append(names, x.Rule)
	}
	return names
}

func play(t *testing.T, script string, opts scripted.Options) *scripted.Server {
	s, err := scripted.Load([]byte(script))
	require.NoError(t, err)
	srv, err := scripted.Serve(t.Context(), s, opts)
	require.NoError(t, err)
	t.Cleanup(srv.Close)
	return srv
}

func model(t *testing.T, srv *scripted.Server, name string) *llm.Client {
	c, err := llm.New(llm.Config{Name: "m", Model: name, BaseURL: srv.BaseURL()}, nil)
	require.NoError(t, err)
	t.Cleanup(c.CloseIdle)
	return c
}

// post sends raw bytes and returns status, header and body.
func post(t *testing.T, srv *scripted.Server, body string) (int, http.Header, string) {
	hc := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := hc.Post(srv.URL()+"/v1/chat/completions", "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, res.Header, string(b)
}

func compact(t *testing.T, s string) string {
	var b bytes.Buffer
	require.NoError(t, json.Compact(&b, []byte(s)))
	return b.String()
}

func unzipped(t *testing.T, s string) string {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(s))
	require.NoError(t, err)
	b, err := io.ReadAll(z)
	require.NoError(t, err)
	return string(b)
}
