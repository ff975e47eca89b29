package command

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A command that wants one argument says which, in place of how many.
func TestOneArgumentIsNamed(t *testing.T) {
	wants := wantOne("name one record")
	require.NoError(t, wants(nil, []string{"a"}))
	require.EqualError(t, wants(nil, nil), "name one record")
	require.EqualError(t, wants(nil, []string{"a", "b"}), "name one record")
}
