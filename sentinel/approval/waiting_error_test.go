package approval_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/approval"
)

// A list that could not be read leaves nothing out of the next one: what was answered before it waits no more.
func TestListAfterAReadThatFailed(t *testing.T) {
	o := newOffice(t)
	o.put(matter{})
	o.put(matter{id: "d2", args: `{"to":"cat@CANARY.test"}`})
	o.sameLists()
	o.mustSay("d1", approval.Yes, "bob")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := o.List(ended, approval.Filter{})
	require.Error(t, err)
	list, err := o.List(t.Context(), approval.Filter{})
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, "d2", list[0].ID)
}
