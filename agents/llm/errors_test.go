package llm_test

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fmt"

	"github.com/vedette-dev/vedette/agents/llm"
)

// status answers with a status, headers as pairs, and a body.
func status(code int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

func typed(contentType, body string) http.HandlerFunc {
	return status(200, body, "Content-Type", contentType)
}

func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// drip sends the beginning of an answer and then nothing.
func drip(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"choices":[`)
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

// cut promises more than it sends.
func cut(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", "1000")
	_, _ = io.WriteString(w, `{"choices":[`)
}

func bomb(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	_, _ = io.WriteString(z, `{"choices":[{"message":{"content":"`+strings.Repeat("a", 4<<20))
	_ = z.Close()
}

const canaryError = `{"error":{"message":"canary-message","type":"canary-type","code":"canary-code"}}`

// Every way to fail has one kind, and no text of it repeats what went over the wire.
func TestErrorKinds(t *testing.T) {
	small := func(c *llm.Config) { c.MaxResponse = 1 << 20 }
	short := func(c *llm.Config) { c.Timeout = 50 * time.Millisecond }
	rows := []struct {
		name   string
		server http.HandlerFunc
		config func(*llm.Config)
		want   llm.Error
	}{
		{"401", status(401, canaryError), nil, llm.Error{Kind: llm.KindAuth, Status: 401, Code: llm.CodeOther}},
		{"403 with a known code", status(403, `{"error":{"code":"invalid_api_key"}}`), nil,
			llm.Error{Kind: llm.KindAuth, Status: 403, Code: "invalid_api_key"}},
		{"429 with seconds", status(429, canaryError, "Retry-After", "7"), nil,
			llm.Error{Kind: llm.KindRateLimited, Status: 429, RetryAfter: 7 * time.Second, Code: llm.CodeOther}},
		{"429 with milliseconds", status(429, `{}`, "Retry-After", "7", "Retry-After-Ms", "250"), nil,
			llm.Error{Kind: llm.KindRateLimited, Status: 429, RetryAfter: 250 * time.Millisecond}},
		{"429 without a header", status(429, `canary`), nil, llm.Error{Kind: llm.KindRateLimited, Status: 429}},
		{"429 that asks for a year", status(429, `{}`, "Retry-After", "31536000"), nil,
			llm.Error{Kind: llm.KindRateLimited, Status: 429, RetryAfter: time.Hour}},
		{"429 with a date in the past", status(429, `{}`, "Retry-After", "Mon, 02 Jan 2006 15:04:05 GMT"), nil,
			llm.Error{Kind: llm.KindRateLimited, Status: 429}},
		{"429 with a date", status(429, `{}`, "Retry-After", "Mon, 02 Jan 2096 15:04:05 GMT"), nil,
			llm.Error{Kind: llm.KindRateLimited, Status: 429, RetryAfter: time.Hour}},
		{"429 with rubbish", status(429, `{}`, "Retry-After", "-5"), nil, llm.Error{Kind: llm.KindRateLimited, Status: 429}},
		{"429 with a code that is cut off", status(429, `{"error":{"code":"insufficient_quota"}`), nil,
			llm.Error{Kind: llm.KindRateLimited, Status: 429}},
		{"429 with a code twice", status(429, `{"error":{"code":"insufficient_quota","code":null}}`), nil,
			llm.Error{Kind: llm.KindRateLimited, Status: 429}},
		{"429 with a code in other letters", status(429, `{"Error":{"code":"insufficient_quota"},"error":{"Code":"insufficient_quota"}}`), nil,
			llm.Error{Kind: llm.KindRateLimited, Status: 429}},
		{"500", status(500, canaryError), nil, llm.Error{Kind: llm.KindServer, Status: 500, Code: llm.CodeOther}},
		{"503 in HTML with Retry-After", status(503, "<html>canary", "Content-Type", "text/html", "Retry-After", "2"), nil,
			llm.Error{Kind: llm.KindServer, Status: 503, RetryAfter: 2 * time.Second}},
		{"400 too long a context, as llama.cpp's server says it",
			status(400, `{"error":{"code":400,"message":"canary (15031 tokens)","type":"exceed_context_size_error","n_prompt_tokens":15031,`+
				`"n_ctx":8192}}`), nil, llm.Error{Kind: llm.KindRequest, Status: 400, Code: "context_length_exceeded"}},
		{"400 too long a context", status(400, `{"error":{"message":"canary","code":"context_length_exceeded"}}`), nil,
			llm.Error{Kind: llm.KindRequest, Status: 400, Code: "context_length_exceeded"}},
		{"400 with the code as a number", status(400, `{"error":{"message":["canary"],"type":"invalid_request_error","code":400}}`), nil,
			llm.Error{Kind: llm.KindRequest, Status: 400, Code: "invalid_request_error"}},
		{"404", status(404, "canary"), nil, llm.Error{Kind: llm.KindRequest, Status: 404}},
		{"redirect", status(307, "", "Location", "/elsewhere"), nil, llm.Error{Kind: llm.KindRequest, Status: 307, Code: llm.CodeRedirect}},
		{"HTML", typed("text/html; charset=utf-8", "<html>canary</html>"), nil, llm.Error{Kind: llm.KindNotJSON, Status: 200}},
		{"JSON called HTML", typed("text/html", fine), nil, llm.Error{Kind: llm.KindNotJSON, Status: 200}},
		{"HTML called JSON", answer("<html>canary</html>"), nil, llm.Error{Kind: llm.KindNotJSON, Status: 200}},
		{"an event stream", typed("text/event-stream", "data: "+fine), nil, llm.Error{Kind: llm.KindNotJSON, Status: 200}},
		{"truncated JSON", answer(fine[:len(fine)-20]), nil, llm.Error{Kind: llm.KindNotJSON, Status: 200}},
		{"two documents", answer(fine + fine), nil, llm.Error{Kind: llm.KindNotJSON, Status: 200}},
		{"duplicate keys", answer(`{"choices":[{"message":{"content":"canary","content":"b"}}]}`), nil,
			llm.Error{Kind: llm.KindNotJSON, Status: 200}},
		{"invalid UTF-8", answer("{\"choices\":[{\"message\":{\"content\":\"\xff\"}}]}"), nil, llm.Error{Kind: llm.KindNotJSON, Status: 200}},
		{"empty body", answer(""), nil, llm.Error{Kind: llm.KindNotJSON, Status: 200}},
		{"error body in a success", answer(canaryError), nil, llm.Error{Kind: llm.KindBadResponse, Status: 200, Code: llm.CodeOther}},
		{"known error in a success", answer(`{"error":{"code":"rate_limit_exceeded"}}`), nil,
			llm.Error{Kind: llm.KindBadResponse, Status: 200, Code: "rate_limit_exceeded"}},
		{"error beside choices", answer(`{"error":{"code":"server_error"},` + fine[1:]), nil,
			llm.Error{Kind: llm.KindBadResponse, Status: 200, Code: "server_error"}},
		{"no choices", answer(`{"choices":[]}`), nil, llm.Error{Kind: llm.KindBadResponse, Status: 200, Code: llm.CodeNoChoices}},
		{"null", answer(`null`), nil, llm.Error{Kind: llm.KindBadResponse, Status: 200, Code: llm.CodeNoChoices}},
		{"another shape", answer(`{"choices":"canary"}`), nil, llm.Error{Kind: llm.KindBadResponse, Status: 200, Code: llm.CodeShape}},
		{"arguments that are no string", answer(`{"choices":[{"message":{"tool_calls":[{"id":"1","function":{"name":"f",` +
			`"arguments":{"canary":1}}}]}}]}`), nil, llm.Error{Kind: llm.KindBadResponse, Status: 200, Code: llm.CodeShape}},
		{"neither content nor calls", answer(`{"choices":[{"message":{"role":"assistant","content":null},"finish_reason":"stop"}]}`), nil,
			llm.Error{Kind: llm.KindBadResponse, Status: 200, Code: llm.CodeEmpty}},
		{"all tokens spent on reasoning", answer(`{"choices":[{"message":{"content":""},"finish_reason":"length"}]}`), nil,
			llm.Error{Kind: llm.KindBadResponse, Status: 200, Code: llm.CodeLength}},
		{"filtered", answer(`{"choices":[{"message":{},"finish_reason":"content_filter"}]}`), nil,
			llm.Error{Kind: llm.KindBadResponse, Status: 200, Code: llm.CodeContentFilter}},
		{"huge body", answer(`{"choices":[{"message":{"content":"` + strings.Repeat("canary", 1<<18) + `"}}]}`), small,
			llm.Error{Kind: llm.KindTooLarge, Status: 200}},
		{"huge once unpacked", bomb, small, llm.Error{Kind: llm.KindTooLarge, Status: 200}},
		{"cut within the body", cut, nil, llm.Error{Kind: llm.KindConnect, Status: 200}},
		{"hangs before the answer", hang, short, llm.Error{Kind: llm.KindTimeout}},
		{"hangs within the answer", drip, short, llm.Error{Kind: llm.KindTimeout, Status: 200}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			s := serve(t, row.server)
			c := client(t, s.URL, row.config)
			if row.want.Kind == llm.KindTimeout {
				c = patient(t, s, row.config, row.want.Status != 0)
			}
			resp, err := c.Chat(t.Context(), ask("canary-request"))
			e := fails(t, err)
			row.want.Model = "fast"
			require.Equal(t, row.want, public(e))
			require.Equal(t, row.want.Kind == llm.KindTimeout, e.Timeout())
			require.Empty(t, resp.Content+resp.Refusal)
			require.Len(t, s.received(), 1, "one request, no retry, no redirect followed")
		})
	}
}

// fails asserts what holds for every error and returns it.
func fails(t *testing.T, err error) *llm.Error {
	var e *llm.Error
	require.ErrorAs(t, err, &e)
	for _, secret := range []string{"canary", "127.0.0.1", "sk-"} {
		require.NotContains(t, err.Error(), secret)
	}
	return e
}

// public copies what a caller can see in fields.
func public(e *llm.Error) llm.Error {
	return llm.Error{Kind: e.Kind, Status: e.Status, RetryAfter: e.RetryAfter, Model: e.Model, Code: e.Code}
}

// Nobody listens: the address is right, the port is closed.
func TestConnectionRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	url := "http://" + l.Addr().String()
	require.NoError(t, l.Close())
	_, err = client(t, url, nil).Chat(t.Context(), ask("canary"))
	require.Equal(t, llm.Error{Kind: llm.KindConnect, Model: "fast"}, public(fails(t, err)))
}

// The caller's own end, by cancellation or deadline, never looks like the model's
// timeout; and the model's timeout never looks like the caller's deadline.
func TestCallerCancels(t *testing.T) {
	t.Run("cancelled while the server hangs", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := serve(t, func(w http.ResponseWriter, r *http.Request) { cancel(); hang(w, r) })
		_, err := client(t, s.URL, nil).Chat(ctx, ask("canary"))
		require.Equal(t, llm.KindCanceled, fails(t, err).Kind)
		require.ErrorIs(t, err, context.Canceled)
	})
	t.Run("cancelled within the answer", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			time.AfterFunc(20*time.Millisecond, cancel)
			drip(w, r)
		})
		_, err := client(t, s.URL, nil).Chat(ctx, ask("canary"))
		require.Equal(t, llm.KindCanceled, fails(t, err).Kind)
	})
	t.Run("the caller's deadline comes first", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := client(t, serve(t, hang).URL, nil).Chat(ctx, ask("canary"))
		e := fails(t, err)
		require.Equal(t, llm.KindCanceled, e.Kind)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.False(t, e.Timeout())
	})
	t.Run("the model's timeout comes first", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c := client(t, serve(t, hang).URL, func(c *llm.Config) { c.Timeout = 50 * time.Millisecond })
		_, err := c.Chat(ctx, ask("canary"))
		require.Equal(t, llm.KindTimeout, fails(t, err).Kind)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
	})
	t.Run("cancelled before the start sends nothing", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s := serve(t, answer(fine))
		_, err := client(t, s.URL, nil).Chat(ctx, ask("canary"))
		require.Equal(t, llm.KindCanceled, fails(t, err).Kind)
		require.Empty(t, s.received())
	})
}

