package orchestrator

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
)

// places are all places at which a conversation's process can be broken.
var places = []string{"recalled", "open", "think", "save", "saved", "invoke", "launch", "end", "over"}

// breaker panics in a conversation's process, the n-th time it comes by a place.
type breaker struct {
	mu    sync.Mutex
	place string
	n     int
	seen  map[string]int
	broke int
	each  bool // every time from then on
}

func (b *breaker) at(place string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen == nil {
		b.seen = map[string]int{}
	}
	b.seen[place]++
	if place == b.place && (b.seen[place] == b.n || b.each && b.seen[place] >= b.n) {
		b.broke++
		panic("broken at " + place)
	}
}

// logbook is what skills wrote into the world: the argument of each run.
type logbook struct {
	mu   sync.Mutex
	runs []string
}

func (l *logbook) skill(t *testing.T, name string, effect skills.Effect, idempotent bool, out skills.Trust) *skills.GoSkill {
	type in struct{ X string }
	spec := skills.Spec{Name: name, Description: "For tests.", Effect: effect, Output: out, Reaches: skills.Self, Idempotent: idempotent}
	g, err := skills.Func(spec, func(_ context.Context, i in) (string, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.runs = append(l.runs, i.X)
		return "wrote " + i.X, nil
	})
	require.NoError(t, err)
	return g
}

func (l *logbook) times(x string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.runs {
		if r == x {
			n++
		}
	}
	return n
}

// A conversation's process that breaks, wherever and whenever in a turn with
// waves, updates, help, results and a second turn behind it, comes back: the
// caller gets the answer, every agent ends as it would have, no call that isn't
// idempotent runs twice, and the ledger proves.
func TestCrashAnywhere(t *testing.T) {
	whole := crashTurn(t, &breaker{})
	for _, place := range places {
		most := whole[place]
		require.Positive(t, most, "%s is never passed", place)
		for n := 1; n <= most; n++ {
			t.Run(fmt.Sprint(place, n), func(t *testing.T) {
				b := &breaker{place: place, n: n}
				crashTurn(t, b)
				require.Equal(t, 1, b.broke)
			})
		}
	}
}

func crashTurn(t *testing.T, b *breaker) map[string]int {
	book := &logbook{}
	o := with(book.skill(t, "note.plain", skills.Create, false, skills.Trusted),
		book.skill(t, "note.again", skills.Create, true, skills.Trusted),
		book.skill(t, "web.page", skills.Read, false, skills.Untrusted))
	o.tune.at = b.at
	help := tool(agents.ToolRequestHelp, map[string]any{"reason": "which one?"})
	r := start(t, o,
		orch("first",
			[]call{
				dispatch("c", "do-c", "note.again").with("depends_on", []string{"a", "b"}),
				dispatch("a", "do-a", "note.plain"), dispatch("b", "do-b", "note.again", "web.page"), dispatch("h", "do-h"),
			},
			results("wait_any", "h"),
			tool(toolUpdate, map[string]any{"agent_id": "h", "message": "that one", "skills": []string{"note.plain"}}),
			results("wait_all"), "all done"),
		orch("second", "still here"),
		agent("do-a", use("note.plain", "a1"), []call{use("note.plain", "a2"), use("no.such", "a3")}, "a is done"),
		agent("do-b", use("note.again", "b1"), use("web.page", "b2"), "b is done"),
		agent("do-c", use("note.again", "c1"), "c is done"),
		agent("do-h", help, use("note.plain", "h1"), "h is done"))
	c := r.open("c1", "ann")
	reply, err := c.Send(t.Context(), "first")
	require.NoError(t, err)
	require.Equal(t, "all done", reply.Text)
	require.True(t, reply.Tainted)
	want := map[string]string{"a": "a is done", "b": "b is done", "c": "c is done", "h": "h is done"}
	for _, a := range reply.Agents {
		require.Equal(t, agents.Completed, a.State, a.Reason)
		require.Equal(t, want[a.Agent], a.Answer)
		delete(want, a.Agent)
	}
	require.Empty(t, want)
	second, err := c.Send(t.Context(), "second")
	require.NoError(t, err)
	require.Equal(t, "still here", second.Text)
	require.True(t, second.Tainted)

	nothingHeld(t, r)

	unknown := len(r.list(ledger.Query{Outcome: sentinel.StatusUnknown, Skill: "note.plain"}))
	for _, x := range []string{"a1", "a2", "h1"} {
		n := book.times(x)
		require.LessOrEqual(t, n, 1, "%s is not idempotent", x)
		unknown -= 1 - n
	}
	require.GreaterOrEqual(t, unknown, 0, "what did not run is known to be unknown")
	for _, x := range []string{"b1", "b2", "c1"} {
		require.Contains(t, []int{1, 2}, book.times(x), x)
	}
	require.Equal(t, []string{skillDispatch, skillDispatch, skillDispatch, skillDispatch},
		skillsOf(r.list(ledger.Query{Skill: skillDispatch, Kind: sentinel.RecordOutcome, Outcome: "ok"})))
	r.verify()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.seen
}

func skillsOf(list []ledger.Record) (out []string) {
	for _, r := range list {
		out = append(out, r.Skill)
	}
	return out
}
