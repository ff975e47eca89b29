package orchestrator

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/orchestrator/history"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
)

// A process that ends in the midst of a request and starts again goes on with
// it though no caller asks: finished calls are not repeated, and the answer is
// there for a caller that asks for it by the request's id.
func TestResumedUnasked(t *testing.T) {
	g, entered, open := gate(t, "note.gate")
	book := &logbook{}
	o := with(g, book.skill(t, "note.plain", skills.Create, false, skills.Trusted), outside(t))
	r := start(t, o,
		orch("go", dispatch("a", "do-a", "note.plain", "web.read", "note.gate"), results("wait_all"), "done"),
		agent("do-a", use("note.plain", "p"), use("web.read", "w"), use("note.gate", "g"), "a is done"))
	c := r.open("c1", "ann")
	sent := make(chan error, 1)
	go func() {
		_, err := c.SendRequest(context.Background(), Request{ID: "r1", Text: "go"})
		sent <- err
	}()
	<-entered
	r.restart(o)
	require.ErrorIs(t, <-sent, ErrClosed)
	<-entered // it goes on by itself: an interrupted read is read again
	open()
	reply, err := r.open("c1", "ann").Reply(t.Context(), "r1")
	require.NoError(t, err)
	require.Equal(t, "done", reply.Text)
	require.True(t, reply.Tainted)
	require.Equal(t, "a is done", reply.Agents[0].Answer)
	require.Equal(t, 3, reply.Agents[0].Calls)
	require.Equal(t, 1, book.times("p"))
	require.Len(t, r.list(ledger.Query{Skill: "web.read", Kind: sentinel.RecordDecision}), 1)
	require.Len(t, r.list(ledger.Query{Skill: skillDispatch, Kind: sentinel.RecordDecision}), 1)

	asked := len(r.server.Requests())
	for range 2 { // by another process too
		c = r.open("c1", "ann")
		again, err := c.SendRequest(t.Context(), Request{ID: "r1", Text: "go"})
		require.NoError(t, err)
		require.Equal(t, reply, again)
		again, err = c.Reply(t.Context(), "r1")
		require.NoError(t, err)
		require.Equal(t, reply, again)
		_, err = c.SendRequest(t.Context(), Request{ID: "r1", Text: "something else"})
		require.ErrorIs(t, err, ErrRequest)
		_, err = c.Reply(t.Context(), "r2")
		require.ErrorIs(t, err, ErrRequest)
		_, err = r.Open(t.Context(), ConversationOptions{ID: "c1", User: "eve"})
		require.ErrorIs(t, err, ErrRequest, "it is ann's for good")
		r.restart(o)
	}
	require.Len(t, r.server.Requests(), asked, "it was worked on again")
	other, err := r.Open(t.Context(), ConversationOptions{ID: "c2", User: "eve"})
	require.NoError(t, err)
	_, err = other.Reply(t.Context(), "r1")
	require.ErrorIs(t, err, ErrRequest, "ids of one conversation say nothing in another")
	r.verify()
}

// Callers that send the same request at the same time get the same answer; one
// that leaves stops nothing, and one that sends without an id stops its own.
func TestSameRequest(t *testing.T) {
	r := start(t, with(), orch("unused", "unused"))
	asked, through := held(r)
	c := r.open("c1", "ann")
	replies := make(chan Reply, 8)
	send := func(ctx context.Context) {
		reply, err := c.SendRequest(ctx, Request{ID: "r1", Text: "go"})
		if err == nil {
			replies <- reply
		}
	}
	leaving, leave := context.WithCancel(context.Background())
	gone := make(chan struct{})
	go func() { send(leaving); close(gone) }()
	require.Equal(t, "go", <-asked)
	leave()
	<-gone
	for range 4 {
		go send(context.Background())
	}
	require.Eventually(t, func() bool {
		pid, _ := r.sys.Whereis(serverName("c1"))
		n := queueLength(t, pid)
		return n == 1
	}, eventually, tick)
	through <- struct{}{}
	first := <-replies
	for range 3 {
		require.Equal(t, first, <-replies)
	}
	require.Empty(t, asked)
	_, err := c.SendRequest(t.Context(), Request{ID: "", Text: "go"})
	require.ErrorIs(t, err, ErrRequest)
	_, err = c.SendRequest(t.Context(), Request{ID: "r2"})
	require.ErrorIs(t, err, ErrRequest)
}

