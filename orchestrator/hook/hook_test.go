package hook_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/orchestrator/hook"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server answers as a Vedette server does, by a script.
type server struct {
	*httptest.Server
	mu      sync.Mutex
	bodies  []string
	paths   []string
	headers []string
	answers []string // one for each question; the last one stays
	status  int
}

func startServer(t *testing.T, answers ...string) *server {
	t.Helper()
	s := &server{answers: answers, status: http.StatusOK}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		raw, _ := io.ReadAll(r.Body)
		s.bodies, s.paths = append(s.bodies, string(raw)), append(s.paths, r.URL.EscapedPath())
		s.headers = append(s.headers, r.Header.Get("Authorization"))
		w.WriteHeader(s.status)
		_, _ = io.WriteString(w, s.answers[0])
		if len(s.answers) > 1 {
			s.answers = s.answers[1:]
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) hook(t *testing.T) *hook.Hook {
	t.Helper()
	client := s.Client()
	t.Cleanup(client.CloseIdleConnections)
	h, err := hook.New(hook.Options{URL: s.URL, Token: "CANARY-token", State: t.TempDir(), Wait: -1, Client: client})
	require.NoError(t, err)
	return h
}

const before = `{"hook_event_name":"PreToolUse","session_id":"s-1","tool_name":"Bash","tool_use_id":"toolu_1",` +
	`"tool_input":{"command":"ls"}}`

func answer(t *testing.T, h *hook.Hook, event string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := h.Answer(t.Context(), strings.NewReader(event), &out)
	return strings.TrimSpace(out.String()), err
}

// What the server says of a call decides what Claude Code does: {} lets its own permissions count,
// everything else that was understood denies.
func TestDecisions(t *testing.T) {
	const deny = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"Vedette: `
	for said, want := range map[string]string{
		`{"id":"x","state":"allowed","warrant":"w","arguments":{"command":"ls"}}`:   `{}`,
		`{"id":"x","state":"allowed","warrant":"w","arguments":{"command":"ls /"}}`: deny + `a rule changes`,
		`{"id":"x","state":"allowed"}`:                                              deny + `this very call was allowed before`,
		`{"id":"x","state":"ok"}`:                                                   deny + `the call is ok.`,
		`{"id":"x","state":"denied","refusal":{"why":"no","do":"Ask."}}`:            deny + `no. Ask."`,
		`{"id":"x","state":"pending","approval":"a1","link":"https://v/a"}`: deny +
			`the call waits for a person's approval a1 at https://v/a.`,
		`{"id":"x","state":"<b>"}`: deny + `the call is b.`,
	} {
		s := startServer(t, said)
		got, err := answer(t, s.hook(t), before)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(got, want), got)
		require.True(t, json.Valid([]byte(got)))
		require.Equal(t, []string{"Bearer CANARY-token"}, s.headers)
	}
}

// Trouble before a tool is an error, which the command turns into status 2. It names no token.
func TestTroubleIsAnError(t *testing.T) {
	for _, row := range []struct {
		status int
		said   string
		want   string
	}{
		{200, `{}`, "not understood"}, {200, `[]`, "not understood"}, {200, ``, "not understood"}, {200, `<html>`, "not understood"},
		{401, `{"code":"unauthenticated"}`, "answered 401 unauthenticated"},
		{500, `{"code":"<x>\u001b"}`, "answered 500 x;"}, {302, ``, "answered 302"},
	} {
		s := startServer(t, row.said)
		s.status = row.status
		got, err := answer(t, s.hook(t), before)
		require.ErrorContains(t, err, row.want)
		require.Empty(t, got)
		require.NotContains(t, err.Error(), "CANARY")
	}
	s := startServer(t, `{}`)
	h := s.hook(t)
	s.Close()
	_, err := answer(t, h, before)
	require.ErrorContains(t, err, "can't be asked")
}

