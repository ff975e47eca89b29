package assembly_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/limits"
	"github.com/vedette-dev/vedette/limits/redisstore"
	"github.com/vedette-dev/vedette/limits/redisstore/redistest"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
)

// onRedis is the limits section of a configuration that counts on a server.
// The time-out is long where a test isn't about it, for machines that are busy.
func onRedis(url, prefix, timeout, numbers string) string {
	return fmt.Sprintf("judge: {threshold: 0, ask_below: 0}\nlimits: {%s, store: {driver: redis, url: %q, prefix: %q, timeout: %s}}\n",
		numbers, url, prefix, timeout)
}

func invoke(t *testing.T, p *assembly.Parts, g sentinel.Grant, skill, args string) (code string) {
	t.Helper()
	_, err := p.Checkpoint.Desk(g).Invoke(t.Context(), skill, json.RawMessage(args))
	if err == nil {
		return ""
	}
	var f *skills.Failure
	if errors.As(err, &f) {
		return f.Code
	}
	var r *skills.Refusal
	require.ErrorAs(t, err, &r)
	return r.Code
}

// Two processes with databases of their own and one Redis server share one
// budget: what one has used the other can't, however many call at once.
func TestProcessesShareABudget(t *testing.T) {
	url, prefix := redistest.Shared(t)
	const budget = 12
	text := onRedis(url, prefix, "10s", fmt.Sprintf("agent: {calls: 100}, turn: {calls: 100}, conversation: {calls: %d}", budget))
	n := &notes{}
	var parts []*assembly.Parts
	for range 2 {
		parts = append(parts, build(t, write(t, text), assembly.Options{Skills: []*skills.GoSkill{n.skill(t)}}))
	}
	g := grant(t, "add notes", "notes.add")
	codes := make(chan string, 4*budget)
	var wg sync.WaitGroup
	for i := range 4 * budget {
		wg.Go(func() {
			_, err := parts[i%2].Checkpoint.Desk(g).Invoke(t.Context(), "notes.add", json.RawMessage(`{"text":"x"}`))
			var r *skills.Refusal
			switch {
			case errors.As(err, &r):
				codes <- r.Code
			case err != nil:
				codes <- err.Error()
			default:
				codes <- ""
			}
		})
	}
	wg.Wait()
	close(codes)
	count := map[string]int{}
	for c := range codes {
		count[c]++
	}
	require.Equal(t, map[string]int{"": budget, limits.CodeConversationCalls: 3 * budget}, count)
	require.Len(t, n.seen, budget)
	for _, p := range parts {
		require.Equal(t, limits.CodeConversationCalls, invoke(t, p, g, "notes.add", `{"text":"x"}`))
	}
}

// A skill that broke for one process is out of use for the other, and the end
// of a turn in one gives the other its slots back.
func TestProcessesShareBreakersAndTurns(t *testing.T) {
	url, prefix := redistest.Shared(t)
	text := onRedis(url, prefix, "10s", "turn: {calls: 3}, skill: {failures: 2, open_for: 1h}")
	n := &notes{fail: errors.New("broken")}
	a := build(t, write(t, text), assembly.Options{Skills: []*skills.GoSkill{n.skill(t)}})
	b := build(t, write(t, text), assembly.Options{Skills: []*skills.GoSkill{n.skill(t)}})
	g := grant(t, "add a note", "notes.add", "fs.read")
	for _, p := range []*assembly.Parts{a, b} {
		require.NotEqual(t, limits.CodeSkillOpen, invoke(t, p, g, "notes.add", `{"text":"x"}`))
	}
	require.Equal(t, limits.CodeSkillOpen, invoke(t, a, g, "notes.add", `{"text":"x"}`))
	require.Len(t, n.seen, 2)

	require.Equal(t, limits.CodeTurnCalls, invoke(t, b, g, "fs.read", `{"path":"/srv/x"}`))
	a.EndTurn(t.Context(), g)
	require.Empty(t, invoke(t, b, g, "fs.read", `{"path":"/srv/x"}`))
	require.Equal(t, limits.CodeSkillOpen, invoke(t, b, g, "notes.add", `{"text":"x"}`), "breakers don't end with a turn")
}

// limitsVerdict is what the newest decision on record says of the limits.
func limitsVerdict(t *testing.T, p *assembly.Parts) (degraded bool, code string) {
	t.Helper()
	list := records(t, p.Config, ledger.Query{Kind: sentinel.RecordDecision, Newest: true, Limit: 1})
	var body struct {
		Degraded bool
		Gates    []struct{ Gate, Code string }
	}
	require.NoError(t, json.Unmarshal(list[0].Body, &body))
	require.Equal(t, "limits", body.Gates[0].Gate)
	return body.Degraded, body.Gates[0].Code
}

