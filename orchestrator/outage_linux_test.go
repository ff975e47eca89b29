package orchestrator

import (
	"context"
	"encoding/json"
	"os/signal"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/vedette-dev/vedette/agents"
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
	for name, id := range map[string]string{"of a request with an id": "r1", "of one without": ""} {
		t.Run(name, func(t *testing.T) {
			g, entered, open := gate(t, "note.gate")
			book := &logbook{}
			o := with(g, book.skill(t, "note.plain", skills.Create, false, skills.Trusted))
			r := start(t, o,
				orch("go", dispatch("a", "do-a", "note.plain", "note.gate"), results("wait_all"), "done"),
				orch("later", "still here"),
				agent("do-a", use("note.plain", "p"), use("note.gate", "g"), use("note.plain", "q"), "a is done"))
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
			<-entered // it has done something, and is at something
			free := fullDisk(t)
			open()
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
				require.Eventually(t, func() bool { // nobody asks
					row, ok, err := r.Orchestrator.kept.Get(context.Background(), "c1")
					return err == nil && ok && row.Turn == ""
				}, eventually, tick)
				reply, err := c.Reply(t.Context(), id)
				require.NoError(t, err)
				require.Equal(t, "done", reply.Text)
				require.Equal(t, []agents.State{agents.Completed}, []agents.State{reply.Agents[0].State})
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
			row, _, err := r.Orchestrator.kept.Get(t.Context(), "c1")
			require.NoError(t, err)
			require.Empty(t, row.Turn)
			r.verify()
		})
	}
}
