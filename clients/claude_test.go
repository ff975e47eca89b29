package clients_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// messages is a model with the Messages API. It makes the file that its user asks for, with Bash, and
// then says what it read.
type messages struct {
	mu    sync.Mutex
	reads []string // results of tools
}

// startMessages serves the model over the loopback.
func startMessages(t *testing.T) (*messages, string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	m := &messages{}
	s := &http.Server{Handler: http.HandlerFunc(m.onRequest), ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(ln) }()
	t.Cleanup(func() { _ = s.Close() })
	return m, "http://" + ln.Addr().String()
}

type block struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Content json.RawMessage `json:"content"`
}

func (m *messages) onRequest(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Tools    []struct{ Name string }
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/v1/messages") || json.NewDecoder(r.Body).Decode(&q) != nil {
		_, _ = io.WriteString(w, `{"input_tokens":1}`)
		return
	}
	last := q.Messages[len(q.Messages)-1].Content
	var blocks []block
	_ = json.Unmarshal(last, &blocks) // a text is no list, and is looked at as it is
	for _, b := range blocks {
		if b.Type == "tool_result" {
			m.mu.Lock()
			m.reads = append(m.reads, string(b.Content))
			m.mu.Unlock()
			sendMessage(w, "", "done")
			return
		}
	}
	if len(q.Tools) == 0 {
		sendMessage(w, "", "a title")
		return
	}
	file := "first"
	for _, one := range q.Messages {
		if bytes.Contains(one.Content, []byte("make second")) {
			file = "second"
		}
	}
	sendMessage(w, fmt.Sprintf(`{"command":"touch %s","description":"make a file"}`, file), "")
}

// sendMessage streams one answer: a call of Bash with that input, or a text.
func sendMessage(w http.ResponseWriter, input, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(kind string, body map[string]any) {
		body["type"] = kind
		raw, _ := json.Marshal(body) // plain data, which always works
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, raw)
	}
	part, delta, stop := map[string]any{"type": "text", "text": ""}, map[string]any{"type": "text_delta", "text": text}, "end_turn"
	if input != "" {
		part = map[string]any{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": map[string]any{}}
		delta, stop = map[string]any{"type": "input_json_delta", "partial_json": input}, "tool_use"
	}
	send("message_start", map[string]any{"message": map[string]any{
		"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []any{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": map[string]any{"input_tokens": 1, "output_tokens": 1},
	}})
	send("content_block_start", map[string]any{"index": 0, "content_block": part})
	send("content_block_delta", map[string]any{"index": 0, "delta": delta})
	send("content_block_stop", map[string]any{"index": 0})
	send("message_delta", map[string]any{"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil},
		"usage": map[string]any{"output_tokens": 1}})
	send("message_stop", map[string]any{})
}

// Claude Code with the hook runs what is allowed, and nothing that is denied or that can't be asked about.
func TestClaudeCode(t *testing.T) {
	r := newRig(t)
	for name, c := range map[string]struct {
		file, url, reads string
		runs             bool
	}{
		"allowed": {"first", r.url, "", true},
		"denied":  {"second", r.url, "no second file is made", false},
		"down":    {"first", fmt.Sprintf("http://127.0.0.1:%d", freePort(t)), "the server can't be asked", false},
		"no JSON": {"first", answering(t, http.StatusOK, "allowed"), "the server's answer is not understood", false},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(r.records("outcome"))
			m, api := startMessages(t)
			dir := r.claudeCode(t, api, c.url, "make "+c.file)
			require.Len(t, m.reads, 1, "the model reads one result")
			require.Contains(t, strings.ReplaceAll(m.reads[0], `\u0027`, "'"), c.reads)
			if !c.runs {
				require.NoFileExists(t, filepath.Join(dir, c.file))
				require.Len(t, r.records("outcome"), before)
				return
			}
			require.FileExists(t, filepath.Join(dir, c.file))
			list := r.records("outcome")
			require.Len(t, list, before+1)
			require.Equal(t, "tool.b-uash", list[0].Skill)
			require.Equal(t, "ok", list[0].Outcome)
		})
	}
}

// claudeCode runs Claude Code with the hook at each event, and returns the folder where it worked.
func (r *rig) claudeCode(t *testing.T, api, url, prompt string) (dir string) {
	t.Helper()
	dir, home := t.TempDir(), t.TempDir()
	hook := map[string]any{"type": "command", "command": r.program + " hook claude-code --wait 0s --state " + home + "/state",
		"onFailure": "block"}
	hooks := map[string]any{}
	for _, event := range []string{"PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit"} {
		hooks[event] = []any{map[string]any{"hooks": []any{hook}}}
	}
	settings, err := json.Marshal(map[string]any{"hooks": hooks})
	require.NoError(t, err)
	file := filepath.Join(home, "settings.json")
	require.NoError(t, os.WriteFile(file, settings, 0o600))
	r.runClaude(t, dir, home, []string{
		"ANTHROPIC_BASE_URL=" + api, "ANTHROPIC_API_KEY=none", "VEDETTE_URL=" + url, "VEDETTE_TOKEN=" + r.token,
	},
		"-p", prompt, "--settings", file, "--allowedTools", "Bash", "--model", "m")
	return dir
}

// runClaude runs Claude Code in a folder, and returns what it printed.
func (r *rig) runClaude(t *testing.T, dir, home string, env []string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.claude, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+home, "CLAUDE_CONFIG_DIR="+home, "DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1")
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}
