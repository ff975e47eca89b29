package web_test

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/handover"
	"github.com/vedette-dev/vedette/sentinel/approval"
)

// A person signs in, sees the call that waits, says yes, and it runs exactly once, in their name.
func TestApprove(t *testing.T) {
	h := open(t, changes{})
	item, ended := h.ask("ann", map[string]any{"to": "john@example.com", "text": "the report", "pass": strings.Repeat("s", 32)})
	b := h.signIn("bob")
	list := b.get("/approvals")
	require.Equal(t, 200, list.StatusCode)
	require.Contains(t, list.text(), "mail.send")
	require.Contains(t, list.text(), "for ann, by clerk")
	card := b.get("/approvals/" + item.ID)
	for _, want := range []string{"john@example.com", "the report", "[secret, 32 characters]", "mails leave the house", "send the mail",
		"send what the user wants"} {
		require.Contains(t, card.text(), want)
	}
	require.NotContains(t, card.body, "ssss")
	require.Equal(t, item.Digest, card.field("digest"))
	require.Empty(t, h.ran.String(), "a page that is opened decides nothing")
	require.Equal(t, 200, b.answer(item.ID, url.Values{"do": {"approve"}}).StatusCode)
	require.NoError(t, <-ended)
	require.Equal(t, "mail.send john@example.com the report\n", h.ran.String())
	require.Eventually(t, func() bool { return strings.Contains(b.get("/approvals/"+item.ID).text(), "It ran at") }, eventually, tick)
	done := b.get("/approvals/" + item.ID).text()
	require.Contains(t, done, "bob (web) said yes at")
	require.NotContains(t, done, "Why not")
	got, err := h.o.Parts().Inbox.Show(context.Background(), item.ID)
	require.NoError(t, err)
	require.Equal(t, []string{"bob", "web", string(approval.StateConsumed)}, []string{got.By, got.Via, string(got.State)})
	require.Contains(t, b.get("/approvals").text(), "Nothing waits for a person.")
	require.Contains(t, b.get("/approvals?state=consumed").text(), "mail.send")
}

// A no needs its feedback to reach the agent, and nothing runs.
func TestDeny(t *testing.T) {
	h := open(t, changes{})
	item, ended := h.ask("ann", map[string]any{"to": "a@example.com"})
	b := h.signIn("bob")
	after := b.answer(item.ID, url.Values{"do": {"deny"}, "feedback": {"not to \r\n them"}})
	require.Contains(t, after.text(), "said no at")
	require.ErrorContains(t, <-ended, "not to")
	require.Empty(t, h.ran.String())
	require.Contains(t, b.get("/approvals/"+item.ID).body, "not to \n them")
}

// An edit is a new call; what the person gave runs, and the page says so.
func TestEdit(t *testing.T) {
	h := open(t, changes{})
	item, ended := h.ask("ann", map[string]any{"to": "a@example.com", "text": "one"})
	b := h.signIn("bob")
	bad := b.answer(item.ID, url.Values{"do": {"edit"}, "edit": {`{"to": 5}`}})
	require.Equal(t, 422, bad.StatusCode)
	require.Contains(t, bad.text(), `{"to": 5}`, "what the person wrote is still there")
	require.Equal(t, 422, b.answer(item.ID, url.Values{"do": {"edit"}, "edit": {``}}).StatusCode)
	require.Equal(t, 422, b.answer(item.ID, url.Values{"do": {"edit"}, "edit": {`{"to":"x@example.com","to":"y@example.com"}`}}).StatusCode)
	require.Empty(t, h.ran.String())
	good := b.answer(item.ID, url.Values{"do": {"edit"}, "edit": {`{"to":"a@example.com","text":"two"}`}})
	require.Equal(t, 200, good.StatusCode, good.text())
	require.NoError(t, <-ended)
	require.Equal(t, "mail.send a@example.com two\n", h.ran.String())
	require.Contains(t, b.get("/approvals/"+item.ID).text(), "gave the call other arguments")
}

