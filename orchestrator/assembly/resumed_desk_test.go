package assembly_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
)

// past is a house whose skills can be told to break off, so that a desk finds
// calls of every kind when it is resumed.
type past struct {
	*assembly.Parts
	t    *testing.T
	mu   sync.Mutex
	ran  []string // the Idempotency-Key of each run
	next func(ctx context.Context) (skills.Result, error)
}

const pastRules = `permissions:
  - {skill: "note.ask", then: ask}
  - {skill: "note.deny", then: deny}
  - {id: clamp, skill: "note.plain", when: "args.text == 'long'", then: modify, modify: [{set: text, to: short}]}
`

func pastHouse(t *testing.T, o assembly.Options) *past {
	p := &past{t: t}
	for name, spec := range map[string]skills.Spec{
		"note.plain": {Effect: skills.Create, Output: skills.Trusted},
		"note.again": {Effect: skills.Create, Output: skills.Trusted, Idempotent: true},
		"note.read":  {Effect: skills.Read, Output: skills.Untrusted},
		"note.ask":   {Effect: skills.Create, Output: skills.Trusted},
		"note.deny":  {Effect: skills.Create, Output: skills.Trusted},
	} {
		spec.Name, spec.Run, spec.Reaches = name, skills.Run{Kind: "native"}, skills.Self
		spec.Parameters = json.RawMessage(`{"type":"object","properties":{"text":{"type":"string","x-content":true}}}`)
		o.Natives = append(o.Natives, assembly.Native{Spec: spec, Run: func(ctx context.Context, order skills.Order) (skills.Result, error) {
			p.mu.Lock()
			p.ran = append(p.ran, order.IdempotencyKey())
			next := p.next
			p.mu.Unlock()
			if next != nil {
				return next(ctx)
			}
			return skills.Result{Content: "did " + order.Args}, nil
		}})
	}
	cfg, err := config.Load(write(t, pastRules+"limits: {agent: {calls: 20}}\njudge: {threshold: 0, ask_below: 0}\n"),
		config.Options{KnownSkills: pastSkills})
	require.NoError(t, err)
	p.Parts, err = assembly.Build(t.Context(), cfg, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

var pastSkills = []string{"note.plain", "note.again", "note.read", "note.ask", "note.deny"}

func (p *past) grant(id string) sentinel.Grant {
	sc, err := skills.NewScope(pastSkills...)
	require.NoError(p.t, err)
	req := "note it"
	g, err := sentinel.NewGrant(sentinel.GrantOptions{ID: id, User: "ann", Conversation: "c1", Turn: "t1", Agent: "a", Mission: "m",
		Request: &req, Scope: sc})
	require.NoError(p.t, err)
	return g
}

func (p *past) invoke(ctx context.Context, d *sentinel.Desk, skill, text string) (skills.Result, error) {
	return d.Invoke(ctx, skill, json.RawMessage(fmt.Sprintf(`{"text":%q}`, text)))
}

// resumed is a new desk at the place of one that had made its first proposal
// and not been answered.
func (p *past) resumed(g sentinel.Grant) *sentinel.Desk {
	d := p.Checkpoint.Numbered(g)
	_, err := d.Resume(p.t.Context(), 0, 1)
	require.NoError(p.t, err)
	return d
}

func (p *past) recorded() int {
	s, err := p.Ledger.Stats(p.t.Context(), ledger.Query{})
	require.NoError(p.t, err)
	return int(s.Records)
}

func (p *past) runs() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.ran...)
}

// interrupt runs a call whose caller leaves while the skill runs.
func (p *past) interrupt(g sentinel.Grant, skill string) {
	ctx, cancel := context.WithCancel(p.t.Context())
	p.mu.Lock()
	p.next = func(ctx context.Context) (skills.Result, error) {
		cancel()
		<-ctx.Done()
		return skills.Result{}, ctx.Err()
	}
	p.mu.Unlock()
	_, err := p.invoke(ctx, p.Checkpoint.Numbered(g), skill, "x")
	require.Error(p.t, err)
	p.mu.Lock()
	p.next = nil
	p.mu.Unlock()
}

