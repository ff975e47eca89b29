package orchestrator

import (
	"context"
	"encoding/json"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/internal/owntest"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/skills"
)

// fullDisk makes every write of this process to a file fail, as a full disk
// does, until the function is called that it returns.
func fullDisk(t *testing.T) (free func()) {
	signal.Ignore(syscall.SIGXFSZ) // or the kernel would end the process
	var old unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &old))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1, Max: old.Max}))
	done := false
	free = func() {
		if !done {
			done = true
			require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &old))
			signal.Reset(syscall.SIGXFSZ)
		}
	}
	t.Cleanup(free)
	return free
}

// While the disk is full every call is refused with an error that names the
// store, every request with ErrNotKept, and nothing runs. Once it isn't, work
// goes on without a restart: new requests are answered, a request that was
// accepted before is finished unasked, what it had done is not done again, and
// one whose sender was told that it failed is not gone on with.
func TestDiskFull(t *testing.T) {
	if owntest.Elsewhere(t) { // the limit is one of the whole process
		return
	}
	for name, id := range map[string]string{"of a request with an id": "r1", "of one without": ""} {
		t.Run(name, func(t *testing.T) {
			book := &logbook{}
			entered, open := make(chan struct{}), make(chan struct{})
			var first sync.Once
			o := with(book.skill(t, "note.plain", skills.Create, false, skills.Trusted))
			o.wrap = func(_ *rig, main agents.Model) chatFunc {
				return func(ctx context.Context, q llm.Request) (llm.Response, error) {
					if last := q.Messages[len(q.Messages)-1]; last.Role == llm.RoleTool && strings.Contains(last.Content, "a is done") {
						first.Do(func() {
							close(entered)
							<-open
						})
					}
					return main.Chat(ctx, q)
				}
			}
			r := start(t, o,
				orch("go", dispatch("a", "do-a", "note.plain"), results("wait_all"), dispatch("b", "do-b", "note.plain"), results("wait_all"), "done"),
				orch("later", "still here"),
				agent("do-a", use("note.plain", "p"), "a is done"), agent("do-b", use("note.plain", "q"), "b is done"))
			c := r.open("c1", "ann")
			sent := make(chan error, 1)
			go func() {
				var err error
				if id == "" {
					_, err = c.Send(context.Background(), "go")
				} else {
					_, err = c.SendRequest(context.Background(), Request{ID: id, Text: "go"})
				}
				sent <- err
			}()
			<-entered // it has done something, and is about to write down a round
			free := fullDisk(t)
			close(open)
			require.ErrorIs(t, <-sent, ErrNotKept)

			_, err := r.Parts().Checkpoint.Desk(freeGrant(t, "note.plain")).Invoke(t.Context(), "note.plain", json.RawMessage(`{"X":"refused"}`))
			require.ErrorIs(t, err, sentinel.ErrNotRecorded)
			require.ErrorIs(t, err, store.ErrUnavailable)
			other, err := r.Open(t.Context(), ConversationOptions{ID: "c2", User: "bob"})
			require.NoError(t, err)
			_, err = other.Send(t.Context(), "later")
			require.ErrorIs(t, err, ErrNotKept)
			_, err = c.Send(t.Context(), "later")
			require.ErrorIs(t, err, ErrNotKept)
			free()

			if id != "" {
				require.Eventually(t, func() bool { // no caller asks
					row, ok, err := r.journal.Get(context.Background(), "c1")
					return err == nil && ok && row.Turn == ""
				}, eventually, tick)
				reply, err := c.Reply(t.Context(), id)
				require.NoError(t, err)
				require.Equal(t, "done", reply.Text)
				require.Equal(t, map[string]agents.State{"a": agents.Completed, "b": agents.Completed}, states(reply))
			}
			for _, c := range []*Conversation{c, other} {
				reply, err := c.Send(t.Context(), "later")
				require.NoError(t, err)
				require.Equal(t, "still here", reply.Text)
			}
			require.Equal(t, 1, book.times("p"))
			require.Zero(t, book.times("refused"))
			if id == "" {
				require.Zero(t, book.times("q"), "its sender was told that it failed")
				require.Len(t, r.list(ledger.Query{Skill: skillDispatch, Kind: sentinel.RecordDecision}), 1)
			} else {
				require.Equal(t, 1, book.times("q"))
			}
			row, _, err := r.journal.Get(t.Context(), "c1")
			require.NoError(t, err)
			require.Empty(t, row.Turn)
			r.verify()
		})
	}
}

