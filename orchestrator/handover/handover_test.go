package handover_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/handover"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// A call is decided, handed over with a warrant that a receiver can verify, run elsewhere and
// reported. A repeat gets no second warrant.
func TestDecideRunReport(t *testing.T) {
	o := openOffice(t, lenient)
	a := o.propose(proposal())
	require.Equal(t, handover.Allowed, a.State)
	require.Equal(t, "allow", a.Decision.Decision)
	require.Equal(t, "call_1", a.Decision.ID)
	c := o.claims(a.Warrant, string(a.Arguments), "token:a")
	require.Equal(t, "crm.update", c.Skill)
	require.Equal(t, a.ID, c.CallID)
	require.Equal(t, *a.Decision.Digest, c.Digest)
	require.Equal(t, "ann", c.User)
	require.Equal(t, a.Expires.Unix(), c.Expires.Unix())

	again := o.propose(proposal())
	require.Equal(t, handover.Allowed, again.State)
	require.Empty(t, again.Warrant)
	require.Empty(t, again.Arguments)
	require.Equal(t, "allow", again.Decision.Decision)
	require.Len(t, again.Decision.Gates, len(sentinel.GateNames()))

	done := o.report(a.ID, handover.OK, "done")
	require.Equal(t, handover.OK, done.State)
	require.Equal(t, skills.Untrusted, done.Trust)
	final := o.propose(proposal())
	require.Equal(t, handover.OK, final.State)
	require.Equal(t, "done", final.Result)
	require.Empty(t, final.Warrant)
	require.Equal(t, 1, o.allowances(a.ID))
	require.Len(t, o.records(a.ID, sentinel.RecordOutcome), 1)
}
