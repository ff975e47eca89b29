package handover_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/handover"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/sentinel/pause"
	"github.com/vedette-dev/vedette/skills"
)

// at is where a call stands when it is proposed again, and how it got there.
type at struct {
	name     string
	settings string
	reach    func(o *office) // after the first proposal
	want     handover.State  // of a repeat
}

func places() []at {
	reported := handover.CallID("token:a", "ann", "talk", "call_1")
	person := func(word approval.Word) func(o *office) {
		return func(o *office) {
			o.answer(o.propose(proposal()).Approval, word)
			o.propose(waiting(proposal()))
		}
	}
	return []at{
		{"allowed", lenient, func(*office) {}, handover.Allowed},
		{"denied by a rule", denies, func(*office) {}, handover.Denied},
		{"pending", asks, func(*office) {}, handover.Pending},
		{"approved by a person", asks, person(approval.Yes), handover.Allowed},
		{"denied by a person", asks, person(approval.No), handover.Denied},
		{"reported", lenient, func(o *office) { o.report(reported, handover.OK, "done") }, handover.OK},
		{"failed", lenient, func(o *office) { o.report(reported, handover.Failed, "no") }, handover.Failed},
		{"unreported", lenient, func(o *office) { o.clock.move(time.Hour) }, handover.Unknown},
		{"malformed", lenient, func(*office) {}, handover.Denied},
	}
}

// first is the proposal that brings a call to its place.
func (p at) first() handover.Proposal {
	q := proposal()
	if p.name == "malformed" {
		q.Arguments = json.RawMessage(`{"id":"c7","id":"c8"}`)
	}
	return q
}

// The idempotency matrix: wherever a call stands, also after a restart, a repeat is answered with where
// it stands and no second warrant. Another call under its id is a conflict, and another principal's call
// under the same names is another call.
func TestIdempotencyMatrix(t *testing.T) {
	others := map[string]func(*handover.Proposal){
		"arguments": func(p *handover.Proposal) { p.Arguments = json.RawMessage(`{"id":"c8","note":"likes tea"}`) },
		"skill":     func(p *handover.Proposal) { p.Skill = "crm.read" },
		"mission":   func(p *handover.Proposal) { p.Mission = "something else" },
		"request":   func(p *handover.Proposal) { p.Request = nil },
	}
	for _, place := range places() {
		for _, restarted := range []bool{false, true} {
			name := place.name
			if restarted {
				name += ", restarted"
			}
			t.Run(name, func(t *testing.T) {
				o := openOffice(t, place.settings)
				first := o.propose(place.first())
				place.reach(o)
				if restarted {
					o.restart(place.settings)
				}
				for range 2 {
					again := o.propose(place.first())
					require.Equal(t, place.want, again.State)
					require.Empty(t, again.Warrant)
					require.Equal(t, first.ID, again.ID)
					require.Equal(t, first.Approval, again.Approval)
				}
				for what, change := range others {
					p := place.first()
					change(&p)
					_, err := o.Handover.Propose(t.Context(), p)
					if place.name == "malformed" && what != "arguments" && err == nil {
						continue // what is no call has no digest: its length and mistake name it
					}
					require.ErrorIs(t, err, handover.ErrDigest, what)
				}
				p := place.first()
				p.Principal = "token:b"
				require.NotEqual(t, first.ID, o.propose(p).ID)
				_, err := o.Handover.Report(t.Context(), handover.Report{Principal: "token:b", ID: first.ID, Outcome: handover.OK})
				require.ErrorIs(t, err, handover.ErrUnknownCall)
				require.LessOrEqual(t, o.allowances(first.ID), 1)
			})
		}
	}
}

// The same call in another spelling is the same call.
func TestSameCallInOtherWords(t *testing.T) {
	for _, settings := range []string{lenient, asks} {
		o := openOffice(t, settings)
		first := o.propose(proposal())
		p := proposal()
		p.Arguments = json.RawMessage("{ \"note\": \"likes\\u0020tea\",\n \"id\": \"c7\" }")
		again := o.propose(p)
		require.Equal(t, first.State, again.State)
		require.Equal(t, first.ID, again.ID)
		require.Empty(t, again.Warrant)
	}
}

// Names of principals, conversations and calls that read alike when they are put together are apart.
func TestNamesNeverMeet(t *testing.T) {
	seen := map[string]bool{}
	for _, n := range [][3]string{
		{"a", "b", "c"}, {"ab", "", "c"}, {"a", "bc", ""}, {"", "ab", "c"}, {"a:b", "c", "d"}, {"a", "b:c", "d"}, {"a", "b", "c:d"},
		{"a\n", "b", "c"}, {"a", "\nb", "c"}, {"a|b", "c", ""}, {"a", "b|c", ""},
	} {
		for _, id := range []string{handover.CallID(n[0], n[1], n[2], ""), handover.ConversationID(n[0], n[1], n[2])} {
			require.False(t, seen[id], n)
			seen[id] = true
		}
	}
}

