package proxy_test

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// What a benchmark reads of its environment. With a peer's address BenchmarkTextChunk measures another proxy beside, which
// has the upstream at the address of envUpstream behind its model m.
const (
	envPeer     = "VEDETTE_BENCH_PEER"     // a base URL, such as http://127.0.0.1:4000/v1
	envPeerKey  = "VEDETTE_BENCH_PEER_KEY" // a key of the peer's
	envUpstream = "VEDETTE_BENCH_UPSTREAM" // where the upstream listens: 127.0.0.1:4001
	envServe    = "VEDETTE_BENCH_SERVE"    // set in the process that is the upstream of BenchmarkOpenStreams
)

// quantile returns the sample below which a share of them lies, in microseconds.
func quantile(samples []time.Duration, share float64) float64 {
	slices.Sort(samples)
	return float64(samples[min(len(samples)-1, int(float64(len(samples))*share))]) / float64(time.Microsecond)
}

// route is one way to the upstream, with a stream that is open on it.
type route struct {
	name, url, key string
	lines          *bufio.Scanner
	times          []time.Duration
}

// openRoute asks for a stream, and reads until a text.
func openRoute(b *testing.B, r *route, until string, headers ...string) (end func()) {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, r.url+"/chat/completions", strings.NewReader(ask(true, "")))
	require.NoError(b, err)
	req.Header.Set("Authorization", "Bearer "+r.key)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(b, err)
	require.Equal(b, 200, res.StatusCode)
	r.lines = bufio.NewScanner(res.Body)
	require.True(b, r.readTo(until))
	return func() { _, _ = io.Copy(io.Discard, res.Body); _ = res.Body.Close() }
}

// readTo reads up to a line with a text, and reports whether it came.
func (r *route) readTo(text string) bool {
	for r.lines.Scan() {
		if strings.Contains(r.lines.Text(), text) {
			return true
		}
	}
	return false
}

// stepped is an upstream of which a benchmark says when it writes.
type stepped struct {
	*httptest.Server
	begun chan chan string
}

// startStepped starts one. It begins each answer with a text, then writes what it is given, until its channel is closed.
func startStepped(b *testing.B, others http.HandlerFunc) *stepped {
	b.Helper()
	u := &stepped{begun: make(chan chan string, 1)}
	u.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if !strings.HasSuffix(r.URL.Path, "/v1/chat/completions") || strings.HasPrefix(r.URL.Path, "/judge") {
			others(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		writes := make(chan string)
		_, _ = io.WriteString(w, textChunk("begun"))
		flush(w)
		u.begun <- writes
		for text := range writes {
			_, _ = io.WriteString(w, text)
			flush(w)
		}
	}))
	if at := os.Getenv(envUpstream); at != "" {
		ln, err := (&net.ListenConfig{}).Listen(b.Context(), "tcp", at)
		require.NoError(b, err)
		u.Listener = ln
	}
	u.Start()
	b.Cleanup(u.Close)
	return u
}

func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

// BenchmarkTextChunk is a chunk of text from the upstream's write to the client's read: on the direct connection, through
// the proxy, and through a peer where there is one. They take turns, chunk by chunk.
func BenchmarkTextChunk(b *testing.B) {
	u := startStepped(b, http.NotFound)
	h := open(b, "%[1]s/v1", u.URL+"/v1")
	routes := []*route{{name: "direct", url: u.URL + "/v1"}, {name: "proxy", url: h.server.URL + "/proxy/openai/v1", key: h.key("key", nil)}}
	if url := os.Getenv(envPeer); url != "" {
		routes = append(routes, &route{name: "peer", url: url, key: os.Getenv(envPeerKey)})
	}
	var writes []chan string
	for _, r := range routes {
		end := openRoute(b, r, "begun")
		w := <-u.begun
		writes = append(writes, w)
		b.Cleanup(func() { close(w); end() })
	}
	for n := 0; b.Loop(); n++ {
		for i, r := range routes {
			text := fmt.Sprintf("word%d ", n)
			start := time.Now()
			writes[i] <- textChunk(text)
			if !r.readTo(text) {
				b.Fatal("the stream ended")
			}
			r.times = append(r.times, time.Since(start))
		}
	}
	for _, r := range routes {
		b.ReportMetric(quantile(r.times, 0.5), r.name+"-p50-µs")
		b.ReportMetric(quantile(r.times, 0.99), r.name+"-p99-µs")
		if r != routes[0] {
			b.ReportMetric(quantile(r.times, 0.99)-quantile(routes[0].times, 0.99), r.name+"-added-p99-µs")
		}
	}
}

