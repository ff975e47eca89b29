package orchestrator

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// slowPerson is a person who is asked, and answers where open is set. While a
// process ends it says no, as approvers do that take the end for one.
type slowPerson struct {
	asked chan sentinel.Decision
	open  atomic.Bool
}

func newSlowPerson() *slowPerson { return &slowPerson{asked: make(chan sentinel.Decision, 8)} }

func (a *slowPerson) Approve(ctx context.Context, _ sentinel.Call, d sentinel.Decision) (sentinel.Verdict, error) {
	a.asked <- d
	if a.open.Load() {
		return sentinel.Pass(), nil
	}
	<-ctx.Done()
	return no, nil
}

// asksAlways is the rule by which a person is asked about each call of note.echo.
const asksAlways = "permissions: [{skill: note.echo, then: ask}]\n"

// slowHouse is a process with a slow person whose agent a does what is given.
func slowHouse(t *testing.T, config string, does ...any) (*rig, options, *slowPerson) {
	t.Helper()
	person := newSlowPerson()
	o := with(echo(t))
	o.config = config
	o.Approver = person
	return start(t, o, orch("go", dispatch("a", "do-a", "note.echo"), results("wait_all"), "done"), agent("do-a", does...)), o, person
}

// kindsOf are the kinds of the records of a call.
func kindsOf(list []ledger.Record) (out []string) {
	for _, r := range list {
		out = append(out, r.Kind)
	}
	return out
}

// expiryOf reads until when a held call can be answered.
func expiryOf(t *testing.T, r ledger.Record) time.Time {
	t.Helper()
	var b struct {
		ExpiresAt time.Time `json:"expires_at"`
	}
	require.NoError(t, json.Unmarshal(r.Body, &b))
	require.False(t, b.ExpiresAt.IsZero())
	return b.ExpiresAt
}

// A process that ends in good order decides nothing about a call that waits for
// a person. The next one asks about it again, under the same id and with the same
// expiry, and runs it once after a yes.
func TestShutdownLeavesACallHeld(t *testing.T) {
	r, o, person := slowHouse(t, "approvals: {timeout: 1h}\n"+asksAlways, use("note.echo", "x"), "a is done")
	before := time.Now().Truncate(time.Second)
	r.begins()
	first := <-person.asked
	held := r.list(ledger.Query{Kind: "held"})
	require.Len(t, held, 1)
	asked := expiryOf(t, held[0]).Add(-time.Hour)
	require.False(t, asked.Before(before), "asked at %s, begun at %s", asked, before)
	require.False(t, asked.After(held[0].Time.Add(time.Second)), "asked at %s, on record at %s", asked, held[0].Time)
	r.restart(o)
	second := <-person.asked
	require.Equal(t, []string{"held", "held"}, kindsOf(r.list(ledger.Query{Call: held[0].Call})), "the end of a process decides nothing")
	require.Equal(t, first.ID, second.ID)
	person.open.Store(true)
	r.restart(o)
	reply, err := r.open("c1", "ann").Reply(t.Context(), "r1")
	require.NoError(t, err)
	require.Equal(t, "a is done", reply.Agents[0].Answer)
	list := r.list(ledger.Query{Call: held[0].Call})
	require.Equal(t, []string{"held", "held", "held", "decision", "outcome"}, kindsOf(list))
	for _, h := range list[:3] {
		require.True(t, expiryOf(t, h).Equal(expiryOf(t, held[0])))
	}
}

// An agent that is cancelled withdraws its call: that is decided, and on record.
func TestACancelledAgentWithdrawsItsCall(t *testing.T) {
	r, _, person := slowHouse(t, asksAlways, use("note.echo", "x"), "unused")
	n := 0
	r.models.orchestrator = chatFunc(func(context.Context, llm.Request) (llm.Response, error) {
		switch n++; n {
		case 1:
			return llm.Response{ToolCalls: []llm.ToolCall{{ID: "1", Name: toolDispatch,
				Arguments: `{"agent_id":"a","mission":"do-a","skills":["note.echo"]}`}}}, nil
		case 2:
			<-person.asked
			return llm.Response{ToolCalls: []llm.ToolCall{{ID: "2", Name: toolCancel, Arguments: `{"agent_id":"a"}`}}}, nil
		}
		return llm.Response{Content: "done"}, nil
	})
	require.Equal(t, map[string]agents.State{"a": agents.Cancelled}, states(r.send("go")))
	require.Eventually(t, func() bool {
		list := r.list(ledger.Query{Kind: "decision", Code: sentinel.CodeApprovalCanceled})
		return len(list) == 1 && list[0].Skill == "note.echo"
	}, eventually, tick)
	require.Empty(t, r.list(ledger.Query{Kind: "outcome", Skill: "note.echo"}))
}

// The end of a turn is on record only after the end of each of its calls that
// waited for a person: whatever kills the process then, none is left without one.
func TestTheEndOfATurnEndsItsHeldCalls(t *testing.T) {
	r, _, person := slowHouse(t, asksAlways, use("note.echo", "x"), "unused")
	n := 0
	r.models.orchestrator = chatFunc(func(context.Context, llm.Request) (llm.Response, error) {
		if n++; n == 1 {
			return llm.Response{ToolCalls: []llm.ToolCall{{ID: "1", Name: toolDispatch,
				Arguments: `{"agent_id":"a","mission":"do-a","skills":["note.echo"]}`}}}, nil
		}
		<-person.asked
		return llm.Response{Content: "done"}, nil // while the agent's call waits for a person
	})
	require.Equal(t, "done", r.send("go").Text)
	list := r.list(ledger.Query{Kind: "decision", Code: sentinel.CodeApprovalCanceled})
	require.Len(t, list, 1, "it is there when the answer is")
	require.Equal(t, []string{"held", "decision"}, kindsOf(r.list(ledger.Query{Call: list[0].Call})))
	r.verify()
}

// An agent whose process breaks while its call waits for a person will not be
// started again, so its question ends, on record.
func TestACrashedAgentsCallEnds(t *testing.T) {
	r, _, person := slowHouse(t, asksAlways, use("note.echo", "x"), "unused")
	r.begins()
	<-person.asked
	sup, ok := r.sys.Whereis(agentsName("c1"))
	require.True(t, ok)
	ctx, cancel := context.WithTimeout(t.Context(), eventually)
	defer cancel()
	list, err := otp.WhichChildren(ctx, sup)
	require.NoError(t, err)
	require.Len(t, list, 1)
	otp.Kill(list[0].PID)
	reply, err := r.open("c1", "ann").Reply(t.Context(), "r1")
	require.NoError(t, err)
	require.Equal(t, map[string]agents.State{"a": agents.Failed}, states(reply))
	ends := r.list(ledger.Query{Kind: "decision", Code: sentinel.CodeApprovalCanceled})
	require.Len(t, ends, 1)
	require.Equal(t, "note.echo", ends[0].Skill)
	r.verify()
}
