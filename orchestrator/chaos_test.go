package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
)

// chaosTime is how long faults are made: 4 s, a minute with VEDETTE_LONG. Where
// enough has not come of them by then, they go on.
func chaosTime() time.Duration {
	if os.Getenv("VEDETTE_LONG") != "" {
		return time.Minute
	}
	return 4 * time.Second
}

// chaosSkills are a good skill and every way of being a bad one. What a deaf
// one does ends by itself some time after everybody stopped listening.
func chaosSkills(t *testing.T) []*skills.GoSkill {
	type in struct{ X string }
	timed := func(name string, fn func(ctx context.Context) (string, error)) *skills.GoSkill {
		g, err := skills.Func(skills.Spec{Name: name, Description: "For tests.", Effect: skills.Read, Output: skills.Trusted,
			Reaches: skills.Self, Timeout: 50 * time.Millisecond},
			func(ctx context.Context, _ in) (string, error) { return fn(ctx) })
		require.NoError(t, err)
		return g
	}
	return []*skills.GoSkill{
		echo(t),
		timed("note.asked", func(context.Context) (string, error) { return "approved", nil }),
		timed("note.panics", func(context.Context) (string, error) { panic("chaos") }),
		timed("note.exits", func(context.Context) (string, error) { runtime.Goexit(); return "", nil }),
		timed("note.fails", func(context.Context) (string, error) { return "", errors.New("chaos") }),
		timed("note.hangs", func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() }),
		timed("note.deaf", func(context.Context) (string, error) {
			<-time.After(500 * time.Millisecond)
			return "at last", nil
		}),
	}
}

// broken breaks one question in ten before it reaches the model.
func (x *chaos) broken(main agents.Model) chatFunc {
	return func(ctx context.Context, q llm.Request) (llm.Response, error) {
		if x.calm.Load() {
			return llm.Response{Content: "calm"}, nil
		}
		switch rand.IntN(40) {
		case 0:
			panic("chaos")
		case 1:
			runtime.Goexit()
		case 2:
			return llm.Response{}, errors.New("chaos")
		case 3: // until the caller has had enough, or the model's own time is over
			<-ctx.Done()
			return llm.Response{}, errors.New("chaos")
		}
		return main.Chat(ctx, q)
	}
}

// chaosCallers are how many conversations are talked to at a time.
const chaosCallers = 200

// chaos is 200 conversations, what kills their processes, and the count of
// what came of it.
type chaos struct {
	*rig
	began                   time.Time
	held                    atomic.Int64
	calm                    atomic.Bool
	answered, failed, kills atomic.Int64
	unexplained             chan error
}

// chaosBound is how long enough is waited for beyond chaosTime: on a machine that
// has other things to do it takes longer to get as far.
const chaosBound = 3 * time.Minute

// enough is what has to have happened before the faults end.
func (x *chaos) enough() bool {
	return x.answered.Load() > 50 && x.failed.Load() > 0 && x.kills.Load() > 20 && x.held.Load() > 0
}

// patience is how long a caller waits. Where a machine is so slow that the time
// for the faults is over without enough of them, callers wait longer.
func (x *chaos) patience() time.Duration {
	return time.Duration(x.slowness()*(200+rand.IntN(3300))) * time.Millisecond
}

// slowness is 1 while the time for the faults lasts, and grows where it is over
// without enough of them.
func (x *chaos) slowness() int { return 1 + int(time.Since(x.began)/chaosTime()) }

// killPause is the time between two kills. A slow machine answers too few requests
// between kills that come as fast as on a quick one.
func (x *chaos) killPause() time.Duration {
	slow := x.slowness()
	return time.Duration(20*slow*slow*slow) * time.Millisecond
}

// request sends one request, of a random kind and with random patience.
func (x *chaos) request(ctx context.Context, id int) {
	ctx, cancel := context.WithTimeout(ctx, x.patience())
	defer cancel()
	c, err := x.Open(ctx, ConversationOptions{ID: fmt.Sprint("c", id), User: fmt.Sprint("u", id%7)})
	if err == nil {
		var reply Reply
		reply, err = c.Send(ctx, []string{"go-one", "go-two", "go-bad", "go-ask", "go-talk"}[rand.IntN(5)])
		if err == nil && reply.Text == "" {
			err = errors.New("an answer without words")
		}
	}
	switch {
	case err == nil:
		x.answered.Add(1)
	case explained(err):
		x.failed.Add(1)
	default:
		select {
		case x.unexplained <- err:
		default:
		}
	}
}

// explained reports whether the error is one that Send promises.
func explained(err error) bool {
	var me *ModelError
	for _, known := range []error{ErrOverloaded, ErrInterrupted, ErrNotKept, ErrClosed, context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, known) {
			return true
		}
	}
	return errors.As(err, &me) && me.Kind != ""
}

// kill ends a random process: a conversation's server, one of its agents, the
// supervisor of its agents, or, seldom, the router of them all.
func (x *chaos) kill(ctx context.Context, round int) {
	id := fmt.Sprint("c", rand.IntN(200))
	name := serverName(id)
	switch n := rand.IntN(4); {
	case round%150 == 149:
		name = "router"
	case n == 0:
		name = agentsName(id)
	case n <= 2:
		if sup, ok := x.sys.Whereis(agentsName(id)); ok {
			list, _ := otp.WhichChildren(ctx, sup)
			if len(list) == 0 {
				return
			}
			otp.Kill(list[rand.IntN(len(list))].PID)
			x.kills.Add(1)
		}
		return
	}
	if pid, ok := x.sys.Whereis(name); ok {
		otp.Kill(pid)
		x.kills.Add(1)
	}
}

