package clients_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// allScopes are the scopes of a token that may do everything.
var allScopes = []string{"chat", "check", "call", "approve", "review", "label", "admin", "act_as"}

// No request that schemathesis makes out of the API's description breaks an operation: no answer is a 5xx,
// none shows the server's inside, and none is given without a token. Streams don't end, so
// TestEachOperation alone asks for those.
func TestFuzzedAPI(t *testing.T) {
	r := newRig(t)
	cmd := exec.CommandContext(t.Context(), filepath.Join(folder(t), "venv", "bin", "schemathesis"), "run", r.url+"/openapi.json",
		"-H", "Authorization: Bearer "+r.makeToken("fuzz", allScopes...), "--checks", "not_a_server_error,ignored_auth,no_internals",
		"--mode", "all", "--phases", "examples,coverage,fuzzing", "--max-examples", "10", "--generation-deterministic", "--seed", "1",
		"--exclude-path-regex", "/events$", "--request-timeout", "60", "--max-time", "240", "--continue-on-failure", "--no-shrink",
		"--no-color", "--warnings", "off")
	hooks, err := filepath.Abs(filepath.Join("python", "tests"))
	require.NoError(t, err)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "PYTHONPATH="+hooks, "PYTHONDONTWRITEBYTECODE=1", "SCHEMATHESIS_HOOKS=api_hooks")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	said := regexp.MustCompile(`Operations:\s+(\d+) selected`).FindStringSubmatch(string(out))
	require.NotNil(t, said, string(out))
	t.Log(string(out))
}

// inside is what no body may show.
var inside = regexp.MustCompile(`goroutine \d|runtime error|\.go:\d|panic:|SQLITE|no such table|/home/|/root/|/tmp/|vedette\.db`)

// Each operation refuses a request without a token, with a wrong one, with a body that is too long and, where it
// takes one, of another type. Nothing is a 5xx.
func TestEachOperation(t *testing.T) {
	r := newRig(t)
	token := r.makeToken("each", allScopes...)
	var described struct {
		Paths map[string]map[string]struct {
			RequestBody *struct{} `json:"requestBody"`
		}
	}
	_, body := r.send(t, http.MethodGet, "/openapi.json", token, "")
	require.NoError(t, json.Unmarshal([]byte(body), &described))
	require.Greater(t, len(described.Paths), 20)
	long := `{"text":"` + strings.Repeat("x", 4<<20) + `"}`
	for path, operations := range described.Paths {
		for method, operation := range operations {
			method, at := strings.ToUpper(method), regexp.MustCompile(`\{\w+\}`).ReplaceAllString(path, "nothing")
			for _, wrong := range []string{"", "vdt_" + strings.Repeat("a", 43), "a.b.c", strings.Repeat("x", 4096)} {
				status, body := r.send(t, method, at, wrong, "{}")
				require.Equal(t, http.StatusUnauthorized, status, "%s %s", method, path)
				require.NotRegexp(t, inside, body)
			}
			if operation.RequestBody == nil {
				continue
			}
			for _, sent := range []string{long, `[]`, `null`, `"x"`, `{`, "\xff", strings.Repeat("[", 100_000)} {
				status, body := r.send(t, method, at, token, sent)
				require.GreaterOrEqual(t, status, 400, "%s %s %.20s", method, path, sent)
				require.Less(t, status, 500, "%s %s %.20s", method, path, sent)
				require.NotRegexp(t, inside, body)
			}
		}
	}
}

// send sends a request, and reads at most a megabyte of its answer.
func (r *rig) send(t *testing.T, method, path, token, body string) (status int, said string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, r.url+path, strings.NewReader(body))
	require.NoError(t, err)
	q.Header.Set("Content-Type", "application/json")
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(q)
	require.NoError(t, err)
	defer res.Body.Close() //nolint:errcheck // it was read as far as it counts
	raw, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	require.NoError(t, err)
	return res.StatusCode, string(raw)
}
