package access_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/internal/ids"
	"github.com/vedette-dev/vedette/orchestrator/access"
)

// A user's own id and one that was made here are kept as they are; another user's, and a free name, get the mark of
// the user. Where it isn't known whose it is, nothing is answered.
func TestConversationID(t *testing.T) {
	made := ids.New()
	owners := map[string]string{"anns": "ann", made: "ann"}
	ownerOf := func(id string) (string, error) { return owners[id], nil }
	for _, c := range []struct {
		user, name string
		kept       bool
	}{
		{"ann", "anns", true}, {"bob", "anns", false}, {"ann", "free", false}, {"bob", ids.New(), true}, {"ann", made, true},
		{"bob", made, false},
	} {
		id, err := access.ConversationID(c.user, c.name, ownerOf)
		require.NoError(t, err)
		require.Equal(t, c.kept, id == c.name, "%s %s", c.user, c.name)
		require.Equal(t, c.name, access.ConversationName(c.user, id))
	}
	away := errors.New("the database is away")
	id, err := access.ConversationID("ann", "anns", func(string) (string, error) { return "", away })
	require.ErrorIs(t, err, away)
	require.Empty(t, id)
}
