package orchestrator

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm/scripted"
	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// The load of the process that gets killed.
const (
	killEnv           = "VEDETTE_KILL_DIR"
	killConversations = 4
	killRequests      = "VEDETTE_KILL_REQUESTS"
	killLog           = "log.txt" // of all lives

	// Lives are shorter than outside of tests, so pauses are too. The one before
	// the last try is longer than any life: what was killed often waits for a life
	// that isn't, and is not given up.
	killPause = defaultPause / 5
	killLife  = 250 * time.Millisecond
)

const _ = uint(killPause<<(maxLives-1-freeAttempts) - 5*killLife/4) // or it doesn't compile

func jobID(conversation, n int) string { return fmt.Sprintf("job-%d-%d.", conversation, n) }

// runKilled is the process that TestKilled kills. It sends every request
// under its id, from the first on in each life, and prints each answer.
func runKilled(t *testing.T, dir string) {
	var requests int
	_, err := fmt.Sscan(os.Getenv(killRequests), &requests)
	require.NoError(t, err)
	cfg, err := config.Load(filepath.Join(dir, "vedette.yaml"), config.Options{})
	require.NoError(t, err)
	log, err := os.OpenFile(filepath.Join(dir, killLog), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	defer func() { require.NoError(t, log.Close()) }()
	o, err := newTuned(t.Context(), cfg, Options{NoReview: true, Log: slog.New(slog.NewTextHandler(log, nil))}, tuning{pause: killPause})
	require.NoError(t, err)
	defer func() { require.NoError(t, o.Close(context.Background())) }()
	fmt.Println("ready")
	var wg sync.WaitGroup
	var mu sync.Mutex
	for k := range killConversations {
		wg.Go(func() {
			c, err := o.Open(context.Background(), ConversationOptions{ID: fmt.Sprint("c", k), User: "ann"})
			for n := 0; n < requests && err == nil; n++ {
				reply, rerr := c.SendRequest(context.Background(), Request{ID: fmt.Sprint("r", n), Text: jobID(k, n)})
				ends := map[string]string{}
				for _, a := range reply.Agents {
					ends[a.Agent] = strings.TrimSpace(fmt.Sprint(a.State, " ", a.Calls, " ", a.Reason))
				}
				line, _ := json.Marshal(answerLine{jobID(k, n), reply.Turn, reply.Text, fmt.Sprint(rerr), ends})
				mu.Lock()
				fmt.Printf("\nack %s\n", line)
				mu.Unlock()
				err = rerr
			}
			if err != nil {
				fmt.Printf("\nfailed %v\n", err)
			}
		})
	}
	wg.Wait()
	fmt.Println("\nfinished")
}

type answerLine struct {
	Job, Turn, Text, Err string
	Agents               map[string]string // how they ended, and with how many calls
}

// world is what the process's skills do something to: a server that outlives it.
type world struct {
	mu   sync.Mutex
	runs map[string][]string // argument -> the Idempotency-Keys it came with
}

func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var in struct{ X string }
	_ = json.Unmarshal(body, &in)
	w.mu.Lock()
	w.runs[r.URL.Path+" "+in.X] = append(w.runs[r.URL.Path+" "+in.X], r.Header.Get("Idempotency-Key"))
	w.mu.Unlock()
	<-time.After(time.Duration(rand.IntN(8)) * time.Millisecond) // so that it is killed in the midst of some
	_, _ = io.WriteString(rw, "did "+in.X)
}

