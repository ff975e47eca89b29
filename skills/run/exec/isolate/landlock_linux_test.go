package isolate

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A version is only asked for what it knows, and network lifts network alone.
func TestHandled(t *testing.T) {
	require.Equal(t, uint64(1<<13-1), handledRights(1, false).Handled_access_fs)
	require.Zero(t, handledRights(3, false).Handled_access_net)
	require.NotZero(t, handledRights(4, false).Handled_access_net)
	require.Zero(t, handledRights(7, true).Handled_access_net)
	require.Equal(t, handledRights(7, false).Handled_access_fs, handledRights(7, true).Handled_access_fs)
	require.Zero(t, handledRights(5, false).Scoped)
	require.NotZero(t, handledRights(6, true).Scoped)
}
