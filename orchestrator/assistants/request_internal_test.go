package assistants

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/orchestrator/threads"
)

// Whatever a client sends is a request with the user's text at its end, or a refusal; what is read of its
// history stays within what the orchestrator takes.
func FuzzParseCompletion(f *testing.F) {
	f.Add([]byte(`{"model":"v","messages":[{"role":"system","content":"a"},{"role":"user","content":[{"type":"text","text":"b"}]}]}`))
	f.Add([]byte(`{"model":"v","n":1,"stream":true,"messages":[{"role":"tool","content":null},{"role":"user","content":"b"}]}`))
	f.Add([]byte(`{"messages":{}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		q, no := parseCompletion(b)
		if no != nil {
			require.GreaterOrEqual(t, no.Status, 400)
			require.Less(t, no.Status, 500)
			require.NotEmpty(t, no.Message)
			return
		}
		require.NotEmpty(t, strings.TrimSpace(q.request()))
		list := tellForeign(q.listForeign(func(threads.Said) bool { return false }))
		require.LessOrEqual(t, len(list), maxTurns)
		n := 0
		for _, m := range list {
			n += len(m.Text)
			require.Contains(t, []string{orchestrator.MessageOfUser, orchestrator.MessageOfAssistant}, m.Role)
			require.True(t, utf8.ValidString(m.Text))
		}
		require.LessOrEqual(t, n, maxForeign)
	})
}

// Requests are counted within a window that slides.
func TestRates(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	r := rates{now: func() time.Time { return now }, of: map[string]window{}}
	for range 4 {
		require.Zero(t, r.take("a", 4, time.Minute))
	}
	require.Equal(t, time.Minute, r.take("a", 4, time.Minute))
	require.Zero(t, r.take("b", 4, time.Minute))
	now = now.Add(90 * time.Second)
	require.Zero(t, r.take("a", 4, time.Minute))
	require.Zero(t, r.take("a", 4, time.Minute))
	require.Positive(t, r.take("a", 4, time.Minute), "half of the window before counts")
	now = now.Add(2 * time.Minute)
	require.Zero(t, r.take("a", 4, time.Minute))
}

// How long a body may be, the guard says alone: what it lets through is read, and what it cuts off is too large.
func TestGuardBoundsBodies(t *testing.T) {
	body := `{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("a", 5<<20) + `"}]}`
	for _, c := range []struct {
		most int64
		code string
	}{{8 << 20, ""}, {1 << 20, "too_large"}} {
		r := httptest.NewRequest(http.MethodPost, "/assistants/v1/chat/completions", strings.NewReader(body))
		r.Body = http.MaxBytesReader(httptest.NewRecorder(), r.Body, c.most)
		q, f := readCompletion(r)
		if c.code == "" {
			require.Nil(t, f)
			require.Len(t, q.request(), 5<<20)
			continue
		}
		require.Equal(t, c.code, f.Code)
	}
}
