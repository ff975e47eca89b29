package llm_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/vedette-dev/vedette/agents/llm"
)

// Whatever a server answers, Chat returns an answer that says something or a
// typed error that repeats nothing, and does not panic.
func FuzzAnswer(f *testing.F) {
	for _, body := range []string{fine, "", "null", `{"choices":[]}`, canaryError, `{"choices":[{"message":{"content":[{"text":"a"}]}}]}`,
		`{"error":{"message":["a"],"code":1}}`, `{"choices":[{"message":{"tool_calls":[{"id":"1","function":{"name":"f","arguments":"{"}}]}}]}`} {
		f.Add(200, "application/json", "1", body)
		f.Add(429, "text/html", "Mon, 02 Jan 2006 15:04:05 GMT", body)
	}
	f.Fuzz(func(t *testing.T, code int, kind, retry, body string) {
		hc := &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {kind}, "Retry-After": {retry}},
				Body: io.NopCloser(strings.NewReader(body)), ContentLength: -1, Request: r}, nil
		})}
		c, err := llm.New(llm.Config{Name: "fast", Model: "m", BaseURL: "http://localhost/v1", MaxResponse: 1 << 16}, hc)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Chat(t.Context(), ask("hi"))
		said := resp.Content != "" || resp.Refusal != "" || len(resp.ToolCalls) > 0
		if said != (err == nil) {
			t.Fatalf("said %v, error %v", said, err)
		}
		var e *llm.Error
		if err != nil && (!errors.As(err, &e) || e.Code == llm.CodePanic || e.RetryAfter < 0 || len(err.Error()) > 200) {
			t.Fatalf("bad error %q", err)
		}
	})
}