// Events that can't be read are errors, and ask nothing.
func TestEventsThatCantBeRead(t *testing.T) {
	s := startServer(t, `{"id":"x","state":"allowed","warrant":"w","arguments":{}}`)
	h := s.hook(t)
	for event, want := range map[string]string{
		``:                                 "no JSON",
		`[]`:                               "no JSON",
		`{"hook_event_name":"PreToolUse"}`: "no session_id",
		strings.Replace(before, "s-1", "../../etc/x", 1):                       "no session_id",
		strings.Replace(before, "toolu_1", "", 1):                              "no tool_use_id",
		strings.Replace(before, "PreToolUse", "Stop", 1):                       "the hook is for",
		strings.Replace(before, `"Bash"`, `""`, 1):                             "names no tool",
		strings.Repeat(" ", 8<<20) + before:                                    "longer than",
		strings.Replace(before, `"Bash"`, `"`+strings.Repeat("x", 200)+`"`, 1): "too long",
	} {
		_, err := answer(t, h, event)
		require.ErrorContains(t, err, want)
	}
	require.Empty(t, s.bodies)
}

// The newest prompt is the request of the calls that follow, of its session alone. Arguments go
// along as they stand.
func TestPromptsAndReports(t *testing.T) {
	s := startServer(t, `{"id":"id/1","state":"allowed","warrant":"w","arguments":{"command":"ls","n":1.0}}`)
	h := s.hook(t)
	for _, words := range []string{"first", "list the files"} {
		got, err := answer(t, h, `{"hook_event_name":"UserPromptSubmit","session_id":"s-1","prompt":"`+words+`"}`)
		require.NoError(t, err)
		require.Empty(t, got)
	}
	event := strings.Replace(before, `{"command":"ls"}`, `{"command":"ls","n":1.0}`, 1)
	_, err := answer(t, h, event)
	require.NoError(t, err)
	_, err = answer(t, h, strings.Replace(event, "s-1", "s-2", 1))
	require.NoError(t, err)
	after := strings.Replace(event, "PreToolUse", "PostToolUse", 1)
	_, err = answer(t, h, strings.Replace(after, `"tool_input"`, `"tool_response":{"stdout":"a.txt"},"tool_input"`, 1))
	require.NoError(t, err)
	require.Equal(t, `{"conversation":"s-1","call_id":"toolu_1","skill_name":"tool.b-uash","agent_id":"claude-code",`+
		`"original_request":"list the files","wait_seconds":0,"arguments":{"command":"ls","n":1.0}}`, s.bodies[0])
	require.NotContains(t, s.bodies[1], "original_request")
	require.Equal(t, "/v1/calls/id%2F1/outcome", s.paths[2])
	require.JSONEq(t, `{"outcome":"ok","result":"{\"stdout\":\"a.txt\"}"}`, s.bodies[2])
	_, err = answer(t, h, strings.Replace(after, `"tool_input"`, `"tool_response":{"stdout":"a.txt"},"tool_input"`, 1))
	require.NoError(t, err)
	require.Equal(t, s.bodies[0], s.bodies[3], "an id that isn't kept is asked for by the same proposal")
	require.Equal(t, "/v1/calls/id%2F1/outcome", s.paths[4])
}

// A prompt that comes while a tool runs makes its outcome no other call's: it is reported all the same, or what the
// tool returned would taint nothing.
func TestPromptWhileAToolRuns(t *testing.T) {
	s := startServer(t, `{"id":"1","state":"allowed","warrant":"w","arguments":{"command":"ls"}}`)
	h := s.hook(t)
	say := func(words string) {
		_, err := answer(t, h, `{"hook_event_name":"UserPromptSubmit","session_id":"s-1","prompt":"`+words+`"}`)
		require.NoError(t, err)
	}
	say("list the files")
	_, err := answer(t, h, before)
	require.NoError(t, err)
	say("and then this")
	after := strings.Replace(before, "PreToolUse", "PostToolUse", 1)
	_, err = answer(t, h, strings.Replace(after, `"tool_input"`, `"tool_response":"x","tool_input"`, 1))
	require.NoError(t, err)
	require.Equal(t, []string{"/v1/calls", "/v1/calls/1/outcome"}, s.paths)
}

