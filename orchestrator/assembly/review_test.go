package assembly_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/limits/redisstore/redistest"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
)

// judges is a server of models that answer as their name says: "approve",
// "reject", "broken"; "approve-small" takes ten tokens, the others a thousand.
type judges struct {
	*httptest.Server
	mu    sync.Mutex
	asked map[string]int
}

func newJudges(t *testing.T) *judges {
	t.Helper()
	j := &judges{asked: map[string]int{}}
	j.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Model string `json:"model"`
		}
		if json.NewDecoder(r.Body).Decode(&body) != nil {
			return
		}
		j.mu.Lock()
		j.asked[body.Model]++
		j.mu.Unlock()
		decision, small, _ := strings.Cut(body.Model, "-")
		in, out := 900, 100
		if small == "small" {
			in, out = 9, 1
		}
		if decision == "broken" {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w,
			`{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"{\"decision\":\"%s\",\"reason\":\"x\"}"}}],
			"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}`, decision, in, out, in+out)
	}))
	t.Cleanup(j.Close)
	return j
}

func (j *judges) count(model string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.asked[model]
}

// judged is a configuration whose review has these models, each named as it
// answers, and these settings.
func (j *judges) config(chain, settings, more string, models ...string) string {
	text := "judge: {threshold: 0, ask_below: 0}\nroles: {sentinel: [" + chain + "]}\nsentinel: {canaries: {every: 0s}, " + settings +
		"}\nmodels:\n"
	for _, m := range models {
		name, extra, _ := strings.Cut(m, " ")
		text += fmt.Sprintf("  %s: {model: %s, base_url: %q%s}\n", name, name, j.URL, extra)
	}
	return text + more
}

// reviewed is the review's verdict on one call.
// reads counts the reads that another has made.
var reads atomic.Int64

// another is the arguments of a read that no call had before: an answer about
// it is no earlier one's.
func another() string { return fmt.Sprintf(`{"path":"/srv/x%d"}`, reads.Add(1)) }

func reviewed(t *testing.T, p *sentinel.Checkpoint, skill, args string) sentinel.Verdict {
	t.Helper()
	c, err := p.NewCall(sentinel.Proposal{Skill: skill, Args: json.RawMessage(args),
		Grant: grant(t, "do it", "fs.read", "fs.change", "shell.exec")})
	require.NoError(t, err)
	d, err := p.Decide(t.Context(), c)
	require.NoError(t, err)
	for _, v := range d.Verdicts {
		if v.Gate == sentinel.GateReview {
			return v
		}
	}
	t.Fatal("no review")
	return sentinel.Verdict{}
}

// seen keeps what the review's observer is told.
type seen struct {
	mu       sync.Mutex
	requests []review.RequestEvent
}

func (s *seen) Request(_ context.Context, e review.RequestEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, e)
}
func (*seen) Review(context.Context, review.ReviewEvent) {}
func (*seen) Breaker(review.BreakerEvent)                {}

