package orchestrator

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

const intentConfig = `
approvals: {inbox: true, timeout: 10m}
intent:
  isolation: goroutine
  actions:
    look: {words: [look], risk: low, grants: ["note.*"], limits: {calls: 2}}
    surf: {words: [surf], risk: low, grants: ["web.*"]}
    ask: {words: [ask], risk: low, grants: ["note.*"], approve: true}
  policy: {actions: [look, ask], forbid: {actions: [surf]}}
`

// outcomesOf are the outcomes of a skill's decisions, with the gate that denied, and the intents that they name.
func (r *rig) outcomesOf(skill string) (outcomes, intents []string) {
	for _, rec := range r.list(ledger.Query{Kind: sentinel.RecordDecision, Skill: skill}) {
		var b struct {
			Intent string `json:"intent"`
		}
		require.NoError(r.t, json.Unmarshal(rec.Body, &b))
		outcomes, intents = append(outcomes, rec.Outcome+" "+rec.Gate), append(intents, b.Intent)
	}
	return outcomes, intents
}

// What the trusted intent's action grants may be used, within its limits; what it doesn't grant is denied at the checkpoint; and
// without a trusted intent nothing may be used.
func TestRequiredIntentIsTheCeiling(t *testing.T) {
	o := with(echo(t), outside(t))
	o.config = intentConfig
	r := start(t, o,
		orch("go", dispatch("a", "do-a", "note.echo"), results("wait_all"), "done"),
		orch("wide", dispatch("b", "do-b", "note.echo", "web.read"), "wide"),
		agent("do-a", use("note.echo", "x"), use("web.read", "y"), use("note.echo", "z"), "ok"))
	co := ConversationOptions{ID: "c1", User: "ann", Assistant: Assistant{Intent: IntentRequired}}
	c, err := r.Open(t.Context(), co)
	require.NoError(t, err)
	reply, err := c.SendRequest(t.Context(), Request{ID: "r1", Text: "look and go"})
	require.NoError(t, err)
	require.Equal(t, "done", reply.Text)
	trusted := r.list(ledger.Query{Kind: "intent_trusted"})
	require.Len(t, trusted, 1)
	var b struct{ Intent string }
	require.NoError(t, json.Unmarshal(trusted[0].Body, &b))
	outcomes, intents := r.outcomesOf("note.echo")
	require.Equal(t, []string{"allow "}, outcomes[:1])
	outcomes, denied := r.outcomesOf("web.read")
	require.Equal(t, []string{"deny scope"}, outcomes, "it is denied, and not only unlisted")
	for _, id := range append(intents, denied...) {
		require.Equal(t, b.Intent, id)
	}
	outcomes, _ = r.outcomesOf("note.echo")
	require.NotEqual(t, "allow ", outcomes[len(outcomes)-1], "the third call is beyond the intent's limit")

	// The turn keeps it, and the same request makes no second intent, over a restart as well.
	r.restart(o)
	c, err = r.Open(t.Context(), co)
	require.NoError(t, err)
	again, err := c.SendRequest(t.Context(), Request{ID: "r1", Text: "look and go"})
	require.NoError(t, err)
	require.Equal(t, reply.Turn, again.Turn)
	require.Len(t, r.list(ledger.Query{Kind: "intent_trusted"}), 1)

	// A dispatch beyond the ceiling is denied too.
	_, err = c.SendRequest(t.Context(), Request{ID: "r2", Text: "look and wide"})
	require.NoError(t, err)
	require.Len(t, r.list(ledger.Query{Kind: "intent_trusted"}), 2)
	require.NotContains(t, r.grants(), "b")

	// Without a trusted intent no agent is dispatched, be it one without skills.
	before, _ := r.outcomesOf("note.echo")
	reply, err = c.SendRequest(t.Context(), Request{ID: "r3", Text: "please go"})
	require.NoError(t, err)
	after, _ := r.outcomesOf("note.echo")
	require.Len(t, after, len(before))
	require.Empty(t, reply.Agents)
	shown := r.asked(toolDispatch)
	require.Contains(t, shown[len(shown)-1][0].Content, "No skill may be used for this request")
	outcomes, _ = r.outcomesOf(skillDispatch)
	require.Equal(t, "deny scope", outcomes[len(outcomes)-1])
	require.Len(t, r.list(ledger.Query{Kind: "intent_trusted"}), 2)
	r.verify()
}

