package command

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// screenful is an output that can be read while it grows.
type screenful struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *screenful) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screenful) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// While a model is silent, all else is on the screen, the other models' findings
// too, each in its columns. An interrupt ends it with 130, and says what was not
// looked at.
func TestDoctorPrintsAsItGoes(t *testing.T) {
	silent := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "mute") {
			close(silent)
			<-r.Context().Done()
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"ready"},"finish_reason":"stop"}]}`)
	}))
	defer srv.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "vedette.yaml")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "work"), 0o700))
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `version: 1
models: {a: {model: mute, base_url: %q}, b: {model: b, base_url: %q}}
roles: {orchestrator: a, agent: b}
sentinel: {mode: "off"}
guard: {roots: [./work]}
ledger: {path: ./v.db}
`, srv.URL, srv.URL), 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, msg screenful
	code := make(chan int, 1)
	go func() {
		code <- runLine(ctx, []string{"doctor", "--config", file}, &app{in: strings.NewReader(""), out: &out, err: &msg, patience: time.Hour})
	}()
	<-silent
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "model b agrees within") }, 4*time.Minute, 5*time.Millisecond)
	require.NotContains(t, out.String(), "model a")
	cancel()
	require.Equal(t, exitInterrupted, <-code)
	require.Empty(t, msg.String())
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Regexp(t, `^ok       configuration +\d+ ms  2 models, 0 skills, 0 rules$`, lines[0])
	require.Equal(t, "1 problem, 3 warnings", lines[len(lines)-1])
	require.Regexp(t, `examination .* and not all was looked at: model a$`, lines[len(lines)-3])
	for _, line := range lines[:len(lines)-1] {
		require.Regexp(t, `^(ok|warning|problem|) +([a-z]+ ?[ab]?)? +(\d+ ms)?  (-> )?\S`, line)
		require.Equal(t, "  ", line[39:41], line)
	}
}
