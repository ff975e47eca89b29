package agents

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/skills"
)

// notebook is a journal that keeps what it is told as the JSON that a real one
// would keep.
type notebook struct {
	mu     sync.Mutex
	rounds [][]byte
	ends   []Result
	fail   func() error
}

func (n *notebook) Round(_ context.Context, r Round) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fail != nil {
		return n.fail()
	}
	b, err := json.Marshal(r)
	n.rounds = append(n.rounds, b)
	return err
}

func (n *notebook) End(_ context.Context, r Result) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fail != nil {
		return n.fail()
	}
	n.ends = append(n.ends, r)
	return nil
}

// read returns the first rounds.
func (n *notebook) read(t testing.TB, first int) []Round {
	out := make([]Round, first)
	for i := range out {
		require.NoError(t, json.Unmarshal(n.rounds[i], &out[i]))
	}
	return out
}

// tellDesk answers with the name and number of the call, as one does that knows
// what it answered before.
func tellDesk() *desk {
	n := 0
	d := &desk{}
	d.invoke = func(_ context.Context, skill string, args json.RawMessage) (skills.Result, error) {
		n++
		if strings.Contains(string(args), `"n":3`) {
			return skills.Result{}, &skills.Refusal{Kind: skills.KindDeny, Gate: "guard", Code: "guard.core", Reason: "no"}
		}
		return skills.Result{Content: skill + string(args), Trust: skills.Trusted}, nil
	}
	return d
}

// An agent that is started with the rounds of another goes on as that one: its
// model is asked the same, its desk is proposed the same from the last round on,
// and it ends the same, whichever round its process ended after.
func TestRestored(t *testing.T) {
	steps := []modelFunc{
		calls(use("1", "sheep.count", `{"n":1}`), use("1", "sheep.count", `{"n":2}`),
			llm.ToolCall{ID: "x", Name: "no such tool", Arguments: "{\"n\":\xff"}),
		responds(llm.Response{Content: "thinking", ToolCalls: []llm.ToolCall{use("2", "sheep.shear", `{"n":3}`)}, FinishReason: "tool_calls"}),
		responds(llm.Response{ToolCalls: []llm.ToolCall{use("3", "sheep.count", `{"n":4}`)}, FinishReason: "length"}),
		calls(use("", "sheep.count", `{"n":5}`)),
		says("five sheep"),
	}
	bubble(t, func(t *testing.T, r *rig) {
		whole, first, book := script(steps...), tellDesk(), &notebook{}
		_, want := r.run(Options{Model: whole, Invoker: first, Journal: book, Calls: 9})
		require.Equal(t, Completed, want.State)
		require.Len(t, book.rounds, 4)
		require.Equal(t, []Result{want}, book.ends)
		asked, proposals := whole.requests(), first.proposals()
		for n := 1; n <= len(book.rounds); n++ {
			rounds := book.read(t, n)
			m, d, rest := script(steps[n:]...), tellDesk(), &notebook{}
			a, got := r.run(Options{Model: m, Invoker: d, Journal: rest, Rounds: rounds, Calls: 9, Mission: "not looked at"})
			require.Equal(t, asked[n:], m.requests(), "after round %d", n)
			require.Equal(t, proposals[rounds[n-1].Proposed:], d.proposals())
			got.Took, want.Took = 0, 0
			require.Equal(t, want, got)
			require.Len(t, rest.rounds, len(book.rounds)-n)
			require.Equal(t, "mission", a.Snapshot().Transcript[0].Kind)
		}
		_, err := New(Options{ID: "a", Mission: "m", Model: whole, Invoker: first, Rounds: book.read(t, 4)[1:]})
		require.ErrorContains(t, err, "numbered from 1")
	})
}

// What the orchestrator had said is said again after a restart: what was read
// is passed over, what was not is read now, and a call for help that had been
// answered is not asked again.
func TestRestoredWords(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		book := &notebook{}
		m := script(calls(use("1", "sheep.count", `{}`)), calls(use("2", "sheep.count", `{}`), help("where?")), hang)
		a, pid := r.start(Options{Model: m, Journal: book, Heard: []string{"u0"}})
		require.Equal(t, HelpWanted{Agent: "a1", Reason: "where?", Skills: []string{"mail.send"}}, r.next())
		for _, msg := range []any{Update{"u1", "hurry"}, Answer{"a1", "there", []*skills.Skill{skill(t, "mail.send")}}} {
			pid.Send(msg)
		}
		waitFor(t, func() bool { return len(m.requests()) == 3 })
		asked := m.requests()[2].Messages
		pid.Send(Cancel{"gone"})
		r.result(a, pid)
		require.Empty(t, book.ends, "whoever cancels knows")
		require.Equal(t, []string{"u0"}, book.read(t, 1)[0].Read)

		again := script(says("done"))
		_, res := r.run(Options{
			Model: again, Journal: &notebook{}, Rounds: book.read(t, 2),
			Updates: []Update{{"u0", "old"}, {"u1", "hurry"}, {"u1", "hurry"}},
			Answers: []Answer{{"a1", "there", []*skills.Skill{skill(t, "mail.send")}}},
		})
		require.Equal(t, Completed, res.State)
		require.Equal(t, asked, again.requests()[0].Messages)
	})
}

// An agent whose round or end can't be written down has failed, and proposes
// nothing of that round. One whose parent ends writes nothing: it may be
// restored.
func TestJournalFails(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		broken := &notebook{fail: func() error { return errors.New("the disk is full") }}
		d := &desk{}
		_, res := r.run(Options{Model: script(calls(use("1", "sheep.count", `{}`)), says("x")), Invoker: d, Journal: broken})
		require.Equal(t, Failed, res.State)
		require.Empty(t, d.proposals())
		_, res = r.run(Options{Model: script(says("x")), Journal: broken})
		require.Equal(t, Failed, res.State)
		require.Empty(t, res.Answer)
		_, res = r.run(Options{Model: script(says("x")), Journal: &notebook{fail: func() error { panic("x") }}})
		require.Equal(t, Failed, res.State)
	})
}

// The time that was left is left after a restart, and not more.
func TestRestoredClock(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		book := &notebook{}
		slow := func(ctx context.Context, q llm.Request) (llm.Response, error) {
			time.Sleep(40 * time.Second)
			return calls(use("1", "sheep.count", `{}`))(ctx, q)
		}
		_, res := r.run(Options{Model: script(slow, hang), Journal: book})
		require.Equal(t, TimedOut, res.State)
		start := time.Now()
		_, res = r.run(Options{Model: script(hang), Rounds: book.read(t, 1)})
		require.Equal(t, TimedOut, res.State)
		require.Equal(t, 20*time.Second, time.Since(start))
	})
}

// waitFor lets the bubble's clock run until the condition holds.
func waitFor(t testing.TB, cond func() bool) {
	t.Helper()
	for range 1000 {
		if cond() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	require.FailNow(t, "it never came")
}
