package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm/scripted"
)

// TestMain lets the test binary stand in for the program.
func TestMain(m *testing.M) {
	if os.Getenv("CHAT_AS_PROGRAM") != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// script plays turns in which an agent sends a letter.
const script = `
rules:
  - when: {has_tool: dispatch_agent, tool_results: 0}
    reply: {tool_calls: [{name: dispatch_agent, arguments: {agent_id: writer, mission: write to bob@example.com, skills: [mail.send]}}]}
  - when: {has_tool: dispatch_agent, tool_results: 1}
    reply: {tool_calls: [{name: get_agent_results, arguments: {mode: wait_all, timeout_seconds: 60}}]}
  - when: {has_tool: dispatch_agent, tool_results: 2, tool_contains: sent to bob}
    reply: {content: "Bob knows that you are late."}
  - when: {has_tool: dispatch_agent, tool_results: 2}
    reply: {content: "Nothing was sent."}
  - when: {has_tool: request_help, tool_results: 0}
    reply: {tool_calls: [{name: use_skill, arguments: {skill: mail.send, arguments: {To: bob@example.com, Text: I am late}}}]}
  - when: {has_tool: request_help, tool_contains: sent to bob}
    reply: {content: "sent to bob"}
  - when: {has_tool: request_help}
    reply: {content: "refused"}
  - reply: {content: '{"decision":"approve","reason":"asked for"}'}
`

// The secrets of this test's people.
const ann, boss = "ann-0123456789abcdef", "boss-0123456789abcdef"

// startBackend runs the program and returns its address.
func startBackend(t *testing.T) string {
	t.Helper()
	s, err := scripted.Load([]byte(script))
	require.NoError(t, err)
	model, err := scripted.Serve(context.WithoutCancel(t.Context()), s, scripted.Options{})
	require.NoError(t, err)
	t.Cleanup(model.Close)
	dir := t.TempDir()
	yaml, err := os.ReadFile("vedette.yaml")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "vedette.yaml"), append(yaml, "sentinel: {canaries: {every: 0s}}\n"...), 0o600))
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), self)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CHAT_AS_PROGRAM=1", "CHAT_PORT=0", "CHAT_LOGINS=ann="+ann+" boss="+boss,
		"OPENAI_BASE_URL="+model.BaseURL())
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		require.NoError(t, cmd.Wait(), errs.String())
	})
	return strings.TrimSpace(strings.TrimPrefix(line, "chat-backend listens on "))
}

// send sends a request and returns its answer.
func send(t *testing.T, secret, method, url, body string) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+secret)
	r.Header.Set("Content-Type", "application/json")
	r.Close = true
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close() //nolint:errcheck // it was read
	raw, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(raw)
}

// awaitQuestion waits for the one question that is pending.
func awaitQuestion(t *testing.T, url string) (id, digest string) {
	t.Helper()
	var list struct{ Data []struct{ ID, Digest string } }
	require.Eventually(t, func() bool {
		status, text := send(t, boss, "GET", url+"/v1/approvals", "")
		return status == http.StatusOK && json.Unmarshal([]byte(text), &list) == nil && len(list.Data) == 1
	}, 4*time.Minute, 20*time.Millisecond)
	return list.Data[0].ID, list.Data[0].Digest
}

// A letter waits for the boss, and for nobody else.
func TestChatBackend(t *testing.T) {
	url := startBackend(t)
	status, _ := send(t, "wrong-0123456789abcdef", "POST", url+"/chat", `{"conversation":"c1","text":"hello"}`)
	require.Equal(t, http.StatusUnauthorized, status)
	status, _ = send(t, "", "GET", url+"/v1/approvals", "")
	require.Equal(t, http.StatusUnauthorized, status)
	for conversation, c := range map[string]struct{ word, says string }{
		"c1": {"yes", "Bob knows that you are late."}, "c2": {"no", "Nothing was sent."},
	} {
		said := make(chan string, 1)
		go func() {
			body := `{"conversation":"` + conversation + `","text":"Write to bob@example.com that I am late"}`
			_, text := send(t, ann, "POST", url+"/chat", body) //nolint:testifylint // a failure leaves the answer out
			said <- text
		}()
		id, digest := awaitQuestion(t, url)
		answer := `{"word":"` + c.word + `","digest":"` + digest + `"}`
		status, text := send(t, ann, "POST", url+"/v1/approvals/"+id+"/answer", answer)
		require.Equal(t, http.StatusForbidden, status, text)
		status, text = send(t, boss, "POST", url+"/v1/approvals/"+id+"/answer", answer)
		require.Equal(t, http.StatusOK, status, text)
		require.JSONEq(t, `{"text":"`+c.says+`"}`, <-said)
	}
	status, _ = send(t, boss, "POST", url+"/chat", `{"conversation":"c1","text":"hello"}`)
	require.Equal(t, http.StatusNotFound, status, "another's conversation")
	status, _ = send(t, ann, "POST", url+"/chat", `{"conversation":"c1"}`)
	require.Equal(t, http.StatusBadRequest, status)
}