// What was stopped, or failed, is answered with that when it is asked for again.
func TestKeptFailures(t *testing.T) {
	r := start(t, with(), orch("broken", rule{"status": 400}), orch("go", "done"))
	c := r.open("c1", "ann")
	for range 2 {
		_, err := c.SendRequest(t.Context(), Request{ID: "r1", Text: "broken"})
		require.Equal(t, &ModelError{string(llm.KindRequest)}, err)
	}
	for code, want := range map[string]error{"": nil, failedModel + "x": &ModelError{"x"}, failedCancelled: ErrCancelled,
		failedInterrupted: ErrInterrupted, failedNotKept: ErrNotKept, "of a later version": ErrInterrupted} {
		require.Equal(t, want, failureFromCode(code))
	}
	for _, err := range []error{nil, &ModelError{"x"}, ErrCancelled, ErrInterrupted, ErrNotKept} {
		require.Equal(t, err, failureFromCode(codeOfFailure(err)))
	}
	require.Equal(t, "done", r.send("go").Text)
}

// A request that breaks its process each time it is resumed ends, and its
// caller is told; the conversation lives on. One that gets further each time
// is gone on with.
func TestPoisonedRequest(t *testing.T) {
	o := with()
	b := &breaker{place: "think", n: 1, each: true}
	o.tune.at = b.at
	r := start(t, o, orch("go", "done"))
	c := r.open("c1", "ann")
	_, err := c.Send(t.Context(), "go")
	require.ErrorIs(t, err, ErrInterrupted)
	// The fourth crash in a row ends the conversation's supervisor as well; the
	// caller opens it again, and the fifth attempt is one too many.
	require.Equal(t, maxAttempts+2, b.broke)
	b.mu.Lock()
	b.n = 1000
	b.mu.Unlock()
	require.Equal(t, "done", r.send("go").Text)
	row, ok, err := r.journal.Get(t.Context(), "c1")
	require.NoError(t, err)
	require.True(t, ok)
	require.Empty(t, row.Turn)
}

// A program that is started again and again without the request getting any
// further gives it up as well, but later.
func TestManyStarts(t *testing.T) {
	o := with()
	o.tune.pause = time.Millisecond
	r := start(t, o, []rule{{"reply": rule{"hang": true}}})
	c := r.open("c1", "ann")
	ctx, leave := context.WithCancel(t.Context())
	go func() { _, _ = c.SendRequest(ctx, Request{ID: "r1", Text: "go"}) }()
	require.Eventually(t, func() bool { return len(r.server.Requests()) == 1 }, eventually, tick)
	leave()
	for n := range maxLives {
		r.restart(o)
		require.Eventually(t, func() bool { return len(r.server.Requests()) == n+2 }, eventually, tick)
	}
	r.restart(o)
	_, err := r.open("c1", "ann").Reply(t.Context(), "r1")
	require.ErrorIs(t, err, ErrInterrupted)
}

// A request of which the journal's values are gone can't be gone on with: it
// ends as interrupted, and the conversation lives on.
func TestErasedRequest(t *testing.T) {
	g, entered, open := gate(t, "note.gate")
	defer open()
	o := with(g)
	r := start(t, o, orch("go", dispatch("a", "do-a", "note.gate"), results("wait_all"), "done"),
		agent("do-a", use("note.gate", "x"), "ok"), orch("fine", "fine"))
	c := r.open("c1", "ann")
	go func() { _, _ = c.SendRequest(context.Background(), Request{ID: "r1", Text: "go"}) }()
	<-entered
	_, err := r.Parts().Journal.EraseUser(t.Context(), "ann")
	require.NoError(t, err)
	row, _, err := r.journal.Get(t.Context(), "c1")
	require.NoError(t, err)
	require.NoError(t, r.journal.Add(t.Context(),
		history.Turn{Conversation: "c1", User: "ann", Turn: row.Turn}, // as its process may still have done
		history.NewItem(recordRound, roundRecord{V: 1, Number: 7})))
	r.restart(o)
	_, err = r.open("c1", "ann").Reply(t.Context(), "r1")
	require.ErrorIs(t, err, ErrInterrupted)
	require.Equal(t, "fine", r.send("fine").Text)
}