// BenchmarkCallDelay is a call from the upstream's write to the client's read: direct, judged by rules alone, and judged by
// rules and a model that takes 20 ms. Each decision is on disk before the call leaves.
func BenchmarkCallDelay(b *testing.B) {
	const review, arrivalTime = 20 * time.Millisecond, 30 * time.Millisecond
	var judged time.Duration
	u := startStepped(b, func(w http.ResponseWriter, _ *http.Request) {
		start := time.Now()
		time.Sleep(review)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, whole(`{"decision":"approve","reason":"fits"}`))
		judged = time.Since(start)
	})
	limits := []string{"agent: {calls: 1000}, turn: {calls: 1000}", "agent: {calls: 10000}, turn: {calls: 10000}"}
	rules := open(b, append(limits, "%[1]s/v1", u.URL+"/v1")...)
	reviewed := strings.ReplaceAll(withReview[1], "%[1]s", u.URL)
	model := open(b, append(limits, withReview[0], reviewed, "%[1]s/v1", u.URL+"/v1")...)
	routes := []*route{
		{name: "direct", url: u.URL + "/v1"},
		{name: "rules", url: rules.server.URL + "/proxy/openai/v1", key: rules.key("key", nil)},
		{name: "model", url: model.server.URL + "/proxy/openai/v1", key: model.key("key", nil)},
	}
	var beyond []time.Duration
	for n := 0; b.Loop(); n++ {
		for _, r := range routes {
			end := openRoute(b, r, "begun", "X-Vedette-Conversation", strconv.Itoa(n/100))
			w := <-u.begun
			time.Sleep(arrivalTime) // no model writes a call at once
			judged = 0
			start := time.Now()
			w <- callChunk(0, "call_1", "Bash", fmt.Sprintf(`{"command":"list %d"}`, n)) + chunk("{}", "tool_calls")
			if !r.readTo("call_1") {
				b.Fatal("the call did not come")
			}
			took := time.Since(start)
			r.times = append(r.times, took)
			if r.name == "model" {
				beyond = append(beyond, took-judged)
			}
			w <- doneChunk
			close(w)
			end()
		}
	}
	for _, r := range routes {
		b.ReportMetric(quantile(r.times, 0.5), r.name+"-p50-µs")
		b.ReportMetric(quantile(r.times, 0.99), r.name+"-p99-µs")
	}
	b.ReportMetric(quantile(beyond, 0.5)-quantile(routes[0].times, 0.5), "beyond-model-p50-µs")
	b.ReportMetric(quantile(beyond, 0.99)-quantile(routes[0].times, 0.99), "beyond-model-p99-µs")
}

// BenchmarkParallelCalls is one, and four calls of one answer, each reviewed by a model that takes 20 ms: from the upstream's
// write to the client's read of the last.
func BenchmarkParallelCalls(b *testing.B) {
	u := startStepped(b, func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(20 * time.Millisecond)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, whole(`{"decision":"approve","reason":"fits"}`))
	})
	reviewed := strings.ReplaceAll(withReview[1], "%[1]s", u.URL)
	h := open(b, withReview[0], reviewed, "%[1]s/v1", u.URL+"/v1")
	times := map[int][]time.Duration{}
	for n := 0; b.Loop(); n++ {
		for _, calls := range []int{1, 4} {
			r := &route{url: h.server.URL + "/proxy/openai/v1", key: h.key("key", nil)}
			end := openRoute(b, r, "begun", "X-Vedette-Conversation", fmt.Sprint(n, "-", calls))
			w := <-u.begun
			var text strings.Builder
			for i := range calls {
				text.WriteString(callChunk(i, fmt.Sprint("call_", i), "Bash", fmt.Sprintf(`{"command":"list %d %d"}`, n, i)))
			}
			start := time.Now()
			w <- text.String() + chunk("{}", "tool_calls")
			if !r.readTo(fmt.Sprint("call_", calls-1)) {
				b.Fatal("the call did not come")
			}
			times[calls] = append(times[calls], time.Since(start))
			w <- doneChunk
			close(w)
			end()
		}
	}
	b.ReportMetric(quantile(times[1], 0.5)/1000, "one-p50-ms")
	b.ReportMetric(quantile(times[4], 0.5)/1000, "four-p50-ms")
}

const (
	openStreams   = 5000
	chunksOfEach  = 20
	callOfEvery   = 10 // streams end in a call
	openingAtOnce = 100
)