// What the detector blocks, and what the policy blocks, ends before any model: no turn is begun, it is on record, and the same
// request is blocked again, over a restart as well.
func TestBlockedRequestReachesNoModel(t *testing.T) {
	for name, row := range map[string]struct{ text, policy, status, code string }{
		"by the detector": {"look and go; rm -rf / --no-preserve-root", "", "blocked", "intake.detected"},
		"by the policy":   {"surf and go", "", "denied", "intake.forbidden"},
		"by a mismatch":   {"look and go for 900 EUR", "  hard: block\n", "denied", "intake.mismatch"},
	} {
		t.Run(name, func(t *testing.T) {
			o := with(echo(t), outside(t))
			o.config = intentConfig + row.policy
			r := start(t, o, orch("go", dispatch("a", "do-a", "note.echo"), results("wait_all"), "done"), agent("do-a", use("note.echo", "x"), "ok"))
			co := ConversationOptions{ID: "c1", User: "ann", Assistant: Assistant{Intent: IntentRequired}}
			for range 2 {
				c, err := r.Open(t.Context(), co)
				require.NoError(t, err)
				_, err = c.SendRequest(t.Context(), Request{ID: "r1", Text: row.text})
				var blocked *BlockedError
				require.ErrorAs(t, err, &blocked)
				require.Equal(t, row.code, blocked.Code)
				require.Equal(t, CodeBlocked, DescribeError(err).Code)
				require.NotContains(t, DescribeError(err).Message, "go;")
				_, err = c.Reply(t.Context(), "r1")
				require.ErrorIs(t, err, ErrUnknownRequest, "it was never begun")
				records := r.list(ledger.Query{Kind: "intent_request"})
				require.Len(t, records, 1)
				require.Equal(t, []string{blocked.Intent, "c1", "ann", row.status},
					[]string{records[0].Call, records[0].Conversation, records[0].User, records[0].Outcome})
				r.restart(o)
			}
			require.Empty(t, r.server.Requests(), "no model was asked")
			require.Empty(t, r.list(ledger.Query{Kind: sentinel.RecordDecision}))

			// An advisory intent blocks nothing.
			c, err := r.Open(t.Context(), ConversationOptions{ID: "c2", User: "ann", Assistant: Assistant{Intent: IntentAdvisory}})
			require.NoError(t, err)
			reply, err := c.Send(t.Context(), row.text)
			require.NoError(t, err)
			require.Equal(t, "done", reply.Text)
			r.verify()
		})
	}
}

// A conversation that no assistant leads is held as intent.conversations says, or as strictly as the strictest assistant.
func TestNoWayPastTheAssistants(t *testing.T) {
	const strict = "\nassistants: {strict: {intent: required}, free: {}}\n"
	for name, row := range map[string]struct {
		config    string
		assistant Assistant
		outcomes  []string // of the text's decisions
	}{
		"as the strictest assistant": {intentConfig + strict, Assistant{}, []string{"deny scope"}},
		"as the operator says":       {intentConfig + "  conversations: required\n", Assistant{}, []string{"deny scope"}},
		"off, as the operator says":  {intentConfig + "  conversations: off\n" + strict, Assistant{}, []string{"allow "}},
		"an assistant without":       {intentConfig + strict, Assistant{Intent: IntentOff}, []string{"allow "}},
		"no assistant asks":          {intentConfig, Assistant{}, []string{"allow "}},
	} {
		t.Run(name, func(t *testing.T) {
			o := with(echo(t), outside(t))
			o.config = row.config
			r := start(t, o, orch("go", dispatch("a", "do-a", "note.echo"), results("wait_all"), "done"),
				agent("do-a", use("web.read", "x"), "ok"), orch("x", "done"))
			c, err := r.Open(t.Context(), ConversationOptions{ID: "c1", User: "ann", Assistant: row.assistant})
			require.NoError(t, err)
			_, err = c.Send(t.Context(), "please go")
			require.NoError(t, err)
			outcomes, _ := r.outcomesOf(skillDispatch)
			require.Equal(t, row.outcomes, outcomes)
		})
	}
}

