package eval

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The line says how far it is, at what rate, for how long yet and what it cost;
// resumed cases say nothing of the rate.
func TestProgress(t *testing.T) {
	var out bytes.Buffer
	p := &progress{w: &out, shown: true, total: 10}
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	cost := func() float64 { return 0.25 }
	p.addCase(at, true, cost)
	require.Equal(t, "\r1 of 10 cases, cost 0.2500", out.String())
	out.Reset()
	p.addCase(at.Add(10*time.Millisecond), false, cost)
	require.Empty(t, out.String(), "too soon for another line")
	p.addCase(at.Add(2*time.Second), false, cost)
	p.addCase(at.Add(4*time.Second), false, func() float64 { return 0 })
	require.Equal(t, "\r3 of 10 cases, 0.5/s, 14s left, cost 0.2500\r4 of 10 cases, 0.5/s, 12s left"+strings.Repeat(" ", len(", cost 0.2500")),
		out.String())
	out.Reset()
	n, err := p.Write([]byte("a warning\n"))
	require.NoError(t, err)
	require.Equal(t, 10, n)
	require.Equal(t, "\r"+strings.Repeat(" ", len("4 of 10 cases, 0.5/s, 12s left"))+"\ra warning\n", out.String())
	out.Reset()
	p.endProgress()
	require.Empty(t, out.String(), "nothing stands there")
	p.total = 0
	p.addCase(at.Add(8*time.Second), false, cost)
	p.endProgress()
	require.Equal(t, "\r5 cases, 0.4/s, cost 0.2500\r                           \r", out.String())
}

// The line says what is waited for.
func TestProgressWaits(t *testing.T) {
	var out bytes.Buffer
	p := &progress{w: &out, shown: true, total: 10}
	p.showWaiting(time.Now(), "waiting for fast (connect), 5m0s at most")
	require.Equal(t, "\r0 of 10 cases, waiting for fast (connect), 5m0s at most", out.String())
	(&progress{w: &out}).showWaiting(time.Now(), "x")
	require.NotContains(t, out.String(), "x,")
}

// What is no terminal gets no line, and a log all of its own.
func TestNoProgress(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, false, []string{"nowhere"})
	p.addCase(time.Now(), false, func() float64 { t.Error("no line is shown"); return 0 })
	p.endProgress()
	require.Empty(t, out.String())
	_, err := p.Write([]byte("x"))
	require.NoError(t, err)
	require.Equal(t, "x", out.String())
}

// Lines are counted with and without the last one's end, and not where they
// can't be read twice.
func TestLines(t *testing.T) {
	name := func(text string) string {
		f := filepath.Join(t.TempDir(), "f")
		require.NoError(t, os.WriteFile(f, []byte(text), 0o600))
		return f
	}
	require.Equal(t, 5, countAllLines([]string{name("a\nb\n"), name("a\nb\nc"), name("")}))
	require.Zero(t, countAllLines([]string{name("a\n"), "-"}))
	require.Zero(t, countAllLines([]string{t.TempDir()}))
}
