package scripted_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm/scripted"
	"github.com/vedette-dev/vedette/internal/arrival"
)

const (
	verdict   = `{"decision":"approve","reason":"fits what was asked"}`
	approving = `rules: [{reply: {content: '` + verdict + `'}}]`
	askPlain  = `{"model":"m","messages":[{"role":"user","content":"canary"}]}`
	askStream = `{"model":"m","stream":true,"messages":[{"role":"user","content":"canary"}]}`
)

// heard is what a raw client got to know.
type heard struct {
	status int
	head   http.Header
	body   string
	sent   error // of the request; there is no status then
	read   error // of the body
	late   bool  // the client gave up
}

// content is what the model said, of a whole body.
func (h heard) content(t *testing.T) string {
	t.Helper()
	var c struct {
		Choices []struct{ Message struct{ Content *string } }
	}
	require.NoError(t, json.Unmarshal([]byte(h.body), &c), h.body)
	require.Len(t, c.Choices, 1)
	require.NotNil(t, c.Choices[0].Message.Content)
	return *c.Choices[0].Message.Content
}

// waits is how long a client that never gets an answer's end waits for more.
const waits = 100 * time.Millisecond

// forever is the patience for an answer that has an end.
const forever = -1

// listen asks with a plain client that follows no redirect and unpacks nothing, and
// that gives up a while after it has read so many bytes of the body.
func listen(t *testing.T, srv *scripted.Server, body string, patience int) heard {
	t.Helper()
	return listenOver(t, raw(), srv, body, patience)
}

// raw is a transport that unpacks nothing and keeps no connection.
func raw() http.RoundTripper {
	return &http.Transport{DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: 8 << 20}
}

