package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
)

// breaks crashes a child of the tree and waits until another is in its place,
// or until the tree has ended.
func (r *rig) breaks(name string) (again bool) {
	r.t.Helper()
	old, ok := r.sys.Whereis(name)
	require.True(r.t, ok, name)
	otp.Kill(old)
	require.Eventually(r.t, func() bool {
		now, ok := r.sys.Whereis(name)
		again = ok && now != old
		return again || r.Err() != nil
	}, eventually, tick)
	return again
}

// The supervisor of all conversations crashes while they work: each of their
// requests is answered all the same, to callers who wait and to those who come
// back, no call is repeated, and what was spent is not counted twice.
func TestConversationsCrash(t *testing.T) {
	book := &logbook{}
	g, entered, open := gate(t, "note.gate")
	o := budgeted(t, "{turn: {tokens: 40000}, conversation: {tokens: 40000}, user: {tokens: 100000}}")
	o.Skills = append(o.Skills, g, book.skill(t, "note.write", skills.Create, false, skills.Trusted))
	const n = 4
	r := start(t, o,
		orch("go", takes(10, 1, []call{dispatch("a", "do-a", "note.gate", "note.write"), results("wait_all")}), takes(10, 1, "done")),
		agent("do-a", takes(16000, 100, use("note.write", "w")), takes(10, 1, use("note.gate", "x")), takes(10, 1, "ok")))
	old, ok := r.sys.Whereis("conversations")
	require.True(t, ok)
	type got struct {
		reply Reply
		err   error
	}
	answers := make(chan got, n)
	for i := range n {
		c := r.open(fmt.Sprint("c", i), "ann")
		go func() {
			var a got
			if i%2 == 0 {
				a.reply, a.err = c.Send(context.Background(), "go")
			} else {
				a.reply, a.err = c.SendRequest(context.Background(), Request{ID: "r1", Text: "go"})
			}
			answers <- a
		}()
	}
	for range n {
		<-entered
	}
	wrote := book.times("w")
	require.Equal(t, n, wrote)
	require.True(t, r.breaks("conversations"))
	open()
	for range n {
		a := <-answers
		require.NoError(t, a.err)
		require.Equal(t, "done", a.reply.Text)
		require.Equal(t, map[string]agents.State{"a": agents.Completed}, states(a.reply))
	}
	require.Equal(t, wrote, book.times("w"), "a call was repeated")
	again, err := r.open("c1", "ann").Reply(t.Context(), "r1")
	require.NoError(t, err)
	require.Equal(t, "done", again.Text)
	now, ok := r.sys.Whereis("conversations")
	require.True(t, ok)
	require.NotEqual(t, old, now)
	require.NoError(t, r.Err())
	r.verify()
}

// The review's supervisor gives up, which the app answers by starting all of it
// again, every breaker closed. Meanwhile, and while no model can be asked, calls
// go by the table of the unavailable: reads go on and are marked, the rest needs
// a person, and there is none.
func TestReviewGivesUp(t *testing.T) {
	o := with(echo(t), skill(t, "note.change", skills.Modify, skills.Trusted,
		func(_ context.Context, x string) (string, error) { return x, nil }))
	o.config = "sentinel: {mode: enforce, canaries: {every: 0s}, breaker: {failures: 1, window: 60s, open_for: 1h}}\n"
	r := start(t, o, orch("go", "done"))
	r.server.Close() // the review's model is gone
	unavailable := func(n int) {
		t.Helper()
		desk := r.Parts().Checkpoint.Desk(freeGrant(t, "note.echo", "note.change"))
		_, err := desk.Invoke(t.Context(), "note.echo", json.RawMessage(fmt.Sprintf(`{"X":"r%d"}`, n)))
		require.NoError(t, err)
		list := r.list(ledger.Query{Skill: "note.echo", Kind: sentinel.RecordDecision, Newest: true})
		require.Contains(t, string(list[0].Body), `"degraded":true`)
		_, err = desk.Invoke(t.Context(), "note.change", json.RawMessage(fmt.Sprintf(`{"X":"c%d"}`, n)))
		var no *skills.Refusal
		require.ErrorAs(t, err, &no)
		require.Equal(t, sentinel.GateApproval, no.Gate)
	}
	unavailable(0)
	group := func() (restarts int) {
		for _, p := range flat(r.Top().Tree) {
			if p.ID == "review" {
				return p.Restarts
			}
		}
		t.Fatal("no review")
		return 0
	}
	before := group()
	// Three restarts in five seconds are granted to it; the fourth is too many.
	for i := range 4 {
		require.True(t, r.breaks("review/m"))
		unavailable(1 + i)
	}
	after := group()
	require.Equal(t, before+1, after)
	require.NoError(t, r.Err())
	unavailable(9)
}

// What breaks without an end uses up the app's restarts: the orchestrator ends,
// and says so, to callers who wait, to those who come, and to the program that it is
// part of. What it had accepted the next one goes on with.
func TestAppGivesUp(t *testing.T) {
	g, entered, open := gate(t, "note.gate")
	o := with(g)
	o.tune.restarts = 3
	r := start(t, o,
		orch("go", []call{dispatch("a", "do-a", "note.gate"), results("wait_all")}, "done"),
		agent("do-a", use("note.gate", "x"), "ok"))
	c := r.open("c1", "ann")
	waits := make(chan error, 1)
	go func() {
		_, err := c.SendRequest(context.Background(), Request{ID: "r1", Text: "go"})
		waits <- err
	}()
	<-entered
	select {
	case <-r.Done():
		t.Fatal("it has not ended yet")
	default:
	}
	require.NoError(t, r.Err())
	for n := 0; r.breaks("recovery"); n++ {
		require.Less(t, n, 4)
	}
	select {
	case <-r.Done():
	case <-time.After(eventually):
		t.Fatal("no program is told")
	}
	ended := func(err error) {
		t.Helper()
		require.ErrorIs(t, err, ErrEnded)
		require.ErrorIs(t, err, ErrClosed)
		require.ErrorContains(t, err, "supervision gave up")
	}
	ended(r.Err())
	ended(<-waits)
	impatient, leave := context.WithCancel(t.Context()) // who waits for nothing is told too
	leave()
	_, err := r.Open(impatient, ConversationOptions{ID: "c2", User: "ann"})
	ended(err)
	_, err = c.Send(impatient, "go")
	ended(err)
	_, err = c.Reply(impatient, "r1")
	ended(err)
	require.Contains(t, r.log.String(), "THE ORCHESTRATOR HAS ENDED")
	open()
	o.tune.restarts = 0
	r.restart(o)
	require.NoError(t, r.Err())
	ctx, cancel := context.WithTimeout(t.Context(), eventually)
	defer cancel()
	reply, err := r.open("c1", "ann").Reply(ctx, "r1")
	require.NoError(t, err)
	require.Equal(t, "done", reply.Text)
	require.NoError(t, r.Close(context.Background()))
	<-r.Done()
	require.NoError(t, r.Err(), "it was closed")
	_, err = r.Open(t.Context(), ConversationOptions{ID: "c3", User: "ann"})
	require.ErrorIs(t, err, ErrClosed)
	require.NotErrorIs(t, err, ErrEnded)
}
