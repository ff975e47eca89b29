package handover_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/vedette-dev/vedette/orchestrator/handover"
	"github.com/vedette-dev/vedette/sentinel/approval"
)

// Whatever is proposed, answered, reported, waited for, restarted or left, in whatever order: no call
// has two warrants, on record or handed out, and an end stays as it is. (Invariant 12.)
func TestNeverTwoWarrants(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o := openOffice(t, asks)
		w := &world{office: o, warrants: map[string]int{}, ends: map[string]handover.State{}, asked: map[string]string{}}
		rt.Repeat(map[string]func(*rapid.T){
			"propose": func(rt *rapid.T) { w.propose(w.draw(rt)) },
			"leave": func(rt *rapid.T) {
				if done, err := o.Handover.Decide(context.Background(), w.draw(rt)); err == nil {
					select {
					case <-done:
					case <-time.After(20 * time.Millisecond): // a person is asked
					}
				}
			},
			"answer": func(rt *rapid.T) {
				for _, id := range w.asked {
					word := rapid.SampledFrom([]approval.Word{approval.Yes, approval.Yes, approval.No}).Draw(rt, "word")
					_, _ = o.Inbox.Answer(context.Background(), approval.Answer{Approval: id, Word: word, By: "bob"})
				}
			},
			"report": func(rt *rapid.T) {
				p := w.draw(rt)
				text := rapid.SampledFrom([]string{"done", "other"}).Draw(rt, "text")
				a, err := o.Handover.Report(context.Background(), handover.Report{
					Principal: p.Principal, ID: handover.CallID(p.Principal, p.User, p.Conversation, p.CallID), Outcome: handover.OK, Result: text})
				if err == nil {
					w.end(a)
				}
			},
			"wait":    func(*rapid.T) { o.clock.move(40 * time.Second) },
			"restart": func(*rapid.T) { o.restart(asks) },
			"sweep":   func(*rapid.T) { require.NoError(t, o.Handover.Sweep(context.Background())) },
			"":        func(*rapid.T) { w.check() },
		})
	})
}

// world is what the callers of an office have seen.
type world struct {
	*office
	warrants map[string]int
	ends     map[string]handover.State
	asked    map[string]string
}

// draw draws one of a few calls: those of one id are the same, or in conflict.
func (w *world) draw(rt *rapid.T) handover.Proposal {
	p := proposal()
	p.Principal = rapid.SampledFrom([]string{"token:a", "token:b"}).Draw(rt, "principal")
	p.CallID = rapid.SampledFrom([]string{"1", "2"}).Draw(rt, "id")
	p.Skill = rapid.SampledFrom([]string{"crm.update", "web.fetch"}).Draw(rt, "skill")
	if p.Skill == "web.fetch" {
		p.Arguments = json.RawMessage(`{}`)
	}
	return p
}

func (w *world) propose(p handover.Proposal) {
	a, err := w.Handover.Propose(context.Background(), p)
	if err != nil {
		require.ErrorIs(w.t, err, handover.ErrDigest)
		return
	}
	if a.Warrant != "" {
		w.warrants[a.ID]++
		require.Equal(w.t, handover.Allowed, a.State)
	}
	if a.State == handover.Pending {
		w.asked[a.ID] = a.Approval
	}
	w.end(a)
}

// end notes an end, which never changes.
func (w *world) end(a handover.Answer) {
	switch a.State {
	case handover.Pending, handover.Allowed, handover.Deferred:
		require.NotContains(w.t, w.ends, a.ID, "a call that had ended goes on")
		return
	}
	if before, ok := w.ends[a.ID]; ok {
		require.Equal(w.t, before, a.State)
	}
	w.ends[a.ID] = a.State
}

func (w *world) check() {
	for _, principal := range []string{"token:a", "token:b"} {
		for _, call := range []string{"1", "2"} {
			id := handover.CallID(principal, "ann", "talk", call)
			require.LessOrEqual(w.t, w.allowances(id), 1)
			require.LessOrEqual(w.t, w.warrants[id], w.allowances(id))
		}
	}
}

// Many callers that propose one call at once get one warrant between them.
func TestOneWarrantForManyCallers(t *testing.T) {
	for _, settings := range []string{lenient, asks} {
		o := openOffice(t, settings)
		var wg sync.WaitGroup
		var mu sync.Mutex
		got := 0
		for range 16 {
			wg.Go(func() {
				a, err := o.Handover.Propose(context.Background(), waiting(proposal()))
				mu.Lock()
				defer mu.Unlock()
				if err == nil && a.Warrant != "" {
					got++
				}
			})
		}
		if settings == asks {
			require.Eventually(t, func() bool {
				list, err := o.Inbox.List(t.Context(), approval.Filter{})
				return err == nil && len(list) == 1
			}, 4*time.Minute, time.Millisecond)
			list, err := o.Inbox.List(t.Context(), approval.Filter{})
			require.NoError(t, err)
			o.answer(list[0].ID, approval.Yes)
		}
		wg.Wait()
		require.Equal(t, 1, got)
	}
}

// killedOffice is the folder of an office whose process proposes calls until it is killed.
const killedOffice = "VEDETTE_TEST_KILLED_OFFICE"

// TestKilledOffice is the process that TestKilledBetweenRecordAndAnswer kills.
func TestKilledOffice(t *testing.T) {
	dir := os.Getenv(killedOffice)
	if dir == "" {
		t.Skip("it is a part of TestKilledBetweenRecordAndAnswer")
	}
	o := &office{t: t, dir: dir, clock: &clock{at: time.Now()}}
	o.start(lenient)
	for n := range 400 {
		p := proposal()
		p.CallID = fmt.Sprint(n)
		fmt.Println(p.CallID, o.propose(p).Warrant)
	}
}

// A process that is killed at any instant leaves each call with one warrant at most: it was handed out,
// or the call is allowed without one and becomes unknown.
func TestKilledBetweenRecordAndAnswer(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	for _, lines := range []int{1, 3, 8} {
		o := newOffice(t)
		child := exec.Command(exe, "-test.run=^TestKilledOffice$")
		child.Env = append(os.Environ(), killedOffice+"="+o.dir)
		out, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		warrants := map[string]int{}
		t.Cleanup(func() { _ = child.Process.Kill() }) // where the test fails before
		in := bufio.NewScanner(out)
		for n := 0; in.Scan(); n++ {
			id, token, _ := strings.Cut(in.Text(), " ")
			require.NotEmpty(t, token, in.Text())
			warrants[id]++
			if n == lines {
				require.NoError(t, child.Process.Kill()) // it goes on proposing until then
			}
		}
		_ = child.Wait() // it was killed
		require.Greater(t, len(warrants), lines)
		o.start(lenient)
		for n := range len(warrants) + 2 {
			p := proposal()
			p.CallID = fmt.Sprint(n)
			a := o.propose(p)
			if a.Warrant != "" {
				warrants[p.CallID]++
			}
			require.Equal(t, handover.Allowed, a.State)
			require.LessOrEqual(t, warrants[p.CallID], 1)
			require.Equal(t, 1, o.allowances(a.ID))
		}
		o.clock.move(time.Hour)
		require.Equal(t, handover.Unknown, o.propose(func() handover.Proposal { p := proposal(); p.CallID = "0"; return p }()).State)
		require.NoError(t, o.Close())
	}
}
