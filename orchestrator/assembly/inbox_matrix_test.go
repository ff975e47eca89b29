package assembly_test

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/skills"
)

// plot is one cell of the matrix of what may happen between a question and its call.
type plot struct {
	restart string // never, before the answer, after it
	process string // who takes the answer: the one that asks, or another while nothing waits
	expiry  string // in time, or over before the call is asked about again
	config  string // same, denied since, asked by another gate since: by a reload where no process ends
	file    string // same, or changed after the question
	who     string // may answer, is the requester, or is one of two
}

// plots are all cells that there can be.
func plots() (out []plot) {
	for _, restart := range []string{"never", "before", "after"} {
		for _, process := range []string{"asking", "idle"} {
			for _, expiry := range []string{"in time", "over"} {
				for _, config := range []string{"same", "denied", "asked"} {
					for _, file := range []string{"same", "changed"} {
						for _, who := range []string{"may", "requester", "one of two"} {
							p := plot{restart, process, expiry, config, file, who}
							if p.isPossible() {
								out = append(out, p)
							}
						}
					}
				}
			}
		}
	}
	return out
}

// isPossible leaves out what needs another process, or time without one, and has none.
func (p plot) isPossible() bool {
	if p.process == "asking" && p.restart == "after" { // its call takes the answer up at once
		return false
	}
	return p.process == "asking" || p.restart != "never" || p.expiry == "in time"
}

// settings are the configuration of the process that asks at last.
func (p plot) settings(last bool) string {
	who := map[string]string{
		"may": "", "requester": ", who: [{exclude_requester: true}]", "one of two": ", who: [{min: 2}]",
	}[p.who]
	rules, judge := bureauAsks, ""
	switch {
	case last && p.config == "denied":
		rules = "permissions: [{skill: \"paper.send\", then: ask}, {id: stop, skill: \"paper.send\", then: deny}]\n"
	case last && p.config == "asked":
		judge = "judge: {threshold: 0.01, ask_below: 1}\n"
	}
	return rules + judge + "approvals: {timeout: 10m, inbox: true" + who + "}\n"
}

// by is who says yes.
func (p plot) by() string {
	if p.who == "requester" {
		return "ann"
	}
	return "bob"
}

// runs is how often the call may run: once, where nothing speaks against it.
func (p plot) runs() int {
	// A yes before the restart was to another question, where another gate asks since.
	if p == (plot{p.restart, p.process, "in time", "same", "same", "may"}) {
		return 1
	}
	if p == (plot{"before", p.process, "in time", "asked", "same", "may"}) { // the person was shown the new question
		return 1
	}
	return 0
}

// play does what the plot says, and returns what the call came to; nil where it stays held.
func (p plot) play(b *bureau) error {
	var out <-chan invoked
	leave := func() {}
	stop := func() {
		leave()
		if out != nil {
			<-out
		}
		out, leave = nil, func() {}
	}
	ask := func(resumed bool) { out, leave = b.invoke(resumed) }
	restart := func() {
		stop()
		require.NoError(b.t, b.Close())
		b.start(p.settings(true))
	}
	ask(false)
	id := b.list(approval.Filter{All: true})[0].ID
	if p.file == "changed" {
		b.writePaper("second")
	}
	if p.config != "same" && p.restart == "never" {
		require.NoError(b.t, b.reload(p.settings(true)))
	}
	if p.restart == "before" {
		restart()
		if p.process == "asking" || p.config == "asked" {
			ask(true) // so that the question is the new process's
			require.Eventually(b.t, func() bool {
				card, err := b.Inbox.Show(b.t.Context(), id)
				return err == nil && (p.config != "asked" || p.file == "changed" || len(card.Sheet.Asks) == 2)
			}, 4*time.Minute, time.Millisecond)
		}
	}
	if p.process == "idle" {
		stop()
	}
	if p.expiry == "over" && p.process == "asking" {
		b.clock.move(10 * time.Minute)
	}
	p.answer(b, id)
	if p.expiry == "over" {
		b.clock.move(10 * time.Minute)
	}
	if p.restart == "after" {
		restart()
	}
	if out == nil {
		ask(true)
	}
	return p.outcome(b, out, leave)
}

// answer says yes to what the inbox shows.
func (p plot) answer(b *bureau, id string) {
	card, err := b.Inbox.Show(b.t.Context(), id)
	require.NoError(b.t, err)
	_, err = b.Inbox.Answer(b.t.Context(), approval.Answer{Approval: id, Word: approval.Yes, By: p.by(), Via: "test", Digest: card.Digest})
	switch {
	case p.who == "requester":
		require.ErrorIs(b.t, err, approval.ErrNotAllowed)
	case err != nil: // too late, or a rule or a changed file has ended it
		require.ErrorIs(b.t, err, approval.ErrDecided)
	}
}

// outcome waits for what the call comes to; it leaves one that is not answered.
func (p plot) outcome(b *bureau, out <-chan invoked, leave func()) error {
	answered := func() bool {
		if len(out) > 0 {
			return true
		}
		i := b.list(approval.Filter{All: true})[0]
		waits := slices.ContainsFunc(b.Checkpoint.InFlight(), func(c sentinel.InFlight) bool { return c.Phase == sentinel.PhaseApproval })
		return waits && (i.State == approval.StatePending || i.State == approval.StateExpired)
	}
	require.Eventually(b.t, answered, 4*time.Minute, time.Millisecond)
	if p.runs() == 0 { // whatever waits, waits
		leave()
	}
	r := b.end(out)
	leave()
	return r.err
}

// The at-most-once matrix: restart x process x expiry x configuration x file x who. A call runs once
// where everything is as it was shown to a person who may answer, and never otherwise; and whatever
// it came to, another start runs nothing.
func TestAtMostOnceMatrix(t *testing.T) {
	all := plots()
	var ran atomic.Int64
	t.Run("cells", func(t *testing.T) { // each in an office of its own: they wait for the disk side by side
		for _, p := range all {
			t.Run(fmt.Sprintf("%s/%s/%s/%s/%s/%s", p.restart, p.process, p.expiry, p.config, p.file, p.who), func(t *testing.T) {
				t.Parallel()
				b := openBureau(t, p.settings(false))
				err := p.play(b)
				require.Equal(t, p.runs(), b.runs())
				ran.Add(int64(b.runs()))
				if p.runs() == 1 {
					require.NoError(t, err)
				} else {
					require.Error(t, err)
					var no *skills.Refusal
					require.True(t, errors.Is(err, sentinel.ErrHeld) || errors.As(err, &no), "%v", err)
				}
				require.NoError(t, b.Close())
				b.start(p.settings(true))
				_, leave := b.invoke(true)
				leave()
				require.Equal(t, p.runs(), b.runs(), "and never again")
			})
		}
	})
	require.Equal(t, 162, len(all)) //nolint:testifylint // Len would print all of them
	require.Greater(t, ran.Load(), int64(4), "a matrix in which nothing runs shows nothing")
}