// Whatever is killed, panics, hangs and is never approved: every request ends
// with an answer or with a reason, no goroutine is left, and the ledger proves
// every call that was made.
func TestChaos(t *testing.T) {
	o := with(chaosSkills(t)...)
	o.config = `permissions: [{skill: note.asked, then: ask}]
limits: {conversation: {calls: 10000, window: 100ms}}
`
	o.tune.agent, o.tune.help = time.Second, 300*time.Millisecond
	o.quiet = true
	x := &chaos{began: time.Now(), unexplained: make(chan error, 1)}
	o.Approver = approver(func(ctx context.Context, _ sentinel.Call) (sentinel.Verdict, error) {
		x.held.Add(1)
		<-ctx.Done() // no person is there
		return sentinel.Verdict{}, ctx.Err()
	})
	bad := []call{use("note.panics", "x"), use("note.exits", "x"), use("note.fails", "x"), use("note.hangs", "x"), use("note.deaf", "x")}
	all := []string{"note.echo", "note.panics", "note.exits", "note.fails", "note.hangs", "note.deaf"}
	r := start(t, o,
		orch("go-one", dispatch("a", "do-good", "note.echo"), results("wait_all"), "one done"),
		orch("go-two", []call{dispatch("a", "do-good", "note.echo"), dispatch("b", "do-help"),
			dispatch("c", "do-good", "note.echo").with("depends_on", []string{"a"})},
			results("wait_any"), results("wait_all"), "two done"),
		orch("go-bad", dispatch("a", "do-bad", all...), results("wait_all"), "bad done"),
		orch("go-ask", dispatch("a", "do-ask", "note.asked"), results("wait_all"), "ask done"),
		orch("go-talk", "just words"),
		agent("do-good", use("note.echo", "x"), "good"),
		agent("do-help", tool(agents.ToolRequestHelp, map[string]any{"reason": "stuck"}), "helped"),
		agent("do-bad", append(bad, use("note.echo", "x")), "bad"),
		agent("do-ask", use("note.asked", "x"), "asked"))
	x.rig, x.began = r, time.Now()
	r.models.orchestrator, r.models.agents = x.broken(r.models.orchestrator), x.broken(r.models.agents)
	ctx, cancel := context.WithTimeout(context.Background(), chaosTime()+chaosBound)
	defer cancel()
	enough := time.AfterFunc(chaosTime(), func() {
		for !x.enough() && ctx.Err() == nil {
			<-time.After(tick)
		}
		cancel()
	})
	defer enough.Stop()
	var wg sync.WaitGroup
	for id := range chaosCallers {
		wg.Go(func() {
			for ctx.Err() == nil && id < chaosCallers/x.slowness() { // on a slow machine, fewer ask for longer
				x.request(context.WithoutCancel(ctx), id)
			}
		})
	}
	wg.Go(func() {
		for round := 0; ctx.Err() == nil; round++ {
			x.kill(ctx, round)
			select {
			case <-time.After(x.killPause()):
			case <-ctx.Done():
			}
		}
	})
	wg.Wait()
	select {
	case err := <-x.unexplained:
		require.NoError(t, err, "a request failed without a reason")
	default:
	}
	t.Logf("%d answered, %d failed with a reason, %d processes killed, %d calls held", x.answered.Load(), x.failed.Load(), x.kills.Load(),
		x.held.Load())
	require.True(t, x.enough(), "too little came of it, however long it was given")

	// What was not killed still works, and so does what was.
	x.calm.Store(true)
	for id := range 10 {
		c, err := r.Open(t.Context(), ConversationOptions{ID: fmt.Sprint("c", id), User: fmt.Sprint("u", id%7)})
		require.NoError(t, err)
		_, err = c.Send(t.Context(), "go-talk")
		require.NoError(t, err)
	}
	x.accounted()
}

// accounted closes everything and checks that nothing is left of it but the
// record: each call that ran had been allowed before, and each that was allowed is
// said to have ended.
func (x *chaos) accounted() {
	ctx, cancel := context.WithTimeout(context.Background(), chaosBound)
	defer cancel()
	require.Eventually(x.t, func() bool { return len(x.Parts().Checkpoint.InFlight()) == 0 }, chaosBound, 10*tick)
	allowed, outcomes := map[string]int64{}, 0
	for _, d := range x.all(ctx, ledger.Query{Kind: sentinel.RecordDecision, Outcome: "allow"}) {
		allowed[d.Decision] = d.Index
	}
	require.NotEmpty(x.t, allowed)
	for _, out := range x.all(ctx, ledger.Query{Kind: sentinel.RecordOutcome}) {
		index, ok := allowed[out.Decision]
		require.True(x.t, ok && index < out.Index, "a call ran without a decision before it")
		outcomes++
	}
	require.Equal(x.t, len(allowed), outcomes)
	require.Empty(x.t, x.all(ctx, ledger.Query{Kind: sentinel.RecordDecision, Outcome: "allow", Without: sentinel.RecordOutcome}),
		"what became of a call is not on record")
	require.NoError(x.t, x.Close(ctx))
	require.Zero(x.t, x.sys.Leaked())
	require.Zero(x.t, x.sys.Tasks())
	x.verify()
}

// all returns every record that matches, page by page.
func (x *chaos) all(ctx context.Context, q ledger.Query) (out []ledger.Record) {
	for q.Limit = 1000; ; {
		list, err := x.Parts().Ledger.List(ctx, q)
		require.NoError(x.t, err)
		out = append(out, list...)
		if len(list) < q.Limit {
			return out
		}
		q.AfterIndex = &list[len(list)-1].Index
	}
}