// TestServeOpenStreams is no test of its own: BenchmarkOpenStreams has it serve in a process of its own. Each answer begins
// with a text, and goes on once all are open.
func TestServeOpenStreams(t *testing.T) {
	if os.Getenv(envServe) == "" {
		t.Skip("it serves for BenchmarkOpenStreams")
	}
	var mu sync.Mutex
	n, all := 0, make(chan struct{})
	enter := func() (number int, wait chan struct{}) {
		mu.Lock()
		defer mu.Unlock()
		number, wait = n, all
		if n++; n%openStreams == 0 {
			close(all)
			all = make(chan struct{})
		}
		return number, wait
	}
	u := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		number, wait := enter()
		_, _ = io.WriteString(w, textChunk("begun"))
		flush(w)
		<-wait
		for range chunksOfEach {
			_, _ = io.WriteString(w, textChunk("word "))
			flush(w)
		}
		end := chunk("{}", "stop")
		if number%callOfEvery == 0 {
			end = callChunk(0, "call_1", "Bash", `{"command":"list"}`) + chunk("{}", "tool_calls")
		}
		_, _ = io.WriteString(w, end+doneChunk)
	}))
	defer u.Close()
	fmt.Println("serving at", u.URL)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// serveOpenStreams starts that process.
func serveOpenStreams(b *testing.B) (url string) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), os.Args[0], "-test.run=^TestServeOpenStreams$", "-test.timeout=20m")
	cmd.Env = append(os.Environ(), envServe+"=1")
	in, err := cmd.StdinPipe()
	require.NoError(b, err)
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	b.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if _, at, ok := strings.Cut(lines.Text(), "serving at "); ok {
			return at
		}
	}
	require.FailNow(b, "the upstream did not start")
	return ""
}

// BenchmarkOpenStreams is 5,000 answers at a time, direct and through the proxy: what they hold while all are open, and how
// long they take from then on. Every tenth ends in a call. An answer that lacks a chunk or its call fails it.
func BenchmarkOpenStreams(b *testing.B) {
	url := serveOpenStreams(b)
	h := open(b, "%[1]s/v1", url+"/v1", "proxy:\n", "proxy:\n  limits: {streams: 10000}\n")
	memory := func() float64 {
		runtime.GC()
		runtime.GC() // what pools hold goes with the second
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapInuse + m.StackInuse)
	}
	for b.Loop() {
		var held [2]float64
		for i, r := range []route{
			{name: "direct", url: url + "/v1"},
			{name: "proxy", url: h.server.URL + "/proxy/openai/v1", key: h.key("key", nil)},
		} {
			before := memory()
			calls, took := runStreams(b, r, func() { held[i] = (memory() - before) / openStreams / 1024 })
			require.Equal(b, openStreams/callOfEvery, calls)
			b.ReportMetric(held[i], r.name+"-KiB/stream")
			b.ReportMetric(openStreams*chunksOfEach/took.Seconds(), r.name+"-chunks/s")
		}
		b.ReportMetric(held[1]-held[0], "added-KiB/stream")
	}
}

// runStreams opens all streams by a route, calls onOpen, and reads them to their ends.
func runStreams(b *testing.B, r route, onOpen func()) (calls int, took time.Duration) {
	b.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: -1, ReadBufferSize: 1 << 10, WriteBufferSize: 1 << 10}
	client := &http.Client{Transport: transport}
	bodies := make([]*bufio.Reader, openStreams)
	var opening errgroup.Group
	opening.SetLimit(openingAtOnce)
	for i := range bodies {
		if i == openStreams-1 { // the last one has all others go on
			require.NoError(b, opening.Wait())
			onOpen()
		}
		opening.Go(func() (err error) {
			bodies[i], err = openBody(b.Context(), client, r, i)
			return err
		})
	}
	require.NoError(b, opening.Wait())
	start := time.Now()
	got := make([]string, openStreams)
	var reading errgroup.Group
	for i, body := range bodies {
		reading.Go(func() error {
			raw, err := io.ReadAll(body)
			got[i] = string(raw)
			return err
		})
	}
	require.NoError(b, reading.Wait())
	took = time.Since(start)
	for _, text := range got {
		require.Equal(b, chunksOfEach, strings.Count(text, "word "))
		require.True(b, strings.HasSuffix(text, doneChunk))
		calls += strings.Count(text, "call_1")
	}
	return calls, took
}

// openBody opens one stream, and reads its first chunk.
func openBody(ctx context.Context, client *http.Client, r route, n int) (*bufio.Reader, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/chat/completions", strings.NewReader(ask(true, "")))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+cmp.Or(r.key, "none"))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Vedette-Conversation", strconv.Itoa(n))
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("an answer has status %d", res.StatusCode)
	}
	body := bufio.NewReaderSize(res.Body, 1<<10)
	_, err = body.ReadString('\n')
	return body, err
}