// While the server is away reads go on, marked on record and in the log, and
// changes are refused; this process counts what goes on. When the server is
// back, so are its counts, without a restart.
func TestServerAway(t *testing.T) {
	srv := redistest.Start(t, "--requirepass", canary)
	text := onRedis("redis://:"+canary+"@"+srv.Address(), "away", "1s", "agent: {calls: 4}, conversation: {calls: 3}")
	log := &buffer{}
	var mu sync.Mutex
	var events []bool
	p := build(t, write(t, text), assembly.Options{Log: log.logger(), ObserveLimits: func(e redisstore.Event) {
		mu.Lock()
		defer mu.Unlock()
		events = append(events, e.Away)
	}})
	g := grant(t, "read /srv/x", "fs.read", "fs.change", "shell.exec")
	read, change := `{"path":"/srv/x"}`, `{"path":"/srv/x"}`
	require.Empty(t, invoke(t, p, g, "fs.change", change))
	require.Empty(t, invoke(t, p, g, "fs.read", read))
	degraded, code := limitsVerdict(t, p)
	require.False(t, degraded)
	require.Empty(t, code)

	srv.Kill()
	require.Empty(t, invoke(t, p, g, "fs.read", read))
	degraded, code = limitsVerdict(t, p)
	require.True(t, degraded)
	require.Equal(t, sentinel.CodeLimitsDegraded, code)
	require.Equal(t, sentinel.CodeLimitsAway, invoke(t, p, g, "fs.change", change))
	require.Equal(t, sentinel.CodeLimitsAway, invoke(t, p, g, "shell.exec", `{"command":"true"}`))
	degraded, code = limitsVerdict(t, p)
	require.False(t, degraded)
	require.Equal(t, sentinel.CodeLimitsAway, code)
	require.Equal(t, limits.CodeConversationCalls, invoke(t, p, g, "fs.read", read), "three were counted here, the refused ones too")
	p.EndTurn(t.Context(), g) // nobody is there to be told, and nobody is blamed
	st, ok := p.Limits()
	require.True(t, ok)
	require.True(t, st.Away)
	require.Positive(t, st.Failures)
	for _, line := range []string{"LIMITS AWAY", "LIMITS DEGRADED"} {
		require.Contains(t, log.String(), line)
	}

	srv.Restart()
	tick, late := time.NewTicker(20*time.Millisecond), time.After(30*time.Second)
	defer tick.Stop()
	for invoke(t, p, g, "fs.change", change) != "" {
		select {
		case <-late:
			t.Fatal("it did not come back by itself")
		case <-tick.C:
		}
	}
	_, code = limitsVerdict(t, p)
	require.Empty(t, code)
	require.Equal(t, limits.CodeConversationCalls, invoke(t, p, g, "fs.read", read), "two before, one after: the server kept count")
	require.Contains(t, log.String(), "is back")
	require.NotContains(t, log.String(), canary)
	require.NotContains(t, log.String(), "could not be told")
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, []bool{true, false}, events)
}

// What happens while the server is away is configuration, by effect.
func TestWhenAwayIsConfigured(t *testing.T) {
	url := "redis://" + nobody(t)
	for _, tc := range []struct{ cells, skill, code string }{
		{"", "fs.read", ""},
		{"read: deny", "fs.read", sentinel.CodeLimitsAway},
		{"", "fs.change", sentinel.CodeLimitsAway},
		{"modify: allow", "fs.change", sentinel.CodeLimitsAway}, // and outward denies
		{"modify: allow, outward: allow", "fs.change", ""},
		{"modify: ask, outward: allow", "fs.change", "approval.nobody"},
	} {
		text := fmt.Sprintf("judge: {threshold: 0, ask_below: 0}\nlimits: {store: {driver: redis, url: %q, when_away: {%s}}}\n", url, tc.cells)
		file := write(t, text)
		reaching := skillsYAML
		if tc.cells == "modify: allow" || tc.cells == "modify: allow, outward: allow" {
			reaching = "skills:\n  - name: fs.change\n    effect: modify\n    reaches: others\n    parameters: {type: object, properties: {path: " +
				"{type: string}}}\n    run: {template: x}\n"
		}
		require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(file), "skills.yaml"), []byte(reaching), 0o600))
		p := build(t, file, assembly.Options{})
		g := grant(t, "do it", "fs.read", "fs.change")
		require.Equal(t, tc.code, invoke(t, p, g, tc.skill, `{"path":"/srv/x"}`), tc)
	}
}

// nobody returns an address that nobody listens on.
func nobody(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	return l.Addr().String()
}

// A server that isn't there keeps nothing from starting, and is loud; so is one
// that refuses, which denies every call.
func TestStartWithoutServer(t *testing.T) {
	log := &buffer{}
	p := build(t, write(t, onRedis("redis://"+nobody(t), "x", "1s", "agent: {calls: 5}")), assembly.Options{Log: log.logger()})
	require.Contains(t, log.String(), "LIMITS AWAY")
	require.Empty(t, invoke(t, p, grant(t, "read it", "fs.read"), "fs.read", `{"path":"/srv/x"}`))

	srv := redistest.Start(t, "--requirepass", "right")
	log = &buffer{}
	p = build(t, write(t, onRedis("redis://:"+canary+"@"+srv.Address(), "x", "10s", "agent: {calls: 5}")), assembly.Options{Log: log.logger()})
	require.Contains(t, log.String(), "LIMITS REFUSED")
	require.Equal(t, "limits.error", invoke(t, p, grant(t, "read it", "fs.read"), "fs.read", `{"path":"/srv/x"}`))
	require.NotContains(t, log.String(), canary)
}

// An address that is none is a mistake with a place, for validate and at start,
// and isn't repeated.
func TestMalformedAddressHasAPlace(t *testing.T) {
	for _, bad := range []string{"http://" + canary, "redis://:" + canary + "@", "redis://h?skip_verify=" + canary, canary} {
		file := write(t, fmt.Sprintf("limits:\n  store:\n    driver: redis\n    url: %q\n", bad))
		cfg := load(t, file)
		_, buildErr := assembly.Build(t.Context(), cfg, assembly.Options{})
		for _, err := range []error{assembly.Check(cfg), buildErr} {
			require.ErrorContains(t, err, "vedette.yaml:7:10: limits.store.url: is no address of a Redis server")
			require.NotContains(t, err.Error(), canary)
		}
	}
}
