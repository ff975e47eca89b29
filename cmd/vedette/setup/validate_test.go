package setup

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
)

// Every mistake of a tree of errors is told, those without a place as the
// file's.
func TestMistakes(t *testing.T) {
	list := config.Errors{{File: "a", Line: 1, Column: 2, Msg: "one"}, {File: "b", Line: 3, Column: 4, Msg: "two"}}
	want := []Mistake{{"a", 1, 2, "one"}, {"b", 3, 4, "two"}}
	require.Equal(t, want, listMistakes("f", list))
	require.Equal(t, want, listMistakes("f", fmt.Errorf("wrapped: %w", list)))
	require.Equal(t, append(want, Mistake{File: "f", Message: "no place"}), listMistakes("f", errors.Join(list, errors.New("no place"))))
	require.Equal(t, want[:1], listMistakes("f", fmt.Errorf("wrapped: %w", list[0])))
	require.Empty(t, listMistakes("f", nil))
}