func listenOver(t *testing.T, via http.RoundTripper, srv *scripted.Server, body string, patience int) heard {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if patience == 0 {
		defer time.AfterFunc(waits, cancel).Stop()
	}
	hc := &http.Client{
		Transport:     via,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.BaseURL()+"/chat/completions", strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	res, err := hc.Do(req)
	if err != nil {
		return heard{sent: err, late: ctx.Err() != nil}
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(io.TeeReader(res.Body, &counting{left: patience, onRead: func() { time.AfterFunc(waits, cancel) }}))
	return heard{status: res.StatusCode, head: res.Header, body: string(b), read: err, late: ctx.Err() != nil}
}

// counting calls onRead once when so many bytes have come.
type counting struct {
	left   int
	onRead func()
}

func (c *counting) Write(p []byte) (int, error) {
	before := c.left
	if c.left -= len(p); before > 0 && c.left <= 0 {
		c.onRead()
	}
	return len(p), nil
}

// apiFault looks at an error body in the services' form.
func apiFault(status int, kind, code string) func(*testing.T, heard) {
	return func(t *testing.T, h heard) {
		require.Equal(t, status, h.status)
		require.NoError(t, h.read)
		var doc struct {
			Error struct {
				Message    string
				Type, Code *string
			}
		}
		require.NoError(t, json.Unmarshal([]byte(h.body), &doc))
		require.NotEmpty(t, doc.Error.Message)
		require.NotContains(t, h.body, "canary")
		for want, got := range map[string]*string{kind: doc.Error.Type, code: doc.Error.Code} {
			if want == "" {
				require.Nil(t, got)
				continue
			}
			require.NotNil(t, got)
			require.Equal(t, want, *got)
		}
	}
}

// says looks at the content of a whole answer that arrived well.
func says(want string) func(*testing.T, heard) {
	return func(t *testing.T, h heard) {
		require.Equal(t, 200, h.status)
		require.NoError(t, h.read)
		require.Equal(t, want, h.content(t))
	}
}

func finish(reason string) func(*testing.T, heard) {
	return func(t *testing.T, h heard) {
		require.Contains(t, h.body, `"finish_reason":"`+reason+`"`)
		require.Equal(t, string([]rune(verdict)[:len(verdict)/2]), h.content(t))
	}
}

func holds(words ...string) func(*testing.T, heard) {
	return func(t *testing.T, h heard) {
		require.Equal(t, 200, h.status)
		require.NoError(t, h.read)
		require.True(t, json.Valid([]byte(h.body)))
		for _, w := range words {
			require.Contains(t, h.body, w)
		}
	}
}

// whole is the body of a good answer by the first request.
func whole(t *testing.T, body string) string {
	h := listen(t, play(t, approving, fixed()), body, forever)
	require.NoError(t, h.read)
	return h.body
}

func fixed() scripted.Options {
	return scripted.Options{Now: func() time.Time { return time.Unix(1700000000, 0) }, RetryAfter: 7 * time.Second,
		Pace: 50 * time.Microsecond}
}

// seen is what a raw client sees of each fault when it asked for no stream.
func seen(good string) map[scripted.Fault]func(*testing.T, heard) {
	return map[scripted.Fault]func(*testing.T, heard){
		scripted.Reset: func(t *testing.T, h heard) { require.ErrorIs(t, h.sent, syscall.ECONNRESET) },
		scripted.Cut:   func(t *testing.T, h heard) { require.ErrorIs(t, h.sent, io.EOF) },
		scripted.Hang:  func(t *testing.T, h heard) { require.True(t, h.late); require.Error(t, h.sent) },
		scripted.Redirect: func(t *testing.T, h heard) {
			require.Equal(t, 307, h.status)
			require.True(t, strings.HasSuffix(h.head.Get("Location"), "/v1/redirected"))
		},
		scripted.RateLimited: func(t *testing.T, h heard) {
			apiFault(429, "requests", "rate_limit_exceeded")(t, h)
			require.Equal(t, "7", h.head.Get("Retry-After"))
		},
		scripted.RateLimitedDate: func(t *testing.T, h heard) {
			apiFault(429, "requests", "rate_limit_exceeded")(t, h)
			at, err := http.ParseTime(h.head.Get("Retry-After"))
			require.NoError(t, err)
			require.Equal(t, int64(1700000007), at.Unix())
		},
		scripted.QuotaSpent: func(t *testing.T, h heard) {
			apiFault(429, "insufficient_quota", "insufficient_quota")(t, h)
			require.Empty(t, h.head.Get("Retry-After"))
		},
		scripted.ServerError: apiFault(500, "server_error", ""),
		scripted.BadGateway: func(t *testing.T, h heard) {
			require.Equal(t, 502, h.status)
			require.Contains(t, h.body, "<html>")
		},
		scripted.Overloaded:     apiFault(503, "server_error", ""),
		scripted.Unauthorized:   apiFault(401, "invalid_request_error", "invalid_api_key"),
		scripted.Forbidden:      apiFault(403, "invalid_request_error", "unsupported_country_region_territory"),
		scripted.BadRequest:     apiFault(400, "invalid_request_error", ""),
		scripted.ContextLength:  apiFault(400, "invalid_request_error", "context_length_exceeded"),
		scripted.ContentPolicy:  apiFault(400, "invalid_request_error", "content_policy_violation"),
		scripted.PromptFiltered: apiFault(400, "", "content_filter"),
		scripted.RequestTimeout: apiFault(408, "server_error", ""),
		scripted.Conflict:       apiFault(409, "invalid_request_error", ""),
		scripted.Echo: func(t *testing.T, h heard) {
			require.Equal(t, 400, h.status)
			require.Contains(t, h.body, "canary")
		},
		scripted.Refusal:       holds(`"content":null`, `"refusal":"I can't help with that."`, `"finish_reason":"stop"`),
		scripted.ContentFilter: finish("content_filter"),
		scripted.Length:        finish("length"),
		scripted.Empty:         says(""),
		scripted.Null:          holds(`"content":null,"refusal":null}`),
		scripted.NoChoices:     holds(`"choices":[]`),
		scripted.Prose:         says("Sure, this is what I think: " + verdict + " I hope that this helps."),
		scripted.Fence:         says("```json\n" + verdict + "\n```"),
		scripted.TwoObjects:    says(verdict + "\n" + verdict),
		scripted.NotJSON:       says("That looks all right to me."),
		scripted.WrongShape:    says(`{"verdict":"fine","score":1}`),
		scripted.DuplicateKeys: says(`{"decision":"approve","reason":"fits what was asked","decision":"approve","reason":"fits what was asked"}`),
		scripted.ExtraField:    says(`{"decision":"approve","reason":"fits what was asked","surprise":1}`),
		scripted.WrongValue:    says(`{"decision":"perhaps","reason":"fits what was asked"}`),
		scripted.OtherModel:    holds(`"model":"another-model-2020-01-01"`),
		scripted.Drip:          func(t *testing.T, h heard) { require.NoError(t, h.read); require.Equal(t, good, h.body) },
		scripted.HangMidBody: func(t *testing.T, h heard) {
			require.True(t, h.late)
			require.Equal(t, 200, h.status)
			require.Equal(t, good[:len(good)/2], h.body)
		},
		scripted.ResetMidBody: func(t *testing.T, h heard) {
			require.Equal(t, 200, h.status)
			require.ErrorIs(t, h.read, syscall.ECONNRESET)
		},
		scripted.ShortBody: func(t *testing.T, h heard) {
			require.ErrorIs(t, h.read, io.ErrUnexpectedEOF)
			require.Equal(t, good[:len(good)/2], h.body)
		},
		scripted.TruncatedJSON: func(t *testing.T, h heard) {
			require.NoError(t, h.read)
			require.Equal(t, good[:len(good)/2], h.body)
			require.Equal(t, "application/json", h.head.Get("Content-Type"))
		},
		scripted.HTML: func(t *testing.T, h heard) {
			require.Equal(t, 200, h.status)
			require.Equal(t, "text/html", h.head.Get("Content-Type"))
			require.Contains(t, h.body, "<html>")
		},
		scripted.WrongType: func(t *testing.T, h heard) {
			says(verdict)(t, h)
			require.Equal(t, "text/html; charset=utf-8", h.head.Get("Content-Type"))
		},
		scripted.InvalidUTF8: func(t *testing.T, h heard) {
			require.NoError(t, h.read)
			require.False(t, utf8.ValidString(h.body))
			require.Equal(t, good, strings.Replace(h.body, "\xff", "", 1))
		},
		scripted.ErrorBody: apiFault(200, "server_error", "server_error"),
		scripted.OtherBody: holds(`"object":"list"`),
		scripted.Oversized: func(t *testing.T, h heard) {
			require.NoError(t, h.read)
			require.Greater(t, len(h.body), 16<<20)
			require.Equal(t, good, strings.TrimSpace(h.body))
		},
		scripted.GzipBomb: func(t *testing.T, h heard) {
			require.Equal(t, "gzip", h.head.Get("Content-Encoding"))
			require.Less(t, len(h.body), 1<<20)
			require.Equal(t, good, strings.TrimSpace(unzipped(t, h.body)))
		},
		scripted.HugeHeaders: func(t *testing.T, h heard) {
			size := 0
			for _, v := range h.head {
				size += len(v[0])
			}
			require.Greater(t, size, 1<<20)
			require.Equal(t, good, h.body)
		},
	}
}

// Each fault does to a client that asked for no stream what its name says, once,
// and the next request is answered well.
func TestFaults(t *testing.T) {
	good := whole(t, askPlain)
	table := seen(good)
	for _, f := range scripted.Faults() {
		t.Run(string(f), func(t *testing.T) {
			var rec recorder
			o, carrier := fixed(), &arrival.Carrier{Next: raw()}
			o.Log, o.Arrived = rec.log, carrier.OnArrival
			srv := play(t, approving, o)
			srv.FaultNext(1, f)
			h := listenOver(t, carrier, srv, askPlain, patience(f, good))
			if f.NeedsStream() {
				require.Equal(t, 500, h.status)
				require.Contains(t, h.body, "is for streams")
			} else {
				require.Contains(t, table, f, "nobody looks at this fault")
				table[f](t, h)
			}
			says(verdict)(t, listen(t, srv, askPlain, forever))
			require.Len(t, srv.Requests(), 2)
			srv.Close()
			require.ElementsMatch(t, []scripted.Fault{f, ""}, rec.faults())
		})
	}
}

// patience is how many bytes come of those that never end.
func patience(f scripted.Fault, good string) int {
	switch f {
	case scripted.Hang:
		return 0
	case scripted.HangMidBody:
		return len(good) / 2
	case scripted.StreamEndless:
		return 4 * len(good)
	}
	return forever
}

func (r *recorder) faults() []scripted.Fault {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []scripted.Fault
	for _, x := range r.all {
		out = append(out, x.Fault)
	}
	return out
}

// Faults of a body and of a stream do to a stream what their names say.
func TestFaultsOfStreams(t *testing.T) {
	good := whole(t, askStream)
	require.True(t, strings.HasSuffix(good, "data: [DONE]\n\n"))
	rows := map[scripted.Fault]func(*testing.T, heard){
		scripted.Drip: func(t *testing.T, h heard) { require.NoError(t, h.read); require.Equal(t, good, h.body) },
		scripted.HangMidBody: func(t *testing.T, h heard) {
			require.True(t, h.late)
			require.Equal(t, good[:len(good)/2], h.body)
		},
		scripted.ResetMidBody: func(t *testing.T, h heard) { require.ErrorIs(t, h.read, syscall.ECONNRESET) },
		scripted.ShortBody:    func(t *testing.T, h heard) { require.ErrorIs(t, h.read, io.ErrUnexpectedEOF) },
		scripted.StreamError: func(t *testing.T, h heard) {
			require.NoError(t, h.read)
			events := strings.Split(strings.TrimSpace(h.body), "\n\n")
			require.True(t, strings.HasPrefix(good, strings.Join(events[:len(events)-1], "\n\n")))
			require.JSONEq(t, `{"error":{"message":"the server had an error while processing the request","type":"server_error","param":null,`+
				`"code":null}}`,
				strings.TrimPrefix(events[len(events)-1], "data: "))
		},
		scripted.StreamEndless: func(t *testing.T, h heard) {
			require.True(t, h.late)
			require.Greater(t, strings.Count(h.body, `"content":"`), strings.Count(good, `"content":"`))
			require.NotContains(t, h.body, `"finish_reason":"`)
		},
		scripted.StreamMalformed: func(t *testing.T, h heard) {
			bad := 0
			for e := range strings.SplitSeq(strings.TrimSpace(h.body), "\n\n") {
				if data := strings.TrimPrefix(e, "data: "); data != "[DONE]" && !json.Valid([]byte(data)) {
					bad++
				}
			}
			require.Equal(t, 1, bad)
			require.True(t, strings.HasSuffix(h.body, "data: [DONE]\n\n"))
		},
		scripted.StreamNoFinish: func(t *testing.T, h heard) {
			require.NoError(t, h.read)
			require.True(t, strings.HasPrefix(good, h.body))
			require.Contains(t, h.body, `"content":"`)
			require.NotContains(t, h.body, `"finish_reason":"`)
		},
		scripted.StreamNoDone: func(t *testing.T, h heard) {
			require.NoError(t, h.read)
			require.Equal(t, strings.TrimSuffix(good, "data: [DONE]\n\n"), h.body)
		},
		scripted.Refusal:    func(t *testing.T, h heard) { require.Contains(t, h.body, `"refusal":"`) },
		scripted.NoChoices:  func(t *testing.T, h heard) { require.Equal(t, "data: [DONE]\n\n", h.body) },
		scripted.OtherModel: func(t *testing.T, h heard) { require.NotContains(t, h.body, `"model":"m"`) },
		scripted.ErrorBody:  apiFault(200, "server_error", "server_error"),
		scripted.InvalidUTF8: func(t *testing.T, h heard) {
			require.False(t, utf8.ValidString(h.body))
		},
	}
	for _, f := range scripted.Faults() {
		look, ok := rows[f]
		require.True(t, ok || !f.NeedsStream(), "nobody looks at %s", f)
		if !ok {
			continue
		}
		t.Run(string(f), func(t *testing.T) {
			srv := play(t, approving, fixed())
			srv.FaultNext(1, f)
			look(t, listen(t, srv, askStream, patience(f, good)))
			h := listen(t, srv, askStream, forever)
			require.Equal(t, strings.ReplaceAll(good, "chatcmpl-1", "chatcmpl-2"), h.body)
		})
	}
}

// A script names faults itself, with an answer to spoil or without.
func TestFaultsInScripts(t *testing.T) {
	srv := play(t, `
rules:
  - {times: 1, reply: {fault: overloaded}}
  - {times: 1, reply: {fault: fence, content: '{}'}}
  - {times: 1, reply: {fault: two_objects}}
  - {reply: {content: fine}}
`, scripted.Options{})
	apiFault(503, "server_error", "")(t, listen(t, srv, askPlain, forever))
	for _, want := range []string{"```json\n{}\n```", "\n", "fine"} {
		says(want)(t, listen(t, srv, askPlain, forever))
	}
	for script, want := range map[string]string{
		"rules: [{reply: {fault: brokn}}]":              "reply.fault: is not known; use one of ",
		"rules: [{reply: {fault: reset, status: 500}}]": "reply.fault: stands beside a status",
		"rules: [{reply: {fault: reset, hang: true}}]":  "reply.fault: stands beside a status",
	} {
		_, err := scripted.Load([]byte(script))
		require.ErrorContains(t, err, want)
	}
}

// The next requests meet their faults first, then those that fit one that was
// asked for; what can't be read or is for no model counts for nothing.
func TestWhichRequestsMeetAFault(t *testing.T) {
	srv := play(t, "{models: [m], "+approving+"}", scripted.Options{})
	ask := func(body string) int { return listen(t, srv, body, forever).status }
	stop := srv.FaultWhen(func(r scripted.Received) bool { return r.Number%2 == 0 }, scripted.Overloaded)
	srv.FaultNext(2, scripted.RateLimited)
	srv.FaultNext(1, scripted.ServerError)
	require.Equal(t, 400, ask("broken"))                                   // 1
	require.Equal(t, 404, ask(strings.Replace(askPlain, `"m"`, `"n"`, 1))) // 2
	for i, want := range []int{429, 429, 500, 503, 200, 503, 200} {        // 3 to 9
		require.Equal(t, want, ask(askPlain), i)
	}
	stop()
	stop()
	require.Equal(t, 200, ask(askPlain))
	srv.FaultWhen(nil, scripted.Forbidden)
	require.Equal(t, 403, ask(askPlain))
	require.Panics(t, func() { srv.FaultNext(1, "nonsense") })
}

// What a request asked for is on record, byte for byte and taken apart.
func TestReceived(t *testing.T) {
	srv := play(t, approving, scripted.Options{APIKey: "k"})
	const body = `{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}],"tool_choice":{"type":"function",` +
		`"function":{"name":"f"}},
		"tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"g"}}],
		"response_format":{"type":"json_schema","json_schema":{"name":"s","strict":true,"schema":{"type":"object","properties":{},` +
		`"required":[],"additionalProperties":false}}}}`
	for _, b := range []string{"broken", body} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.BaseURL()+"/chat/completions", strings.NewReader(b))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer k")
		res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
	}
	got := srv.Received()
	require.Len(t, got, 2)
	require.Equal(t, "broken", string(got[0].Body))
	require.Empty(t, got[0].Model)
	require.Equal(t, "Bearer k", got[1].Header.Get("Authorization"))
	got[1].Header = nil
	require.Equal(t, scripted.Received{Number: 2, Body: []byte(body), Model: "m", Stream: true, Format: "json_schema", Schema: "s",
		Tools: []string{"f", "g"}, Choice: "f"}, got[1])
}

