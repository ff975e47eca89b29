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
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// load is how full a pool is.
func (r *rig) load(what string) admission.Stats {
	for _, s := range r.Load() {
		if s.What == what {
			return s
		}
	}
	return admission.Stats{}
}

// nothingHeld waits until every credit is back, those of open conversations
// aside.
func nothingHeld(t testing.TB, r *rig) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, s := range r.Load() {
			if s.What != "conversations" && (s.Used != 0 || s.Waiting != 0) {
				return false
			}
		}
		return true
	}, eventually, tick, "%+v", r.Load())
}

func full(t testing.TB, err error, what, of string) {
	t.Helper()
	require.ErrorIs(t, err, ErrOverloaded)
	var e *OverloadedError
	require.ErrorAs(t, err, &e)
	require.Equal(t, [2]string{what, of}, [2]string{e.What, e.Of})
	require.Positive(t, e.RetryAfter)
	require.LessOrEqual(t, e.RetryAfter, time.Minute)
}

// Ten thousand messages to one conversation: it takes as many as it has places
// for, and each of the others is told when to come again. None waits for
// nothing, and no mailbox grows.
func TestFloodIsRefused(t *testing.T) {
	r := start(t, with(), orch("unused", "unused"))
	_, through := held(r)
	c := r.open("c1", "ann")
	const n = 10_000
	errs := make(chan error, n)
	for i := range n {
		go func() {
			_, err := c.Send(context.Background(), fmt.Sprint(i))
			errs <- err
		}()
	}
	for range n - 1 - maxQueued {
		err := <-errs
		require.ErrorIs(t, err, ErrOverloaded)
		var e *OverloadedError
		require.ErrorAs(t, err, &e)
		require.Positive(t, e.RetryAfter)
		require.Contains(t, []string{admission.OfUser, admission.OfConversation}, e.Of)
	}
	require.Equal(t, 1+maxQueued, r.load("requests").Used)
	for range 1 + maxQueued {
		through <- struct{}{}
		require.NoError(t, <-errs)
	}
	nothingHeld(t, r)
}

// One user's flood over many conversations delays another's request by one
// turn; beyond their places a user's requests are refused, the other's are not.
func TestFairBetweenUsers(t *testing.T) {
	o := with()
	o.config = "limits: {process: {turns: 1, waiting: 50}, user: {waiting: 9}}\n"
	r := start(t, o, orch("unused", "unused"))
	asked, through := held(r)
	errs := make(chan error, 20)
	send := func(user, id string, waiting int) {
		c := r.open(id, user)
		go func() {
			_, err := c.Send(context.Background(), id)
			errs <- err
		}()
		require.Eventually(t, func() bool { return r.load("turns").Waiting == waiting }, eventually, tick)
	}
	send("flood", "f0", 0)
	require.Equal(t, "f0", <-asked)
	for i := 1; i < 10; i++ {
		send("flood", fmt.Sprint("f", i), i)
	}
	late := r.open("f10", "flood")
	_, err := late.Send(t.Context(), "f10")
	require.ErrorIs(t, err, ErrOverloaded)
	send("ann", "a0", 10)
	var order []string
	for range 10 {
		through <- struct{}{}
		order = append(order, <-asked)
	}
	require.Equal(t, []string{"f1", "a0", "f2"}, order[:3])
	through <- struct{}{}
	for range 11 {
		require.NoError(t, <-errs)
	}
	nothingHeld(t, r)
}

// A request that waits too long is refused, with nothing done about it or
// written down.
func TestRefusedAfterWait(t *testing.T) {
	o := with()
	o.config = "limits: {process: {turns: 1, wait: 50ms}}\n"
	r := start(t, o, orch("unused", "unused"))
	asked, through := held(r)
	first, second := r.open("c1", "ann"), r.open("c2", "ann")
	done := make(chan error, 1)
	go func() { _, err := first.Send(context.Background(), "one"); done <- err }()
	require.Equal(t, "one", <-asked)
	_, err := second.SendRequest(t.Context(), Request{ID: "r1", Text: "two"})
	full(t, err, "turns", admission.OfProcess)
	_, err = second.Reply(t.Context(), "r1")
	require.ErrorIs(t, err, ErrRequest, "the request left a trace")
	through <- struct{}{}
	require.NoError(t, <-done)
	nothingHeld(t, r)
	through <- struct{}{}
	reply, err := second.SendRequest(t.Context(), Request{ID: "r1", Text: "two"})
	require.NoError(t, err)
	require.Equal(t, "re two", reply.Text)
}

