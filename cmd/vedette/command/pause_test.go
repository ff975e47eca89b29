package command

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The hint is a command as a shell reads it.
func TestQuoted(t *testing.T) {
	for in, want := range map[string]string{
		"ann": "ann", "a.b:c@d-e_f": "a.b:c@d-e_f", "*": "'*'", "email.*": "'email.*'", "it's": `'it'\''s'`, "a b": "'a b'", "": "''",
		"$(id)": "'$(id)'",
	} {
		require.Equal(t, want, quoteWord(in))
	}
}