// killHouse writes the configuration and the script of the load.
func killHouse(t *testing.T, requests int) (dir string, asked *atomic.Int64, w *world) {
	var rules []rule
	for k := range killConversations {
		for n := range requests {
			job := jobID(k, n)
			a, b := dispatch("a", "first of "+job, "pay.once", "log.again"), dispatch("b", "then "+job, "pay.once").with("depends_on", []string{"a"})
			rules = append(rules, agent("first of "+job, []call{use("pay.once", job+"a1"), use("log.again", job+"a2")},
				use("log.again", job+"a3"), "a did "+job)...)
			rules = append(rules, agent("then "+job, use("pay.once", job+"b1"), "b did "+job)...)
			rules = append(rules, orch(job, []call{a, b}, results("wait_all"), "answer to "+job)...)
		}
	}
	src, err := json.Marshal(map[string]any{"rules": rules})
	require.NoError(t, err)
	script, err := scripted.Load(src)
	require.NoError(t, err)
	models, err := scripted.Serve(context.Background(), script, scripted.Options{})
	require.NoError(t, err)
	t.Cleanup(models.Close)
	target, err := url.Parse(models.BaseURL())
	require.NoError(t, err)
	asked = &atomic.Int64{}
	proxy := &httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.Out.URL.Host, r.Out.URL.Scheme = target.Host, target.Scheme },
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) {}, // the asker was killed
	}
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		proxy.ServeHTTP(rw, r)
	}))
	t.Cleanup(front.Close)
	w = &world{runs: map[string][]string{}}
	srv := httptest.NewServer(w)
	t.Cleanup(srv.Close)
	dir = t.TempDir()
	var skills strings.Builder
	skills.WriteString("skills:\n")
	for _, s := range []struct {
		name string
		safe bool
	}{{"pay.once", false}, {"log.again", true}} {
		fmt.Fprintf(&skills,
			`  - {name: %s, effect: create, output: trusted, idempotent: %t, parameters: {type: object, properties: {X: {type: string, `+
				`x-content: true}}},
     run: {http: {url: "%s/%s", allow_hosts: ["127.0.0.1"], allow_private: ["127.0.0.1"]}}}
`, s.name, s.safe, srv.URL, s.name)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "skills.yaml"), []byte(skills.String()), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "vedette.yaml"), fmt.Appendf(nil, `version: 1
models: {m: {model: m, base_url: "%s", timeout: 20s}}
roles: {orchestrator: m, agent: m, sentinel: m}
skills: {include: ["skills.yaml"]}
judge: {threshold: 0, ask_below: 0}
limits: {conversation: {calls: 10000, window: 100ms}}
ledger: {path: ./v.db}
`, front.URL+target.Path), 0o600))
	return dir, asked, w
}

// killMoment waits for the end of a life: some questions to models later, so
// that it gets as far on a slow machine, and a moment that is of no step.
func killMoment(asked *atomic.Int64) {
	until, late := asked.Load()+rand.Int64N(48), time.After(killLife-5*time.Millisecond)
	for asked.Load() < until {
		select {
		case <-time.After(time.Millisecond):
		case <-late:
			return
		}
	}
	<-time.After(rand.N(5 * time.Millisecond))
}

// life runs the process until it has finished or, where asked is given, is
// killed, and tells what it printed.
func life(t *testing.T, dir string, requests int, asked *atomic.Int64) (lines []string, finished bool) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	cmd.Env = append(os.Environ(), killEnv+"="+dir, killRequests+"="+fmt.Sprint(requests))
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	var killer sync.WaitGroup
	kill := func(when func()) {
		killer.Go(func() {
			when()
			_ = cmd.Process.Kill()
		})
	}
	early := asked != nil && rand.IntN(4) == 0 // also while it starts
	if early {
		kill(func() { <-time.After(rand.N(killLife)) })
	}
	sc := bufio.NewScanner(out)
	for sc.Scan() {
		line := sc.Text()
		lines = append(lines, line)
		switch {
		case line == "ready" && asked != nil && !early:
			kill(func() { killMoment(asked) })
		case line == "finished":
			finished = true
		}
	}
	killer.Wait()
	err = cmd.Wait()
	if asked == nil {
		require.NoError(t, err, strings.Join(lines, "\n"))
	}
	return lines, finished
}

// Killed at any instant and started again, as often as you like: every request
// gets its answer, none is given up however often it came to nothing (lives are
// shorter than what a request waits that had many), and the same one whenever it is asked for; nothing that isn't
// idempotent is done twice; a repeat of what is idempotent has the same key;
// what was interrupted is on record as unknown; models are asked again only
// what they had not answered; and the ledger proves. (Invariant 12.)
func TestKilled(t *testing.T) {
	if dir := os.Getenv(killEnv); dir != "" {
		runKilled(t, dir)
		return
	}
	kills, requests := 5, 16
	if os.Getenv("VEDETTE_LONG") != "" { // ./test -long
		kills, requests = 300, 40
	}
	for killed := 0; killed < kills; { // a house is done when all its requests are answered
		killed += killHouseful(t, min(kills-killed, 60), requests)
	}
}

