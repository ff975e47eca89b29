package command

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A moment is a time, a day or how long ago.
func TestParseMoment(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for in, want := range map[string]time.Time{
		"": {}, "24h": now.Add(-24 * time.Hour), "2026-01-02": time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC),
		"2026-01-02T03:04:05+01:00": time.Date(2026, 1, 2, 2, 4, 5, 0, time.UTC),
	} {
		got, err := parseMoment("since", in, now)
		require.NoError(t, err)
		require.True(t, want.Equal(got), "%q is %s", in, got)
	}
	for _, in := range []string{"yesterday", "-1h", "2026-13-01", "12"} {
		_, err := parseMoment("since", in, now)
		var f *failure
		require.ErrorAs(t, err, &f)
		require.Equal(t, exitUsage, f.code)
	}
}
