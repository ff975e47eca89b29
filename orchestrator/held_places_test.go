package orchestrator

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/orchestrator/admission"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// people are asked: each question waits for its answer.
type people struct {
	asked   chan sentinel.Call
	answers chan sentinel.Verdict
}

func newPeople() people {
	return people{make(chan sentinel.Call, 64), make(chan sentinel.Verdict, 64)}
}

func (p people) Approve(ctx context.Context, c sentinel.Call, _ sentinel.Decision) (sentinel.Verdict, error) {
	p.asked <- c
	select {
	case v := <-p.answers:
		return v, nil
	case <-ctx.Done():
		return sentinel.Verdict{}, ctx.Err()
	}
}

// holding is a rig whose calls of note.echo wait for people.
func holding(t *testing.T, limits string, more ...[]rule) (options, people, [][]rule) {
	p := newPeople()
	o := with(echo(t))
	o.config = "permissions: [{skill: note.echo, then: ask}]\n" + limits
	o.Approver = p
	return o, p, append([][]rule{
		orch("held", dispatch("a", "do-a", "note.echo"), results("wait_all"), "done"),
		orch("quick", "quickly"), agent("do-a", use("note.echo", "x"), "ok"),
	}, more...)
}

type sent struct {
	reply Reply
	err   error
}

// begin sends a request in the background.
func (r *rig) begin(conversation, user, text string) <-chan sent {
	out := make(chan sent, 1)
	c := r.open(conversation, user)
	go func() {
		reply, err := c.Send(context.Background(), text)
		out <- sent{reply, err}
	}()
	return out
}

// Open approvals lock no user out, however few places there are, and what waits
// for people goes on in line when it is answered: a yes and a no.
func TestHeldWorkHoldsNoPlaces(t *testing.T) {
	for name, row := range map[string]struct {
		verdict sentinel.Verdict
		ran     int
	}{"approved": {sentinel.Pass(), 2}, "denied": {no, 0}} {
		t.Run(name, func(t *testing.T) {
			o, people, rules := holding(t, "limits: {process: {turns: 2, waiting: 1, agents: 1, wait: 100ms}, user: {turns: 2, agents: 1}}\n")
			r := start(t, o, rules...)
			var held []<-chan sent
			for i := range 4 {
				held = append(held, r.begin(fmt.Sprint("c", i), fmt.Sprint("u", i%2), "held"))
				<-people.asked
				nothingHeld(t, r)
			}
			for range 3 {
				reply, err := r.open("q", "bob").Send(t.Context(), "quick")
				require.NoError(t, err)
				require.Equal(t, "quickly", reply.Text)
			}
			nothingHeld(t, r)
			for range held {
				people.answers <- row.verdict
			}
			for _, h := range held {
				s := <-h
				require.NoError(t, s.err)
				require.Equal(t, map[string]agents.State{"a": agents.Completed}, states(s.reply))
			}
			require.Len(t, r.list(ledger.Query{Skill: "note.echo", Outcome: "ok"}), 2*row.ran)
			nothingHeld(t, r)
		})
	}
}

// An answered turn waits for its place with the others, however long, and is
// never refused; an approved call runs only then, a denied agent's model is asked
// only then.
func TestAnsweredWaitsInLine(t *testing.T) {
	for name, verdict := range map[string]sentinel.Verdict{"approved": sentinel.Pass(), "denied": no} {
		t.Run(name, func(t *testing.T) {
			g, entered, open := gate(t, "note.gate")
			o, people, rules := holding(t, "limits: {process: {turns: 1, waiting: 5, wait: 50ms}}\n",
				orch("busy", dispatch("b", "do-b", "note.gate"), results("wait_all"), "busy done"), agent("do-b", use("note.gate", "x"), "ok"))
			o.Skills = append(o.Skills, g)
			r := start(t, o, rules...)
			held := r.begin("c1", "ann", "held")
			<-people.asked
			nothingHeld(t, r)
			busy := r.begin("c2", "bob", "busy")
			<-entered
			people.answers <- verdict
			require.Eventually(t, func() bool { return r.load("turns").Waiting == 1 }, eventually, tick)
			if verdict.Outcome == sentinel.Allow {
				require.Contains(t, phasesOf(r, "note.echo"), sentinel.PhasePlaces, "what an operator sees of the approved call")
			}
			_, err := r.open("c3", "eve").Send(t.Context(), "quick") // refused after its wait; the held one isn't
			full(t, err, "turns", admission.OfProcess)
			require.Empty(t, r.list(ledger.Query{Skill: "note.echo", Kind: "outcome"}))
			require.Len(t, r.asked(agents.ToolRequestHelp), 2, "an agent's model was asked out of turn")
			open()
			require.NoError(t, (<-busy).err)
			require.NoError(t, (<-held).err)
			nothingHeld(t, r)
		})
	}
}

