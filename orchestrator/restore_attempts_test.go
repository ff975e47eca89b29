package orchestrator

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm/scripted"
)

// attempts is what has been counted for the request of c1.
func (r *rig) attempts() int {
	row, ok, err := r.journal.Get(context.Background(), "c1")
	return map[bool]int{true: row.Attempts, false: -1}[err == nil && ok]
}

// stuck sends request r1 of c1, whose model hangs, and leaves.
func (r *rig) stuck() {
	c := r.open("c1", "ann")
	ctx, leave := context.WithCancel(r.t.Context())
	gone := make(chan struct{})
	go func() {
		_, _ = c.SendRequest(ctx, Request{ID: "r1", Text: "go"})
		close(gone)
	}()
	require.Eventually(r.t, func() bool { return len(r.server.Requests()) == 1 }, eventually, tick)
	leave()
	<-gone
}

// A program that ends every moment gives nothing up that was accepted, however
// often it is started: a request that got nowhere several times waits until the
// program has lived for a while, and what was not tried does not count. In a
// life that is long enough it is answered.
func TestShortLivesGiveNoRequestUp(t *testing.T) {
	o := with()
	o.tune.pause = time.Hour
	r := start(t, o, []rule{{"reply": rule{"hang": true}}})
	r.stuck()
	for n := range 3 * maxLives {
		r.restart(o)
		if n < freeAttempts {
			require.Eventually(t, func() bool { return len(r.server.Requests()) == n+2 }, eventually, tick)
			continue
		}
		require.Eventually(t, func() bool { return len(r.statuses.listStatuses(r.sys)) > 0 }, eventually, tick)
	}
	require.Equal(t, freeAttempts, r.attempts())
	require.Len(t, r.server.Requests(), freeAttempts+1)

	script, err := scripted.Load([]byte(`{"rules": [{"reply": {"content": "at last"}}]}`))
	require.NoError(t, err)
	answers, err := scripted.Serve(t.Context(), script, scripted.Options{})
	require.NoError(t, err)
	defer answers.Close()
	file := filepath.Join(r.dir, "vedette.yaml")
	src, err := os.ReadFile(file)
	require.NoError(t, err)
	src = bytes.Replace(src, []byte(r.server.BaseURL()), []byte(answers.BaseURL()), 1)
	require.NoError(t, os.WriteFile(file, src, 0o600))
	o.tune.pause = time.Millisecond
	r.restart(o)
	reply, err := r.open("c1", "ann").Reply(t.Context(), "r1")
	require.NoError(t, err)
	require.Equal(t, "at last", reply.Text)
	require.Zero(t, r.attempts())
}

// A crash of its own process counts for several starts of the program, so some
// starts without progress do not make a single crash one too many.
func TestCrashAfterStarts(t *testing.T) {
	o := with()
	r := start(t, o, []rule{{"reply": rule{"hang": true}}})
	r.stuck()
	for n := range freeAttempts - 1 {
		r.restart(o)
		require.Eventually(t, func() bool { return len(r.server.Requests()) == n+2 }, eventually, tick)
	}
	b := &breaker{place: "resume", n: 1} // once, then it goes on
	o.tune.at = b.at
	r.restart(o)
	require.Eventually(t, func() bool { return len(r.server.Requests()) == freeAttempts+1 }, eventually, tick)
	require.Equal(t, freeAttempts+crashCounts, r.attempts())
	require.Equal(t, 1, b.broke)
	require.NotContains(t, r.log.String(), "can't be gone on with")
}

// Pauses begin with the attempt that is not free, grow, differ and end.
func TestAttemptPausesGrow(t *testing.T) {
	o := &restorer{turnNeeds: &turnNeeds{tune: tuning{pause: defaultPause}}}
	require.Zero(t, o.attemptPause(-1))
	for n := range 100 {
		least := min(defaultPause<<min(n, 16), maxPause)
		d := o.attemptPause(n)
		require.GreaterOrEqual(t, d, least)
		require.Less(t, d, 2*least)
	}
}

// A turn that breaks off because the store is down counts nothing, however
// often that happens, since it was not its doing.
func TestOutagesCountNothing(t *testing.T) {
	var l databaseOutages
	for n := range 3 {
		l.noteBreak("c")
		breaks, excused := l.countBreaks("c")
		require.Equal(t, n+1, breaks)
		require.True(t, excused)
		l.noteAttempt("c")
		breaks, excused = l.countBreaks("c")
		require.Equal(t, n+1, breaks)
		require.False(t, excused, "what happens to the attempt after is its own doing")
	}
	l.forgetConversation("c")
	breaks, _ := l.countBreaks("c")
	require.Zero(t, breaks)
	require.Empty(t, l.list)
}