// A bad answer still tells what it cost and how it ended.
func TestBadResponseKeepsUsage(t *testing.T) {
	s := serve(t, answer(`{"choices":[{"message":{"content":""},"finish_reason":"length"}],"usage":{"prompt_tokens":1,`+
		`"completion_tokens":2,"total_tokens":3}}`))
	resp, err := client(t, s.URL, nil).Chat(t.Context(), ask("hi"))
	require.Equal(t, llm.KindBadResponse, fails(t, err).Kind)
	require.Equal(t, llm.Usage{Prompt: 1, Completion: 2, Total: 3}, resp.Usage)
	require.Equal(t, "length", resp.FinishReason)
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The words of a transport don't come through.
func TestTransportWordsAreHidden(t *testing.T) {
	hc := &http.Client{Transport: tripper(func(*http.Request) (*http.Response, error) { return nil, errors.New("canary") })}
	c, err := llm.New(llm.Config{Name: "fast", Model: "m", BaseURL: "http://localhost/v1"}, hc)
	require.NoError(t, err)
	_, err = c.Chat(t.Context(), ask("canary"))
	require.Equal(t, llm.KindConnect, fails(t, err).Kind)
	require.NoError(t, errors.Unwrap(err))
}

// A server's claim of tokens is bounded, so that no sum of them overflows.
func TestUsageIsPlausible(t *testing.T) {
	s := serve(t, answer(`{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9223372036854775807,`+
		`"completion_tokens":-5,"total_tokens":9223372036854775807}}`))
	resp, err := client(t, s.URL, nil).Chat(t.Context(), ask("hi"))
	require.NoError(t, err)
	require.Equal(t, llm.Usage{Prompt: 1 << 30, Completion: 0, Total: 1 << 30}, resp.Usage)
}

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

// Which statuses are a success, a redirect, a refusal.
func TestStatusesAtTheirEdges(t *testing.T) {
	for code, want := range map[int]llm.Kind{200: "", 201: "", 299: "", 300: llm.KindRequest, 399: llm.KindRequest, 400: llm.KindRequest,
		499: llm.KindRequest, 500: llm.KindServer, 599: llm.KindServer} {
		_, err := client(t, serve(t, status(code, fine)).URL, nil).Chat(t.Context(), ask("hi"))
		if want == "" {
			require.NoError(t, err, code)
			continue
		}
		var e *llm.Error
		require.ErrorAs(t, err, &e, code)
		require.Equal(t, want, e.Kind, code)
		require.Equal(t, code >= 300 && code < 400, e.Code == llm.CodeRedirect, code)
	}
}

// What an answer took is known also where it is none, and nothing that it said;
// a word of errors elsewhere in it is no error.
func TestFailedAnswerKeepsUsageAlone(t *testing.T) {
	const usage = `"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}`
	for _, body := range []string{`{"choices":[],` + usage + `}`, `{"choices":[{"message":{},"finish_reason":"length"}],` + usage + `}`,
		`{"error":{},"choices":[{"message":{"content":"canary","refusal":"canary","tool_calls":[{"id":"1","function":{"name":"f",` +
			`"arguments":"canary"}}]}}],` + usage + `}`} {
		resp, err := client(t, serve(t, answer(body)).URL, nil).Chat(t.Context(), ask("hi"))
		require.Error(t, err)
		require.Equal(t, llm.Usage{Prompt: 3, Completion: 4, Total: 7}, resp.Usage)
		require.Empty(t, resp.Content+resp.Refusal)
		require.Empty(t, resp.ToolCalls)
	}
	for _, body := range []string{`{"choices":[{"message":{"content":"x"},"error":null}]}`,
		`{"error":null,"choices":[{"message":{"content":"x"}}]}`,
		`{"choices":[{"message":{"content":"\"error\""}}]}`} {
		_, err := client(t, serve(t, answer(body)).URL, nil).Chat(t.Context(), ask("hi"))
		require.NoError(t, err, body)
	}
}