// What a resumed desk answers to a call that was proposed before, by what is
// on record of it.
func TestProposedAgain(t *testing.T) {
	t.Run("never decided: it is decided now, under the id it had", func(t *testing.T) {
		p := pastHouse(t, assembly.Options{})
		res, err := p.invoke(t.Context(), p.resumed(p.grant("g")), "note.plain", "x")
		require.NoError(t, err)
		require.Equal(t, `did {"text":"x"}`, res.Content)
		require.Equal(t, []string{sentinel.CallID("g", 0)}, p.runs())
	})
	t.Run("refused: the same refusal, nobody is asked, nothing is recorded", func(t *testing.T) {
		asked := 0
		p := pastHouse(t, assembly.Options{Approver: approves(func() sentinel.Verdict {
			asked++
			return sentinel.Refuse("approval.denied", "no")
		})})
		for i, skill := range []string{"note.deny", "note.ask", "no.such", ""} {
			g := p.grant(fmt.Sprint("g", i))
			_, first := p.invoke(t.Context(), p.Checkpoint.Numbered(g), skill, "x")
			before := p.recorded()
			_, second := p.invoke(t.Context(), p.resumed(g), skill, "x")
			require.Equal(t, before, p.recorded())
			var no *skills.Refusal
			require.ErrorAs(t, second, &no)
			require.Equal(t, first, second)
		}
		require.Equal(t, 1, asked)
		require.Empty(t, p.runs())
	})
	t.Run("ended: the recorded end, the skill does not run", func(t *testing.T) {
		p := pastHouse(t, assembly.Options{})
		for i, tc := range []struct{ skill, text string }{{"note.plain", "x"}, {"note.read", "x"}, {"note.plain", "long"}, {"note.again", "x"}} {
			g := p.grant(fmt.Sprint("g", i))
			d := p.Checkpoint.Numbered(g)
			first, err := p.invoke(t.Context(), d, tc.skill, tc.text)
			require.NoError(t, err)
			before, runs := p.recorded(), p.runs()
			again := p.resumed(g)
			second, err := p.invoke(t.Context(), again, tc.skill, tc.text)
			require.NoError(t, err)
			require.Equal(t, first, second)
			require.Equal(t, before, p.recorded())
			require.Equal(t, runs, p.runs())
			require.Equal(t, d.Trace().Digest(), again.Trace().Digest())
			require.Equal(t, stepsOf(d.Trace()), stepsOf(again.Trace()))
			require.Equal(t, d.Trace().Refusals(), again.Trace().Refusals())
			require.Equal(t, d.Grant(), again.Grant())
		}
		p.mu.Lock()
		p.next = func(context.Context) (skills.Result, error) {
			return skills.Result{}, &skills.Failure{Code: skills.FailFailed, Err: context.DeadlineExceeded}
		}
		p.mu.Unlock()
		g := p.grant("failing")
		_, first := p.invoke(t.Context(), p.Checkpoint.Numbered(g), "note.read", "x")
		runs := p.runs()
		again := p.resumed(g)
		_, second := p.invoke(t.Context(), again, "note.read", "x")
		require.EqualError(t, second, first.Error())
		require.Equal(t, runs, p.runs())
		require.True(t, again.Tainted(), "the skill's own words were read")
	})
	t.Run("interrupted: unknown, and never again", func(t *testing.T) {
		p := pastHouse(t, assembly.Options{})
		p.interrupt(p.grant("g"), "note.plain")
		before := p.recorded()
		_, err := p.invoke(t.Context(), p.resumed(p.grant("g")), "note.plain", "x")
		var f *skills.Failure
		require.ErrorAs(t, err, &f)
		require.True(t, f.Unknown)
		require.Equal(t, sentinel.FailInterrupted, f.Code)
		require.Len(t, p.runs(), 1)
		require.Equal(t, before, p.recorded())
	})
	t.Run("interrupted and idempotent: through all gates again, with the same key", func(t *testing.T) {
		p := pastHouse(t, assembly.Options{})
		p.interrupt(p.grant("g"), "note.again")
		res, err := p.invoke(t.Context(), p.resumed(p.grant("g")), "note.again", "x")
		require.NoError(t, err)
		require.Equal(t, `did {"text":"x"}`, res.Content)
		id := sentinel.CallID("g", 0)
		require.Equal(t, []string{id, id}, p.runs())
		list := records(t, p.Config, ledger.Query{Call: id})
		require.Len(t, list, 4)
		require.NotEqual(t, list[0].Decision, list[2].Decision)
		res, err = p.invoke(t.Context(), p.resumed(p.grant("g")), "note.again", "x")
		require.NoError(t, err, "and now it has ended")
		require.Equal(t, `did {"text":"x"}`, res.Content)
		require.Len(t, p.runs(), 2)
	})
	t.Run("an interrupted read has done nothing and runs again", func(t *testing.T) {
		p := pastHouse(t, assembly.Options{})
		p.interrupt(p.grant("g"), "note.read")
		_, err := p.invoke(t.Context(), p.resumed(p.grant("g")), "note.read", "x")
		require.NoError(t, err)
		require.Len(t, p.runs(), 2)
	})
	t.Run("the caller left before it could start: it is decided now", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		first := true
		p := pastHouse(t, assembly.Options{Approver: approves(func() sentinel.Verdict {
			if first {
				first = false
				cancel()
			}
			return sentinel.Pass()
		})})
		_, err := p.invoke(ctx, p.Checkpoint.Numbered(p.grant("g")), "note.ask", "x")
		require.ErrorIs(t, err, sentinel.ErrHeld)
		_, err = p.invoke(t.Context(), p.resumed(p.grant("g")), "note.ask", "x")
		require.NoError(t, err)
		require.Len(t, p.runs(), 1)
		list := records(t, p.Config, ledger.Query{Call: sentinel.CallID("g", 0)})
		require.Equal(t, []string{"held", "held", "decision", "outcome"}, kindsOf(list))
		require.Equal(t, list[0].Decision, list[2].Decision)
	})
	t.Run("another call than the one that was allowed is not answered with its result", func(t *testing.T) {
		p := pastHouse(t, assembly.Options{})
		_, err := p.invoke(t.Context(), p.Checkpoint.Numbered(p.grant("g")), "note.plain", "x")
		require.NoError(t, err)
		for _, other := range [][2]string{{"note.plain", "y"}, {"note.read", "x"}} {
			_, err = p.invoke(t.Context(), p.resumed(p.grant("g")), other[0], other[1])
			var f *skills.Failure
			require.ErrorAs(t, err, &f)
			require.True(t, f.Unknown)
		}
		require.Len(t, p.runs(), 1)
	})
	t.Run("what was erased is said to be gone", func(t *testing.T) {
		p := pastHouse(t, assembly.Options{})
		for i, skill := range []string{"note.plain", "note.deny"} {
			_, _ = p.invoke(t.Context(), p.Checkpoint.Numbered(p.grant(fmt.Sprint("g", i))), skill, "x")
		}
		_, err := p.Journal.EraseUser(t.Context(), "ann")
		require.NoError(t, err)
		res, err := p.invoke(t.Context(), p.resumed(p.grant("g0")), "note.plain", "x")
		require.NoError(t, err)
		require.Contains(t, res.Content, "erased")
		_, err = p.invoke(t.Context(), p.resumed(p.grant("g1")), "note.deny", "x")
		var no *skills.Refusal
		require.ErrorAs(t, err, &no)
		require.Contains(t, no.Reason, "erased")
		require.Equal(t, skills.KindDeny, no.Kind)
	})
}