// phasesOf lists the phases of a skill's calls in flight.
func phasesOf(r *rig, skill string) (phases []string) {
	for _, c := range r.parts.Checkpoint.InFlight() {
		if c.Skill == skill {
			phases = append(phases, c.Phase)
		}
	}
	return phases
}

// While another agent of the turn works, the turn keeps its place and the agent
// that waits has given its own back.
func TestHeldBesideWork(t *testing.T) {
	g, entered, open := gate(t, "note.gate")
	o, people, _ := holding(t, "limits: {process: {turns: 1, agents: 2}}\n")
	o.Skills = append(o.Skills, g)
	r := start(t, o, orch("go", []call{dispatch("a", "do-a", "note.echo"), dispatch("b", "do-b", "note.gate")}, results("wait_all"), "done"),
		agent("do-a", use("note.echo", "x"), "ok"), agent("do-b", use("note.gate", "x"), "ok"))
	reply := r.begin("c1", "ann", "go")
	<-people.asked
	<-entered
	require.Eventually(t, func() bool { return r.load("agents").Used == 1 }, eventually, tick)
	require.Equal(t, 1, r.load("turns").Used)
	open()
	require.Eventually(t, func() bool { return r.load("turns").Used == 0 }, eventually, tick)
	people.answers <- sentinel.Pass()
	require.NoError(t, (<-reply).err)
	nothingHeld(t, r)
}

// A call of the orchestrator's own waits for a person, and the agent that waits
// for its answer holds no place either. Both have theirs again afterwards.
func TestHeldExtension(t *testing.T) {
	o, people, _ := holding(t, "limits: {process: {turns: 1, agents: 1}}\n")
	o.config = "permissions: [{skill: agent.extend, then: ask}]\nlimits: {process: {turns: 1, agents: 1}}\n"
	r := start(t, o,
		orch("go", dispatch("a", "do-a"), results("wait_all"),
			tool(toolUpdate, map[string]any{"agent_id": "a", "message": "take it", "skills": []string{"note.echo"}}), results("wait_all"), "done"),
		orch("quick", dispatch("q", "do-q"), results("wait_all"), "quickly"), agent("do-q", "ok"),
		agent("do-a", tool(agents.ToolRequestHelp, map[string]any{"reason": "more"}), use("note.echo", "x"), "ok"))
	reply := r.begin("c1", "ann", "go")
	<-people.asked
	nothingHeld(t, r)
	quick := <-r.begin("c2", "bob", "quick")
	require.NoError(t, quick.err)
	require.Equal(t, map[string]agents.State{"q": agents.Completed}, states(quick.reply))
	people.answers <- sentinel.Pass()
	s := <-reply
	require.NoError(t, s.err)
	require.Equal(t, map[string]agents.State{"a": agents.Completed}, states(s.reply))
	require.Len(t, r.list(ledger.Query{Skill: "note.echo", Outcome: "ok"}), 1)
	nothingHeld(t, r)
}

// Turns that a restart resumes hold no place while their calls wait, even where
// there is one for all.
func TestResumedHeldHoldsNoPlace(t *testing.T) {
	o, people, rules := holding(t, "limits: {process: {turns: 1, agents: 1}}\n")
	r := start(t, o, rules...)
	const n = 3
	for i := range n {
		c := r.open(fmt.Sprint("c", i), fmt.Sprint("u", i))
		go func() { _, _ = c.SendRequest(context.Background(), Request{ID: "r1", Text: "held"}) }()
		<-people.asked
	}
	nothingHeld(t, r)
	p := newPeople()
	o.Approver = p
	r.restart(o)
	for range n {
		<-p.asked
	}
	nothingHeld(t, r)
	reply, err := r.open("q", "bob").Send(t.Context(), "quick")
	require.NoError(t, err)
	require.Equal(t, "quickly", reply.Text)
	for range n {
		p.answers <- sentinel.Pass()
	}
	for i := range n {
		reply, err := r.open(fmt.Sprint("c", i), fmt.Sprint("u", i)).Reply(t.Context(), "r1")
		require.NoError(t, err)
		require.Equal(t, map[string]agents.State{"a": agents.Completed}, states(reply))
	}
	nothingHeld(t, r)
}