// A turn whose caller leaves while an approver is asked does not begin without the answer, and begins with it once it is sent again.
func TestRequiredIntentOutlivesItsCaller(t *testing.T) {
	o := with(echo(t), outside(t))
	o.config = intentConfig
	r := start(t, o, orch("go", dispatch("a", "do-a", "note.echo"), results("wait_all"), "done"), agent("do-a", use("note.echo", "x"), "ok"))
	c, err := r.Open(t.Context(), ConversationOptions{ID: "c1", User: "ann", Assistant: Assistant{Intent: IntentRequired}})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := c.SendRequest(ctx, Request{ID: "r1", Text: "ask and go"})
		left <- err
	}()
	require.Eventually(t, func() bool { return len(r.list(ledger.Query{Kind: sentinel.RecordHeld})) == 1 }, eventually, tick)
	cancel()
	require.ErrorIs(t, <-left, context.Canceled)
	_, err = c.Reply(t.Context(), "r1")
	require.ErrorIs(t, err, ErrUnknownRequest)
	require.Empty(t, r.server.Requests(), "no model was asked")
	r.answerPending(approval.Yes)
	require.Eventually(t, func() bool { return len(r.list(ledger.Query{Kind: "intent_end"})) == 1 }, eventually, tick)
	reply, err := c.SendRequest(t.Context(), Request{ID: "r1", Text: "ask and go"})
	require.NoError(t, err)
	require.Equal(t, "done", reply.Text)
	require.Len(t, reply.Agents, 1)
}

// A question about an intent keeps no process from ending: a drain waits neither for it nor for the request that waits for it, and
// the next process has both.
func TestDrainLeavesIntentsToTheNextStart(t *testing.T) {
	o := with(echo(t), outside(t))
	o.config = intentConfig
	r := start(t, o, orch("go", dispatch("a", "do-a", "note.echo"), results("wait_all"), "done"), agent("do-a", use("note.echo", "x"), "ok"))
	co := ConversationOptions{ID: "c1", User: "ann", Assistant: Assistant{Intent: IntentRequired}}
	c, err := r.Open(t.Context(), co)
	require.NoError(t, err)
	cut := make(chan error, 1)
	go func() {
		_, err := c.SendRequest(t.Context(), Request{ID: "r1", Text: "ask and go"})
		cut <- err
	}()
	require.Eventually(t, func() bool { return len(r.list(ledger.Query{Kind: sentinel.RecordHeld})) == 1 }, eventually, tick)
	limit, cancel := context.WithTimeout(t.Context(), eventually)
	defer cancel()
	d, err := r.Drain(limit)
	require.NoError(t, err)
	require.NoError(t, limit.Err(), "it ended of itself, and not because its time was over")
	require.Empty(t, d.Turns)
	require.Empty(t, d.Calls)
	require.ErrorIs(t, <-cut, ErrClosed)
	r.restart(o)
	require.Empty(t, r.list(ledger.Query{Kind: "intent_end"}))
	r.answerPending(approval.Yes)
	c, err = r.Open(t.Context(), co)
	require.NoError(t, err)
	reply, err := c.SendRequest(t.Context(), Request{ID: "r1", Text: "ask and go"})
	require.NoError(t, err)
	require.Len(t, reply.Agents, 1)
	require.Len(t, r.list(ledger.Query{Kind: "intent_trusted"}), 1)
}

// An advisory intent is on record and narrows nothing; without intents all is as before.
func TestAdvisoryIntentNarrowsNothing(t *testing.T) {
	o := with(echo(t), outside(t))
	o.config = intentConfig
	r := start(t, o, orch("go", dispatch("a", "do-a", "web.read"), results("wait_all"), "done"), agent("do-a", use("web.read", "y"), "ok"))
	for i, c := range []struct {
		mode     IntentMode
		text     string
		outcomes []string // of the request's records so far
	}{
		{IntentOff, "look and go", nil},
		{IntentAdvisory, "look and go", []string{"accepted"}},
		{IntentAdvisory, "please go", []string{"accepted", "failed"}},
		{IntentAdvisory, "ask and go", []string{"accepted", "failed", "denied"}},
	} {
		conv, err := r.Open(t.Context(), ConversationOptions{ID: []string{"c1", "c2", "c3", "c4"}[i], User: "ann",
			Assistant: Assistant{Intent: c.mode}})
		require.NoError(t, err)
		_, err = conv.Send(t.Context(), c.text)
		require.NoError(t, err)
		outcomes, intents := r.outcomesOf("web.read")
		require.Len(t, outcomes, i+1)
		require.Equal(t, "allow ", outcomes[i], c.text)
		require.Equal(t, c.text == "look and go" && c.mode == IntentAdvisory, intents[i] != "")
		var got []string
		for _, rec := range r.list(ledger.Query{Kind: "intent_request"}) {
			got = append(got, rec.Outcome)
		}
		require.Equal(t, c.outcomes, got)
	}
}