func kindsOf(list []ledger.Record) (out []string) {
	for _, r := range list {
		out = append(out, r.Kind)
	}
	return out
}

// approves answers every approval with what fn says.
type approves func() sentinel.Verdict

func (f approves) Approve(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, error) {
	return f(), nil
}

// A call id is allowed once: a second allowing decision can't be committed, so
// nothing runs, however its desk came by the id.
func TestAllowedOnce(t *testing.T) {
	p := pastHouse(t, assembly.Options{})
	_, err := p.invoke(t.Context(), p.Checkpoint.Numbered(p.grant("g")), "note.again", "x")
	require.NoError(t, err)
	_, err = p.invoke(t.Context(), p.Checkpoint.Numbered(p.grant("g")), "note.again", "x")
	require.ErrorIs(t, err, sentinel.ErrNotRecorded)
	require.Len(t, p.runs(), 1)
}

// A resumed desk waits for what its forerunner left behind: the call is still
// under way, ends after its caller is gone, and is not run beside itself.
func TestResumeWaits(t *testing.T) {
	p := pastHouse(t, assembly.Options{})
	running, end := make(chan struct{}), make(chan struct{})
	p.next = func(context.Context) (skills.Result, error) {
		close(running)
		<-end
		return skills.Result{Content: "late"}, nil
	}
	g := p.grant("g")
	done := make(chan error, 1)
	go func() {
		_, err := p.invoke(context.Background(), p.Checkpoint.Numbered(g), "note.plain", "x")
		done <- err
	}()
	<-running
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := p.Checkpoint.Numbered(g).Resume(ctx, 0, 1)
	require.ErrorIs(t, err, sentinel.ErrNotRecorded, "it can't be told yet")
	type end2 struct {
		res skills.Result
		err error
	}
	answered := make(chan end2, 1)
	go func() {
		d := p.Checkpoint.Numbered(g)
		if _, err := d.Resume(context.Background(), 0, 1); err != nil {
			answered <- end2{err: err}
			return
		}
		res, err := p.invoke(context.Background(), d, "note.plain", "x")
		answered <- end2{res, err}
	}()
	close(end)
	require.NoError(t, <-done)
	a := <-answered
	require.NoError(t, a.err)
	require.Equal(t, "late", a.res.Content)
	require.Len(t, p.runs(), 1)
}

