package eval

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/review"
)

// Every failure of the review that says nothing of the call is one that eval
// counts as not judged, and no other is.
func TestNotJudgedWords(t *testing.T) {
	for _, f := range review.Failures() {
		want := ""
		if f.Unavailable() || f == review.Busy || strings.HasPrefix(string(f),
			"lone_") || f == review.Budget || f == review.Auth || f == review.BadRequest {
			want = string(f)
		}
		require.Equal(t, want, (&Review{Failure: string(f)}).NotJudged())
		require.Equal(t, want, (&Review{SecondFailure: string(f)}).NotJudged())
	}
}