// A server that is down refuses connections, cuts those that there are, and is
// back on the same address.
func TestDownAndUp(t *testing.T) {
	srv := play(t, approving, scripted.Options{})
	ended := make(chan error, 1)
	met := make(chan struct{})
	stop := srv.FaultWhen(func(scripted.Received) bool { close(met); return true }, scripted.Hang)
	go func() {
		hc := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
		res, err := hc.Post(srv.BaseURL()+"/chat/completions", "application/json", strings.NewReader(askPlain))
		if err == nil {
			_ = res.Body.Close()
		}
		ended <- err
	}()
	<-met  // the request is known before the fault that it meets is chosen
	stop() // the next request meets none
	srv.Down()
	srv.Down()
	require.ErrorIs(t, <-ended, io.EOF)
	h := listen(t, srv, askPlain, forever)
	require.ErrorIs(t, h.sent, syscall.ECONNREFUSED)
	require.NoError(t, srv.Up())
	require.NoError(t, srv.Up())
	says(verdict)(t, listen(t, srv, askPlain, forever))
	srv.Close()
	require.ErrorContains(t, srv.Up(), "was closed")
	var op *net.OpError
	require.ErrorAs(t, listen(t, srv, askPlain, forever).sent, &op)
}

// A redirect that is followed is seen.
func TestRedirectLeadsSomewhere(t *testing.T) {
	srv := play(t, approving, scripted.Options{})
	srv.FaultWhen(nil, scripted.Redirect)
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Post(srv.BaseURL()+"/chat/completions",
		"application/json", bytes.NewReader([]byte(askPlain)))
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	require.Equal(t, 200, res.StatusCode)
	require.Len(t, srv.Received(), 2)
}
