package orchestrator

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm/scripted"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/skills"
)

// A drain lets what was begun end, refuses what was not, the requests in line
// included, and says that nothing was cut off.
func TestDrain(t *testing.T) {
	g, entered, open := gate(t, "note.gate")
	r := start(t, with(g),
		orch("go", dispatch("a", "do-a", "note.gate"), results("wait_all"), "done"), orch("second", "unheard"),
		agent("do-a", use("note.gate", "g"), "a is done"))
	c := r.open("c1", "ann")
	sent, queued := make(chan error, 1), make(chan error, 1)
	go func() {
		reply, err := c.SendRequest(context.Background(), Request{ID: "r1", Text: "go"})
		if err == nil && reply.Text != "done" {
			err = fmt.Errorf("it says %q", reply.Text)
		}
		sent <- err
	}()
	<-entered
	go func() {
		_, err := c.Send(context.Background(), "second")
		queued <- err
	}()
	require.Eventually(t, func() bool {
		pid, _ := r.sys.Whereis(serverName("c1"))
		return queueLength(t, pid) == 2
	}, eventually, tick)
	drained := make(chan Drained, 1)
	go func() {
		d, err := r.Drain(context.Background())
		if err != nil {
			d.Turns = append(d.Turns, CutTurn{Phase: err.Error()})
		}
		drained <- d
	}()
	require.Eventually(t, func() bool { return r.Top().Draining }, eventually, tick)
	_, err := c.Send(t.Context(), "third")
	require.ErrorIs(t, err, ErrDraining)
	require.ErrorIs(t, err, ErrClosed)
	_, err = r.Open(t.Context(), ConversationOptions{ID: "c2", User: "ann"})
	require.ErrorIs(t, err, ErrDraining)
	require.Empty(t, drained, "it waits")
	open()
	require.NoError(t, <-sent)
	require.ErrorIs(t, <-queued, ErrDraining)
	d := <-drained
	require.True(t, d.Clean(), d.String())
	require.Contains(t, d.String(), "nothing was cut off")
	_, err = c.Send(t.Context(), "fourth")
	require.ErrorIs(t, err, ErrClosed)
	r.verify()
}

// What a drain's deadline cuts off is told: the turn with its phase, its agents
// that had not ended, and the call that ran; the next process finishes it.
func TestDrainCutsOff(t *testing.T) {
	g, entered, open := gate(t, "note.gate")
	book := &logbook{}
	o := with(g, book.skill(t, "note.plain", skills.Create, false, skills.Trusted))
	r := start(t, o,
		orch("go", []call{dispatch("a", "do-a", "note.plain", "note.gate"), dispatch("b", "do-b")}, results("wait_all"), "done"),
		agent("do-a", use("note.plain", "p"), use("note.gate", "g"), "a is done"), agent("do-b", "b is done"))
	c := r.open("c1", "ann")
	sent := make(chan error, 1)
	go func() {
		_, err := c.SendRequest(context.Background(), Request{ID: "r1", Text: "go"})
		sent <- err
	}()
	<-entered
	require.Eventually(t, func() bool { // the other agent has ended
		for _, l := range r.statuses.listStatuses(r.sys) {
			for _, a := range l.listAgents() {
				if a == (AgentInfo{"b", agents.Completed}) && l.phase == statusWaiting {
					return true
				}
			}
		}
		return false
	}, eventually, tick)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	d, err := r.Drain(ctx)
	require.NoError(t, err)
	require.ErrorIs(t, <-sent, ErrClosed)
	require.Len(t, d.Turns, 1)
	require.False(t, d.Turns[0].Since.IsZero())
	d.Turns[0].Since = time.Time{}
	require.Equal(t, CutTurn{
		Conversation: "c1", Request: "r1", Turn: deriveTurnID("c1", "r1"), Phase: statusWaiting, Agents: []AgentInfo{{"a", agents.Running}},
	}, d.Turns[0])
	require.Len(t, d.Calls, 1)
	require.Equal(t, []string{"note.gate", "a", "c1"}, []string{d.Calls[0].Skill, d.Calls[0].Agent, d.Calls[0].Conversation})
	require.Contains(t, d.String(), "request r1 of conversation c1: waiting for agents")
	require.Contains(t, d.String(), `agent "a": running`)

	r.boot(o)
	<-entered
	open()
	reply, err := r.open("c1", "ann").Reply(t.Context(), "r1")
	require.NoError(t, err)
	require.Equal(t, "done", reply.Text)
	require.Equal(t, 1, book.times("p"))
	r.verify()
}

