package orchestrator

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// While a person is asked, the agent waits for the approval and its clock
// stands still: longer than all its time, it has not timed out.
func TestHeldCall(t *testing.T) {
	for name, row := range map[string]struct {
		verdict sentinel.Verdict
		says    string
		ran     int
	}{
		"approved": {sentinel.Pass(), `"result":"echo:x"`, 1},
		"refused":  {no, `"refused":"ask_denied"`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			timers := newHeldTimers(17 * time.Minute)
			running := -1 // how many agents' times ran while the person was asked
			asked, answer := make(chan struct{}, 1), make(chan sentinel.Verdict, 1)
			o := with(echo(t))
			o.config = "permissions: [{skill: note.echo, then: ask}]\n"
			o.tune.agent, o.tune.after = timers.length, timers.after
			o.Approver = approver(func(ctx context.Context, _ sentinel.Call) (sentinel.Verdict, error) {
				asked <- struct{}{}
				select {
				case v := <-answer:
					return v, nil
				case <-ctx.Done():
					return sentinel.Verdict{}, ctx.Err()
				}
			})
			r := start(t, o, orch("unused", "unused"), agent("do-a", use("note.echo", "x"), "ok"))
			var queried []string
			n := 0
			r.models.orchestrator = chatFunc(func(ctx context.Context, q llm.Request) (llm.Response, error) {
				last := q.Messages[len(q.Messages)-1]
				if last.Role == llm.RoleTool {
					queried = append(queried, last.Content)
				}
				switch n++; n {
				case 1:
					return llm.Response{ToolCalls: []llm.ToolCall{{ID: "1", Name: toolDispatch,
						Arguments: `{"agent_id":"a","mission":"do-a","skills":["note.echo"]}`}}}, nil
				case 2:
					<-asked
					if err := r.awaitState(ctx, "a", agents.AwaitingApproval); err != nil {
						return llm.Response{}, err
					}
					running = timers.fire() // longer than the agent's time, which stands still
					fallthrough
				case 3:
					return llm.Response{ToolCalls: []llm.ToolCall{{ID: "1", Name: toolResults, Arguments: `{"mode":"wait_all","timeout_seconds":1}`}}}, nil
				case 4:
					answer <- row.verdict
					return llm.Response{ToolCalls: []llm.ToolCall{{ID: "1", Name: toolResults, Arguments: `{"mode":"wait_all","timeout_seconds":30}`}}},
						nil
				}
				return llm.Response{Content: "done"}, nil
			})
			reply := r.send("go")
			require.Equal(t, map[string]agents.State{"a": agents.Completed}, states(reply))
			require.Zero(t, running, "the agent's time stood still")
			require.Equal(t, 1, timers.begun(), "it had begun")
			for _, text := range queried[1:3] {
				require.Equal(t, "awaiting_approval", views(t, text)["a"]["state"])
			}
			require.Len(t, r.list(ledger.Query{Kind: "held"}), 1)
			require.Len(t, r.list(ledger.Query{Skill: "note.echo", Kind: "outcome"}), row.ran)
			list := r.asked(agents.ToolRequestHelp)
			read := list[len(list)-1]
			require.Contains(t, read[len(read)-1].Content, row.says)
		})
	}
}

// The clock runs again after the answer: an agent that then hangs times out.
func TestClockRunsAfterApproval(t *testing.T) {
	o := with(echo(t))
	o.config = "permissions: [{skill: note.echo, then: ask}]\n"
	o.tune.agent = 100 * time.Millisecond
	o.Approver = approver(func(context.Context, sentinel.Call) (sentinel.Verdict, error) { return sentinel.Pass(), nil })
	r := start(t, o,
		orch("go", dispatch("a", "do-a", "note.echo"), results("wait_all"), "done"),
		agent("do-a", use("note.echo", "x"), rule{"hang": true}))
	require.Equal(t, map[string]agents.State{"a": agents.TimedOut}, states(r.send("go")))
}