// An agent whose round, or whose end, can't be written down because the store
// is away waits until it is back, and goes on: its caller notices nothing, and
// nothing is done twice. One whose own time is over before that ends its turn
// as the store does, and the turn goes on with it when the store is back.
func TestAgentWaitsForStore(t *testing.T) {
	if owntest.Elsewhere(t) { // the limit is one of the whole process
		return
	}
	rest := []any{use("note.plain", "q"), "a is done"}
	for name, row := range map[string]struct {
		rest []any
		time time.Duration // of the agent
		qs   int
	}{
		"with a round":               {rest, 0, 1},
		"with its end":               {rest[1:], 0, 0},
		"for longer than it has":     {rest, 4 * time.Second, 1},
		"with its end, and too long": {rest[1:], 4 * time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g, entered, open := gate(t, "note.gate")
			book := &logbook{}
			o := with(g, book.skill(t, "note.plain", skills.Create, false, skills.Trusted))
			o.tune.agent = row.time
			r := start(t, o,
				orch("go", dispatch("a", "do-a", "note.plain", "note.gate"), results("wait_all"), "done"),
				agent("do-a", append([]any{use("note.plain", "p"), use("note.gate", "g")}, row.rest...)...))
			c := r.open("c1", "ann")
			sent := make(chan error, 1)
			go func() {
				_, err := c.SendRequest(context.Background(), Request{ID: "r1", Text: "go"})
				sent <- err
			}()
			select {
			case <-entered:
			case err := <-sent:
				t.Fatalf("the agent's time was over before its skill began: %v", err)
			}
			r.has(recordRound, 2) // the orchestrator has nothing more to write: it waits for its agent
			free := fullDisk(t)
			open()
			waits := func() bool { return strings.Contains(r.log.String(), "waits for the database") }
			require.Eventually(t, waits, eventually, tick)
			if row.time > 0 {
				require.ErrorIs(t, <-sent, ErrNotKept)
				free()
			} else {
				require.Empty(t, sent)
				free()
				require.NoError(t, <-sent)
			}
			reply, err := c.Reply(t.Context(), "r1")
			require.NoError(t, err)
			require.Equal(t, "done", reply.Text)
			require.Equal(t, agents.Completed, reply.Agents[0].State, reply.Agents[0].Reason)
			require.Equal(t, "a is done", reply.Agents[0].Answer)
			require.Equal(t, []int{1, row.qs}, []int{book.times("p"), book.times("q")})
			r.verify()
		})
	}
}

// A request that breaks off because the store is down, again and again before
// it gets any further, is not given up for it.
func TestManyOutages(t *testing.T) {
	if owntest.Elsewhere(t) { // the limit is one of the whole process
		return
	}
	asked, answer := make(chan struct{}), make(chan llm.Response)
	o := with()
	o.tune.pause = time.Microsecond
	o.wrap = func(*rig, agents.Model) chatFunc {
		return func(context.Context, llm.Request) (llm.Response, error) {
			asked <- struct{}{}
			return <-answer, nil
		}
	}
	r := start(t, o, orch("unused", "unused"))
	c := r.open("c1", "ann")
	sent := make(chan error, 1)
	go func() {
		_, err := c.SendRequest(context.Background(), Request{ID: "r1", Text: "go"})
		sent <- err
	}()
	for n := range maxLives + 2 {
		<-asked
		free := fullDisk(t)
		answer <- llm.Response{ToolCalls: []llm.ToolCall{{ID: "1", Name: toolResults, Arguments: `{"mode":"non_blocking"}`}}}
		if n == 0 {
			require.ErrorIs(t, <-sent, ErrNotKept)
		} else {
			require.Eventually(t, func() bool { b, _ := r.outages.countBreaks("c1"); return b == n+1 }, eventually, tick)
		}
		free()
	}
	<-asked
	require.Zero(t, r.attempts())
	answer <- llm.Response{Content: "done"}
	reply, err := c.Reply(t.Context(), "r1")
	require.NoError(t, err)
	require.Equal(t, "done", reply.Text)
	require.Eventually(t, func() bool { b, _ := r.outages.countBreaks("c1"); return b == 0 }, eventually, tick)
}

// What a request had spent counts once, also where the store was down for a
// moment in the middle of it.
func TestSpentOnceOverAnOutage(t *testing.T) {
	if owntest.Elsewhere(t) { // the limit is one of the whole process
		return
	}
	g, entered, open := gate(t, "note.gate")
	o := budgeted(t, "{user: {tokens: 21000}}")
	o.Skills = append(o.Skills, g)
	timers := newHeldTimers(17 * time.Minute)
	o.tune.wait, o.tune.after = timers.length, timers.after
	wait := tool(toolResults, map[string]any{"mode": "wait_all"})
	r := start(t, o,
		orch("go", takes(9000, 900, []call{dispatch("a", "do-a", "note.gate"), wait}), takes(10, 1, wait), takes(10, 1, "done")),
		orch("later", takes(10, 1, "still here")),
		agent("do-a", takes(10, 1, use("note.gate", "x")), takes(10, 1, "ok")))
	c := r.open("c1", "ann")
	sent := make(chan error, 1)
	go func() {
		_, err := c.SendRequest(context.Background(), Request{ID: "r1", Text: "go"})
		sent <- err
	}()
	<-entered
	free := fullDisk(t)
	timers.fireNext(t) // now the turn has something to write down, and can't
	open()
	require.ErrorIs(t, <-sent, ErrNotKept)
	free()
	require.Eventually(t, func() bool { return r.unfinished() == 0 }, eventually, tick)
	reply, err := c.Reply(t.Context(), "r1")
	require.NoError(t, err)
	require.Equal(t, "done", reply.Text)
	_, err = c.Send(t.Context(), "later")
	require.NoError(t, err, "some 10,000 of 21,000 tokens are spent")
}