// Two people, two windows, an old page: the first answer counts, and the second is told who was first.
func TestAnswersOnce(t *testing.T) {
	h := open(t, changes{})
	item, ended := h.ask("ann", map[string]any{"to": "a@example.com"})
	ann, bob := h.signIn("ann"), h.signIn("bob")
	old := ann.get("/approvals/" + item.ID)
	for name, digest := range map[string]string{"none": "", "another": strings.Repeat("0", 64), "a beginning": item.Digest[:16]} {
		p := ann.post("/approvals/"+item.ID, url.Values{"csrf": {old.field("csrf")}, "digest": {digest}, "do": {"approve"}})
		require.Equal(t, 409, p.StatusCode, name)
		require.Contains(t, p.text(), "has changed since you were shown it")
	}
	require.Equal(t, 422, ann.post("/approvals/"+item.ID, url.Values{"csrf": {old.field("csrf")}, "digest": {item.Digest},
		"do": {"yes"}}).StatusCode)
	require.Empty(t, h.ran.String())
	require.Equal(t, 200, bob.answer(item.ID, url.Values{"do": {"approve"}}).StatusCode)
	late := ann.post("/approvals/"+item.ID, url.Values{"csrf": {old.field("csrf")}, "digest": {old.field("digest")}, "do": {"deny"}})
	require.Equal(t, 409, late.StatusCode)
	require.Contains(t, late.text(), "bob (web) said yes at")
	require.NoError(t, <-ended)
	require.Equal(t, 1, strings.Count(h.ran.String(), "\n"))
}

// What only others may answer is listed by name, and its values stay hidden.
func TestRulesOfWho(t *testing.T) {
	h := open(t, changes{})
	item, _ := h.ask("carl", map[string]any{"to": "CANARY@example.com"})
	ann := h.signIn("ann")
	require.Contains(t, ann.get("/approvals").text(), "others answer it")
	refused := ann.get("/approvals/" + item.ID)
	require.Equal(t, 403, refused.StatusCode)
	require.NotContains(t, refused.body, "CANARY")
	token := ann.get("/approvals").field("csrf")
	p := ann.post("/approvals/"+item.ID, url.Values{"csrf": {token}, "digest": {item.Digest}, "do": {"approve"}})
	require.Equal(t, 403, p.StatusCode)
	require.Empty(t, h.ran.String())
	require.Equal(t, 404, ann.get("/approvals/"+item.ID[:13]).StatusCode, "the beginning of an id names nothing")
	require.Equal(t, 404, ann.get("/approvals/%00").StatusCode)
}

// A page that follows is answered as soon as there is something new, and reloads where its forms are old.
func TestFollow(t *testing.T) {
	h := open(t, changes{})
	b := h.signIn("bob")
	list := b.get("/approvals")
	follow := strings.Split(strings.Split(list.body, `hx-get="`)[1], `"`)[0]
	got := make(chan shown, 1)
	go func() { got <- b.get(strings.ReplaceAll(follow, "&amp;", "&"), "HX-Request", "true") }()
	item, ended := h.ask("ann", map[string]any{"to": "a@example.com"})
	part := <-got
	require.Contains(t, part.body, item.ID)
	require.NotContains(t, part.body, "<html")
	card := b.get("/approvals/" + item.ID)
	state := strings.ReplaceAll(strings.Split(strings.Split(card.body, `hx-get="`)[1], `"`)[0], "&amp;", "&")
	go func() { got <- b.get(state, "HX-Request", "true") }()
	h.signIn("ann").answer(item.ID, url.Values{"do": {"deny"}})
	part = <-got
	require.Equal(t, "true", part.Header.Get("HX-Refresh"))
	require.Contains(t, part.text(), "ann (web) said no")
	require.Error(t, <-ended)
}

// Pages have fifty approvals, and each stands on one of them.
func TestPagesOfFifty(t *testing.T) {
	h := open(t, changes{})
	for range 53 {
		h.ask("ann", map[string]any{"to": "a@example.com"})
	}
	b := h.signIn("bob")
	one := b.get("/approvals?user=ann&skill=mail.send")
	require.Equal(t, 50, strings.Count(one.body, "data-row="))
	next := strings.ReplaceAll(strings.Split(strings.Split(one.body, `rel="next" href="`)[1], `"`)[0], "&amp;", "&")
	two := b.get(next)
	require.Equal(t, 3, strings.Count(two.body, "data-row="))
	require.NotContains(t, two.body, `rel="next"`)
	require.Contains(t, b.get("/approvals?user=nobody").text(), "Nothing fits the filter.")
}

