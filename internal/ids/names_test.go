package ids_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/internal/ids"
)

// Each owner's name has an id of its own, which leads back to the name for that owner alone.
func TestOfName(t *testing.T) {
	seen := map[string]string{}
	for _, kind := range []string{"user", "thread"} {
		for _, owner := range []string{"ann", "bob", "an", "", "ann.u", "ann:c1"} {
			for _, name := range []string{"c1", "nc1", "c1.u0123456789abcdef01234567", "1", strings.Repeat("x", 102), strings.Repeat("x", 103)} {
				id := ids.OfName(kind, owner, name)
				require.LessOrEqual(t, len(id), 128)
				require.Regexp(t, `^[A-Za-z0-9][A-Za-z0-9._:@-]*$`, id)
				whose := kind + "|" + owner + "|" + name
				require.Empty(t, seen[id], "%s and %s meet", whose, seen[id])
				seen[id] = whose
				if len(name) <= 102 {
					require.Equal(t, name, ids.NameOf(kind, owner, id))
				} else {
					require.Equal(t, id, ids.NameOf(kind, owner, id), "what was cut leads to no name")
				}
				require.Equal(t, id, ids.NameOf(kind, owner+"x", id))
			}
		}
	}
	for _, id := range []string{"", "c1", ".u0123456789abcdef01234567", "c.u0123456789abcdef0123456", strings.Repeat(".u", 20)} {
		require.Equal(t, id, ids.NameOf("user", "ann", id))
	}
}