// killHouseful kills processes over one database until their work is done.
func killHouseful(t *testing.T, kills, requests int) (killed int) {
	dir, requested, w := killHouse(t, requests)
	answers, lives := map[string]answerLine{}, 0
	take := func(lines []string) {
		for _, l := range lines {
			raw, ok := strings.CutPrefix(l, "ack ")
			if !ok {
				if strings.HasPrefix(l, "failed") {
					log, _ := os.ReadFile(filepath.Join(dir, killLog))
					require.Fail(t, l, "%s", log)
				}
				continue
			}
			var a answerLine
			require.NoError(t, json.Unmarshal([]byte(raw), &a))
			if was, known := answers[a.Job]; known {
				require.Equal(t, was, a, "it was answered differently before")
			}
			answers[a.Job] = a
		}
	}
	for killed < kills {
		lines, finished := life(t, dir, requests, requested)
		take(lines)
		lives++
		if finished {
			break
		}
		killed++
	}
	lines, finished := life(t, dir, requests, nil)
	take(lines)
	require.True(t, finished)

	log, err := os.ReadFile(filepath.Join(dir, killLog))
	require.NoError(t, err)
	for k := range killConversations {
		for n := range requests {
			a := answers[jobID(k, n)]
			require.Equal(t, "<nil>", a.Err, "%s, of turn %s, in:\n%s", a.Job, deriveTurnID(fmt.Sprint("c", k), fmt.Sprint("r", n)), log)
			require.Equal(t, "answer to "+jobID(k, n), a.Text)
			require.Equal(t, map[string]string{"a": "completed 3", "b": "completed 1"}, a.Agents, "%s, of turn %s, in:\n%s", a.Job, a.Turn, log)
		}
	}
	jobs := killConversations * requests
	repeats := killRuns(t, w, dir, requests)
	asked := int(requested.Load())
	once, inFlight := jobs*8, killConversations*3
	require.GreaterOrEqual(t, asked, once)
	require.LessOrEqual(t, asked, once+(killed+1)*inFlight, "models were asked again what they had answered")
	t.Logf("%d requests in %d conversations, %d lives, %d kills; models asked %d times (%d without kills), no request given up, %d "+
		"attempts made to wait; %s",
		jobs, killConversations, lives+1, killed, asked, once, strings.Count(string(log), "a request waits"), repeats)
	return killed
}

// killRuns holds what was done against what is on record.
func killRuns(t *testing.T, w *world, dir string, requests int) string {
	jobs := killConversations * requests
	cfg, err := config.Load(filepath.Join(dir, "vedette.yaml"), config.Options{})
	require.NoError(t, err)
	r, err := ledger.OpenReader(t.Context(), cfg.Ledger.Path)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	left, err := r.List(t.Context(), ledger.Query{Kind: sentinel.RecordDecision, Outcome: "allow", Without: sentinel.RecordOutcome})
	require.NoError(t, err)
	require.Empty(t, left, "an allowed call without an outcome")
	count := func(q ledger.Query) int {
		s, err := r.Stats(t.Context(), q)
		require.NoError(t, err)
		return int(s.Records)
	}
	unknown := count(ledger.Query{Skill: "pay.once", Outcome: sentinel.StatusUnknown})
	w.mu.Lock()
	defer w.mu.Unlock()
	paid, logged, repeats, keys := 0, 0, 0, map[string]bool{}
	for what, list := range w.runs {
		for _, key := range list {
			require.NotEmpty(t, key)
		}
		if strings.HasPrefix(what, "/pay.once") {
			require.Len(t, list, 1, "%s is not idempotent", what)
			require.False(t, keys[list[0]], "a call id was used for two calls")
			keys[list[0]] = true
			paid++
			continue
		}
		logged++
		repeats += len(list) - 1
		require.Len(t, slices.Compact(slices.Sorted(slices.Values(list))), 1, "%s was repeated under another key", what)
	}
	require.GreaterOrEqual(t, paid+unknown, 2*jobs, "what was not done is unknown")
	require.GreaterOrEqual(t, logged, 2*jobs, "what is idempotent is done in the end: %s", notLogged(t, w, r, requests))
	require.GreaterOrEqual(t, count(ledger.Query{Skill: "pay.once", Kind: sentinel.RecordDecision, Outcome: "allow"}), paid)
	key, err := os.ReadFile(filepath.Join(cfg.Keys.Dir, "ledger.pub"))
	require.NoError(t, err)
	rep, err := ledger.Verify(t.Context(), cfg.Ledger.Path, ledger.VerifyOptions{PublicKey: string(key)})
	require.NoError(t, err)
	require.Equal(t, rep.Records, rep.Proved)
	return fmt.Sprintf("%d of %d calls that aren't idempotent done, each once, %d unknown; %d that are, %d repeats; %d records proved",
		paid, 2*jobs, unknown, logged, repeats, rep.Proved)
}

// notLogged says which calls were not made of those that are idempotent, and
// what the ledger has of the skill besides decisions and success.
func notLogged(t *testing.T, w *world, r *ledger.Reader, requests int) (out []string) {
	for k := range killConversations {
		for n := range requests {
			for _, call := range []string{"a2", "a3"} {
				if x := jobID(k, n) + call; w.runs["/log.again "+x] == nil {
					out = append(out, x)
				}
			}
		}
	}
	list, err := r.List(t.Context(), ledger.Query{Skill: "log.again", Limit: 1000})
	require.NoError(t, err)
	for _, rec := range list {
		if rec.Outcome != "allow" && rec.Outcome != "ok" {
			out = append(out, fmt.Sprintf("%s %s %s %s %s", rec.Kind, rec.Outcome, rec.Code, rec.Conversation, rec.Call))
		}
	}
	return out
}
