package llm_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
)

// errorOf asks once and returns what went wrong.
func errorOf(t *testing.T, ctx context.Context, c *llm.Client, r llm.Request) *llm.Error { //nolint:revive // the test comes first
	t.Helper()
	_, err := c.Chat(ctx, r)
	var e *llm.Error
	require.ErrorAs(t, err, &e)
	return e
}

// An error is one line that names the model, the kind, what to think of it, and
// status and code where there are any.
func TestErrorsAreWritten(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	late, done := context.WithDeadline(t.Context(), time.Now().Add(-time.Hour))
	defer done()
	short := func(c *llm.Config) { c.Timeout = 30 * time.Millisecond }
	for _, tc := range []struct {
		h      http.HandlerFunc
		ctx    context.Context
		config func(*llm.Config)
		want   string
	}{
		{status(401, ""), nil, nil, "auth: the server refused the credentials; check api_key (status 401)"},
		{status(429, canaryError), nil, nil, "rate_limited: the server asked to slow down (status 429) (code other)"},
		{status(500, ""), nil, nil, "server: the server failed (status 500)"},
		{status(404, ""), nil, nil, "request: the server refused the request (status 404)"},
		{status(307, canaryError, "Location", "/x"), nil, nil,
			"request: the server redirected, which is not followed; correct base_url (status 307) (code redirect)"},
		{typed("text/html", fine), nil, nil, "not_json: the content type is not JSON; check base_url (status 200)"},
		{answer("{"), nil, nil, "not_json: the answer is not one valid JSON document (status 200)"},
		{answer(`{"choices":[{"message":{}}]}`), nil, nil,
			"bad_response: the answer holds neither content nor a tool call (status 200) (code empty)"},
		{answer(`{"choices":[]}`), nil, nil, "bad_response: the answer has no choices (status 200) (code no_choices)"},
		{answer(`{"error":{}}`), nil, nil, "bad_response: the server reported an error within a success (status 200)"},
		{answer(`{"choices":7}`), nil, nil, "bad_response: the answer has another shape than a chat completion (status 200) (code shape)"},
		{cut, nil, nil, "connect: the connection broke within the answer (status 200)"},
		{hang, nil, short, "timeout: no complete answer within 30ms"},
		{answer(fine), nil, func(c *llm.Config) { c.MaxResponse = 10 }, "too_large: the answer is longer than the limit (status 200)"},
		{answer(fine), nil, func(c *llm.Config) { c.BaseURL = "http://127.0.0.1:1/v1" },
			"connect: no answer from the server; check base_url and the network"},
		{answer(fine), gone, nil, "canceled: the caller cancelled"},
		{answer(fine), late, nil, "canceled: the caller's deadline passed"},
	} {
		t.Run(tc.want, func(t *testing.T) {
			ctx := tc.ctx
			if ctx == nil {
				ctx = t.Context()
			}
			s := serve(t, tc.h)
			require.Equal(t, "model fast: "+tc.want, errorOf(t, ctx, client(t, s.URL, tc.config), ask("hi")).Error())
			if tc.ctx != nil {
				require.Empty(t, s.received(), "nothing is sent for a caller that has gone")
			}
		})
	}
}

// What no server could answer is refused before it is sent, and the error says
// which part of it.
func TestRefusedBeforeItIsSent(t *testing.T) {
	for _, tc := range []struct {
		change func(*llm.Request)
		says   string
	}{
		{func(r *llm.Request) { r.Messages = nil }, "no messages"},
		{func(r *llm.Request) { r.MaxTokens = -1 }, "token limit"},
		{func(r *llm.Request) { r.Temperature = ptr(-0.1) }, "temperature"},
		{func(r *llm.Request) { r.Temperature = ptr(2.1) }, "temperature"},
		{func(r *llm.Request) { r.Temperature = ptr(math.NaN()) }, "temperature"},
		{func(r *llm.Request) { r.Tools = []llm.Tool{{Parameters: []byte(`{}`)}} }, "a tool has no name"},
		{func(r *llm.Request) { r.Tools = []llm.Tool{{Name: "f", Parameters: []byte(`{`)}} }, "not JSON"},
		{func(r *llm.Request) { r.Schema = &llm.Schema{Schema: []byte(`{}`)} }, "the schema has no name"},
		{func(r *llm.Request) { r.Schema = &llm.Schema{Name: "s", Schema: []byte(`{`)} }, "the schema has no name"},
		{func(r *llm.Request) { r.ToolChoice = "f" }, "tool choice"},
	} {
		s := serve(t, answer(fine))
		r := ask("hi")
		tc.change(&r)
		e := errorOf(t, t.Context(), client(t, s.URL, nil), r)
		require.Equal(t, llm.KindRequest, e.Kind)
		require.Equal(t, llm.CodeInvalidRequest, e.Code)
		require.Contains(t, e.Error(), tc.says)
		require.Empty(t, s.received())
	}
	for _, at := range []float64{0, 2} {
		r := ask("hi")
		r.Temperature = &at
		_, err := client(t, serve(t, answer(fine)).URL, nil).Chat(t.Context(), r)
		require.NoError(t, err)
	}
}

