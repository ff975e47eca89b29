package orchestrator

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/internal/arrival"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
)

// deaf is a skill that ignores its context until it is set free.
func deaf(t *testing.T, name string, effect skills.Effect, timeout time.Duration, in chan<- struct{},
	free <-chan struct{}) *skills.GoSkill {
	type input struct{ X string }
	g, err := skills.Func(skills.Spec{Name: name, Description: "For tests.", Effect: effect, Output: skills.Trusted, Reaches: skills.Self,
		Timeout: timeout},
		func(context.Context, input) (string, error) {
			in <- struct{}{}
			<-free
			return "at last", nil
		})
	require.NoError(t, err)
	return g
}

// A skill that ignores its context holds up its own call and no longer than
// its time; nothing reads what it returns afterwards.
func TestDeafSkill(t *testing.T) {
	for name, row := range map[string]struct {
		effect skills.Effect
		status string
	}{"reads": {skills.Read, "failed"}, "changes": {skills.Create, "unknown"}} {
		t.Run(name, func(t *testing.T) {
			in, free := make(chan struct{}, 1), make(chan struct{})
			neighbour(t, with(deaf(t, "note.deaf", row.effect, 20*time.Millisecond, in, free)), [][]rule{
				orch("go", dispatch("a", "do-a", "note.deaf"), results("wait_all"), "done"),
				agent("do-a", use("note.deaf", "x"), "went on"),
			}, func(r *rig) {
				reply := r.send("go")
				<-in
				require.Equal(t, "went on", reply.Agents[0].Answer)
				close(free)
				list := r.list(ledger.Query{Skill: "note.deaf", Kind: "outcome"})
				require.Len(t, list, 1)
				require.Equal(t, []string{row.status, "timeout"}, []string{list[0].Outcome, list[0].Code})
			})
		})
	}
}

// A model that never stops answering, in drops or in floods, ends the turn or
// the agent that asked it, in bounded time and memory.
func TestEndlessAnswer(t *testing.T) {
	for name, row := range map[string]struct {
		size  int
		every time.Duration
		kind  llm.Kind
	}{"drops": {1, 5 * time.Millisecond, llm.KindTimeout}, "flood": {1 << 20, 0, llm.KindTooLarge}} {
		t.Run(name, func(t *testing.T) {
			var sent atomic.Int64
			way := &arrival.Timekeeper{Next: llm.NewHTTPClient().Transport}
			t.Cleanup(way.CloseIdleConnections)
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				if row.kind == llm.KindTimeout { // no other request can be late
					way.OnArrival(q.Header)
				}
				w.Header().Set("Content-Type", "application/json")
				_, err := w.Write([]byte(`{"choices":[{"message":{"role":"assistant","content":"`))
				chunk := make([]byte, row.size)
				for i := range chunk {
					chunk[i] = 'a'
				}
				for err == nil && q.Context().Err() == nil {
					_, err = w.Write(chunk)
					w.(http.Flusher).Flush()
					sent.Add(int64(len(chunk)))
					if row.every > 0 {
						<-time.After(row.every)
					}
				}
			}))
			defer srv.Close()
			o := with()
			o.tune.transport = func(string) http.RoundTripper { return way }
			o.models = `}
  endless: {model: endless, base_url: "` + srv.URL + `/v1", timeout: 300ms`
			o.wrap = func(r *rig, main agents.Model) chatFunc {
				endless, ok := r.Parts().NamedModel("endless")
				require.True(t, ok)
				return func(ctx context.Context, q llm.Request) (llm.Response, error) {
					if q.Messages[len(q.Messages)-1].Content == "turn" {
						return endless.Chat(ctx, q)
					}
					return main.Chat(ctx, q)
				}
			}
			neighbour(t, o, [][]rule{
				orch("agent", dispatch("a", "do-a").with("model", "endless"), results("wait_all"), "done"),
				orch("fine", "fine"),
			}, func(r *rig) {
				_, err := r.open("c1", "ann").Send(t.Context(), "turn")
				var me *ModelError
				require.ErrorAs(t, err, &me)
				require.Equal(t, string(row.kind), me.Kind)
				require.Equal(t, map[string]agents.State{"a": agents.Failed}, states(r.send("agent")))
				require.Equal(t, "fine", r.send("fine").Text)
				require.Less(t, sent.Load(), int64(200<<20))
			})
		})
	}
}