// An event that never ends is given up before Claude Code ends the hook, which older versions take for a yes.
func TestEventThatNeverEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, err := hook.New(hook.Options{URL: "https://vedette.example.com", Token: "t", State: t.TempDir()})
		require.NoError(t, err)
		in, writer := io.Pipe()
		began := time.Now()
		var out bytes.Buffer
		require.ErrorContains(t, h.Answer(t.Context(), in, &out), "did not end")
		require.Less(t, time.Since(began), time.Minute)
		require.Empty(t, out.String())
		require.NoError(t, writer.Close())
	})
}

// Prompts are files for their user alone, and a link in their place is not followed.
func TestPromptsArePrivate(t *testing.T) {
	s := startServer(t, `{}`)
	dir, other := filepath.Join(t.TempDir(), "state"), filepath.Join(t.TempDir(), "other")
	h, err := hook.New(hook.Options{URL: s.URL, Token: "t", State: dir})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(other, []byte("kept"), 0o600))
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.Symlink(other, filepath.Join(dir, "s-1")))
	_, err = answer(t, h, `{"hook_event_name":"UserPromptSubmit","session_id":"s-1","prompt":"new"}`)
	require.NoError(t, err)
	info, err := os.Lstat(filepath.Join(dir, "s-1"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	raw, err := os.ReadFile(other)
	require.NoError(t, err)
	require.Equal(t, "kept", string(raw))
}

// Settings that would send a token in the clear, or none, are refused.
func TestSettings(t *testing.T) {
	for want, o := range map[string]hook.Options{
		"no URL":               {Token: "t", State: "s"},
		"must be https":        {URL: "http://vedette.example.com", Token: "t", State: "s"},
		"token is missing":     {URL: "http://127.0.0.1:1", State: "s"},
		"a folder for prompts": {URL: "https://vedette.example.com", Token: "t"},
	} {
		_, err := hook.New(o)
		require.ErrorContains(t, err, want)
	}
}

func FuzzEvent(f *testing.F) {
	f.Add(before)
	f.Add(`{"hook_event_name":"PostToolUse","session_id":"a","tool_name":"x","tool_use_id":"b","tool_input":[1,{}],"tool_response":"x"}`)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"id":"x","state":"allowed","warrant":"w","arguments":{"command":"ls"}}`)
	}))
	f.Cleanup(s.Close)
	client := s.Client()
	f.Cleanup(client.CloseIdleConnections)
	h, err := hook.New(hook.Options{URL: s.URL, Token: "t", State: f.TempDir(), Wait: -1, Client: client})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text string) {
		var out bytes.Buffer
		if err := h.Answer(t.Context(), strings.NewReader(text), &out); err != nil {
			require.Empty(t, out.String())
			return
		}
		if out.Len() > 0 {
			require.True(t, json.Valid(out.Bytes()))
		}
	})
}

// A result of any size and form is reported within the server's bounds, however small they are.
func TestLongReports(t *testing.T) {
	const most = 1 << 20 // the default of server.limits.body
	for _, bound := range []int{most, 32 << 10, 1 << 10} {
		var got []int
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			raw, _ := io.ReadAll(r.Body)
			if len(raw) > bound {
				w.WriteHeader(http.StatusRequestEntityTooLarge)
				return
			}
			if strings.HasSuffix(r.URL.Path, "/outcome") {
				got = append(got, len(raw))
			}
			_, _ = io.WriteString(w, `{"id":"1","state":"allowed"}`)
		}))
		h := (&server{Server: s}).hook(t)
		for _, letter := range []string{"x", "<", "\\u0001"} {
			event := strings.Replace(before, "PreToolUse", "PostToolUse", 1)
			_, err := answer(t, h, strings.Replace(event, `"tool_input"`, `"tool_response":"`+strings.Repeat(letter, 1<<20)+`","tool_input"`, 1))
			require.NoError(t, err, "%d %s", bound, letter)
		}
		require.Len(t, got, 3)
		if bound == most {
			require.Greater(t, got[0], 512<<10)
		}
		s.Close()
	}
}
