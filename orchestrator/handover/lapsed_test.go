package handover_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/handover"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
)

// askWho are the settings of an office that asks these people.
func askWho(who string) string {
	return asks + "approvals: {inbox: true, timeout: 5m, who: [" + who + "]}\n"
}

// reload puts other settings in force.
func (o *office) reload(settings string) {
	o.t.Helper()
	file := filepath.Join(o.dir, "vedette.yaml")
	head := officeHead
	if strings.Contains(settings, "approvals:") {
		head = strings.Replace(head, officeInbox, "", 1)
	}
	require.NoError(o.t, os.WriteFile(file, []byte(head+settings), 0o600))
	cfg, err := config.Load(file, config.Options{})
	require.NoError(o.t, err)
	_, err = o.Reload(o.t.Context(), cfg, "file")
	require.NoError(o.t, err)
}

// awaitPhase waits until the one call that is under way has come that far.
func (o *office) awaitPhase(phase string) {
	o.t.Helper()
	require.Eventually(o.t, func() bool {
		list := o.Checkpoint.InFlight()
		return len(list) == 1 && list[0].Phase == phase
	}, 4*time.Minute, time.Millisecond)
}

// say answers a question as this person.
func (o *office) say(id string, word approval.Word, by string) (approval.Item, error) {
	return o.Inbox.Answer(o.t.Context(), approval.Answer{Approval: id, Word: word, By: by, Via: "test"})
}

// tightenings are reloads after which bob's yes alone suffices no more, and carl's does with or without it.
var tightenings = map[string]string{
	"another may":    `{min: 1, approvers: [carl]}`,
	"two are needed": `{min: 2, approvers: [bob, carl]}`,
}

// A yes that a reload took the power from runs nothing: the call whose caller comes after it is pending again, and
// runs on the yes of those who may.
func TestReloadEndsTheYesOfAWaitingCall(t *testing.T) {
	for name, who := range tightenings {
		t.Run(name, func(t *testing.T) {
			o := openOffice(t, askWho(`{approvers: [bob, carl]}`))
			id := o.propose(proposal()).Approval
			o.answer(id, approval.Yes)
			o.awaitPhase(sentinel.PhasePlaces)
			o.reload(askWho(who))
			a := o.propose(proposal())
			require.Equal(t, handover.Pending, a.State)
			require.Equal(t, id, a.Approval)
			require.Empty(t, a.Warrant)
			card, err := o.Inbox.Show(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, approval.StatePending, card.State)
			require.Empty(t, o.records(a.ID, sentinel.RecordDecision))

			_, err = o.say(id, approval.Yes, "carl")
			require.NoError(t, err)
			a = o.propose(waiting(proposal()))
			require.Equal(t, handover.Allowed, a.State)
			require.NotEmpty(t, a.Warrant)
			require.Equal(t, 1, o.allowances(a.ID))
		})
	}
}

// A no that is said after the reload opened the question again ends the call.
func TestNoAfterTheReloadEndsTheCall(t *testing.T) {
	o := openOffice(t, askWho(`{approvers: [bob, carl]}`))
	id := o.propose(proposal()).Approval
	o.answer(id, approval.Yes)
	o.awaitPhase(sentinel.PhasePlaces)
	o.reload(askWho(tightenings["two are needed"]))
	_, err := o.say(id, approval.No, "carl")
	require.NoError(t, err, "the question is open again before its caller comes")
	a := o.propose(waiting(proposal()))
	require.Equal(t, handover.Denied, a.State)
	require.Equal(t, approval.CodeDenied, a.Refusal.Code)
}

// A warrant that was made and not handed out meets the reload: it is thrown away, on record.
func TestReloadEndsTheYesOfAWarrantLeftLying(t *testing.T) {
	for name, who := range tightenings {
		t.Run(name, func(t *testing.T) {
			o := openOffice(t, askWho(`{approvers: [bob, carl]}`))
			id := o.propose(proposal()).Approval
			o.answer(id, approval.Yes)
			o.awaitPhase(sentinel.PhasePlaces)
			require.NoError(t, o.Handover.Collect(t.Context(), proposal()))
			o.reload(askWho(who))
			a := o.propose(proposal())
			require.Equal(t, handover.Denied, a.State)
			require.Empty(t, a.Warrant)
			again := o.propose(proposal())
			require.Equal(t, sentinel.CodeWithdrawn, again.Refusal.Code)
			require.Empty(t, again.Warrant)
		})
	}
}

// While a yes holds, no proposal is told that a person is asked still.
func TestNoProposalIsPendingAfterTheYes(t *testing.T) {
	o := openOffice(t, asks)
	for n := range 20 {
		p := like(n)
		id := o.propose(p).Approval
		o.answer(id, approval.Yes)
		o.awaitPhase(sentinel.PhasePlaces)
		a := o.propose(p)
		require.Equal(t, handover.Allowed, a.State)
		require.Equal(t, handover.OK, o.report(a.ID, handover.OK, "done").State)
	}
}
