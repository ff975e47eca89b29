package llm_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"errors"

	"github.com/vedette-dev/vedette/agents/llm"
)

// An answer of just the limit is taken, told of before or not, and one of a byte
// more is not.
func TestAnswerOfJustTheLimit(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{"told": answer(fine), "not told": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.(http.Flusher).Flush()
		_, _ = io.WriteString(w, fine)
	}} {
		for more, want := range map[int64]llm.Kind{0: "", -1: llm.KindTooLarge} {
			c := client(t, serve(t, h).URL, func(c *llm.Config) { c.MaxResponse = int64(len(fine)) + more })
			_, err := c.Chat(t.Context(), ask("hi"))
			if want == "" {
				require.NoError(t, err, name)
				continue
			}
			var e *llm.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, want, e.Kind, name)
		}
	}
}

// A type of content is JSON by its name alone, and read strictly.
func TestContentTypes(t *testing.T) {
	for contentType, fits := range map[string]bool{
		"application/json": true, "application/json; charset=utf-8": true, "text/json": true, "application/problem+json": true,
		"application/json; charset": false, "text/plain": false, "application/jsonl": false, "json": false, ";": false,
	} {
		_, err := client(t, serve(t, typed(contentType, fine)).URL, nil).Chat(t.Context(), ask("hi"))
		require.Equal(t, fits, err == nil, contentType)
	}
}

// No more of an answer is read than the limit allows.
func TestReadingStopsAtTheLimit(t *testing.T) {
	for _, code := range []int{200, 500} {
		body := &endless{}
		hc := &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: code, Header: http.Header{}, Body: body, ContentLength: -1, Request: r}, nil
		})}
		c, err := llm.New(llm.Config{Name: "fast", Model: "m", BaseURL: "http://localhost/v1", MaxResponse: 1 << 20}, hc)
		require.NoError(t, err)
		_, err = c.Chat(t.Context(), ask("hi"))
		require.Contains(t, []llm.Kind{llm.KindTooLarge, llm.KindServer}, fails(t, err).Kind)
		require.Less(t, body.taken, 3<<20)
	}
}

// endless counts what is taken from an answer that never ends.
type endless struct{ taken int }

func (e *endless) Read(p []byte) (int, error) {
	e.taken += len(p)
	if e.taken > 8<<20 {
		return 0, errors.New("read on beyond the limit")
	}
	return copy(p, strings.Repeat(" ", len(p))), nil
}

func (*endless) Close() error { return nil }

// A redirect takes neither the key nor the conversation anywhere else.
func TestRedirectCarriesNothing(t *testing.T) {
	thief := serve(t, answer(fine))
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.URL+"/v1/chat/completions", http.StatusPermanentRedirect)
	})
	_, err := client(t, s.URL, nil).Chat(t.Context(), ask("hi"))
	require.Equal(t, llm.CodeRedirect, fails(t, err).Code)
	require.Empty(t, thief.received())
}