// A wait of the orchestrator's model that is over takes the turn's place before
// the model is asked.
func TestWaitOverTakesPlace(t *testing.T) {
	o, people, rules := holding(t, "limits: {process: {turns: 1}}\n",
		orch("short", dispatch("a", "do-a", "note.echo"), tool(toolResults, map[string]any{"mode": "wait_all", "timeout_seconds": 1}), "gave up"))
	r := start(t, o, rules...)
	reply := r.begin("c1", "ann", "short")
	<-people.asked
	nothingHeld(t, r)
	s := <-reply
	require.NoError(t, s.err)
	require.Equal(t, "gave up", s.reply.Text)
	nothingHeld(t, r)
}

// A conversation whose own request waits for a person says so to those it has no
// room for, in place of a guess from how fast others end; and what waits for it
// takes no other's place.
func TestHeldHint(t *testing.T) {
	o, people, rules := holding(t, "limits: {process: {turns: 1, waiting: 5}}\n")
	r := start(t, o, rules...)
	c := r.open("c1", "ann")
	ends := make(chan error, 1+maxQueued)
	send := func(text string) {
		go func() { _, err := c.Send(context.Background(), text); ends <- err }()
	}
	send("held")
	<-people.asked
	for range maxQueued {
		send("quick")
	}
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), eventually)
		defer cancel()
		n, err := c.callProcess(ctx, claim{"ann"})
		return err == nil && n == 1+maxQueued
	}, eventually, tick)
	nothingHeld(t, r) // once the turn waits for nothing else
	_, err := c.Send(t.Context(), "one more")
	full(t, err, "requests", admission.OfConversation)
	var e *OverloadedError
	require.ErrorAs(t, err, &e)
	require.True(t, e.Held)
	require.Equal(t, time.Minute, e.RetryAfter)
	require.Contains(t, e.Error(), "waits for a person")
	people.answers <- sentinel.Pass()
	for range 1 + maxQueued {
		require.NoError(t, <-ends)
	}
	nothingHeld(t, r)
}

// Callers that leave while a person is asked, or while the answered turn is in
// line, take and leave no place.
func TestLeavingHeldWork(t *testing.T) {
	o, people, rules := holding(t, "limits: {process: {turns: 1, waiting: 5}}\n")
	r := start(t, o, rules...)
	m := r.models.orchestrator
	through := make(chan struct{})
	busy := chatFunc(func(ctx context.Context, q llm.Request) (llm.Response, error) {
		if q.Messages[len(q.Messages)-1].Content != "busy" {
			return m.Chat(ctx, q)
		}
		select {
		case <-through:
			return llm.Response{Content: "done"}, nil
		case <-ctx.Done():
			return llm.Response{}, ctx.Err()
		}
	})
	r.models.orchestrator = busy
	for i, answered := range []bool{false, true} {
		ctx, leave := context.WithCancel(t.Context())
		c := r.open("c1", "ann")
		left := make(chan error, 1)
		go func() { _, err := c.Send(ctx, "held"); left <- err }()
		<-people.asked
		nothingHeld(t, r)
		other := r.begin("c2", "bob", "busy")
		require.Eventually(t, func() bool { return r.load("turns").Used == 1 }, eventually, tick)
		if answered {
			people.answers <- sentinel.Pass()
			require.Eventually(t, func() bool { return r.load("turns").Waiting == 1 }, eventually, tick)
		}
		leave()
		require.ErrorIs(t, <-left, context.Canceled)
		require.Eventually(t, func() bool { return r.load("turns").Waiting == 0 }, eventually, tick)
		require.Eventually(t, func() bool { // no question stays open that nothing will ever ask again
			return len(r.list(ledger.Query{Kind: "decision", Code: sentinel.CodeApprovalCanceled})) == i+1
		}, eventually, tick)
		through <- struct{}{}
		require.NoError(t, (<-other).err)
		nothingHeld(t, r)
	}
	require.Empty(t, r.list(ledger.Query{Skill: "note.echo", Kind: "outcome"}))
}

