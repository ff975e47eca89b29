package orchestrator

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
)

// reviewer approves what it is asked, once as many questions that hold key are
// under way as it waits for. Others it approves at once.
type reviewer struct {
	*httptest.Server
	key string

	mu    sync.Mutex
	asked []string
	here  int
	met   chan struct{}
}

func newReviewer(t *testing.T, key string, together int) *reviewer {
	v := &reviewer{key: key, met: make(chan struct{})}
	if together <= 1 {
		close(v.met)
	}
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		v.mu.Lock()
		v.asked = append(v.asked, string(b))
		if strings.Contains(string(b), key) {
			if v.here++; v.here == together && together > 1 {
				close(v.met)
			}
			v.mu.Unlock()
			select {
			case <-v.met:
			case <-r.Context().Done():
				return
			}
		} else {
			v.mu.Unlock()
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"finish_reason": "stop",
			"message": map[string]any{"role": "assistant", "content": `{"decision":"approve","reason":"fits"}`}}}})
	}))
	t.Cleanup(v.Close)
	return v
}

func (v *reviewer) count(key string) (n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, a := range v.asked {
		if strings.Contains(a, key) {
			n++
		}
	}
	return n
}

// asking is the skill's name as it stands in a question of the review, within
// the JSON of the request.
func asking(skill string) string { return `\"name\":\"` + skill + `\"` }

// The calls of one answer are judged at the same time, each is asked about
// once, and they run one after the other in the order of the answer: also
// where the results of the first taint the rest.
func TestCallsOfOneAnswerAreJudgedTogether(t *testing.T) {
	// In the second part nothing is known of what the calls name, which a judge
	// that sees earlier steps says and one that sees none does not.
	for _, tc := range []struct {
		effect skills.Effect
		out    skills.Trust
	}{{skills.Read, skills.Trusted}, {skills.Read, skills.Untrusted}, {skills.Modify, skills.Trusted}, {skills.Modify, skills.Untrusted}} {
		t.Run(string(tc.effect)+" "+string(tc.out), func(t *testing.T) {
			var mu sync.Mutex
			var order []string
			o := with(skill(t, "note.log", tc.effect, tc.out, func(_ context.Context, x string) (string, error) {
				mu.Lock()
				defer mu.Unlock()
				order = append(order, x)
				return "noted", nil
			}))
			v := newReviewer(t, asking("note.log"), 3)
			o.config, o.reviewer = "sentinel: {mode: enforce, canaries: {every: 0s}}\n", v.URL
			r := start(t, o,
				orch("hello", dispatch("a", "do-a", "note.log"), results("wait_all"), "the answer"),
				agent("do-a", []call{use("note.log", "one"), use("note.log", "two"), use("note.log", "three")}, "done"))
			reply := r.send("hello")
			require.Equal(t, map[string]agents.State{"a": agents.Completed}, states(reply))
			require.Equal(t, []string{"one", "two", "three"}, order)
			require.Equal(t, 3, v.count(asking("note.log")), "each is asked about once")
			list := r.list(ledger.Query{Skill: "note.log", Kind: "decision"})
			require.Len(t, list, 3)
			r.verify()
		})
	}
}

// The dispatches of one answer are judged at the same time.
func TestDispatchesOfOneAnswerAreJudgedTogether(t *testing.T) {
	v := newReviewer(t, asking("agent.dispatch"), 2)
	o := with()
	o.config, o.reviewer = "sentinel: {mode: enforce, canaries: {every: 0s}}\n", v.URL
	r := start(t, o, orch("hello", []call{dispatch("a", "do-a"), dispatch("b", "do-b")}, results("wait_all"), "the answer"),
		agent("do-a", "a is done"), agent("do-b", "b is done"))
	require.Equal(t, map[string]agents.State{"a": agents.Completed, "b": agents.Completed}, states(r.send("hello")))
	require.Equal(t, 2, v.count(asking("agent.dispatch")))
}

// The review is not asked ahead about what the rules deny, nor about what is
// beyond the agent's budget.
func TestDeniedCallsAreNotReviewedAhead(t *testing.T) {
	v := newReviewer(t, asking("note.echo"), 1)
	o := with(echo(t))
	o.config = "sentinel: {mode: enforce, canaries: {every: 0s}}\npermissions: [{skill: note.echo, then: deny, when: \"args.X == 'no'\"}]\n"
	o.reviewer = v.URL
	r := start(t, o, orch("hello", dispatch("a", "do-a", "note.echo").with("max_tool_calls", 3), results("wait_all"), "the answer"),
		agent("do-a", []call{use("note.echo", "one"), use("note.echo", "two"), use("note.echo", "no"), use("note.echo", "four"),
			use("note.echo", "five")}, "done"))
	r.send("hello")
	require.Equal(t, 2, v.count(asking("note.echo")))
	require.Len(t, r.list(ledger.Query{Skill: "note.echo", Outcome: "ok"}), 2)
}
