package cases_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/cases"
)

// The last line needs no end, and an end adds no line.
func TestReader(t *testing.T) {
	for in, want := range map[string][]string{
		"": nil, "\n": {""}, "a": {"a"}, "a\n": {"a"}, "a\n\nb": {"a", "", "b"}, "\n\n": {"", ""},
		strings.Repeat("x", cases.MaxLine) + "\ny":   {strings.Repeat("x", cases.MaxLine), "y"},
		strings.Repeat("x", cases.MaxLine+1) + "\ny": {"LONG", "y"}, strings.Repeat("x", 10<<20): {"LONG"},
	} {
		r, got := cases.NewReader(strings.NewReader(in)), []string(nil)
		for {
			line, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			var long *cases.Error
			if errors.As(err, &long) {
				line = []byte("LONG")
			} else {
				require.NoError(t, err)
			}
			got = append(got, string(line))
			require.Equal(t, len(got), r.Line())
		}
		require.Equal(t, want, got)
	}
}