// Ten thousand requests to one conversation at once: as many as its queue
// holds are answered one after another, the rest is refused at once.
// Ten thousand messages that no process expects change nothing.
func TestTenThousandRequests(t *testing.T) {
	const n = 10_000
	r := start(t, with(), orch("unused", "unused"))
	asked, through := make(chan struct{}), make(chan struct{})
	var first sync.Once
	r.models.orchestrator = chatFunc(func(ctx context.Context, q llm.Request) (llm.Response, error) {
		first.Do(func() { close(asked) })
		select {
		case <-through:
		case <-ctx.Done():
		}
		return llm.Response{Content: "re " + q.Messages[len(q.Messages)-1].Content}, ctx.Err()
	})
	c := r.open("c1", "ann")
	var answered, refused, other atomic.Int64
	var wg sync.WaitGroup
	send := func() {
		_, err := c.Send(context.Background(), "go")
		switch {
		case err == nil:
			answered.Add(1)
		case errors.Is(err, ErrOverloaded):
			refused.Add(1)
		default:
			other.Add(1)
		}
	}
	wg.Go(send)
	<-asked // one is at work; nothing of the flood can be taken before the queue is full
	for range 100 {
		wg.Go(func() {
			for range n / 100 {
				send()
			}
		})
	}
	pid, ok := r.sys.Whereis(serverName("c1"))
	require.True(t, ok)
	for range n {
		pid.Send("no process expects this")
	}
	require.Eventually(t, func() bool { return refused.Load() > 0 }, eventually, tick)
	quiet := r.open("c2", "bob")
	close(through)
	reply, err := quiet.Send(t.Context(), "me too")
	require.NoError(t, err)
	require.Equal(t, "re me too", reply.Text)
	wg.Wait()
	require.Zero(t, other.Load())
	require.EqualValues(t, n+1, answered.Load()+refused.Load())
	require.GreaterOrEqual(t, answered.Load(), int64(1+maxQueued))
	again, ok := r.sys.Whereis(serverName("c1"))
	require.True(t, ok)
	require.Equal(t, pid, again, "it did not crash")
}

// Conversations that crash in the same moment, all of them and the router too,
// come back, each for its own user.
func TestCrashesAtOnce(t *testing.T) {
	const n = 20
	r := start(t, with(echo(t)), orch("go", dispatch("a", "do-a", "note.echo"), results("wait_all"), "done"),
		agent("do-a", use("note.echo", "x"), "ok"))
	names := []string{"router"}
	for i := range n {
		id := string(rune('a' + i))
		r.open(id, "u-"+id)
		names = append(names, serverName(id), agentsName(id))
	}
	var wg sync.WaitGroup
	for _, name := range names {
		var pid otp.PID
		require.Eventually(t, func() (up bool) { pid, up = r.sys.Whereis(name); return up }, eventually, tick, name)
		wg.Go(func() { otp.Kill(pid) })
	}
	wg.Wait()
	for i := range n {
		id := string(rune('a' + i))
		c, err := r.Open(t.Context(), ConversationOptions{ID: id, User: "u-" + id})
		require.NoError(t, err)
		reply, err := c.Send(t.Context(), "go")
		require.NoError(t, err)
		require.Equal(t, map[string]agents.State{"a": agents.Completed}, states(reply))
		_, err = r.Open(t.Context(), ConversationOptions{ID: id, User: "eve"})
		require.ErrorIs(t, err, ErrRequest)
	}
	require.Zero(t, r.sys.Leaked())
}
