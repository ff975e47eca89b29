package clients_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// proxiedClaude is what the server runs with before a model with the Messages API.
const proxiedClaude = `
version: 1
models: {judge: {model: x, base_url: "%%s"}}
roles: {sentinel: judge}
sentinel: {mode: enforce, canaries: {every: 0s}}
judge: {threshold: 0, ask_below: 0}
server: {listen: "127.0.0.1:%%d"}
permissions:
  - {skill: tool.b-uash, when: "args.command.contains('second')", then: deny, reason: "no second file is made"}
proxy:
  anthropic: [{url: "%s", api_key: none}]
  tools:
    - {tool: Bash, effect: modify, reaches: self, arguments: {command: content, description: content}}
`

// startSteps serves a model that makes one file after the other, with Bash, whatever it reads.
func startSteps(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		var q struct{ Tools []json.RawMessage }
		_ = json.Unmarshal(raw, &q) // what isn't read has no tools
		switch {
		case !strings.HasSuffix(r.URL.Path, "/v1/messages"):
			_, _ = io.WriteString(w, `{"input_tokens":1}`)
		case len(q.Tools) == 0:
			sendMessage(w, "", "a title")
		case bytes.Contains(raw, []byte(`"tool_result"`)):
			sendMessage(w, `{"command":"touch second","description":"make a file"}`, "")
		default:
			sendMessage(w, `{"command":"touch first","description":"make a file"}`, "")
		}
	})}
	go func() { _ = s.Serve(ln) }()
	t.Cleanup(func() { _ = s.Close() })
	return "http://" + ln.Addr().String()
}

// Claude Code with the proxy as its API runs the call that is allowed, tells the proxy of its result, and never gets the
// one that is blocked. The model that reviews the calls reads the user's words.
func TestClaudeCodeBehindProxy(t *testing.T) {
	r := newRigOf(t, fmt.Sprintf(proxiedClaude, startSteps(t)), judging)
	home, dir := t.TempDir(), t.TempDir()
	said := r.runClaude(t, dir, home, []string{"ANTHROPIC_BASE_URL=" + r.url + "/proxy/anthropic", "ANTHROPIC_API_KEY=" + r.token},
		"-p", "please make both files", "--allowedTools", "Bash", "--model", "m")
	require.Contains(t, said, "[The call of Bash was blocked by policy: no second file is made (permission, ")
	require.FileExists(t, filepath.Join(dir, "first"))
	require.NoFileExists(t, filepath.Join(dir, "second"))

	decisions := r.records("decision")
	require.Len(t, decisions, 2)
	require.Equal(t, []string{"deny", "allow"}, []string{decisions[0].Outcome, decisions[1].Outcome})
	outcomes := r.records("outcome")
	require.Equal(t, "ok", outcomes[0].Outcome, "the result in the next request closes the call")
	for _, one := range append(decisions, outcomes...) {
		require.Equal(t, "tool.b-uash", one.Skill)
	}
	asked := r.model.Received()
	require.Len(t, asked, 1, "what the rules deny is reviewed by no model")
	require.Contains(t, string(asked[0].Body), "please make both files")
}