// A caller that leaves gives up its place in line, and is told no other reason.
func TestLeavesLine(t *testing.T) {
	o := with()
	o.config = "limits: {process: {turns: 1, wait: 10m}}\n"
	r := start(t, o, orch("unused", "unused"))
	asked, through := held(r)
	first, second := r.open("c1", "ann"), r.open("c2", "ann")
	done, left := make(chan error, 1), make(chan error, 1)
	go func() { _, err := first.Send(context.Background(), "one"); done <- err }()
	require.Equal(t, "one", <-asked)
	ctx, leave := context.WithCancel(t.Context())
	go func() { _, err := second.Send(ctx, "two"); left <- err }()
	require.Eventually(t, func() bool { return r.load("turns").Waiting == 1 }, eventually, tick)
	leave()
	require.ErrorIs(t, <-left, context.Canceled)
	require.Eventually(t, func() bool { return r.load("turns").Waiting == 0 }, eventually, tick)
	through <- struct{}{}
	require.NoError(t, <-done)
	nothingHeld(t, r)
	require.Empty(t, asked, "the request that was left was begun")
}

// Conversations are bounded for a user and for all. Whose end was seen by a
// router, or by none because it was just being restarted, makes room again.
func TestOpenBounded(t *testing.T) {
	o := with()
	o.config = "limits: {process: {conversations: 3}, user: {conversations: 2}}\n"
	r := start(t, o, orch("go", "done"))
	for range 3 {
		r.open("c1", "ann")
		r.open("c2", "ann")
		_, err := r.Open(t.Context(), ConversationOptions{ID: "c3", User: "ann"})
		full(t, err, "conversations", admission.OfUser)
		r.open("c3", "bob")
		_, err = r.Open(t.Context(), ConversationOptions{ID: "c4", User: "eve"})
		full(t, err, "conversations", admission.OfProcess)
		router, _ := r.sys.Whereis("router")
		router.Send(recheckConversation{}) // breaks it
		require.Eventually(t, func() bool {
			for _, id := range []string{"c1", "c2", "c3"} {
				if server, up := r.sys.Whereis(serverName(id)); up {
					server.Send(idleTimeOver{}) // as after fifteen minutes: no clock may close one while the bounds are looked at
				}
			}
			return r.load("conversations").Used == 0
		}, eventually, tick)
	}
}

// A user's agents beyond their share wait, pending, and start when others have
// ended; those that wait too long fail and say why.
func TestAgentsWaitForRoom(t *testing.T) {
	g, entered, open := gate(t, "note.gate")
	o := with(g)
	o.config = "limits: {user: {agents: 1}}\n"
	both := orch("go", []call{dispatch("a", "do-a", "note.gate"), dispatch("b", "do-b")}, results("wait_all"), "done")
	r := start(t, o, both, agent("do-a", use("note.gate", "x"), "a ok"), agent("do-b", "b ok"))
	done := make(chan Reply, 1)
	c := r.open("c1", "ann")
	go func() { reply, _ := c.Send(context.Background(), "go"); done <- reply }()
	<-entered
	require.Eventually(t, func() bool { return r.load("agents").Waiting == 1 }, eventually, tick)
	require.Empty(t, r.asked(""))
	open()
	require.Equal(t, map[string]agents.State{"a": agents.Completed, "b": agents.Completed}, states(<-done))
	nothingHeld(t, r)

	g, _, open = gate(t, "note.gate")
	o.Skills, o.tune.room = with(g).Skills, 30*time.Millisecond
	r = start(t, o, both, agent("do-a", use("note.gate", "x"), "a ok"))
	c = r.open("c1", "ann")
	go func() { reply, _ := c.Send(context.Background(), "go"); done <- reply }()
	require.Eventually(t, func() bool { return r.load("agents").Refused == 1 }, eventually, tick)
	open()
	reply := <-done
	require.Equal(t, map[string]agents.State{"a": agents.Completed, "b": agents.Failed}, states(reply))
	require.Contains(t, reply.Agents[1].Reason, "no room")
	nothingHeld(t, r)
}

// slowModel returns a rig with a model that hangs until timeout, and two
// conversations that ask it: one at it, one waiting. Their ends come on ends.
func slowModel(t *testing.T, timeout time.Duration) (r *rig, leave func(), ends chan slowEnd) {
	o := with()
	o.models = fmt.Sprintf(`}
  slow: {model: slow, base_url: "$URL", timeout: %s, concurrency: 1`, timeout)
	r = start(t, o,
		orch("slowly", dispatch("s", "do-slow").with("model", "slow"), results("wait_all"), "done slowly"),
		orch("quick", dispatch("q", "do-quick"), results("wait_all"), "done quickly"),
		[]rule{{"when": rule{"model": "slow"}, "reply": rule{"hang": true}}},
		agent("do-quick", "ok"))
	ctx, leave := context.WithCancel(context.Background())
	ends = make(chan slowEnd, 2)
	for _, user := range []string{"ann", "bob"} {
		c := r.open(user, user)
		go func() {
			reply, err := c.Send(ctx, "slowly")
			ends <- slowEnd{reply, err}
		}()
	}
	return r, leave, ends
}