// Standing approvals are made with a yes, listed, and revoked.
func TestStanding(t *testing.T) {
	h := open(t, changes{})
	args := map[string]any{"to": "a@example.com"}
	item, ended := h.ask("ann", args)
	b := h.signIn("bob")
	for _, bad := range []url.Values{{"uses": {"21"}, "hours": {"1"}}, {"uses": {"1"}, "hours": {"25"}}, {"uses": {"x"}, "hours": {"1"}},
		{"uses": {"1"}}} {
		bad.Set("do", "stand")
		require.Equal(t, 422, b.answer(item.ID, bad).StatusCode, bad)
	}
	require.Equal(t, 200, b.answer(item.ID, url.Values{"do": {"stand"}, "uses": {"2"}, "hours": {"1"}}).StatusCode)
	require.NoError(t, <-ended)
	page := b.get("/standing")
	require.Contains(t, page.text(), "0 of 2 used")
	list, err := h.o.Parts().Inbox.ListStanding(context.Background(), approval.StandingFilter{})
	require.NoError(t, err)
	require.Equal(t, 404, b.post("/standing/nothing/revoke", url.Values{"csrf": {page.field("csrf")}}).StatusCode)
	require.Equal(t, 403, b.post("/standing/"+list[0].ID+"/revoke", url.Values{}).StatusCode)
	require.Equal(t, 200, b.post("/standing/"+list[0].ID+"/revoke", url.Values{"csrf": {page.field("csrf")}}).StatusCode)
	require.Contains(t, b.get("/standing").text(), "There are none.")
	require.Contains(t, b.get("/standing?all=1").text(), "revoked by bob")
}

// An approval whose time is over takes no answer, and its page says so.
func TestExpired(t *testing.T) {
	h := open(t, changes{short: true})
	item, ended := h.ask("ann", map[string]any{"to": "a@example.com"})
	b := h.signIn("bob")
	p := b.get("/approvals/" + item.ID)
	require.Error(t, <-ended)
	require.Eventually(t, func() bool { return !time.Now().Before(item.Expires) }, eventually, tick)
	late := b.post("/approvals/"+item.ID, url.Values{"csrf": {p.field("csrf")}, "digest": {item.Digest}, "do": {"approve"}})
	require.Equal(t, 409, late.StatusCode)
	require.Contains(t, late.text(), "No answer came in time. Nothing ran.")
	require.Empty(t, h.ran.String())
}

// A token that proposed a call says no yes to it on the pages: not by a yes, an edit, or a standing approval.
func TestNoTokenApprovesItsOwnCall(t *testing.T) {
	h := open(t, changes{})
	a, err := h.o.Parts().Handover.Propose(t.Context(), handover.Proposal{
		Principal: "token:" + h.ids["ann"], User: "ann", Conversation: "c1", CallID: "1",
		Skill: "crm.update", Arguments: json.RawMessage(`{"id":"a"}`),
	})
	require.NoError(t, err)
	require.Equal(t, handover.Pending, a.State)
	own := h.signIn("ann")
	require.Eventually(t, func() bool { return own.get("/approvals/"+a.Approval).StatusCode == 200 }, eventually, tick)
	for _, form := range []url.Values{
		{"do": {"approve"}},
		{"do": {"edit"}, "edit": {`{"id":"b"}`}},
		{"do": {"stand"}, "uses": {"20"}, "hours": {"24"}},
	} {
		p := own.answer(a.Approval, form)
		require.Equal(t, 403, p.StatusCode, form)
		require.Contains(t, p.text(), "no principal approves its own call")
	}
	got, err := h.o.Parts().Inbox.Show(t.Context(), a.Approval)
	require.NoError(t, err)
	require.Equal(t, approval.StatePending, got.State)
	require.Equal(t, 200, h.signIn("bob").answer(a.Approval, url.Values{"do": {"approve"}}).StatusCode)
}
