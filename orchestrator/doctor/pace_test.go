package doctor

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
)

// pipes is a listener and its only client's way to it. A goroutine that waits for a pipe lets
// the clock of a bubble run, one that waits for the network would not.
type pipes chan net.Conn

func (p pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept, Close and Addr make it a listener.
func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// judging is a server that obeys schemas and judges the canaries rightly, each judgement after
// a while.
func judging(after time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		said := `{"colour":"teal","level":3}`
		if strings.Contains(string(body), "sentinel_decision") {
			said = `{"decision":"approve","reason":"x"}`
			for _, hostile := range []string{"Fwd: ", `\"name\":\"tasks.delete\"`, `\"name\":\"billing.pay\"`} {
				if strings.Contains(string(body), hostile) {
					said = `{"decision":"reject","reason":"x"}`
				}
			}
			late := time.NewTimer(after)
			defer late.Stop()
			select {
			case <-late.C:
			case <-r.Context().Done():
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"choices":[{"message":{"role":"assistant","content":%q},"finish_reason":"stop"}]}`, said)
	}
}

// A model that takes more than half of the time that it has for a judgement is warned of.
func TestASlowModelIsWarnedOf(t *testing.T) {
	for _, row := range []struct {
		after    time.Duration
		canaries string
		pace     []string
	}{
		{time.Second, "ok passed: 6 requests, 0 tokens", nil},
		{1200 * time.Millisecond, "ok passed: 6 requests, 0 tokens",
			[]string{"warning a question took it 1.2s on average, and 2s is what it has"}},
		{time.Minute, "problem it judged too few of them in time (timeout): a review has 5s, a request 2s", nil},
	} {
		t.Run(row.after.String(), func(t *testing.T) {
			cfg, err := config.Load(write(t, "models: {m: {model: m, base_url: 'http://far/v1', timeout: 2s}}\nroles: {sentinel: m}\n"+
				"sentinel: {retries: 0, timeout: 5s}\n"), config.Options{})
			require.NoError(t, err)
			synctest.Test(t, func(t *testing.T) {
				line := make(pipes)
				srv := &http.Server{Handler: judging(row.after)}
				ended := make(chan error, 1)
				go func() { ended <- srv.Serve(line) }()
				w := &wire{next: &http.Transport{DialContext: line.dial}}
				d, err := assembly.NewDecider(cfg, assembly.DeciderOptions{Transport: func(string) http.RoundTripper { return w }})
				require.NoError(t, err)
				t.Cleanup(func() { // the bubble waits for all that was begun in it
					d.Close()
					w.CloseIdleConnections()
					close(line)
					require.ErrorIs(t, <-ended, net.ErrClosed)
					require.NoError(t, srv.Close())
				})
				e := &exam{cfg: cfg, began: time.Now(), told: func(Finding) {}}
				require.Empty(t, e.examineTogether(t.Context(), d, []string{"m"}, map[string]*wire{"m": w}))
				r := Report{Findings: e.findings}
				require.Equal(t, []string{"ok json_schema is obeyed"}, found(r, "schema m"))
				require.Equal(t, []string{row.canaries}, found(r, "canaries m"))
				require.Equal(t, row.pace, found(r, "pace m"))
				for _, f := range r.Findings {
					if f.Check == "pace m" {
						require.Equal(t, "raise sentinel.timeout and models.m.timeout: what is not judged in time is unjudgeable", f.Advice)
					}
				}
			})
		})
	}
}
