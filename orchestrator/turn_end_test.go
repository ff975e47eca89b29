package orchestrator

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/loop"
	"github.com/vedette-dev/vedette/orchestrator/history"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/skills"
)

// unfinished is how many requests the journal has under way.
func (r *rig) unfinished() int {
	list, err := r.journal.Unfinished(context.Background())
	require.NoError(r.t, err)
	return len(list)
}

// refuses makes the database refuse values of these kinds, though it is up,
// until the function is called that it returns.
func (r *rig) refuses(kinds ...string) (accept func()) {
	exec := func(query string) {
		require.NoError(r.t, r.Parts().Store.Submit(context.Background(), func(tx *store.Tx) error {
			_, err := tx.Exec(query)
			return err
		}))
	}
	exec(fmt.Sprintf(`CREATE TRIGGER refuses BEFORE INSERT ON journal_values WHEN NEW.kind IN ('%s')
BEGIN SELECT RAISE(ABORT, 'not taken'); END`, strings.Join(kinds, "','")))
	return func() { exec("DROP TRIGGER refuses") }
}

// Texts of models that are longer than anybody reads are cut, and say so. The
// request ends for good with them: sent again it is not worked on again, and
// nothing in it runs twice.
func TestAnswerTooLong(t *testing.T) {
	book := &logbook{}
	o := with(book.skill(t, "note.plain", skills.Create, false, skills.Trusted))
	long := strings.Repeat("\u2028", (8<<20)/3-100) // as long as a server may send, and twice that in the journal
	asked := 0
	o.wrap = func(_ *rig, main agents.Model) chatFunc {
		return func(ctx context.Context, q llm.Request) (llm.Response, error) {
			resp, err := main.Chat(ctx, q)
			if resp.Content == "done" {
				asked++
				resp.Content = long
			}
			return resp, err
		}
	}
	r := start(t, o,
		orch("go", dispatch("a", "do-a", "note.plain"), results("wait_all"), "done"),
		agent("do-a", use("note.plain", "p"), strings.Repeat("a", 900<<10)))
	c := r.open("c1", "ann")
	for range 3 {
		reply, err := c.SendRequest(t.Context(), Request{ID: "r1", Text: "go"})
		require.NoError(t, err)
		require.Len(t, reply.Agents, 1)
		for _, text := range []string{reply.Text, reply.Agents[0].Answer} {
			require.InDelta(t, loop.MaxAnswer, len(text), 100)
			require.True(t, strings.HasSuffix(text, "\n[cut here: the text was too long]"), "a reader knows")
		}
		require.Equal(t, agents.Completed, reply.Agents[0].State)
		require.Contains(t, reply.Agents[0].Reason, "cut off")
	}
	require.Equal(t, 1, asked)
	require.Equal(t, 1, book.times("p"), "a skill that is not idempotent ran again for the same request")
	require.Zero(t, r.unfinished())
}

// The end of a turn with many long answers is cut to what the journal takes: all
// of them evenly, and no more than needed.
func TestEndThatFits(t *testing.T) {
	end := endRecord{V: recordVersion, Reply: Reply{Text: strings.Repeat("t", 1000)}}
	for range 60 {
		end.Reply.Agents = append(end.Reply.Agents, agents.Result{Answer: strings.Repeat("\u2028", loop.MaxAnswer/3)})
	}
	whole := end.Reply.Agents[0].Answer
	record := fitEndRecord(&end)
	require.LessOrEqual(t, len(record.Data), maxRecord)
	require.Greater(t, len(record.Data), maxRecord/4)
	require.Equal(t, strings.Repeat("t", 1000), end.Reply.Text)
	for _, a := range end.Reply.Agents {
		require.True(t, strings.HasSuffix(a.Answer, "…\n[cut here: the text was too long]"))
		require.True(t, strings.HasPrefix(whole, strings.Split(a.Answer, "…")[0]))
	}
	short := endRecord{Reply: Reply{Text: "x", Agents: []agents.Result{{Answer: "y"}}}}
	require.Equal(t, history.NewItem(recordEnd, short), fitEndRecord(&short))
}