type slowEnd struct {
	reply Reply
	err   error
}

// A model that hangs holds up the conversation that asks it and no other.
func TestSlowModel(t *testing.T) {
	r, leave, ends := slowModel(t, time.Hour)
	defer leave()
	require.Eventually(t, func() bool {
		s := r.load("requests to model slow")
		return s.Used == 1 && s.Waiting == 1
	}, eventually, tick)
	for range 5 {
		c := r.open("e", "eve")
		reply, err := c.Send(t.Context(), "quick")
		require.NoError(t, err)
		require.Equal(t, "done quickly", reply.Text)
	}
	require.Empty(t, ends, "the quick ones waited for the slow ones")
	leave()
	for range 2 {
		require.ErrorIs(t, (<-ends).err, context.Canceled)
	}
	nothingHeld(t, r)
}

// Who waits for a model that hangs is told that it is busy, in the time of a
// request.
func TestSlowModelEnds(t *testing.T) {
	r, leave, ends := slowModel(t, time.Second)
	defer leave()
	var reasons []string
	for range 2 {
		e := <-ends
		require.NoError(t, e.err)
		require.Equal(t, agents.Failed, e.reply.Agents[0].State)
		reasons = append(reasons, e.reply.Agents[0].Reason)
	}
	require.Contains(t, reasons, "the model could not be asked: timeout")
	nothingHeld(t, r)
}

// A skill runs so often at a time, one user's calls after another's; what a
// full skill holds up are those who call it.
func TestSlowSkill(t *testing.T) {
	g, entered, open := gate(t, "note.gate")
	o := with(g, echo(t))
	o.config = "limits: {skill: {concurrency: 2}}\n"
	r := start(t, o,
		orch("slowly", dispatch("s", "do-slow", "note.gate"), results("wait_all"), "done slowly"),
		orch("quick", dispatch("q", "do-quick", "note.echo"), results("wait_all"), "done quickly"),
		agent("do-slow", use("note.gate", "x"), "ok"), agent("do-quick", use("note.echo", "x"), "ok"))
	errs := make(chan error, 5)
	for i := range 5 {
		c := r.open(fmt.Sprint("s", i), "ann")
		go func() { _, err := c.Send(context.Background(), "slowly"); errs <- err }()
	}
	// Who has a place has yet to begin.
	require.Eventually(t, func() bool { return r.load("calls of note.gate").Waiting == 3 && len(entered) == 2 }, eventually, tick)
	reply, err := r.open("q", "bob").Send(t.Context(), "quick")
	require.NoError(t, err)
	require.Equal(t, "done quickly", reply.Text)
	require.Len(t, entered, 2)
	open()
	for range 5 {
		require.NoError(t, <-errs)
	}
	require.Len(t, r.list(ledger.Query{Skill: "note.gate", Outcome: "ok"}), 5)
	nothingHeld(t, r)
}

// Whatever happens to turns and agents, processes that break and callers that
// leave included, every credit comes back.
func TestNoCreditIsLost(t *testing.T) {
	o := with(echo(t))
	o.config = "limits: {process: {turns: 3, agents: 2, waiting: 6, wait: 200ms}, user: {turns: 2, agents: 2, waiting: 4}}\n"
	var mu sync.Mutex
	dice := rand.New(rand.NewPCG(1, 2))
	roll := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return dice.IntN(n)
	}
	var calm atomic.Bool
	o.tune.at = func(string) {
		if !calm.Load() && roll(60) == 0 {
			panic("broken")
		}
	}
	r := start(t, o, orch("unused", "unused"))
	m := scriptless("note.echo")
	broken := chatFunc(func(ctx context.Context, q llm.Request) (llm.Response, error) {
		if calm.Load() {
			return m(ctx, q)
		}
		switch roll(30) {
		case 0:
			panic("a model's client broke")
		case 1:
			return llm.Response{}, &llm.Error{Kind: llm.KindServer}
		}
		return m(ctx, q)
	})
	r.models.orchestrator, r.models.agents = broken, broken
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			for range 15 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(5+roll(400))*time.Millisecond)
				user := fmt.Sprint("u", i%4)
				c, err := r.Open(ctx, ConversationOptions{ID: fmt.Sprint("c", i), User: user})
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
}

// answersPatiently shows that a request which has time is answered: whatever
// failed before holds no place.
func answersPatiently(t *testing.T, r *rig) {
	t.Helper()
	c, err := r.Open(context.Background(), ConversationOptions{ID: "patient", User: "patient"})
	require.NoError(t, err)
	_, err = c.Send(context.Background(), "go")
	require.NoError(t, err)
	nothingHeld(t, r)
}
