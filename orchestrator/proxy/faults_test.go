package proxy_test

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/proxy"
	"github.com/vedette-dev/vedette/sentinel"
)

// What an upstream says before its answer has begun is a status in the provider's form: its own error as it came, and
// anything else as one of ours.
func TestUpstreamsThatFail(t *testing.T) {
	h := open(t)
	const own = `{"error":{"message":"slow down","type":"rate_limit_error"}}`
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		status int
		says   string
	}{
		"own error": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(429)
			_, _ = io.WriteString(w, own)
		}, 429, own},
		"page": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(503)
			_, _ = io.WriteString(w, "<html>CANARY")
		}, 503, "the upstream answered with status 503"},
		"page that is fine": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>CANARY")
		}, 502, "not what was asked for"},
		"page as a stream": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "<!doctype html>\n<html>CANARY</html>\n")
		}, 502, "ended the answer early"},
		"page as JSON": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "<html>CANARY")
		}, 502, "breaks its format"},
		"stream as JSON": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, callChunk(0, "c", "Bash", `{"command":"CANARY"}`)+doneChunk)
		}, 502, "breaks its format"},
		"JSON as a stream": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, whole("", [3]string{"c", "Bash", `{"command":"CANARY"}`}))
		}, 502, "ended the answer early"},
		"nothing": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
		}, 502, "ended the answer early"},
		"redirect": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://127.0.0.1:1/CANARY")
			w.WriteHeader(307)
		}, 502, "the upstream answered with status 307"},
		"reset": {func(w http.ResponseWriter, _ *http.Request) {
			panic(http.ErrAbortHandler)
		}, 502, "can't be reached"},
		"call in an error": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(400)
			_, _ = io.WriteString(w, whole("", [3]string{"c", "Bash", `{"command":"CANARY"}`}))
		}, 400, "the upstream answered with status 400"},
		"odd compression": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "br")
			_, _ = io.WriteString(w, "CANARY")
		}, 502, "compressed"},
	} {
		t.Run(name, func(t *testing.T) {
			h.t = t
			h.up.says(c.answer)
			a := h.post(chatPath, ask(true, ""))
			require.Equal(t, c.status, a.status)
			require.Contains(t, a.body, c.says)
			require.NotContains(t, a.body, "CANARY")
			require.Equal(t, "application/json", a.header.Get("Content-Type"))
		})
	}
	h.t = t
	require.Empty(t, h.records(sentinel.RecordDecision))
	h.up.Close()
	require.Equal(t, 502, h.post(messagesPath, askMessages(true, "")).status)
	require.NotContains(t, h.log.String(), "CANARY")
}

// breaking is an upstream that sends a beginning, and then breaks off as a test says.
func breaking(begin string, then func(w http.ResponseWriter, r *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, begin)
		w.(http.Flusher).Flush()
		then(w, r)
	}
}

// Once the stream has begun, an error is told in it: no call that was held leaves, and no regular end follows.
func TestErrorsInTheStream(t *testing.T) {
	h := open(t)
	stalling := openWith(t, proxy.Options{Idle: 250 * tick})                          // long enough for what has come to be read
	begin := textChunk("I look.") + callChunk(0, "call_1", "Bash", `{"command":"ls"`) // it isn't whole
	message := toolUse("I look.")
	message, _, _ = strings.Cut(message, "event: content_block_stop")
	for name, c := range map[string]struct {
		then  func(w http.ResponseWriter, r *http.Request)
		says  string
		count int
	}{
		"reset": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "ended the answer early", 1},
		"stall": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "sent nothing for too long", 1},
		"error": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n")
		}, "busy", 1},
	} {
		t.Run(name, func(t *testing.T) {
			h := h
			if name == "stall" {
				h = stalling
			}
			h.t = t
			for path, body := range map[string]string{chatPath: ask(true, ""), messagesPath: askMessages(true, "")} {
				start := begin
				if path == messagesPath {
					start = message
				}
				h.up.says(breaking(start, c.then))
				a := h.post(path, body)
				require.Equal(t, 200, a.status)
				require.Contains(t, a.body, "I look.")
				require.Contains(t, a.body, c.says)
				require.Equal(t, c.count, strings.Count(a.body, `"error":`), "one error")
				require.NotContains(t, a.body, "call_1")
				require.NotContains(t, a.body, "[DONE]")
				require.NotContains(t, a.body, "message_stop")
			}
		})
	}
	h.t, stalling.t = t, t
	require.Empty(t, h.records(sentinel.RecordDecision))
	require.Empty(t, stalling.records(sentinel.RecordDecision))
	h.up.streams(begin) // an answer that ends within a call is ended with a notice
	a := h.post(chatPath, ask(true, ""))
	require.Contains(t, a.body, "the answer ended within the call")
	require.NotContains(t, a.body, "call_1")
}

