package eval_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/orchestrator/eval"
	"github.com/vedette-dev/vedette/sentinel"
)

// prompt is a model's server that approves at once and notes when it was asked.
type prompt struct{ asked []time.Time }

func (p *prompt) RoundTrip(r *http.Request) (*http.Response, error) {
	p.asked = append(p.asked, time.Now())
	body := fmt.Sprintf(`{"choices":[{"message":{"role":"assistant","content":%q},"finish_reason":"stop"}]}`, approve)
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: int64(len(body)),
		Body: io.NopCloser(strings.NewReader(body)), Request: r,
	}, nil
}

// What is paced waits for its turn, longer than a review and its model may take, and no
// wait is an answer.
func TestPacedCasesWaitForTheirTurn(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "vedette.yaml")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "skills.yaml"), []byte(`skills:
  - name: email.search
    description: Search the mailbox.
    effect: read
    parameters: {type: object, additionalProperties: false, properties: {query: {type: string}}}
    run: {template: "nothing found"}
`), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "workspace"), 0o700))
	require.NoError(t, os.WriteFile(file, []byte(`version: 1
skills: {include: [skills.yaml]}
models: {fast: {model: fast, base_url: "http://model.invalid/v1", requests_per_minute: 1, timeout: 1s}}
roles: {sentinel: fast}
sentinel: {timeout: 1s}
guard: {roots: [./workspace]}
`), 0o600))
	cfg, err := config.Load(file, config.Options{})
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		server := &prompt{}
		d, err := assembly.NewDecider(cfg, assembly.DeciderOptions{Transport: func(string) http.RoundTripper { return server }})
		require.NoError(t, err)
		defer d.Close()
		began, n, told := time.Now(), 0, 0
		ev := eval.NewEvaluator(eval.Options{Decider: d})
		require.NoError(t, ev.Each(t.Context(), strings.NewReader(asking(4)), 4, func(_ int, r eval.Result) error {
			n++
			require.Equal(t, sentinel.Allow, r.Decision.Outcome)
			v := r.Decision.Verdicts[len(r.Decision.Verdicts)-2]
			require.Equal(t, sentinel.GateReview, v.Gate)
			require.Equal(t, "1", v.Meta["attempts"])
			require.Empty(t, v.Meta["failure"])
			told += strings.Count(string(r.LabelledJSON()), `"waited_us":`)
			return nil
		}))
		require.Equal(t, 4, n)
		require.Equal(t, 3, told, "each wait stands in its row")
		var waits []time.Duration
		for _, at := range server.asked {
			waits = append(waits, at.Sub(began))
		}
		require.Equal(t, []time.Duration{0, time.Minute, 2 * time.Minute, 3 * time.Minute}, waits)
	})
}
