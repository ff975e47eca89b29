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
			resp, err := client(t, s.URL, row.config).Chat(t.Context(), ask("canary-request"))
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

// A panic below Chat becomes an error of this one call.
func TestPanicStays(t *testing.T) {
	hc := &http.Client{Transport: tripper(func(*http.Request) (*http.Response, error) { panic("canary") })}
	c, err := llm.New(llm.Config{Name: "fast", Model: "m", BaseURL: "http://localhost/v1"}, hc)
	require.NoError(t, err)
	_, err = c.Chat(t.Context(), ask("canary"))
	require.Equal(t, llm.Error{Kind: llm.KindBadResponse, Code: llm.CodePanic, Model: "fast"}, public(fails(t, err)))
}

// The words of a transport don't come through.
func TestTransportWordsStayInside(t *testing.T) {
	hc := &http.Client{Transport: tripper(func(*http.Request) (*http.Response, error) { return nil, errors.New("canary") })}
	c, err := llm.New(llm.Config{Name: "fast", Model: "m", BaseURL: "http://localhost/v1"}, hc)
	require.NoError(t, err)
	_, err = c.Chat(t.Context(), ask("canary"))
	require.Equal(t, llm.KindConnect, fails(t, err).Kind)
	require.NoError(t, errors.Unwrap(err))
}

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

// A server's claim of tokens is bounded, so that no sum of them overflows.
func TestUsageIsPlausible(t *testing.T) {
	s := serve(t, answer(`{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9223372036854775807,`+
		`"completion_tokens":-5,"total_tokens":9223372036854775807}}`))
	resp, err := client(t, s.URL, nil).Chat(t.Context(), ask("hi"))
	require.NoError(t, err)
	require.Equal(t, llm.Usage{Prompt: 1 << 30, Completion: 0, Total: 1 << 30}, resp.Usage)
}