// What sentinel and models say of retries, rates, prices, second opinions and
// budgets is what the review does.
func TestReviewIsWired(t *testing.T) {
	const shell = `{"command":"ls"}`
	j := newJudges(t)
	price := ", price: {input: 1, output: 2}"
	t.Run("second opinion", func(t *testing.T) {
		s := &seen{}
		p := build(t, write(t, j.config("approve", "escalate: {to: reject}", "", "approve "+price, "reject "+price)),
			assembly.Options{ObserveReview: s})
		v := reviewed(t, p.Checkpoint, "shell.exec", shell)
		require.Equal(t, review.CodeDisagreement, v.Code)
		require.Equal(t, "reject", v.Meta["second_model"])
		require.Equal(t, "2200", v.Meta["cost"], "in millionths")
		require.Len(t, s.requests, 2)
		require.Empty(t, reviewed(t, p.Checkpoint, "fs.read", another()).Code)
		require.Equal(t, []string{"approve", "reject"}, p.Review.Models())
	})
	t.Run("escalate.approved", func(t *testing.T) {
		p := build(t, write(t, j.config("approve", "escalate: {to: reject, approved: [read]}", "", "approve", "reject")), assembly.Options{})
		require.Empty(t, reviewed(t, p.Checkpoint, "shell.exec", shell).Code)
		require.Equal(t, review.CodeDisagreement, reviewed(t, p.Checkpoint, "fs.read", another()).Code)
	})
	t.Run("retries", func(t *testing.T) {
		for n, setting := range map[int]string{2: "mode: enforce", 1: "retries: 0", 3: "retries: 2"} {
			before := j.count("broken")
			p := build(t, write(t, j.config("broken", setting, "", "broken")), assembly.Options{})
			require.Equal(t, review.CodeUnjudgeable, reviewed(t, p.Checkpoint, "fs.read", another()).Code)
			require.Equal(t, n, j.count("broken")-before, setting)
		}
	})
	t.Run("rate", func(t *testing.T) {
		p := build(t, write(t, j.config("approve", "mode: enforce", "", "approve , requests_per_minute: 1")), assembly.Options{})
		require.Empty(t, reviewed(t, p.Checkpoint, "fs.read", another()).Code)
		require.Equal(t, "busy", reviewed(t, p.Checkpoint, "fs.read", another()).Meta["failure"])
	})
	t.Run("budget", func(t *testing.T) {
		for _, budget := range []string{"conversation: {calls: 2}", "user: {tokens: 4000}", "day: {cost: 0.004}"} {
			p := build(t, write(t, j.config("approve", "budget: {"+budget+"}", "", "approve "+price)), assembly.Options{})
			for range 2 {
				require.Empty(t, reviewed(t, p.Checkpoint, "fs.read", another()).Code, budget)
			}
			var last sentinel.Verdict
			for range 2 {
				last = reviewed(t, p.Checkpoint, "fs.read", another())
			}
			require.Equal(t, "budget", last.Meta["failure"], budget)
			require.Equal(t, sentinel.Ask, last.Outcome)
		}
	})
	t.Run("a decider counts nothing", func(t *testing.T) {
		d, err := assembly.NewDecider(load(t, write(t, j.config("approve", "budget: {day: {calls: 1}}", "", "approve"))),
			assembly.DeciderOptions{})
		require.NoError(t, err)
		defer d.Close()
		for range 3 {
			require.Empty(t, reviewed(t, d.Checkpoint, "fs.read", another()).Code)
		}
	})
}

// Two processes share one server's review budget; while it is away each counts
// for itself, so that what goes on has an end.
func TestProcessesShareTheReviewsBudget(t *testing.T) {
	j := newJudges(t)
	srv := redistest.Start(t)
	text := j.config("approve", "budget: {day: {calls: 6}}",
		fmt.Sprintf("limits: {store: {driver: redis, url: %q, prefix: r, timeout: 10s}}\n", srv.URL()), "approve")
	a, b := build(t, write(t, text), assembly.Options{}), build(t, write(t, text), assembly.Options{})
	codes := make(chan string, 30)
	var wg sync.WaitGroup
	for i := range 30 {
		p := []*assembly.Parts{a, b}[i%2]
		c, err := p.Checkpoint.NewCall(sentinel.Proposal{Skill: "fs.read", Args: json.RawMessage(another()), Grant: grant(t, "do it", "fs.read")})
		require.NoError(t, err)
		wg.Go(func() {
			v, err := p.Review.Check(t.Context(), c)
			codes <- fmt.Sprint(v.Meta["failure"], err)
		})
	}
	wg.Wait()
	close(codes)
	count := map[string]int{}
	for c := range codes {
		count[c]++
	}
	require.Equal(t, map[string]int{"<nil>": 6, "budget<nil>": 24}, count)
	require.Equal(t, 6, j.count("approve"))
	srv.Kill()
	for _, p := range []*assembly.Parts{a, b} {
		for i := range 8 {
			require.Equal(t, i >= 6, reviewed(t, p.Checkpoint, "fs.read", another()).Meta["failure"] == "budget", i)
		}
	}
}

// While the server is away a request counts as what it came to, not as what was
// held for it.
func TestReviewAloneSettles(t *testing.T) {
	j := newJudges(t)
	srv := redistest.Start(t)
	p := build(t, write(t, j.config("approve-small", "budget: {day: {tokens: 8000}}",
		fmt.Sprintf("limits: {store: {driver: redis, url: %q, prefix: r, timeout: 10s}}\n", srv.URL()), "approve-small")), assembly.Options{})
	srv.Kill()
	for i := range 16 {
		require.Empty(t, reviewed(t, p.Checkpoint, "fs.read", another()).Meta["failure"], i)
	}
}
