package agents

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/loop"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/skills"
)

// blocking is a desk whose calls end with their context or with free.
func blocking(free <-chan struct{}, ended chan<- error) *desk {
	return &desk{invoke: func(ctx context.Context, _ string, _ json.RawMessage) (skills.Result, error) {
		select {
		case <-ctx.Done():
			ended <- ctx.Err()
			return skills.Result{}, ctx.Err()
		case <-free:
			return skills.Result{Content: "finished", Trust: skills.Trusted}, nil
		}
	}}
}

// Cancel ends an agent at once in whatever state it is, and takes the context
// of its call away.
func TestCancel(t *testing.T) {
	for name, tc := range map[string]struct {
		model modelFunc
		state State
		held  bool
	}{
		"model call": {hang, Running, false},
		"skill call": {calls(use("1", "sheep.count", `{}`)), Running, false},
		"held":       {calls(use("1", "sheep.count", `{}`)), AwaitingApproval, true},
		"help":       {calls(help("?")), AwaitingOrchestrator, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				begin, ended := time.Now(), make(chan error, 1)
				a, pid := r.start(Options{Model: script(tc.model), Invoker: blocking(nil, ended)})
				synctest.Wait()
				if tc.held {
					pid.Send(Held{})
				}
				synctest.Wait()
				if tc.state == AwaitingOrchestrator {
					require.IsType(t, HelpWanted{}, r.next())
				}
				require.Equal(t, tc.state, a.Snapshot().State)
				pid.Send(Cancel{"not needed any more"})
				pid.Send(Cancel{"twice"})
				res := r.result(a, pid)
				require.Equal(t, Cancelled, res.State)
				require.Equal(t, "not needed any more", res.Reason)
				require.Zero(t, time.Since(begin))
				if res.Calls > 0 {
					require.ErrorIs(t, <-ended, context.Canceled)
				}
			})
		})
	}
}

// Interrupt lets the call under way finish, proposes nothing more and ends
// with the report of one last turn.
func TestInterrupt(t *testing.T) {
	t.Run("skill call", func(t *testing.T) {
		bubble(t, func(t *testing.T, r *rig) {
			free, ended := make(chan struct{}), make(chan error, 1)
			m := script(calls(use("1", "sheep.count", `{}`), use("2", "sheep.shear", `{}`)), says("half"))
			d := blocking(free, ended)
			a, pid := r.start(Options{Model: m, Invoker: d})
			synctest.Wait()
			pid.Send(Interrupt{"the user went on"})
			pid.Send(Interrupt{"twice"})
			synctest.Wait()
			require.Equal(t, Running, a.Snapshot().State)
			close(free)
			res := r.result(a, pid)
			require.Equal(t, Completed, res.State)
			require.Equal(t, "half", res.Answer)
			require.Equal(t, "the user went on", res.Reason)
			require.Len(t, d.proposals(), 1)
			require.Empty(t, ended)
			q := m.requests()[1]
			require.Empty(t, q.Tools)
			require.JSONEq(t, `{"ok":true,"result":"finished"}`, toolMessages(q)[0].Content)
			require.Equal(t, "not_proposed", answered(t, toolMessages(q)[1])["error"])
		})
	})
	t.Run("model call", func(t *testing.T) {
		bubble(t, func(t *testing.T, r *rig) {
			gone := make(chan struct{})
			m := script(func(ctx context.Context, q llm.Request) (llm.Response, error) {
				defer close(gone)
				return hang(ctx, q)
			}, func(ctx context.Context, q llm.Request) (llm.Response, error) {
				<-gone // the call that nobody waits for any more was told so
				return says("nothing yet")(ctx, q)
			})
			a, pid := r.start(Options{Model: m})
			synctest.Wait()
			pid.Send(Interrupt{})
			res := r.result(a, pid)
			require.Equal(t, "nothing yet", res.Answer)
			require.Equal(t, "the agent was interrupted", res.Reason)
			require.Zero(t, res.Took)
			require.Empty(t, m.requests()[1].Tools)
		})
	})
	t.Run("help", func(t *testing.T) {
		bubble(t, func(t *testing.T, r *rig) {
			m := script(calls(help("?"), help("??")), says("unhelped"))
			a, pid := r.start(Options{Model: m})
			require.IsType(t, HelpWanted{}, r.next())
			pid.Send(Interrupt{"stop"})
			res := r.result(a, pid)
			require.Equal(t, "unhelped", res.Answer)
			require.Len(t, toolMessages(m.requests()[1]), 2)
		})
	})
}

// A panic of the model's client ends the agent; one of the desk is a call that
// did not run. Neither reaches the parent process, nor do their words.
func TestPanics(t *testing.T) {
	boom := func(context.Context, llm.Request) (llm.Response, error) { panic("CANARY") }
	exit := func(context.Context, llm.Request) (llm.Response, error) {
		runtime.Goexit()
		return llm.Response{}, nil
	}
	for _, m := range []modelFunc{boom, exit} {
		bubble(t, func(t *testing.T, r *rig) {
			_, res := r.run(Options{Model: m})
			require.Equal(t, Failed, res.State)
			require.Equal(t, "the model could not be asked: the client crashed", res.Reason)
			require.True(t, r.parent.Alive())
		})
	}
	for _, crash := range []func(){func() { panic(errors.New("CANARY")) }, runtime.Goexit} {
		bubble(t, func(t *testing.T, r *rig) {
			m := script(calls(use("1", "sheep.count", `{}`)), says("went on"))
			d := &desk{invoke: func(context.Context, string, json.RawMessage) (skills.Result, error) {
				crash()
				return skills.Result{}, nil
			}}
			_, res := r.run(Options{Model: m, Invoker: d})
			require.Equal(t, "went on", res.Answer)
			got := toolMessages(m.requests()[1])[0]
			require.Equal(t, "not_run", answered(t, got)["error"])
			require.Contains(t, got.Content, "Don't repeat it")
			require.NotContains(t, got.Content, "CANARY")
			require.True(t, r.parent.Alive())
		})
	}
}

