package orchestrator

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
)

// A reply tells which calls were judged on its way, what became of each, and of
// those that were stopped why and what can be done; also when it is asked for
// again after a restart, and without any value of a call.
func TestStepsOfAReply(t *testing.T) {
	o := with(echo(t))
	r := start(t, o,
		orch("hello", dispatch("a", "do-a", "note.echo"), results("wait_all"), "the answer"),
		agent("do-a", use("note.echo", canary), use("note.other", canary), "a is done"))
	c := r.open("c1", "ann")
	reply, err := c.SendRequest(t.Context(), Request{ID: "q1", Text: "say hello"})
	require.NoError(t, err)
	require.Zero(t, reply.Left)
	require.Len(t, reply.Steps, 3)
	for i, want := range []Step{
		{Skill: "agent.dispatch", Agent: "orchestrator", Outcome: "allow", Status: "ok"},
		{Skill: "note.echo", Agent: "a", Outcome: "allow", Status: "ok"},
		{Agent: "a", Outcome: "deny"},
	} {
		got := reply.Steps[i]
		require.NotEmpty(t, got.Call)
		require.NotEmpty(t, got.Decision)
		require.False(t, got.At.IsZero())
		want.Call, want.Decision, want.At, want.Refusal = got.Call, got.Decision, got.At, got.Refusal
		require.Equal(t, want, got)
		require.Equal(t, want.Outcome == "allow", got.Refusal == nil)
	}
	no := reply.Steps[2].Refusal
	require.Equal(t, []string{skills.KindDeny, "scope", "scope.unknown_skill"}, []string{no.Kind, no.Gate, no.Code})
	require.NotEmpty(t, no.Reason)
	require.NotEmpty(t, no.WhatYouCanDo)
	require.False(t, no.Retryable)
	text, err := json.Marshal(reply.Steps)
	require.NoError(t, err)
	require.NotContains(t, string(text), canary)

	r.restart(o)
	again, err := r.open("c1", "ann").Reply(t.Context(), "q1")
	require.NoError(t, err)
	require.Equal(t, string(text), marshal(t, again.Steps), "of the turn, not of the process")
}

// A turn has the steps of its own alone, and no more than fit.
func TestStepsAreBounded(t *testing.T) {
	r := start(t, with(echo(t)),
		orch("hello", dispatch("a", "do-a", "note.echo"), results("wait_all"), "the answer"),
		orch("again", "nothing to do"),
		agent("do-a", use("note.echo", "hi"), "a is done"))
	require.Len(t, r.send("say hello").Steps, 2)
	require.Empty(t, r.send("again").Steps)
	s := stepReader{turn: "t", ended: map[string]string{}, seen: map[string]bool{}, steps: make([]Step, maxSteps)}
	list := r.list(ledger.Query{Kind: sentinel.RecordDecision})
	for i := range list {
		s.takeRecord(&assembly.Recorded{Kind: list[i].Kind, Call: list[i].Call, Body: []byte(`{"decision":"d","turn":"t","outcome":"deny"}`)})
	}
	require.Len(t, s.steps, maxSteps)
	require.Equal(t, 2, s.left)
}

// Of a call that still waits for a person the step says so, in its outcome and in
// its refusal's kind alike, and that the call isn't to be made again.
func TestStepOfAHeldCall(t *testing.T) {
	r, held := heldHouse(t)
	row, known, err := r.journal.Get(t.Context(), "c1")
	require.NoError(t, err)
	require.True(t, known)
	c := &Conversation{&r.conversationNeeds, ConversationOptions{ID: "c1", User: "ann"}}
	steps, left, err := c.readSteps(t.Context(), row.Turn)
	require.NoError(t, err)
	require.Zero(t, left)
	require.Len(t, steps, 2)
	got := steps[1]
	require.Equal(t, []string{held.Call, "ask", skills.KindAsk, sentinel.GatePermission},
		[]string{got.Call, got.Outcome, got.Refusal.Kind, got.Refusal.Gate})
	require.False(t, got.Refusal.Retryable)
	require.Contains(t, got.Refusal.WhatYouCanDo, "Wait")
	require.NoError(t, r.Close(context.Background()))
}

// A turn that a restart interrupts has the steps of both processes: those of before,
// the call that a person was being asked about then, and those of afterwards.
func TestStepsOverARestart(t *testing.T) {
	r, o, person := slowHouse(t, "approvals: {timeout: 1h}\npermissions: [{skill: note.echo, then: ask, when: \"args.X == 'second'\"}]\n",
		use("note.echo", "first"), use("note.echo", "second"), use("note.echo", "third"), "a is done")
	r.begins()
	<-person.asked
	person.open.Store(true)
	before := r.list(ledger.Query{Kind: sentinel.RecordDecision})
	require.Len(t, before, 2, "the dispatch and the first call, in the first process")
	held := r.list(ledger.Query{Kind: sentinel.RecordHeld})
	require.Len(t, held, 1)
	r.restart(o)
	reply, err := r.open("c1", "ann").Reply(t.Context(), "r1")
	require.NoError(t, err)
	require.Zero(t, reply.Left)
	require.Len(t, reply.Steps, 4)
	for i, want := range []string{"agent.dispatch", "note.echo", "note.echo", "note.echo"} {
		got := reply.Steps[i]
		require.Equal(t, []string{want, "allow", "ok"}, []string{got.Skill, got.Outcome, got.Status}, "step %d", i)
	}
	require.Equal(t, []string{before[0].Call, before[1].Call, held[0].Call},
		[]string{reply.Steps[0].Call, reply.Steps[1].Call, reply.Steps[2].Call})
	r.verify()
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}
