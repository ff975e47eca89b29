package command

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/eval"
	"github.com/vedette-dev/vedette/sentinel/review"
)

// Two builds without a revision, or with the same one and changes of their own,
// are two; with a clean revision that is what tells them.
func TestBuildName(t *testing.T) {
	program := func(text string) string {
		f := filepath.Join(t.TempDir(), "vedette")
		require.NoError(t, os.WriteFile(f, []byte(text), 0o600))
		return f
	}
	one, two := program("one"), program("two")
	for _, b := range []build{{Version: "(devel)"}, {Version: "(devel)", Revision: "abc", Modified: true}} {
		x, err := buildName(b, one)
		require.NoError(t, err)
		y, err := buildName(b, two)
		require.NoError(t, err)
		again, err := buildName(b, program("one"))
		require.NoError(t, err)
		require.NotEqual(t, x, y)
		require.Equal(t, x, again)
		require.NotEmpty(t, manifest{Build: x}.differs(manifest{Build: y}))
	}
	name, err := buildName(build{Version: "v1.2.3", Revision: "abc"}, "nowhere")
	require.NoError(t, err)
	require.Equal(t, "v1.2.3 abc", name)
	_, err = buildName(build{Version: "(devel)"}, filepath.Join(t.TempDir(), "gone"))
	require.ErrorContains(t, err, "can't be read")
}

// The log of an eval says a thing once in half a minute, and then how often it
// was left out.
func TestSeldom(t *testing.T) {
	var out bytes.Buffer
	h := newSeldom(slog.NewTextHandler(&out, nil), 30*time.Second)
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

// The line says what is waited for.
func TestProgressWaits(t *testing.T) {
	var out bytes.Buffer
	p := &progress{w: &out, shown: true, total: 10}
	p.waits(time.Now(), "waiting for fast (connect), 5m0s at most")
	require.Equal(t, "\r0 of 10 cases, waiting for fast (connect), 5m0s at most", out.String())
	(&progress{w: &out}).waits(time.Now(), "x")
	require.NotContains(t, out.String(), "x,")
}

// Every failure of the review that says nothing of the call is one that eval
// counts as not judged, and no other is.
func TestNotJudgedWords(t *testing.T) {
	for _, f := range review.Failures() {
		want := ""
		if f.Unavailable() || f == review.Busy || strings.HasPrefix(string(f), "lone_") || f == review.Budget || f == review.Auth || f == review.BadRequest {
			want = string(f)
		}
		require.Equal(t, want, (&eval.Review{Failure: string(f)}).NotJudged())
		require.Equal(t, want, (&eval.Review{SecondFailure: string(f)}).NotJudged())
	}
}