// Whatever happens to held work, every place comes back: crashes at any place of
// the process, callers that leave, denials, approvers that break.
func TestNoCreditIsLostWhileHeld(t *testing.T) {
	o := with(echo(t))
	o.config = "permissions: [{skill: note.echo, then: ask}]\napprovals: {pending: {user: 3}}\n" +
		"limits: {process: {turns: 2, agents: 2, waiting: 8, wait: 300ms}, user: {turns: 2, agents: 1, waiting: 6}}\n"
	var mu sync.Mutex
	dice := rand.New(rand.NewPCG(3, 4))
	roll := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return dice.IntN(n)
	}
	var calm atomic.Bool
	o.tune.at = func(string) {
		if !calm.Load() && roll(80) == 0 {
			panic("broken")
		}
	}
	o.Approver = approver(func(ctx context.Context, _ sentinel.Call) (sentinel.Verdict, error) {
		wait := time.NewTimer(time.Duration(roll(30)) * time.Millisecond)
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-ctx.Done():
			return sentinel.Verdict{}, ctx.Err()
		}
		if calm.Load() {
			return sentinel.Pass(), nil
		}
		switch roll(8) {
		case 0:
			panic("the approver broke")
		case 1:
			return no, nil
		}
		return sentinel.Pass(), nil
	})
	r := start(t, o, orch("unused", "unused"))
	m := scriptless("note.echo")
	r.models.orchestrator, r.models.agents = m, m
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 8 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(5+roll(600))*time.Millisecond)
				c, err := r.Open(ctx, ConversationOptions{ID: fmt.Sprint("c", i), User: fmt.Sprint("u", i%3)})
				if err == nil {
					_, _ = c.Send(ctx, "go") // most are cut off: what counts is what they leave behind
				}
				cancel()
			}
		})
	}
	wg.Wait()
	nothingHeld(t, r)
	calm.Store(true)
	answersPatiently(t, r)
	require.Eventually(t, func() bool { return len(r.parts.Checkpoint.InFlight()) == 0 }, eventually, tick)
}

// Calls beyond approvals.pending are denied and no person is asked: the refusal is
// for a budget, is on record, and the agent may go on with what needs no person.
func TestPendingBound(t *testing.T) {
	o, people, rules := holding(t, "approvals: {pending: {user: 2}}\n",
		orch("third", dispatch("a", "do-b", "note.echo", "web.read"), results("wait_all"), "done"),
		agent("do-b", use("note.echo", "x"), use("web.read", "y"), "ok"))
	o.Skills = append(o.Skills, outside(t))
	r := start(t, o, rules...)
	one, two := r.begin("c1", "ann", "held"), r.begin("c2", "ann", "held")
	<-people.asked
	<-people.asked
	third := <-r.begin("c3", "ann", "third")
	require.NoError(t, third.err)
	require.Equal(t, map[string]agents.State{"a": agents.Completed}, states(third.reply))
	require.Empty(t, people.asked)
	list := r.list(ledger.Query{Code: sentinel.CodePendingFull})
	require.Len(t, list, 1)
	require.Equal(t, []string{"decision", "deny", "approval"}, []string{list[0].Kind, list[0].Outcome, list[0].Gate})
	require.Len(t, r.list(ledger.Query{Skill: "web.read", Outcome: "ok"}), 1)
	other := r.begin("c4", "bob", "held")
	<-people.asked
	for range 3 {
		people.answers <- sentinel.Pass()
	}
	for _, ch := range []<-chan sent{one, two, other} {
		require.NoError(t, (<-ch).err)
	}
	again := r.begin("c5", "ann", "held")
	<-people.asked
	people.answers <- sentinel.Pass()
	require.NoError(t, (<-again).err)
	require.Len(t, r.list(ledger.Query{Code: sentinel.CodePendingFull}), 1)
}