// What passes a bound is not forwarded: a body, the arguments of a call, all that is held, calls of an answer.
func TestBounds(t *testing.T) {
	h := open(t, "proxy:\n", "proxy:\n  limits: {body: 4096, answer: 65536, arguments: 1024, buffered: 65536, calls: 2, streams: 1}\n")
	long := strings.Repeat("x", 5000)
	a := h.post(chatPath, ask(true, `,"user":"`+long+`"`))
	require.Equal(t, 413, a.status)
	require.Contains(t, a.body, `"code":"too_large"`)
	require.Contains(t, a.body, `"error":{`)

	h.up.streams(textChunk("I look.") + callChunk(0, "call_1", "Bash", `{"command":"`+long+`"}`) + chunk("{}", "tool_calls") + doneChunk)
	a = h.post(chatPath, ask(true, ""))
	require.Contains(t, a.body, "larger than the bound")
	require.NotContains(t, a.body, "xxxx")
	require.Equal(t, "stream.too_large", h.awaitRecords(sentinel.RecordRefused, 1)[0].Code)

	many := textChunk("I look.")
	for i := range 3 {
		many += callChunk(i, fmt.Sprintf("call_%d", i), "Bash", `{"command":"ls`)
	}
	h.up.streams(many + doneChunk)
	require.Contains(t, h.post(chatPath, ask(true, "")).body, "more calls than the bound")

	held := textChunk("I look.") + callChunk(0, "call_1", "Bash", `{"command":`)
	for range 40 {
		held += textChunk(strings.Repeat("y", 4000))
	}
	h.up.streams(held)
	require.Contains(t, h.post(chatPath, ask(true, "")).body, "stream.too_large")

	h.up.replies(200, whole(strings.Repeat("z", 70000)))
	require.Equal(t, 502, h.post(chatPath, ask(false, "")).status)

	release := make(chan struct{})
	h.up.says(breaking(textChunk("I look."), func(http.ResponseWriter, *http.Request) { <-release }))
	lines, end := h.follow(chatPath, ask(true, ""))
	readUntil(t, lines, "I look.")
	require.Equal(t, 429, h.post(chatPath, ask(true, "")).status, "one answer of a key at a time")
	close(release)
	end()
}

// zipped compresses.
func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := io.WriteString(z, text)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.String()
}

// Compressed requests and answers are read up to the bounds that plain ones have.
func TestCompression(t *testing.T) {
	h := open(t, "proxy:\n", "proxy:\n  limits: {body: 65536, answer: 65536, buffered: 65536}\n")
	h.up.replies(200, whole("", [3]string{"call_1", "Bash", `{"command":"ls"}`}))
	a := h.post(chatPath, zipped(t, ask(false, "")), "Content-Encoding", "gzip")
	require.Equal(t, 200, a.status)
	require.Contains(t, a.body, "call_1")
	require.Equal(t, ask(false, ""), h.up.last().body)
	require.Equal(t, "identity", h.up.last().header.Get("Accept-Encoding"))
	bomb := zipped(t, `{"model":"`+strings.Repeat("x", 1<<22)+`"}`)
	require.Less(t, len(bomb), 65536)
	require.Equal(t, 413, h.post(chatPath, bomb, "Content-Encoding", "gzip").status)
	require.Equal(t, 400, h.post(chatPath, "no gzip", "Content-Encoding", "gzip").status)
	require.Equal(t, 415, h.post(chatPath, "x", "Content-Encoding", "zstd").status)

	answer := func(typ, text string) http.HandlerFunc {
		packed := zipped(t, text)
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", typ)
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, packed)
		}
	}
	h.up.says(answer("application/json", whole("", [3]string{"call_1", "Bash", `{"command":"ls"}`})))
	a = h.post(chatPath, ask(false, ""))
	require.Contains(t, a.body, "call_1")
	require.Empty(t, a.header.Get("Content-Encoding"))
	h.up.says(answer("application/json", whole(strings.Repeat("x", 1<<22))))
	require.Equal(t, 502, h.post(chatPath, ask(false, "")).status)
	h.up.says(answer("text/event-stream", textChunk("I look.")+"data: "+strings.Repeat("x", 1<<22)))
	require.Contains(t, h.post(chatPath, ask(true, "")).body, "stream.too_large")
}