// A person's yes is collected once: in the same process or after a restart, by a caller that waits or by
// one that comes back.
func TestApprovedCallIsHandedOutOnce(t *testing.T) {
	for name, between := range map[string]func(*office, string){
		"answered":                 func(o *office, id string) { o.answer(id, approval.Yes) },
		"answered, then a restart": func(o *office, id string) { o.answer(id, approval.Yes); o.restart(asks) },
		"a restart, then answered": func(o *office, id string) { o.restart(asks); o.answer(id, approval.Yes) },
		"repeated, restarted, answered": func(o *office, id string) {
			o.propose(proposal())
			o.restart(asks)
			o.propose(proposal())
			o.answer(id, approval.Yes)
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := openOffice(t, asks)
			a := o.propose(proposal())
			require.Equal(t, handover.Pending, a.State)
			require.Equal(t, o.clock.now().Add(5*time.Minute).Unix(), a.Expires.Unix())
			between(o, a.Approval)
			got := o.propose(waiting(proposal()))
			require.Equal(t, handover.Allowed, got.State)
			require.Equal(t, a.ID, o.claims(got.Warrant, string(got.Arguments), "token:a").CallID)
			require.Empty(t, o.propose(proposal()).Warrant)
			require.Equal(t, 1, o.allowances(a.ID))
			item, err := o.Inbox.Show(t.Context(), a.Approval)
			require.NoError(t, err)
			require.Equal(t, "token:a", item.Sheet.Remote)
		})
	}
}

// What changed between a person's yes and the hand-out holds: rules that deny by now, a pause, the end of
// the question, skills that were taken from the principal.
func TestChangesBeforeTheHandOut(t *testing.T) {
	narrow := func(p handover.Proposal) handover.Proposal {
		p.Scope, _ = skills.NewScope("crm.read")
		return waiting(p)
	}
	for name, c := range map[string]struct {
		between func(*office)
		repeat  func(handover.Proposal) handover.Proposal
		want    handover.State
		code    string
	}{
		"rules deny":             {func(o *office) { o.restart(denies) }, waiting, handover.Denied, "permission.denied"},
		"a pause":                {pauseAll, waiting, handover.Deferred, sentinel.CodePaused},
		"skills gone":            {func(*office) {}, narrow, handover.Denied, "scope.not_granted"},
		"skills gone, restarted": {func(o *office) { o.restart(asks) }, narrow, handover.Denied, "scope.not_granted"},
		"expired": {func(o *office) { o.restart(asks); o.clock.move(time.Hour) }, waiting, handover.Expired,
			sentinel.CodeApprovalExpired},
	} {
		t.Run(name, func(t *testing.T) {
			o := openOffice(t, asks)
			a := o.propose(proposal())
			o.answer(a.Approval, approval.Yes)
			c.between(o)
			got := o.propose(c.repeat(proposal()))
			require.Equal(t, c.want, got.State, "%+v", got.Refusal)
			require.Equal(t, c.code, got.Refusal.Code)
			require.Empty(t, got.Warrant)
			require.Zero(t, o.allowances(a.ID))
		})
	}
}

func pauseAll(o *office) {
	_, err := o.Pauses.Pause(context.Background(), pause.Target{All: true}, "op")
	require.NoError(o.t, err)
}

// A warrant whose caller had left is handed to the one that comes back, once, after pause and rules were
// asked again. What stops it then is on record, and it never leaves.
func TestWarrantLeftLying(t *testing.T) {
	leave := func(o *office) {
		done, err := o.Handover.Decide(o.t.Context(), proposal())
		require.NoError(o.t, err)
		<-done
	}
	t.Run("handed out", func(t *testing.T) {
		o := openOffice(t, lenient)
		leave(o)
		a := o.propose(proposal())
		require.NotEmpty(t, a.Warrant)
		require.Empty(t, o.propose(proposal()).Warrant)
	})
	t.Run("paused", func(t *testing.T) {
		o := openOffice(t, lenient)
		leave(o)
		pauseAll(o)
		a := o.propose(proposal())
		require.Equal(t, handover.Deferred, a.State)
		require.Empty(t, a.Warrant)
		_, err := o.Pauses.Lift(t.Context(), pause.Target{All: true}, "op")
		require.NoError(t, err)
		again := o.propose(proposal())
		require.Equal(t, handover.Denied, again.State)
		require.Equal(t, sentinel.CodeOutcomePaused, again.Refusal.Code)
		require.Empty(t, again.Warrant)
	})
	t.Run("the process ended", func(t *testing.T) {
		o := openOffice(t, lenient)
		leave(o)
		o.restart(lenient)
		a := o.propose(proposal())
		require.Equal(t, handover.Allowed, a.State)
		require.Empty(t, a.Warrant)
		o.clock.move(time.Hour)
		require.Equal(t, handover.Unknown, o.propose(proposal()).State)
	})
	t.Run("expired", func(t *testing.T) {
		o := openOffice(t, lenient)
		leave(o)
		o.clock.move(time.Hour)
		a := o.propose(proposal())
		require.Equal(t, handover.Unknown, a.State)
		require.Empty(t, a.Warrant)
	})
}
