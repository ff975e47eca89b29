package ids_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/vedette-dev/vedette/internal/ids"
)

func TestNewIDsDifferAndSort(t *testing.T) {
	before := ""
	for range 10_000 {
		id := ids.New()
		require.Len(t, id, 36)
		require.Greater(t, id, before)
		before = id
	}
	u, err := uuid.Parse(before)
	require.NoError(t, err)
	require.Equal(t, uuid.Version(7), u.Version())
}

// A derived id is stored: it may not change from one build to the next.
func TestDerivedIDsStay(t *testing.T) {
	require.Equal(t, "62ce4aec-5e8d-585e-ab04-da828c4fcf49", ids.Derive(ids.Common, "vedette/interrupted/1"))
}

func TestDerivedIDsAreOneToAName(t *testing.T) {
	other := uuid.MustParse("6a0f3c52-0f5e-5d0b-9c57-3e1c9b6f2d11")
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		once, again := ids.Derive(ids.Common, a), ids.Derive(ids.Common, a)
		require.Equal(t, once, again)
		require.NotEqual(t, ids.Derive(ids.Common, a), ids.Derive(other, a))
		require.Equal(t, a == b, ids.Derive(other, a) == ids.Derive(other, b))
	})
}

func TestMadeIDsAreKnown(t *testing.T) {
	require.True(t, ids.IsMade(ids.New()))
	for _, text := range []string{"", "c1", uuid.NewString(), strings.ToUpper(ids.New()), "urn:uuid:" + ids.New(), "{" + ids.New() + "}",
		ids.Derive(ids.Common, "x"), ids.New() + "0"} {
		require.False(t, ids.IsMade(text), text)
	}
}
