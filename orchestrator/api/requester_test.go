package api_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/approval"
)

// vip is a call that a person is asked about.
func vip(user, id string) map[string]any {
	return map[string]any{"conversation": "c", "call_id": id, "user": user, "skill_name": "crm.update",
		"arguments": map[string]any{"id": "vip"}}
}

type proposed struct{ ID, State, Approval, Warrant string }

// Where the requester may not approve, the person behind a token that acts for another user may not
// either, by any of their tokens; and a standing yes is a yes.
func TestRequesterBehindAnotherToken(t *testing.T) {
	h := open(t, changes{})
	var a proposed
	h.must("deputy", "POST", "/v1/calls", vip("dora", "1"), &a)
	require.Equal(t, "pending", a.State)
	var card approval.Card
	h.must("bob", "GET", "/v1/approvals/"+a.Approval, nil, &card)
	require.Equal(t, "carl", card.Proposer)
	yes := map[string]any{"word": "yes", "digest": card.Digest}
	stand := map[string]any{"digest": card.Digest, "uses": 1, "seconds": 60}
	for _, who := range []string{"deputy", "carls-other", "doras"} {
		require.Equal(t, "not_allowed", h.do(who, "POST", "/v1/approvals/"+a.Approval+"/answer", yes).code(), who)
		require.Equal(t, "not_allowed", h.do(who, "POST", "/v1/approvals/"+a.Approval+"/stand", stand).code(), who)
		require.Equal(t, "not_allowed", h.do(who, "GET", "/v1/approvals/"+a.Approval, nil).code(), who)
	}
	h.must("bob", "POST", "/v1/approvals/"+a.Approval+"/answer", yes, nil)
	body := vip("dora", "1")
	body["wait_seconds"] = 60
	h.must("deputy", "POST", "/v1/calls", body, &a)
	require.NotEmpty(t, a.Warrant)
}

// mails plays a conversation in which an agent mails.
func mails() []map[string]any {
	reply := func(when map[string]any, name string, args map[string]any) map[string]any {
		return map[string]any{"when": when, "reply": map[string]any{"tool_calls": []any{map[string]any{"name": name, "arguments": args}}}}
	}
	return []map[string]any{
		reply(map[string]any{"has_tool": "dispatch_agent", "tool_results": 0}, "dispatch_agent",
			map[string]any{"agent_id": "a", "mission": "mail john", "skills": []string{"mail.send"}}),
		reply(map[string]any{"has_tool": "dispatch_agent", "tool_results": 1}, "get_agent_results",
			map[string]any{"mode": "wait_all", "timeout_seconds": 60}),
		reply(map[string]any{"has_tool": "use_skill", "tool_results": 0}, "use_skill",
			map[string]any{"skill": "mail.send", "arguments": map[string]any{"to": "john", "text": "hello"}}),
	}
}

// Where the requester may not approve, neither may who sent the request in the user's name, also after a
// restart.
func TestRequesterWhoSentTheMessage(t *testing.T) {
	h := open(t, changes{rules: mails()})
	h.must("desk", "POST", "/v1/conversations/c1/messages?user=dora", map[string]any{"text": "mail john hello", "request_id": "r1",
		"wait_seconds": 0}, nil)
	pending := func() (out approval.Item) {
		require.Eventually(t, func() bool {
			list, err := h.o.Parts().Inbox.List(t.Context(), approval.Filter{User: "dora"})
			require.NoError(t, err)
			if len(list) == 1 {
				out = list[0]
			}
			return len(list) == 1
		}, time.Minute, time.Millisecond)
		return out
	}
	for range 2 {
		item := pending()
		require.Equal(t, []string{"dora", "carl"}, []string{item.User, item.Proposer})
		yes := map[string]any{"word": "yes", "digest": item.Digest}
		for _, who := range []string{"desk", "carls-other", "doras"} {
			require.Equal(t, "not_allowed", h.do(who, "POST", "/v1/approvals/"+item.ID+"/answer", yes).code(), who)
		}
		h.stop()
		h.start(changes{})
	}
	item := pending()
	h.must("bob", "POST", "/v1/approvals/"+item.ID+"/answer", map[string]any{"word": "yes", "digest": item.Digest}, nil)
	require.Eventually(t, func() bool { return h.ran.String() == "mail.send john\n" }, time.Minute, time.Millisecond)
}

// A principal approves its own call neither once nor for calls to come, also where no rule keeps the
// requester out.
func TestNoStandingYesToOnesOwnCall(t *testing.T) {
	h := open(t, changes{})
	var a proposed
	h.must("ann", "POST", "/v1/calls", vip("ann", "1"), &a)
	var card approval.Card
	h.must("ann", "GET", "/v1/approvals/"+a.Approval, nil, &card)
	path := "/v1/approvals/" + a.Approval
	stand := map[string]any{"digest": card.Digest, "uses": 1, "seconds": 60}
	require.Equal(t, "not_allowed", h.do("ann", "POST", path+"/answer", map[string]any{"word": "yes", "digest": card.Digest}).code())
	require.Equal(t, "not_allowed", h.do("ann", "POST", path+"/stand", stand).code())
	h.must("bob", "POST", path+"/stand", stand, nil)
}

// A call of another program that waits for a person holds up no drain: it stays held, and goes on when it
// is proposed at the next start.
func TestDrainWaitsForNoRemoteQuestion(t *testing.T) {
	h := open(t, changes{})
	var a proposed
	h.must("deputy", "POST", "/v1/calls", vip("dora", "1"), &a)
	require.Equal(t, "pending", a.State)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	d, err := h.o.Drain(ctx)
	require.NoError(t, err)
	require.NoError(t, ctx.Err(), "it waited for a person")
	require.True(t, d.Clean(), d.String())
	h.api.Close()
	h.server.Close()
	h.start(changes{})
	var again proposed
	h.must("deputy", "POST", "/v1/calls", vip("dora", "1"), &again)
	require.Equal(t, a, again)
}
