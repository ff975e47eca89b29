package orchestrator

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
)

// neighbour runs a turn of another conversation that is in the middle of a
// skill call while during runs, and must end as if nothing had been.
func neighbour(t *testing.T, o options, rules [][]rule, during func(r *rig)) {
	g, entered, open := gate(t, "note.gate")
	o.Skills = append(o.Skills, g)
	rules = append(rules, orch("calm", dispatch("n", "do-n", "note.gate"), results("wait_all"), "calm answer"),
		agent("do-n", use("note.gate", "x"), "n is done"))
	r := start(t, o, rules...)
	other, err := r.Open(t.Context(), ConversationOptions{ID: "c2", User: "bob"})
	require.NoError(t, err)
	type end struct {
		reply Reply
		err   error
	}
	done := make(chan end, 1)
	go func() {
		reply, err := other.Send(context.Background(), "calm")
		done <- end{reply, err}
	}()
	<-entered
	during(r)
	open()
	e := <-done
	require.NoError(t, e.err)
	require.Equal(t, "calm answer", e.reply.Text)
	require.Equal(t, map[string]agents.State{"n": agents.Completed}, states(e.reply))
}

// A skill that panics, hangs or ends its goroutine costs its own call: its
// agent reads the error and goes on, and no other notices.
func TestBrokenSkills(t *testing.T) {
	type in struct{ X string }
	slow, err := skills.Func(skills.Spec{Name: "note.bad", Effect: skills.Create, Reaches: skills.Self, Timeout: 20 * time.Millisecond},
		func(ctx context.Context, _ in) (string, error) { <-ctx.Done(); return "", ctx.Err() })
	require.NoError(t, err)
	for name, row := range map[string]struct {
		skill *skills.GoSkill
		code  string
	}{
		"panic": {skill(t, "note.bad", skills.Create, skills.Trusted, func(context.Context, string) (string, error) { panic("secret") }),
			"panic"},
		"goexit": {skill(t, "note.bad", skills.Create, skills.Trusted, func(context.Context, string) (string, error) {
			runtime.Goexit()
			return "", nil
		}), "panic"},
		"error": {skill(t, "note.bad", skills.Create, skills.Trusted,
			func(context.Context, string) (string, error) { return "", errors.New("no") }), "failed"},
		"hang": {slow, "timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			neighbour(t, with(row.skill), [][]rule{
				orch("go", dispatch("a", "do-a", "note.bad"), results("wait_all"), "done"),
				agent("do-a", use("note.bad", "x"), "went on"),
			}, func(r *rig) {
				reply := r.send("go")
				require.Equal(t, "went on", reply.Agents[0].Answer)
				list := r.list(ledger.Query{Skill: "note.bad", Kind: "outcome"})
				require.Len(t, list, 1)
				require.Equal(t, row.code, list[0].Code)
			})
		})
	}
}

// A model server that fails in any way ends the agent, or the turn, that asked
// it, with its kind; the next request is answered.
func TestBrokenModels(t *testing.T) {
	for name, row := range map[string]struct {
		reply rule
		kind  llm.Kind
	}{
		"500":   {rule{"status": 500}, llm.KindServer},
		"401":   {rule{"status": 401}, llm.KindAuth},
		"429":   {rule{"status": 429, "headers": rule{"Retry-After": "1"}}, llm.KindRateLimited},
		"html":  {rule{"status": 200, "body": "<html>hello</html>", "content_type": "text/html"}, llm.KindNotJSON},
		"hangs": {rule{"hang": true}, llm.KindTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			o := with()
			o.models = `}
  quick: {model: quick, base_url: "$URL", timeout: 20s`
			if row.kind == llm.KindTimeout {
				o.models, o.carried = strings.ReplaceAll(o.models, "20s", "200ms"), true
			}
			o.wrap = func(r *rig, main agents.Model) chatFunc {
				quick, ok := r.Parts().NamedModel("quick")
				require.True(t, ok)
				return func(ctx context.Context, q llm.Request) (llm.Response, error) {
					if q.Messages[len(q.Messages)-1].Content == "turn" {
						return quick.Chat(ctx, q)
					}
					return main.Chat(ctx, q)
				}
			}
			neighbour(t, o, [][]rule{
				orch("agent", dispatch("a", "do-a").with("model", "quick"), results("wait_all"), "done"),
				{{"when": rule{"model": "quick"}, "reply": row.reply}},
				orch("fine", "fine"),
			}, func(r *rig) {
				c := r.open("c1", "ann")
				_, err := c.Send(t.Context(), "turn")
				var me *ModelError
				require.ErrorAs(t, err, &me)
				require.Equal(t, string(row.kind), me.Kind)
				require.Equal(t, "fine", r.send("fine").Text)
				require.Equal(t, map[string]agents.State{"a": agents.Failed}, states(r.send("agent")))
			})
		})
	}
}

