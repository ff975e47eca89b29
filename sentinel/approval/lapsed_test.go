package approval_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/approval"
)

// setWho exchanges who may answer, as a reload does.
func (o *office) setWho(who ...approval.Rule) {
	o.t.Helper()
	p, err := approval.NewPolicy(who)
	require.NoError(o.t, err)
	o.who = who
	o.SetPolicy(p)
}

// A question that no call waits on shows what is needed by the rules of now, and its answers are counted by them:
// after a reload, and after a restart with other rules.
func TestQuestionsThatNoCallWaitsOnAreCountedAgain(t *testing.T) {
	for name, change := range map[string]func(o *office, who ...approval.Rule){"reload": (*office).setWho, "restart": (*office).restart} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t, approval.Rule{Min: 2})
			o.put(matter{})
			o.put(matter{id: "d2", args: `{"to":"cat@CANARY.test"}`})
			o.mustSay("d1", approval.Yes, "bob")
			require.Equal(t, approval.StatePending, o.item("d1").State)

			change(o, approval.Rule{Min: 1})
			i := o.item("d1")
			require.Equal(t, approval.StateApproved, i.State, "bob's yes suffices")
			require.Equal(t, [2]int{1, 1}, [2]int{i.Yes, i.Needed})
			require.Equal(t, 1, o.item("d2").Needed)

			change(o, approval.Rule{Min: 3})
			i = o.item("d1")
			require.Equal(t, approval.StatePending, i.State, "it suffices no more")
			require.Equal(t, [2]int{1, 3}, [2]int{i.Yes, i.Needed})
			require.Equal(t, 3, o.item("d2").Needed)

			change(o, approval.Rule{Approvers: []string{"cat"}})
			i = o.item("d1")
			require.Equal(t, [2]int{0, 1}, [2]int{i.Yes, i.Needed}, "bob may not answer any more")
			require.Empty(t, i.By)
			o.sameLists()
		})
	}
}

// A yes holds while those who said it may answer and are enough, and no other answer came since.
func TestAnswerHolds(t *testing.T) {
	o := newOffice(t, approval.Rule{Approvers: []string{"bob", "cat"}})
	o.put(matter{})
	o.mustSay("d1", approval.Yes, "bob")
	c, d := matter{}.make(t)
	holds := func() bool {
		t.Helper()
		ok, err := o.AnswerHolds(t.Context(), c, d)
		require.NoError(t, err)
		return ok
	}
	require.True(t, holds())
	o.setWho(approval.Rule{Approvers: []string{"cat"}})
	require.False(t, holds(), "bob may not")
	o.setWho(approval.Rule{Min: 2})
	require.False(t, holds(), "two are needed")
	o.setWho(approval.Rule{Approvers: []string{"ann"}, ExcludeRequester: true})
	require.False(t, holds(), "no person could")
	o.setWho()
	require.True(t, holds())
	o.setWho(approval.Rule{Min: 2})
	o.mustSay("d1", approval.No, "cat")
	o.setWho()
	require.False(t, holds(), "a person said no since")
}