// A resumed desk has the trace, the taint and the budget that were used, of
// calls that were answered as well as of those that will be proposed again.
func TestResumedDesk(t *testing.T) {
	p := pastHouse(t, assembly.Options{})
	g := p.grant("g")
	d := p.Checkpoint.Numbered(g)
	for i := range 20 {
		skill := "note.plain"
		if i == 18 {
			skill = "note.read"
		}
		_, err := p.invoke(t.Context(), d, skill, fmt.Sprint(i))
		require.NoError(t, err)
	}
	p.EndTurn(t.Context(), g) // the counts are gone, as with a process
	for done := range 20 {
		again := p.Checkpoint.Numbered(g)
		found, err := again.Resume(t.Context(), done, 20-done)
		require.NoError(t, err)
		require.Len(t, found, 20)
		require.Equal(t, stepsOf(d.Trace()), stepsOf(again.Trace()))
		require.True(t, again.Tainted())
	}
	again := p.Checkpoint.Numbered(g)
	_, err := again.Resume(t.Context(), 20, 0)
	require.NoError(t, err)
	_, err = p.invoke(t.Context(), again, "note.plain", "x")
	var no *skills.Refusal
	require.ErrorAs(t, err, &no)
	require.Equal(t, skills.KindBudget, no.Kind)
	_, err = p.Checkpoint.Desk(g).Resume(t.Context(), 0, 1)
	require.ErrorIs(t, err, sentinel.ErrNotRecorded, "a desk without numbers can't be resumed")
}

// While the records can't be read nothing is answered and nothing runs.
func TestPastUnreadable(t *testing.T) {
	p := pastHouse(t, assembly.Options{})
	d := p.resumed(p.grant("g"))
	require.NoError(t, p.Store.Close())
	_, err := p.invoke(t.Context(), d, "note.plain", "x")
	require.ErrorIs(t, err, sentinel.ErrNotRecorded)
	_, err = p.Checkpoint.Numbered(p.grant("g2")).Resume(t.Context(), 1, 0)
	require.ErrorIs(t, err, sentinel.ErrNotRecorded)
	require.Empty(t, p.runs())
}

// What was refused before a restart still speaks against the next wording.
func TestResumedRefusals(t *testing.T) {
	p := pastHouse(t, assembly.Options{})
	g := p.grant("g")
	_, err := p.invoke(t.Context(), p.Checkpoint.Numbered(g), "note.deny", "x")
	var no *skills.Refusal
	require.ErrorAs(t, err, &no)
	again := p.Checkpoint.Numbered(g)
	_, err = again.Resume(t.Context(), 1, 0)
	require.NoError(t, err)
	require.True(t, again.Trace().RefusedBefore("note.deny"))
	require.Equal(t, []sentinel.PastRefusal{{Skill: "note.deny", Gate: no.Gate, Code: no.Code}}, again.Trace().Refusals())
	require.False(t, again.Tainted())
}

// stepsOf returns the steps of a trace without what it has read of them so far.
func stepsOf(tr sentinel.Trace) []sentinel.Step {
	out := make([]sentinel.Step, tr.Len())
	for i := range out {
		s := tr.Step(i)
		out[i] = sentinel.Step{
			Skill: s.Skill, CallID: s.CallID, Args: s.Args, Result: s.Result, Trust: s.Trust, Marks: s.Marks, Effect: s.Effect, Failed: s.Failed,
		}
	}
	return out
}