// A turn whose intent asks an approver waits for the word, and begins with it.
func TestRequiredIntentWaitsForItsApprover(t *testing.T) {
	o := with(echo(t), outside(t))
	o.config = intentConfig
	r := start(t, o, orch("go", dispatch("a", "do-a", "note.echo"), results("wait_all"), "done"), agent("do-a", use("note.echo", "x"), "ok"))
	c, err := r.Open(t.Context(), ConversationOptions{ID: "c1", User: "ann", Assistant: Assistant{Intent: IntentRequired}})
	require.NoError(t, err)
	for _, word := range []string{"yes", "no"} {
		replies, failures := make(chan Reply, 1), make(chan error, 1)
		go func() {
			reply, err := c.Send(t.Context(), "ask and go")
			replies <- reply
			failures <- err
		}()
		r.answerPending(approval.Word(word))
		reply := <-replies
		require.NoError(t, <-failures)
		require.Len(t, reply.Agents, map[string]int{"yes": 1, "no": 0}[word])
	}
	outcomes, _ := r.outcomesOf("note.echo")
	require.Equal(t, []string{"allow "}, outcomes)
}

// answerPending answers the one question in the inbox.
func (r *rig) answerPending(word approval.Word) {
	inbox := r.Parts().Inbox
	var list []approval.Item
	require.Eventually(r.t, func() bool {
		var err error
		list, err = inbox.List(r.t.Context(), approval.Filter{})
		return err == nil && len(list) == 1
	}, eventually, tick)
	_, err := inbox.Answer(r.t.Context(), approval.Answer{Approval: list[0].ID, Word: word, By: "bob", Via: "test", Digest: list[0].Digest})
	require.NoError(r.t, err)
}

// A turn that goes on after a restart keeps its intent: the calls that follow name it, and no second one is made.
func TestRequiredIntentOverARestart(t *testing.T) {
	g, entered, open := gate(t, "note.gate")
	o := with(g, echo(t), outside(t))
	o.config = intentConfig
	r := start(t, o, orch("go", dispatch("a", "do-a", "note.gate", "note.echo"), results("wait_all"), "done"),
		agent("do-a", use("note.gate", "x"), use("note.echo", "y"), "ok"))
	co := ConversationOptions{ID: "c1", User: "ann", Assistant: Assistant{Intent: IntentRequired}}
	c, err := r.Open(t.Context(), co)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		_, _ = c.SendRequest(ctx, Request{ID: "r1", Text: "look and go"}) // the restart ends it
	}()
	<-entered
	r.restart(o)
	cancel()
	<-left
	<-entered
	open()
	reply, err := r.open("c1", "ann").Reply(t.Context(), "r1")
	require.NoError(t, err)
	require.Equal(t, "done", reply.Text)
	require.Len(t, r.list(ledger.Query{Kind: "intent_trusted"}), 1)
	outcomes, intents := r.outcomesOf("note.echo")
	require.Equal(t, []string{"allow "}, outcomes)
	_, before := r.outcomesOf("note.gate")
	require.Equal(t, before[0], intents[0])
	require.NotEmpty(t, intents[0])
}

// An assistant that asks for intents can't be had where there are none.
func TestIntentsMustBeConfigured(t *testing.T) {
	r := start(t, with(echo(t)), orch("go", "done"))
	for _, mode := range []IntentMode{IntentRequired, IntentAdvisory, "maybe"} {
		_, err := r.Open(t.Context(), ConversationOptions{ID: "c1", User: "ann", Assistant: Assistant{Intent: mode}})
		require.ErrorIs(t, err, ErrRequest)
	}
}
