package orchestrator

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/orchestrator/history"
	"github.com/vedette-dev/vedette/sentinel"
)

// configure adds to the configuration that the next boot reads.
func (r *rig) configure(more string) {
	file := filepath.Join(r.dir, "vedette.yaml")
	b, err := os.ReadFile(file)
	require.NoError(r.t, err)
	require.NoError(r.t, os.WriteFile(file, append(b, more...), 0o600))
}

// Requests that were under way when the process ended are gone on with, asked or
// not, also where there is no room for all their conversations at the start.
func TestRecoveryWithoutRoom(t *testing.T) {
	o := with()
	o.tune.idle = 50 * time.Millisecond
	r := start(t, o, orch("go", "done"))
	asked, _ := held(r)
	for _, id := range []string{"c1", "c2", "c3"} {
		c := r.open(id, "ann")
		go func() { _, _ = c.SendRequest(context.Background(), Request{ID: "r1", Text: "go"}) }()
		<-asked
	}
	require.NoError(t, r.Close(context.Background()))
	r.configure("limits: {process: {conversations: 1}}\n") // fewer than there were
	r.boot(o)
	require.Eventually(t, func() bool { return r.unfinished() == 0 }, eventually, tick)
}

// leaves sends a request and leaves once its model is asked. The model answers
// when through is closed.
func (r *rig) leaves() (through chan struct{}) {
	asked, through := make(chan struct{}, 100), make(chan struct{})
	r.models.orchestrator = chatFunc(func(ctx context.Context, _ llm.Request) (llm.Response, error) {
		asked <- struct{}{}
		select {
		case <-ctx.Done():
			return llm.Response{}, ctx.Err()
		case <-through:
			return llm.Response{Content: "done"}, nil
		}
	})
	c := r.open("c1", "ann")
	ctx, leave := context.WithCancel(r.t.Context())
	gone := make(chan struct{})
	go func() {
		_, _ = c.SendRequest(ctx, Request{ID: "r1", Text: "go"})
		close(gone)
	}()
	<-asked
	leave()
	<-gone
	return through
}

// A request that no caller waits for any more is gone on with whatever became of
// the processes that worked on it.
func TestRecoveryFindsWhatIsLeft(t *testing.T) {
	kill := func(r *rig, name string) {
		pid, ok := r.sys.Whereis(name)
		require.True(r.t, ok)
		otp.Kill(pid)
	}
	for name, breaks := range map[string]func(r *rig){
		"the server is killed":                    func(r *rig) { kill(r, serverName("c1")) },
		"the conversation's supervisor is killed": func(r *rig) { kill(r, supervisorName("c1")) },
		"the supervisor of all is killed":         func(r *rig) { kill(r, "conversations") },
		"all of them and the router are killed": func(r *rig) {
			kill(r, "router")
			kill(r, "conversations")
		},
		"its supervisor gives up": func(r *rig) {
			for i := range 4 {
				pid, ok := r.sys.Whereis(agentsName("c1"))
				if !ok {
					return
				}
				otp.Kill(pid)
				require.Eventually(r.t, func() bool {
					now, ok := r.sys.Whereis(agentsName("c1"))
					return i == 3 || ok && now != pid
				}, eventually, tick)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, with(), orch("unused", "unused"))
			through := r.leaves()
			require.Equal(t, 1, r.unfinished())
			breaks(r)
			close(through)
			require.Eventually(t, func() bool { return r.unfinished() == 0 }, eventually, tick)
			reply, err := r.open("c1", "ann").Reply(t.Context(), "r1")
			require.NoError(t, err)
			require.Equal(t, "done", reply.Text)
		})
	}
}

// What the recovery is not told of it finds in the journal, sooner or later.
func TestRecoveryLooksAround(t *testing.T) {
	o := with()
	o.tune.look = 20 * time.Millisecond
	r := start(t, o, orch("go", "done"))
	require.NoError(t, r.journal.Begin(t.Context(), history.Turn{Conversation: "c1", User: "ann", Turn: deriveTurnID("c1", "r1")},
		history.Item{Kind: keptRequest, Data: []byte("go")},
		history.NewItem(recordOpen, openRecord{V: recordVersion, Request: "r1", Grant: sentinel.NewID(), Started: time.Now()})))
	require.Eventually(t, func() bool { return r.unfinished() == 0 }, eventually, tick)
	reply, err := r.open("c1", "ann").Reply(t.Context(), "r1")
	require.NoError(t, err)
	require.Equal(t, "done", reply.Text)
}

// A conversation that has nothing to do is not woken when it has gone to rest.
func TestRecoveryLetsRest(t *testing.T) {
	o := with()
	o.tune.look = 20 * time.Millisecond
	recalled := 0
	o.tune.at = func(place string) {
		if place == "recalled" {
			recalled++
		}
	}
	r := start(t, o, orch("go", "done"))
	require.Equal(t, "done", r.send("go").Text)
	require.Eventually(t, func() bool {
		if server, up := r.sys.Whereis(serverName("c1")); up {
			server.Send(idleTimeOver{}) // a clock might have closed it before the request came
		}
		_, up := r.sys.Whereis(supervisorName("c1"))
		return !up
	}, eventually, tick)
	<-time.After(10 * o.tune.look)
	require.NoError(t, r.Close(context.Background()))
	require.Equal(t, 1, recalled)
}

// Who asks for an answer and leaves again leaves nothing behind: a turn that
// no caller waits for ends when its time is over, however often it was asked for.
func TestLeftByReaders(t *testing.T) {
	o := with()
	timers := newHeldTimers(17 * time.Minute)
	o.tune.turn, o.tune.after = timers.length, timers.after
	r := start(t, o, orch("unused", "unused"))
	r.leaves()
	c := r.open("c1", "ann")
	for range 5 {
		brief, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		_, err := c.Reply(brief, "r1")
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	require.Equal(t, 1, timers.fire(), "the turn's time is over")
	require.Eventually(t, func() bool { return r.unfinished() == 0 }, eventually, tick)
	require.Equal(t, 1, timers.begun(), "it was over once, and no reader was there")
	_, err := c.Reply(t.Context(), "r1")
	require.ErrorIs(t, err, ErrInterrupted)
}