// A model client that panics ends the turn, not the conversation.
func TestPanickingModel(t *testing.T) {
	o := with()
	o.wrap = func(_ *rig, main agents.Model) chatFunc {
		return func(ctx context.Context, q llm.Request) (llm.Response, error) {
			if q.Messages[len(q.Messages)-1].Content == "boom" {
				panic("boom")
			}
			return main.Chat(ctx, q)
		}
	}
	neighbour(t, o, [][]rule{orch("fine", "fine")}, func(r *rig) {
		c := r.open("c1", "ann")
		_, err := c.Send(t.Context(), "boom")
		require.Equal(t, &ModelError{"unavailable"}, err)
		reply, err := c.Send(t.Context(), "fine")
		require.NoError(t, err)
		require.Equal(t, "fine", reply.Text)
	})
}

// A conversation whose process crashes starts again and goes on with its turn:
// its caller is answered and no other notices. It stays its user's.
func TestConversationCrash(t *testing.T) {
	in := make(chan struct{}, 16)
	var runs atomic.Int64
	mine := skill(t, "note.mine", skills.Create, skills.Trusted, func(ctx context.Context, _ string) (string, error) {
		runs.Add(1)
		in <- struct{}{}
		<-ctx.Done()
		return "", ctx.Err()
	})
	wait := skill(t, "note.wait", skills.Read, skills.Trusted, func(context.Context, string) (string, error) { <-in; return "", nil })
	var crash atomic.Bool
	o := with(mine, wait)
	o.OnAgent = func(_ string, r agents.Result) {
		if r.Agent == "b" && r.State.Done() && crash.CompareAndSwap(true, false) {
			runtime.Goexit() // as a test's FailNow would, inside the conversation's process
		}
	}
	neighbour(t, o, [][]rule{
		orch("crash", []call{dispatch("a", "do-a", "note.mine"), dispatch("b", "do-b", "note.wait")}, results("wait_all"), "done"),
		agent("do-a", use("note.mine", "x"), "told"), agent("do-b", use("note.wait", "x"), "ok"),
		orch("fine", "fine"),
	}, func(r *rig) {
		c := r.open("c1", "ann")
		for range 6 { // more than its supervisor puts up with
			crash.Store(true)
			reply, err := c.Send(t.Context(), "crash")
			require.NoError(t, err)
			require.Equal(t, "done", reply.Text)
			require.False(t, crash.Load())
			require.Equal(t, map[string]agents.State{"a": agents.Completed, "b": agents.Completed}, states(reply))
			reply, err = c.Send(t.Context(), "fine")
			require.NoError(t, err)
			require.Equal(t, "fine", reply.Text)
		}
		require.EqualValues(t, 6, runs.Load(), "what was interrupted was not run again")
		_, err := r.Open(t.Context(), ConversationOptions{ID: "c1", User: "eve"})
		require.ErrorIs(t, err, ErrRequest)
	})
}