// A crash of the agent's own process is seen by its monitor; the snapshot says
// failed, and nothing is started again.
func TestProcessCrash(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		a, pid := r.start(Options{Model: script(calls(help("?")))})
		require.IsType(t, HelpWanted{}, r.next())
		r.parent.Send(func(c *otp.Context) { c.Monitor(pid) })
		pid.Send(struct{}{}) // what it doesn't know does not hurt it
		synctest.Wait()
		require.Equal(t, AwaitingOrchestrator, a.Snapshot().State)
		pid.Send(Answer{Skills: []*skills.Skill{{}}}) // one that was never compiled
		down, ok := r.next().(otp.Down)
		require.True(t, ok)
		require.Equal(t, otp.KindCrash, down.Reason.Kind)
		require.Equal(t, Failed, a.Snapshot().State)
		require.Equal(t, "the agent crashed", a.Snapshot().Reason)
		r.quiet()
		n, err := otp.CountChildren(r.ctx, r.sup)
		require.NoError(t, err)
		require.Zero(t, n.Specs)
	})
}

// An agent that is stopped from above leaves a final state, and its tasks end.
func TestStoppedFromAbove(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		ended := make(chan error, 1)
		a, pid := r.start(Options{Model: script(calls(use("1", "sheep.count", `{}`))), Invoker: blocking(nil, ended)})
		synctest.Wait()
		require.NoError(t, otp.TerminateChild(r.ctx, r.sup, pid))
		require.ErrorIs(t, <-ended, context.Canceled)
		require.Equal(t, Cancelled, a.Snapshot().State)
		require.Equal(t, "the agent was stopped", a.Snapshot().Reason)
		synctest.Wait()
		require.Zero(t, r.sys.Tasks())
		r.quiet()
	})
}

// An agent does not outlive its parent: nobody would read its answer.
func TestParentEnds(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		ended := make(chan error, 1)
		a, pid := r.start(Options{Model: script(calls(use("1", "sheep.count", `{}`))), Invoker: blocking(nil, ended)})
		synctest.Wait()
		r.parent.Send(func(c *otp.Context) { panic("the parent broke") })
		_, err := otp.Wait(r.ctx, pid)
		require.NoError(t, err)
		require.ErrorIs(t, <-ended, context.Canceled)
		require.Equal(t, Cancelled, a.Snapshot().State)
		require.Equal(t, "the agent's parent ended", a.Snapshot().Reason)
	})
}

// An agent runs once: a second start of its spec is refused.
func TestRunsOnce(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		a, res := r.run(Options{Model: script(says("done"))})
		_, err := otp.StartChild(r.ctx, r.sup, a.Spec())
		require.ErrorContains(t, err, "an agent runs once")
		require.Equal(t, res, a.Snapshot().Result)
	})
}

// A snapshot is read without the process, at any time, and belongs to its reader.
func TestSnapshot(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		stop, read, begun := make(chan struct{}), make(chan struct{}), make(chan struct{})
		steps := make([]modelFunc, 0, 16)
		for range 15 {
			steps = append(steps, calls(use("1", "sheep.count", `{}`)))
		}
		first := steps[0]
		steps[0] = func(ctx context.Context, q llm.Request) (llm.Response, error) {
			<-begun
			return first(ctx, q)
		}
		a, pid := r.start(Options{Model: script(append(steps, says("ok"))...), Calls: 15})
		go func() {
			defer close(read)
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				s := a.Snapshot()
				for i := range s.Transcript {
					s.Transcript[i].Text = "scribbled"
				}
				if n == 0 {
					close(begun)
				}
				runtime.Gosched()
			}
		}()
		res := r.result(a, pid)
		close(stop)
		<-read
		require.Equal(t, 15, res.Calls)
		require.Equal(t, "count the sheep", a.Snapshot().Transcript[0].Text)
		require.Equal(t, "ok", a.Snapshot().Transcript[31].Text)
	})
}

// Texts of a model that are longer than anybody reads are cut, and say so, where
// they are kept, repeated to the model and reported; others are left alone.
func TestLongTexts(t *testing.T) {
	const mark = "…\n[cut here: the text was too long]"
	long := strings.Repeat("é", loop.MaxAnswer)
	for name, row := range map[string]struct{ text, want, reason string }{
		"too long":         {long, long[:loop.MaxAnswer] + mark, "the model's answer was cut off"},
		"as long as it is": {long[:loop.MaxAnswer], long[:loop.MaxAnswer], ""},
		"within a letter":  {"a" + long, "a" + long[:loop.MaxAnswer-2] + mark, "the model's answer was cut off"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				first := responds(llm.Response{Content: row.text, ToolCalls: []llm.ToolCall{use("1", "sheep.count", `{}`)}, FinishReason: "tool_calls"})
				m := script(first, responds(llm.Response{Content: row.text, FinishReason: "stop"}))
				_, res := r.run(Options{Model: m})
				require.Equal(t, row.want, res.Answer)
				require.Equal(t, []any{Completed, row.reason, 1}, []any{res.State, res.Reason, res.Calls}, "a call beside a long text is proposed")
				repeated := m.requests()[1].Messages[2]
				require.Equal(t, llm.RoleAssistant, repeated.Role)
				require.Equal(t, row.want, repeated.Content)
			})
		})
	}
}