// What is kept but not understood, as of a later version, is not guessed at.
func TestRecordsThatAreNotUnderstood(t *testing.T) {
	good := []history.Item{{Kind: keptRequest, Data: []byte("go")}, history.NewItem(recordOpen, openRecord{V: 1, Grant: "g"}),
		history.NewItem(recordRound, roundRecord{V: 1, Number: 1})}
	s, err := readSavedTurn(good)
	require.NoError(t, err)
	require.Equal(t, "go", s.text)
	require.Len(t, s.rounds, 1)
	for name, bad := range map[string]history.Item{
		"a later open":         history.NewItem(recordOpen, openRecord{V: 2}),
		"a later round":        history.NewItem(recordRound, roundRecord{V: 2, Number: 2}),
		"a round that is lost": history.NewItem(recordRound, roundRecord{V: 1, Number: 3}),
		"an agent's":           history.NewItem(recordAgentRound, agentRecord{V: 9}),
		"an agent's end":       history.NewItem(recordAgentEnd, agentEndRecord{}),
		"an end":               history.NewItem(recordEnd, endRecord{V: 7}),
		"no JSON":              {Kind: recordRound, Data: []byte("{")},
	} {
		_, err := readSavedTurn(append(good[:3:3], bad))
		require.ErrorIs(t, err, errLost, name)
	}
	s, err = readSavedTurn(append(good[:3:3], good[0], good[1]))
	require.NoError(t, err)
	require.Empty(t, s.rounds, "of a request that was begun again the newest counts")
	twice := history.NewItem(recordAgentRound, agentRecord{V: 1, Grant: "a", Round: agents.Round{V: 1, Number: 1}})
	s, err = readSavedTurn(append(good[:3:3], twice, twice))
	require.NoError(t, err)
	require.Len(t, s.agents["a"], 1, "of a round that was written again one counts")
}

// FuzzRecords: whatever is in a record, reading it neither panics nor makes a
// turn of what has no request.
func FuzzRecords(f *testing.F) {
	for _, kind := range []string{recordOpen, recordRound, recordEnd, recordAgentRound, recordAgentEnd} {
		f.Add(kind,
			[]byte(`{"v":1,"n":1,"messages":[{"role":"assistant","calls":[{"id":"1","raw":"/w=="}]}],"round":{"v":1,"n":1,"queue":[{"id":"x"}]}}`))
	}
	f.Fuzz(func(t *testing.T, kind string, data []byte) {
		s, err := readSavedTurn([]history.Item{{Kind: kind, Data: data}})
		if err == nil && kind != keptRequest && s.text != "" {
			t.Fatal("a request came of nothing")
		}
	})
}

// Restored grants are what they were: the same ids, skills, budgets and missions,
// never wider than the turn's, never less tainted.
func TestRestoredGrants(t *testing.T) {
	g, entered, open := gate(t, "note.gate")
	o := with(g, outside(t), echo(t))
	o.Approver = approver(func(context.Context, sentinel.Call) (sentinel.Verdict, error) { return sentinel.Pass(), nil })
	r := start(t, o,
		orch("go",
			[]call{dispatch("early", "do-early", "note.gate").with("max_tool_calls", 7), dispatch("page", "do-page", "web.read"),
				dispatch("clean", "do-clean", "note.echo")},
			results("wait_all", "page", "clean"),
			[]call{tool(toolUpdate, map[string]any{"agent_id": "early", "message": "more", "skills": []string{"note.echo"}}),
				dispatch("late", "do-late", "note.gate")},
			results("wait_all"), "done"),
		agent("do-early", use("note.gate", "1"), use("note.echo", "2"), "ok"), agent("do-page", use("web.read", "x"), "ok"),
		agent("do-clean", use("note.echo", "x"), "ok"), agent("do-late", use("note.gate", "x"), "ok"))
	c := r.open("c1", "ann")
	go func() { _, _ = c.SendRequest(context.Background(), Request{ID: "r1", Text: "go"}) }()
	<-entered
	<-entered // early's and late's: everything has been dispatched
	before := r.grants()
	for range 3 {
		// The new process restores the request too, and its agents then keep the
		// lanes of their calls busy: it begins after the test has looked.
		looked := make(chan struct{})
		look := sync.OnceFunc(func() { close(looked) })
		o.tune.at = func(place string) {
			if place == "recall" {
				<-looked
			}
		}
		r.restart(o)
		t.Cleanup(look) // also where the test fails before
		row, ok, err := r.journal.Get(t.Context(), "c1")
		require.NoError(t, err)
		require.True(t, ok)
		turn, err := r.restorer.restoreTurn(t.Context(), row, earlierTurns{})
		require.NoError(t, err)
		root := turn.desk.Grant()
		require.True(t, root.Tainted(), "it had read what page brought")
		require.Len(t, turn.agents, 4)
		for _, k := range turn.agents {
			now, was := k.desk.Grant(), before[k.args.AgentID]
			within, wider := now.Scope().Within(root.Scope())
			require.True(t, within, wider)
			require.Equal(t, root.User(), now.User())
			require.Equal(t, agentGrantID(root.ID(), k.args.AgentID), now.ID())
			require.Equal(t, k.args.AgentID == "late", now.MissionTainted(), k.args.AgentID)
			require.Equal(t, k.args.AgentID != "clean", now.Tainted(), k.args.AgentID)
			if was.ID() == "" {
				continue // it has made no call that was decided
			}
			require.Equal(t, []any{was.ID(), was.Mission(), was.Calls(), was.MissionBy(), was.Turn(), was.MissionTainted()},
				[]any{now.ID(), now.Mission(), now.Calls(), now.MissionBy(), now.Turn(), now.MissionTainted()})
			require.False(t, was.Tainted() && !now.Tainted())
		}
		want, err := skills.NewScope("note.gate", "note.echo")
		require.NoError(t, err)
		require.Equal(t, want.List(), turn.findAgent("early").desk.Grant().Scope().List(), "the extension is there again")
		require.Equal(t, 1, turn.findAgent("page").desk.Trace().Len())
		look()
		<-entered
		<-entered
	}
	open()
	reply, err := r.open("c1", "ann").Reply(t.Context(), "r1")
	require.NoError(t, err)
	for _, a := range reply.Agents {
		require.Equal(t, agents.Completed, a.State, a.Agent)
	}
}

