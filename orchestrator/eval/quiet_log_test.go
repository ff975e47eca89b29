package eval

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The log of an eval says a thing once in half a minute, and then how often it
// was left out.
func TestQuietLog(t *testing.T) {
	var out bytes.Buffer
	h := newQuietLog(slog.NewTextHandler(&out, nil), 30*time.Second)
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	say := func(after time.Duration, msg string) {
		require.NoError(t, h.WithAttrs([]slog.Attr{slog.Int("a", 1)}).Handle(t.Context(), slog.NewRecord(at.Add(after), slog.LevelWarn, msg, 0)))
	}
	say(0, "away")
	say(time.Second, "away")
	say(2*time.Second, "other")
	say(29*time.Second, "away")
	say(31*time.Second, "away")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 3)
	require.Contains(t, lines[1], "msg=other a=1")
	require.Contains(t, lines[2], "msg=away a=1 not_said_again=2")
}
