package agents

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/skills"
)

// teller is a desk that is told of calls ahead.
type teller struct {
	desk
	mu     sync.Mutex
	told   [][]skills.Proposed
	during func(ctx context.Context)
}

func (d *teller) Prejudge(ctx context.Context, calls []skills.Proposed) {
	d.mu.Lock()
	d.told = append(d.told, calls)
	d.mu.Unlock()
	if d.during != nil {
		d.during(ctx)
	}
}

func (d *teller) heard() (out []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, list := range d.told {
		line := ""
		for _, p := range list {
			line += p.Skill + string(p.Args) + " "
		}
		out = append(out, line)
	}
	return out
}

// Before the first call of an answer is invoked the desk is told of those that
// will be proposed as they are: in order, as many as the budget has room for, up
// to a call for help, and of no single one.
func TestDesksAreToldOfAnswers(t *testing.T) {
	one, two, three := use("1", "sheep.count", `{"n":1}`), use("2", "sheep.shear", `{"n":2}`), use("3", "sheep.count", `{"n":3}`)
	broken := llm.ToolCall{ID: "b", Name: ToolUseSkill, Arguments: `{"skill":7}`}
	other := llm.ToolCall{ID: "o", Name: "use_skills", Arguments: one.Arguments}
	const a, b, c = `sheep.count{"n":1} `, `sheep.shear{"n":2} `, `sheep.count{"n":3} `
	for name, tc := range map[string]struct {
		calls  []llm.ToolCall
		budget int
		want   []string
	}{
		"one":             {[]llm.ToolCall{one}, 9, nil},
		"two":             {[]llm.ToolCall{one, two}, 9, []string{a + b}},
		"three":           {[]llm.ToolCall{one, two, three}, 9, []string{a + b + c}},
		"beyond a budget": {[]llm.ToolCall{one, two, three}, 2, []string{a + b}},
		"a budget of one": {[]llm.ToolCall{one, two, three}, 1, nil},
		"up to a help":    {[]llm.ToolCall{one, two, help("x"), three}, 9, []string{a + b}},
		"help first":      {[]llm.ToolCall{help("x"), one, two}, 9, nil},
		"one is broken":   {[]llm.ToolCall{one, broken, two}, 9, []string{a + b}},
		"another tool":    {[]llm.ToolCall{one, other, two}, 9, []string{a + b}},
		"one that counts": {[]llm.ToolCall{one, broken, other}, 9, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d, heard := &teller{}, make(chan struct{}, 1)
			t.Cleanup(func() { require.Equal(t, tc.want, d.heard()) }) // all have ended
			d.during = func(context.Context) { heard <- struct{}{} }
			d.invoke = func(context.Context, string, json.RawMessage) (skills.Result, error) {
				if tc.want != nil && len(d.proposals()) == 1 {
					<-heard
				}
				return skills.Result{Trust: skills.Trusted}, nil
			}
			r := newRig(t)
			_, pid := r.start(Options{Model: script(calls(tc.calls...), says("done"), says("done")), Invoker: d, Mission: "count", Calls: tc.budget,
				HelpTimeout: time.Millisecond})
			_, err := otp.Wait(r.ctx, pid)
			require.NoError(t, err)
		})
	}
}

// What is told ahead ends with the answer whose calls it was for, however long
// the desk would take, and the agent waits for none of it.
func TestWhatIsToldAheadEndsWithItsAnswer(t *testing.T) {
	ended := make(chan error, 9)
	t.Cleanup(func() { // all have ended
		require.Len(t, ended, 2)
		require.ErrorIs(t, <-ended, context.Canceled)
	})
	heard := make(chan struct{}, 2)
	d := &teller{during: func(ctx context.Context) { heard <- struct{}{}; <-ctx.Done(); ended <- ctx.Err() }}
	d.invoke = func(context.Context, string, json.RawMessage) (skills.Result, error) {
		switch len(d.proposals()) {
		case 1:
			<-heard
		case 3: // the second answer's first: the first answer's is over
			<-heard
			select {
			case err := <-ended:
				ended <- err
			case <-time.After(4 * time.Minute):
				t.Error("what was told ahead of the first answer goes on")
			}
		}
		return skills.Result{Trust: skills.Trusted}, nil
	}
	two := []llm.ToolCall{use("1", "sheep.count", `{}`), use("2", "sheep.shear", `{}`)}
	_, res := newRig(t).run(Options{Model: script(calls(two...), calls(two...), says("done")), Invoker: d, Mission: "count", Calls: 9})
	require.Equal(t, Completed, res.State, res.Reason)
	require.Equal(t, []proposed{{"sheep.count", "{}"}, {"sheep.shear", "{}"}, {"sheep.count", "{}"}, {"sheep.shear", "{}"}}, d.proposals())
}

// A desk that can't be told works as well.
func TestDesksThatAreNotTold(t *testing.T) {
	d := &desk{invoke: func(_ context.Context, s string, _ json.RawMessage) (skills.Result, error) {
		return skills.Result{Content: s, Trust: skills.Trusted}, nil
	}}
	_, res := newRig(t).run(Options{Model: script(calls(use("1", "sheep.count", `{}`), use("2", "sheep.shear", `{}`)), says("done")),
		Invoker: d})
	require.Equal(t, Completed, res.State)
	require.Len(t, d.proposals(), 2)
}