// A request that no caller waits for is given up when its time is over, but not
// while a person is being asked.
func TestUnattendedTurnEnds(t *testing.T) {
	asked, answer := make(chan struct{}, 1), make(chan struct{})
	timers := newHeldTimers(17 * time.Minute)
	o := with(echo(t))
	o.config = "permissions: [{skill: note.echo, then: ask}]\n"
	o.tune.turn, o.tune.after = timers.length, timers.after
	o.Approver = approver(func(ctx context.Context, _ sentinel.Call) (sentinel.Verdict, error) {
		asked <- struct{}{}
		select {
		case <-answer:
			return sentinel.Pass(), nil
		case <-ctx.Done():
			return sentinel.Verdict{}, ctx.Err()
		}
	})
	r := start(t, o,
		orch("go", dispatch("a", "do-a", "note.echo"), results("wait_all"), "done"), agent("do-a", use("note.echo", "x"), "ok"),
		orch("hang", rule{"hang": true}))
	c := r.open("c1", "ann")
	leave := func(id, text string, when func()) {
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan struct{})
		go func() {
			_, _ = c.SendRequest(ctx, Request{ID: id, Text: text})
			close(gone)
		}()
		when()
		cancel()
		<-gone
	}
	leave("r1", "go", func() { <-asked })
	require.NoError(t, r.awaitState(t.Context(), "a", agents.AwaitingApproval))
	for n := range 4 {
		require.Equal(t, 1, timers.fire(), "the turn's time is over")
		require.Eventually(t, func() bool { return timers.begun() == n+2 }, eventually, tick, "the turn lives, and its time runs again")
	}
	close(answer)
	reply, err := c.Reply(t.Context(), "r1")
	require.NoError(t, err)
	require.Equal(t, "done", reply.Text)

	leave("r2", "hang", func() {
		require.Eventually(t, func() bool { return len(r.asked(toolDispatch)) == 4 }, eventually, tick)
	})
	require.Equal(t, 6, timers.begun(), "the time of the second turn runs")
	require.Positive(t, timers.fire())
	r.finished()
	_, err = c.Reply(t.Context(), "r2")
	require.ErrorIs(t, err, ErrInterrupted)
	require.Equal(t, 6, timers.begun())
}

// A conversation comes up before the supervisor of its agents. It goes on with
// what is kept once both are there: a resumed turn may start an agent at once.
func TestResumeWaitsForTheRoomOfAgents(t *testing.T) {
	o := with(echo(t))
	waits, recalled := make(chan struct{}), make(chan struct{})
	var once sync.Once
	o.tune.at = func(place string) {
		switch place {
		case "no room yet":
			once.Do(func() { close(waits) })
		case "recalled":
			close(recalled)
		}
	}
	r := start(t, o, orch("unused", "unused"))
	ctx, cancel := context.WithTimeout(t.Context(), eventually)
	defer cancel()
	sup, ok := r.sys.Whereis("conversations")
	require.True(t, ok)
	server := serverSpec(&r.conversationNeeds, "c9", "ann")
	server.Significant = false // this supervisor has other children
	_, err := otp.StartChild(ctx, sup, server)
	require.NoError(t, err)
	<-waits
	select {
	case <-recalled:
		t.Fatal("it went on without room for agents")
	default:
	}
	_, err = otp.StartChild(ctx, sup, agentsSpec("c9"))
	require.NoError(t, err)
	<-recalled
}