// drainEnv tells a copy of this program that it is the process to be drained.
const drainEnv = "VEDETTE_DRAIN_DIR"

// runDrained is the process that TestSIGTERM ends.
func runDrained(t *testing.T, dir string) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	cfg, err := config.Load(filepath.Join(dir, "vedette.yaml"), config.Options{})
	require.NoError(t, err)
	o, err := New(context.Background(), cfg, Options{NoReview: true})
	require.NoError(t, err)
	c, err := o.Open(context.Background(), ConversationOptions{ID: "c1", User: "ann"})
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		reply, err := c.SendRequest(context.Background(), Request{ID: "r1", Text: "go"})
		fmt.Printf("\nanswer %q %v\n", reply.Text, err)
	}()
	select {
	case <-done:
		require.NoError(t, o.Close(context.Background()))
		return
	case <-ctx.Done():
	}
	limit, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	d, err := o.Drain(limit)
	<-done
	text, _ := json.Marshal(d)
	fmt.Printf("\ndrained %s %v\n", text, err)
}

// A process that is told to end in the midst of work ends by itself, in time,
// with a report of what it cut off; the next one over its database finishes
// that.
func TestSIGTERM(t *testing.T) {
	if dir := os.Getenv(drainEnv); dir != "" {
		runDrained(t, dir)
		return
	}
	src, err := json.Marshal(map[string]any{"rules": orch("go", rule{"hang": true})})
	require.NoError(t, err)
	hangs, err := scripted.Load(src)
	require.NoError(t, err)
	src, err = json.Marshal(map[string]any{"rules": orch("go", "done")})
	require.NoError(t, err)
	answers, err := scripted.Load(src)
	require.NoError(t, err)
	dir := t.TempDir()
	run := func(script *scripted.Script, end bool) string {
		srv, err := scripted.Serve(context.Background(), script, scripted.Options{})
		require.NoError(t, err)
		defer srv.Close()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "vedette.yaml"), fmt.Appendf(nil, `version: 1
models: {m: {model: m, base_url: "%s", timeout: 60s}}
roles: {orchestrator: m, agent: m, sentinel: m}
ledger: {path: ./v.db}
`, srv.BaseURL()), 0o600))
		cmd := exec.Command(os.Args[0], "-test.run=^TestSIGTERM$")
		cmd.Env = append(os.Environ(), drainEnv+"="+dir)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		cmd.Stderr = os.Stderr
		require.NoError(t, cmd.Start())
		if end {
			require.Eventually(t, func() bool { return len(srv.Requests()) > 0 }, eventually, tick)
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		}
		var text strings.Builder
		for sc := bufio.NewScanner(out); sc.Scan(); {
			fmt.Fprintln(&text, sc.Text())
		}
		require.NoError(t, cmd.Wait(), text.String())
		return text.String()
	}
	text := run(hangs, true)
	require.Contains(t, text, `answer "" `+ErrClosed.Error())
	require.Contains(t, text, `drained {"turns":[{"conversation":"c1","request":"r1","turn":"`+deriveTurnID("c1",
		"r1")+`","phase":"asking_model"`)
	require.Contains(t, run(answers, false), `answer "done" <nil>`)
}

// Close stops agents before the process of their conversation. That doesn't take
// it for their end: it would end the request without what they were at, and the
// next start had nothing to go on with.
func TestCloseEndsNoRequest(t *testing.T) {
	g, entered, open := gate(t, "note.gate")
	o := with(g)
	r := start(t, o,
		orch("go", dispatch("a", "do-a", "note.gate"), results("wait_all"), "done"), agent("do-a", use("note.gate", "x"), "a is done"))
	r.begins()
	<-entered
	r.has(recordRound, 2)
	r.ending.closed.Store(true) // as Close does first
	ctx, cancel := context.WithTimeout(t.Context(), eventually)
	defer cancel()
	sup, ok := r.sys.Whereis(agentsName("c1"))
	require.True(t, ok)
	list, err := otp.WhichChildren(ctx, sup)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.NoError(t, otp.TerminateChild(ctx, sup, list[0].PID))
	<-time.After(200 * time.Millisecond) // in which it would have been answered
	require.Equal(t, 1, r.unfinished(), "it was ended without what its agent was at")
	r.restart(o)
	<-entered
	open()
	reply, err := r.open("c1", "ann").Reply(t.Context(), "r1")
	require.NoError(t, err)
	require.Equal(t, "a is done", reply.Agents[0].Answer)
}