// An answer that the database does not take, though it is up, is not given, and
// its request has ended all the same: sent again, and after a restart, it is not
// worked on again.
func TestAnswerThatIsNotTaken(t *testing.T) {
	book := &logbook{}
	o := with(book.skill(t, "note.plain", skills.Create, false, skills.Trusted))
	r := start(t, o,
		orch("go", dispatch("a", "do-a", "note.plain"), results("wait_all"), "done"), orch("later", "still here"),
		agent("do-a", use("note.plain", "p"), "ok"))
	accept := r.refuses(keptAnswer)
	c := r.open("c1", "ann")
	for range 2 {
		_, err := c.SendRequest(t.Context(), Request{ID: "r1", Text: "go"})
		require.ErrorIs(t, err, ErrNotKept)
	}
	require.Zero(t, r.unfinished())
	accept()
	r.restart(o)
	c = r.open("c1", "ann")
	_, err := c.Reply(t.Context(), "r1")
	require.ErrorIs(t, err, ErrNotKept, "what it was told before")
	require.Equal(t, 1, book.times("p"))
	require.Len(t, r.asked(toolDispatch), 3, "it was worked on again")
	require.Equal(t, "still here", r.send("later").Text)
}

// A request whose end can't be written at all, though the database is up, stays
// under way: sent again it is gone on with and not begun again, so that nothing
// in it runs twice, and it ends as soon as its end is taken.
func TestEndThatIsNotTaken(t *testing.T) {
	book := &logbook{}
	o := with(book.skill(t, "note.plain", skills.Create, false, skills.Trusted))
	o.tune.pause = time.Millisecond
	r := start(t, o,
		orch("go", dispatch("a", "do-a", "note.plain"), results("wait_all"), "done"),
		agent("do-a", use("note.plain", "p"), "ok"))
	accept := r.refuses(keptAnswer, recordEnd)
	c := r.open("c1", "ann")
	for range 3 {
		_, err := c.SendRequest(t.Context(), Request{ID: "r1", Text: "go"})
		require.ErrorIs(t, err, ErrNotKept)
		require.Equal(t, 1, r.unfinished())
	}
	accept()
	var reply Reply
	require.Eventually(t, func() bool {
		var err error
		reply, err = c.Reply(context.Background(), "r1")
		return err == nil
	}, eventually, tick)
	require.Equal(t, "done", reply.Text)
	require.Equal(t, 1, book.times("p"), "it was begun again")
	require.Zero(t, r.unfinished())
}

// What the journal has under way is never begun again, whatever a process
// believes: the one that tried ends, and the next goes on with it.
func TestRequestUnderWayBeginsOnce(t *testing.T) {
	book := &logbook{}
	o := with(book.skill(t, "note.plain", skills.Create, false, skills.Trusted))
	r := start(t, o,
		orch("go", dispatch("a", "do-a", "note.plain"), results("wait_all"), "done"),
		agent("do-a", use("note.plain", "p"), "ok"))
	c := r.open("c1", "ann") // its process has read that nothing is under way
	pid, ok := r.sys.Whereis(serverName("c1"))
	require.True(t, ok)
	open := openRecord{V: recordVersion, Request: "r1", Grant: sentinel.NewID(), Scope: []string{"note.plain"}, Started: time.Now()}
	require.NoError(t, r.journal.Begin(t.Context(), history.Turn{Conversation: "c1", User: "ann", Turn: deriveTurnID("c1", "r1")},
		history.Item{Kind: keptRequest, Data: []byte("go")}, history.NewItem(recordOpen, open)))
	_, err := c.SendRequest(t.Context(), Request{ID: "r1", Text: "go"})
	require.ErrorIs(t, err, ErrNotKept)
	require.Eventually(t, func() bool { return r.unfinished() == 0 }, eventually, tick)
	reply, err := c.Reply(t.Context(), "r1")
	require.NoError(t, err)
	require.Equal(t, "done", reply.Text)
	now, _ := r.sys.Whereis(serverName("c1"))
	require.NotEqual(t, pid, now)
	require.Equal(t, 1, book.times("p"))
	require.Equal(t, agentGrantID(open.Grant, "a"), r.grants()["a"].ID(), "under the grant that was written down")
}
