package sentinel_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// The strictest of a call's rows counts, a missing row denies, and no row allows more
// than Allow.
func TestOutageTableOutcomes(t *testing.T) {
	for _, tc := range []struct {
		table   sentinel.OutageTable
		effect  skills.Effect
		reaches skills.Reach
		want    sentinel.Outcome
		row     string
	}{
		{nil, skills.Read, skills.Self, sentinel.Deny, "read"},
		{sentinel.OutageTable{"create": sentinel.Allow}, skills.Modify, skills.Self, sentinel.Deny, "modify"},
		{sentinel.OutageTable{"modify": sentinel.Ask}, skills.Modify, skills.Self, sentinel.Ask, "modify"},
		{sentinel.OutageTable{"modify": sentinel.Ask}, skills.Modify, skills.Others, sentinel.Deny, "outward"},
		{sentinel.OutageTable{"modify": sentinel.Ask, "outward": sentinel.Defer}, skills.Modify, skills.Others, sentinel.Defer, "outward"},
		{sentinel.OutageTable{"modify": sentinel.Ask, "outward": sentinel.Defer}, skills.Modify, skills.Self, sentinel.Ask, "modify"},
		{sentinel.OutageTable{"modify": sentinel.Ask, "outward": sentinel.Allow}, skills.Modify, skills.Others, sentinel.Ask, "modify"},
		{sentinel.OutageTable{"modify": sentinel.Ask, "outward": sentinel.Ask}, skills.Modify, skills.Others, sentinel.Ask, "modify"},
		{sentinel.OutageTable{"modify": 9, "outward": 9}, skills.Modify, skills.Others, sentinel.Allow, "modify"},
		{sentinel.OutageTable{"outward": sentinel.Allow}, skills.Create, skills.Others, sentinel.Deny, "create"},
	} {
		b := newBenchFor(t, ofEffect(tc.effect, tc.reaches), func(*sentinel.Options, *bench) {})
		c, err := b.NewCall(sentinel.Proposal{Skill: "test.do", Args: []byte(`{}`), Grant: grant(t)})
		require.NoError(t, err)
		got, row := tc.table.OutcomeFor(c)
		require.Equal(t, tc.want, got, tc)
		require.Equal(t, tc.row, row, tc)
	}
}

// A row that isn't there takes the default; neither table is written to.
func TestOutageTableDefaults(t *testing.T) {
	own, defaults := sentinel.OutageTable{"read": sentinel.Deny}, sentinel.OutageTable{"read": sentinel.Allow, "outward": sentinel.Ask}
	require.Equal(t, sentinel.OutageTable{"read": sentinel.Deny, "outward": sentinel.Ask}, own.WithDefaults(defaults))
	require.Equal(t, sentinel.OutageTable{"read": sentinel.Deny}, own)
	require.Equal(t, sentinel.OutageTable{"read": sentinel.Allow, "outward": sentinel.Ask}, defaults)
	require.Equal(t, defaults, sentinel.OutageTable(nil).WithDefaults(defaults))
}

// Every fault of a table is found at its row.
func TestOutageTableIsChecked(t *testing.T) {
	require.Equal(t, []string{"read", "create", "modify", "irreversible", "costs_money", "outward"}, sentinel.OutageRows())
	require.NoError(t, sentinel.OutageTable(nil).Check("a"))
	require.NoError(t, sentinel.DefaultLimitsAway().Check("a"))
	err := sentinel.OutageTable{"write": sentinel.Ask, "read": 4, "outward": sentinel.Allow}.Check("a.b")
	require.ErrorContains(t, err, "a.b.read: is no outcome; use allow, ask, defer or deny")
	require.ErrorContains(t, err, "a.b.write: is no effect; use read, create, modify, irreversible, costs_money, outward")
	require.ErrorAs(t, err, new(*skills.PathError))
	many, ok := err.(interface{ Unwrap() []error })
	require.True(t, ok)
	require.Len(t, many.Unwrap(), 2)
	require.NotErrorIs(t, err, sentinel.ErrLimitsAway)
}