// A client that leaves ends the upstream's work, and one that doesn't read slows it down: nothing is piled up.
func TestClientsThatLeaveOrDontRead(t *testing.T) {
	h := open(t)
	left := make(chan struct{})
	h.up.says(breaking(textChunk("I look."), func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		close(left)
	}))
	lines, end := h.follow(chatPath, ask(true, ""))
	readUntil(t, lines, "I look.")
	end()
	select {
	case <-left:
	case <-time.After(eventually):
		require.FailNow(t, "the upstream goes on")
	}

	var sent atomic.Int64
	stop := make(chan struct{})
	piece := textChunk(strings.Repeat("x", 8<<10))
	h.up.says(breaking(textChunk("I look."), func(w http.ResponseWriter, _ *http.Request) {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := io.WriteString(w, piece); err != nil {
				return
			}
			sent.Add(int64(len(piece)))
		}
	}))
	conn, err := net.Dial("tcp", h.server.Listener.Addr().String())
	require.NoError(t, err)
	body := ask(true, "")
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s",
		chatPath, h.server.Listener.Addr(), h.key("key", nil), len(body), body)
	require.NoError(t, err)
	before := int64(0)
	require.Eventually(t, func() bool { // nobody reads: the upstream comes to a halt
		last := before
		before = sent.Load()
		return before > 0 && before == last
	}, eventually, 50*tick)
	require.Less(t, sent.Load(), int64(64<<20))
	close(stop)
	require.NoError(t, conn.Close())
}

// Over HTTP/2 on both sides it is the same.
func TestHTTP2(t *testing.T) {
	up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, textChunk("over "+r.Proto)+callChunk(0, "call_1", "Bash", `{"command":"ls"}`)+
			chunk("{}", "tool_calls")+doneChunk)
	}))
	up.EnableHTTP2 = true
	up.StartTLS()
	t.Cleanup(up.Close)
	transport, ok := up.Client().Transport.(*http.Transport)
	require.True(t, ok)
	transport = transport.Clone()
	t.Cleanup(transport.CloseIdleConnections)
	h := openWith(t, proxy.Options{Transport: transport}, `"%[1]s/v1"`, `"`+up.URL+`/v1"`)
	front := httptest.NewUnstartedServer(nil)
	front.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Host = h.server.Listener.Addr().String()
		h.server.Config.Handler.ServeHTTP(w, r)
	})
	front.EnableHTTP2 = true
	front.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	front.StartTLS()
	t.Cleanup(front.Close)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, front.URL+chatPath, strings.NewReader(ask(true, "")))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+h.key("key", nil))
	res, err := front.Client().Do(req)
	require.NoError(t, err)
	raw, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, 2, res.ProtoMajor)
	require.Contains(t, string(raw), "over HTTP/2.0")
	require.Contains(t, string(raw), "call_1")
	require.Equal(t, h.records(sentinel.RecordDecision)[0].Decision, res.Trailer.Get("X-Vedette-Decisions"))
}

// A proxy that ends tells the streams that are under way, in the form that their clients read.
func TestProxyEnds(t *testing.T) {
	h := open(t)
	h.up.says(breaking(textChunk("I look."), func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	lines, end := h.follow(chatPath, ask(true, ""))
	defer end()
	readUntil(t, lines, "I look.")
	go h.door.Close()
	require.Contains(t, readUntil(t, lines, `"error"`), "the proxy is ending")
}

// A store that can't write blocks every call, and text goes on.
func TestNothingLeavesUnrecorded(t *testing.T) {
	h := open(t)
	h.up.streams(textChunk("I look.") + callChunk(0, "call_1", "Bash", `{"command":"ls"}`) + chunk("{}", "tool_calls") + doneChunk)
	h.post(chatPath, ask(true, "")) // the conversation is there
	h.awaitRecords(sentinel.RecordOutcome, 1)
	require.NoError(t, h.o.Parts().Store.Close())
	a := h.post(chatPath, ask(true, ""))
	require.Contains(t, a.body, "I look.")
	require.NotContains(t, a.body, "call_1")
	require.Contains(t, a.body, "could not be")
}
