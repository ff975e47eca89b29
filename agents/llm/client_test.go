package llm_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/internal/arrival"
)

// A client and its configuration describe themselves by name, model and address,
// and say of the key only whether there is one.
func TestClientsDescribeThemselves(t *testing.T) {
	for key, set := range map[string]string{"sk-canary-key": "true", "": "false"} {
		c := client(t, "http://x.test", func(c *llm.Config) { c.APIKey, c.Context = key, 7 })
		var log strings.Builder
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "model", c)
		for _, text := range []string{c.String(), fmt.Sprintf("%#v", c), log.String(), c.Config().String()} {
			require.Contains(t, text, "fast")
			require.Contains(t, text, "m-1")
			require.Contains(t, text, "http://x.test/v1")
			require.NotContains(t, text, "canary")
		}
		require.Contains(t, log.String(), "api_key_set="+set)
		require.Equal(t, "fast", c.Config().Name)
		require.Equal(t, 7, c.Config().Context)
		require.Empty(t, c.Config().APIKey)
	}
	require.Contains(t, llm.Config{BaseURL: "https://x.test/%zz"}.String(), "invalid")
	_, err := llm.New(llm.Config{Name: "a", Model: "m"}, nil)
	var at *llm.PathError
	require.ErrorAs(t, err, &at)
	require.Equal(t, "models.a.base_url", at.ConfigPath())
	require.Equal(t, at.ConfigPath()+": "+at.ConfigMessage(), at.Error())
	require.Contains(t, fits("sk-canary-key"), "api_key:redacted")
	require.Contains(t, fits(""), "api_key:none")
	require.Contains(t, err.Error(), "missing; give an address")
}

func fits(key string) string {
	return llm.Config{Name: "a", BaseURL: "http://x.test", APIKey: key}.String()
}

// keeper is a transport that counts what is closed.
type keeper struct{ bodies, idle int }

func (k *keeper) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}},
		Body: shut{strings.NewReader(fine), k}}, nil
}

func (k *keeper) CloseIdleConnections() { k.idle++ }

type shut struct {
	io.Reader
	k *keeper
}

func (s shut) Close() error { s.k.bodies++; return nil }

// What was opened is closed: each answer, and on request what stays open.
func TestBodiesAndConnectionsAreClosed(t *testing.T) {
	k := &keeper{}
	c, err := llm.New(llm.Config{Name: "a", Model: "m", BaseURL: "http://x.test"}, &http.Client{Transport: k})
	require.NoError(t, err)
	_, err = c.Chat(t.Context(), ask("hi"))
	require.NoError(t, err)
	require.Equal(t, 1, k.bodies)
	c.CloseIdle()
	require.Equal(t, 1, k.idle)
	r, err := llm.NewRoster(llm.RosterConfig{HTTP: &http.Client{Transport: k}})
	require.NoError(t, err)
	r.Close()
	require.Equal(t, 2, k.idle)
}

// A limited client reads no more than the lower limit, and the model's own
// client as much as before.
func TestLimited(t *testing.T) {
	body := `{"choices":[{"message":{"content":"` + strings.Repeat("a", 2000) + `"}}]}`
	c := client(t, serve(t, answer(body)).URL, func(c *llm.Config) { c.MaxResponse = 1 << 20 })
	_, err := c.Limited(1000).Chat(t.Context(), ask("x"))
	require.Equal(t, llm.KindTooLarge, fails(t, err).Kind)
	require.Same(t, c, c.Limited(0))
	require.Same(t, c, c.Limited(1<<30))
	for _, enough := range []*llm.Client{c, c.Limited(int64(len(body)))} {
		_, err = enough.Chat(t.Context(), ask("x"))
		require.NoError(t, err)
	}
	require.EqualValues(t, 1000, c.Limited(1<<19).Limited(1000).Limited(1<<18).Config().MaxResponse)
}

// A panic below Chat becomes an error of this one call.
func TestPanicBecomesAnError(t *testing.T) {
	hc := &http.Client{Transport: tripper(func(*http.Request) (*http.Response, error) { panic("canary") })}
	c, err := llm.New(llm.Config{Name: "fast", Model: "m", BaseURL: "http://localhost/v1"}, hc)
	require.NoError(t, err)
	_, err = c.Chat(t.Context(), ask("canary"))
	require.Equal(t, llm.Error{Kind: llm.KindBadResponse, Code: llm.CodePanic, Model: "fast"}, public(fails(t, err)))
}

// The address is the base plus one path, and the key is a bearer token.
func TestAddressAndKey(t *testing.T) {
	s := serve(t, answer(fine))
	_, err := client(t, s.URL, func(c *llm.Config) { c.BaseURL += "//" }).Chat(t.Context(), ask("hi"))
	require.NoError(t, err)
	require.Equal(t, "Bearer sk-canary-key", s.heads[0].Get("Authorization"))
	_, err = client(t, s.URL, func(c *llm.Config) { c.APIKey = "" }).Chat(t.Context(), ask("hi"))
	require.NoError(t, err)
	require.Empty(t, s.heads[1].Get("Authorization"))
	require.True(t, strings.HasPrefix(s.heads[1].Get("Content-Type"), "application/json"))
}

// A transport that keeps the time of its requests says alone what is late.
func TestATransportKeepsTheTime(t *testing.T) {
	k := &arrival.Timekeeper{Next: llm.NewHTTPClient().Transport}
	var s *server
	s = serve(t, func(w http.ResponseWriter, r *http.Request) {
		if list := s.received(); strings.Contains(list[len(list)-1], "hang") {
			k.OnArrival(r.Header)
			<-r.Context().Done()
			return
		}
		answer(fine)(w, r)
	})
	c := clientOver(t, s.URL, func(cfg *llm.Config) { cfg.Timeout = time.Nanosecond }, &http.Client{Transport: k})
	far, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	for range 2 {
		resp, err := c.Chat(far, ask("answer"))
		require.NoError(t, err)
		require.Equal(t, "hello", resp.Content)
		_, err = c.Chat(far, ask("hang"))
		var e *llm.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, llm.KindTimeout, e.Kind)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	_, err := c.Chat(gone, ask("answer"))
	var e *llm.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, llm.KindCanceled, e.Kind)
}
