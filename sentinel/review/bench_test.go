package review_test

import (
	"bytes"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// question is the body of the request that the gate sends about a call. A server of this
// process saw it.
func question(b *testing.B, c sentinel.Call) []byte {
	b.Helper()
	s := serve(b, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
	g, err := review.New(review.Options{Models: []*llm.Client{client(b, llm.Config{BaseURL: s.URL})}})
	require.NoError(b, err)
	check(b, g, c)
	return s.requests()[0]
}

// post is the bare round trip: the same bytes, sent, and the answer read.
func post(hc *http.Client, url string, body []byte) error {
	res, err := hc.Post(url+"/chat/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	return err
}

// at is a quantile of sorted times, in microseconds.
func at(v []time.Duration, q float64) float64 {
	return float64(v[int(q*float64(len(v)-1))].Nanoseconds()) / 1000
}

// beside reports quantiles of both: how much the gate adds to the median, and
// the ratio of the 99th percentiles.
func beside(b *testing.B, gated, bare []time.Duration) {
	b.Helper()
	slices.Sort(gated)
	slices.Sort(bare)
	b.ReportMetric(at(bare, .5), "bare-p50-µs")
	b.ReportMetric(at(bare, .99), "bare-p99-µs")
	b.ReportMetric(at(gated, .5), "gate-p50-µs")
	b.ReportMetric(at(gated, .99), "gate-p99-µs")
	b.ReportMetric(at(gated, .5)-at(bare, .5), "added-p50-µs")
	b.ReportMetric(at(gated, .99)/at(bare, .99), "ratio-p99")
}

// BenchmarkOverhead measures what the gate adds to the bare HTTP round trip to a model in
// another process: each round sends the same question once through the gate and once with
// net/http alone, each first in every other round.
func BenchmarkOverhead(b *testing.B) {
	far := serveFar(b, 0)
	g, err := review.New(review.Options{Models: []*llm.Client{client(b, llm.Config{BaseURL: far.URL})}})
	require.NoError(b, err)
	for name, args := range map[string]string{"small": `{"note":"x"}`, "7KB": `{"note":"` + strings.Repeat("x", 7<<10) + `"}`} {
		b.Run(name, func(b *testing.B) {
			cl := call(b, proposal{skill: "self.modify", args: args})
			body, hc := question(b, cl), llm.NewHTTPClient()
			b.Cleanup(hc.CloseIdleConnections)
			var gated, bare []time.Duration
			timed := func(list *[]time.Duration, do func() error) {
				start := time.Now()
				err := do()
				*list = append(*list, time.Since(start))
				require.NoError(b, err)
			}
			ask := func() error { _, err := g.Check(b.Context(), cl); return err }
			send := func() error { return post(hc, far.URL, body) }
			for i := 0; b.Loop(); i++ {
				if i%2 == 0 {
					timed(&gated, ask)
					timed(&bare, send)
				} else {
					timed(&bare, send)
					timed(&gated, ask)
				}
			}
			beside(b, gated, bare)
		})
	}
}

// crowd is how many calls are judged at a time, modelTakes how long the model
// needs for each.
const (
	crowd      = 1000
	modelTakes = 300 * time.Millisecond
)

// strangers are calls of as many users, each in a conversation of its own.
func strangers(b *testing.B, n int) []sentinel.Call {
	b.Helper()
	scope, err := skills.NewScope("self.*")
	require.NoError(b, err)
	out := make([]sentinel.Call, n)
	for i := range out {
		id := strconv.Itoa(i)
		g, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "g" + id, User: "u" + id, Conversation: "c" + id, Turn: "t" + id,
			Agent: "helper", Mission: "tidy up what " + id + " left", MissionBy: sentinel.ByOrchestrator, Scope: scope})
		require.NoError(b, err)
		out[i], err = sentinel.NewCall(registry(b), touch.Env{Root: "/workspace", NoFS: true},
			sentinel.Proposal{Skill: "self.modify", Args: []byte(`{"note":"what ` + id + ` wrote"}`), Grant: g})
		require.NoError(b, err)
	}
	return out
}

// wave does n things at once and returns how long each took, sorted.
func wave(b *testing.B, n int, do func(i int) error) []time.Duration {
	b.Helper()
	took, errs, start := make([]time.Duration, n), make(chan error, n), make(chan struct{})
	for i := range n {
		go func() {
			<-start
			began := time.Now()
			err := do(i)
			took[i] = time.Since(began)
			errs <- err
		}()
	}
	close(start)
	for range n {
		require.NoError(b, <-errs)
	}
	slices.Sort(took)
	return took
}

// load is what of this process is in use.
type load struct {
	heap       uint64
	goroutines int
}

func weigh() load {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return load{m.HeapAlloc, runtime.NumGoroutine()}
}

// BenchmarkCrowd measures waves of a thousand judgements at once against a model that takes
// 300 ms. The model is in a process of its own. Beside each wave runs one of bare requests
// with the bytes of one of these questions. "apart" are calls of a thousand users, "alike" one
// call a thousand times. Run it with -benchtime of some waves: 10x.
func BenchmarkCrowd(b *testing.B) {
	far := serveFar(b, modelTakes)
	for _, alike := range []bool{false, true} {
		name := map[bool]string{false: "apart", true: "alike"}[alike]
		b.Run(name, func(b *testing.B) {
			list := strangers(b, crowd)
			if alike {
				list = slices.Repeat(list[:1], crowd)
			}
			hc, own := llm.NewPool(crowd), llm.NewPool(crowd)
			b.Cleanup(hc.CloseIdleConnections)
			b.Cleanup(own.CloseIdleConnections)
			model, err := llm.New(llm.Config{Name: "fast", Model: "plain", BaseURL: far.URL}, own)
			require.NoError(b, err)
			g, err := review.New(review.Options{Models: []*llm.Client{model}})
			require.NoError(b, err)
			body := question(b, list[0])
			measureCrowd(b, far,
				func(int) error { return post(hc, far.URL, body) },
				func(i int) error {
					v, err := g.Check(b.Context(), list[i])
					if err == nil && v.Outcome != sentinel.Allow || v.Degraded {
						b.Error(v.Code, v.Reason)
					}
					return err
				})
		})
	}
}

// measureCrowd runs waves in turns and reports their times, and what of memory,
// goroutines and connections they took.
func measureCrowd(b *testing.B, far farServer, bare, gated func(i int) error) {
	b.Helper()
	dial := wave(b, crowd, bare) // whose connections stay, and are not the gate's
	b.ReportMetric(at(dial, .99)/1000, "bare-first-p99-ms")
	before := weigh()
	var first, later, plain []time.Duration
	var during, after load
	var redialled, asked int
	for n := 0; b.Loop(); n++ {
		plain = append(plain, wave(b, crowd, bare)...)
		d0, a0 := far.counts(b)
		mid := make(chan load)
		t := time.AfterFunc(modelTakes/2, func() { mid <- load{goroutines: runtime.NumGoroutine()} })
		took := wave(b, crowd, gated)
		if t.Stop() {
			b.Fatal("the wave was over before the model could answer")
		}
		during = <-mid
		d1, a1 := far.counts(b)
		asked += a1 - a0
		if n == 0 {
			first, after = took, weigh()
			b.ReportMetric(float64(d1-d0-1), "dialled-first")
			b.ReportMetric(float64(after.heap)/1e6, "MB-after-first")
			continue
		}
		redialled += d1 - d0 - 1 // but for the one that counted
		later = append(later, took...)
	}
	after = weigh()
	slices.Sort(plain)
	b.ReportMetric(at(first, .99)/1000, "first-p99-ms")
	b.ReportMetric(at(plain, .5)/1000, "bare-p50-ms")
	b.ReportMetric(at(plain, .99)/1000, "bare-p99-ms")
	if len(later) > 0 {
		slices.Sort(later)
		b.ReportMetric(at(later, .5)/1000, "gate-p50-ms")
		b.ReportMetric(at(later, .99)/1000, "gate-p99-ms")
		b.ReportMetric(at(later, 1)/1000, "gate-worst-ms")
		b.ReportMetric(at(later, .99)/1000/float64(modelTakes.Milliseconds()), "p99-of-model")
	}
	b.ReportMetric(float64(asked)/float64(max(1, b.N)), "asked/wave")
	b.ReportMetric(float64(redialled), "dialled-later")
	b.ReportMetric(float64(before.heap)/1e6, "MB-before")
	b.ReportMetric(float64(after.heap)/1e6, "MB-after")
	b.ReportMetric(float64(before.goroutines), "goroutines-before")
	b.ReportMetric(float64(during.goroutines), "goroutines-during")
	b.ReportMetric(float64(after.goroutines), "goroutines-after")
}