// The codes that servers document are passed on, whichever of the two fields
// they stand in, before any other text; what has no word has no code.
func TestKnownCodesArePassedOn(t *testing.T) {
	codes := []string{"billing_hard_limit_reached", "content_filter", "content_policy_violation", "context_length_exceeded",
		"insufficient_quota",
		"invalid_api_key", "invalid_prompt", "invalid_request_error", "invalid_value", "model_not_found", "overloaded_error",
		"rate_limit_exceeded",
		"server_error", "string_above_max_length", "unsupported_parameter", "unsupported_value", "no_rule"}
	for _, code := range codes {
		for _, body := range []string{`{"error":{"code":%q}}`, `{"error":{"type":%q}}`, `{"error":{"code":"canary","type":%q}}`,
			`{"error":{"code":7,"type":%q}}`} {
			s := serve(t, status(400, fmt.Sprintf(body, code)))
			require.Equal(t, code, errorOf(t, t.Context(), client(t, s.URL, nil), ask("hi")).Code)
		}
	}
	for body, want := range map[string]string{`{"error":{"code":"canary"}}`: llm.CodeOther, `{"error":{"type":"canary"}}`: llm.CodeOther,
		`{"error":{}}`: "", `{"error":{"code":""}}`: "", `{"error":{"code":7}}`: "", `{"error":null}`: "", `{}`: "", ``: ""} {
		s := serve(t, status(400, body))
		require.Equal(t, want, errorOf(t, t.Context(), client(t, s.URL, nil), ask("hi")).Code, body)
	}
}

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

// Names and ids of messages arrive where they belong.
func TestMessagesKeepTheirNamesAndIDs(t *testing.T) {
	s := serve(t, answer(fine))
	r := llm.Request{Messages: []llm.Message{
		{Role: llm.RoleUser, Name: "kim", Content: "hi"},
		{Role: llm.RoleTool, ToolCallID: "c1", Content: "x"}, {Role: llm.RoleTool, Content: "y"},
	}}
	_, err := client(t, s.URL, nil).Chat(t.Context(), r)
	require.NoError(t, err)
	require.Contains(t, s.received()[0], `"messages":[{"role":"user","content":"hi","name":"kim"},{"role":"tool","content":"x",`+
		`"tool_call_id":"c1"},{"role":"tool","content":"y","tool_call_id":""}]`)
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

// What a configuration may say at its edges, and that what is wrong is said.
func TestConfigurationAtItsEdges(t *testing.T) {
	fits := llm.Config{Name: "azAZ09_-", Model: "m", BaseURL: "https://x.test/v1"}
	for name, change := range map[string]func(*llm.Config){
		"as it is":             func(*llm.Config) {},
		"a tool, with tools":   func(c *llm.Config) { c.Schemaless, c.SupportsTools = llm.ViaTool, ptr(true) },
		"a tool, not said":     func(c *llm.Config) { c.Schemaless = llm.ViaTool },
		"an object, no tools":  func(c *llm.Config) { c.Schemaless, c.SupportsTools = llm.ViaJSONObject, ptr(false) },
		"nothing said of size": func(c *llm.Config) { c.Context, c.MaxResponse, c.Timeout = 0, 0, 0 },
	} {
		cfg := fits
		change(&cfg)
		_, err := llm.New(cfg, nil)
		require.NoError(t, err, name)
	}
	says := regexp.MustCompile(`^models(\.\S+)?: .{10}`)
	for name, change := range map[string]func(*llm.Config){
		"no name":         func(c *llm.Config) { c.Name = "" },
		"before a":        func(c *llm.Config) { c.Name = "`" },
		"after z":         func(c *llm.Config) { c.Name = "{" },
		"before A":        func(c *llm.Config) { c.Name = "@" },
		"after Z":         func(c *llm.Config) { c.Name = "[" },
		"before 0":        func(c *llm.Config) { c.Name = "/" },
		"after 9":         func(c *llm.Config) { c.Name = ":" },
		"a question mark": func(c *llm.Config) { c.BaseURL = "https://x.test/v1?" },
		"a query":         func(c *llm.Config) { c.BaseURL = "https://x.test/v1?a=b" },
		"a fragment":      func(c *llm.Config) { c.BaseURL = "https://x.test/v1#a" },
		"a password":      func(c *llm.Config) { c.BaseURL = "https://u:p@x.test/v1" },
		"no scheme":       func(c *llm.Config) { c.BaseURL = "x.test/v1" },
		"another scheme":  func(c *llm.Config) { c.BaseURL = "ftp://x.test/v1" },
		"no host":         func(c *llm.Config) { c.BaseURL = "https:///v1" },
		"no URL":          func(c *llm.Config) { c.BaseURL = "https://x.test/%zz" },
		"opaque":          func(c *llm.Config) { c.BaseURL = "https:x.test" },
		"a tool, none":    func(c *llm.Config) { c.Schemaless, c.SupportsTools = llm.ViaTool, ptr(false) },
	} {
		cfg := fits
		change(&cfg)
		_, err := llm.New(cfg, nil)
		var at *llm.PathError
		require.ErrorAs(t, err, &at, name)
		require.Regexp(t, says, at.Error(), name)
	}
	require.Contains(t, fits.String(), "https://x.test/v1")
	fits.BaseURL = "https://u:canary@x.test/v1?canary#canary"
	require.Contains(t, fits.String(), "https://x.test/v1")
	require.NotContains(t, fits.String(), "canary")
}
