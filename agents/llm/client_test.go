package llm_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
)

// A client and its configuration describe themselves by name, model and address,
// and say of the key only whether there is one.
func TestClientsDescribeThemselves(t *testing.T) {
	for key, set := range map[string]string{"sk-canary-key": "true", "": "false"} {
		c := client(t, "http://x.test", func(c *llm.Config) { c.APIKey, c.Context = key, 7 })
		var log strings.Builder
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "model", c)
		for _, text := range []string{c.String(), fmt.Sprintf("%#v", c), log.String(), c.Config().String()} {
			require.Contains(t, text, "fast")
			require.Contains(t, text, "m-1")
			require.Contains(t, text, "http://x.test/v1")
			require.NotContains(t, text, "canary")
		}
		require.Contains(t, log.String(), "api_key_set="+set)
		require.Equal(t, "fast", c.Config().Name)
		require.Equal(t, 7, c.Config().Context)
		require.Empty(t, c.Config().APIKey)
	}
	require.Contains(t, llm.Config{BaseURL: "https://x.test/%zz"}.String(), "invalid")
	_, err := llm.New(llm.Config{Name: "a", Model: "m"}, nil)
	var at *llm.PathError
	require.ErrorAs(t, err, &at)
	require.Equal(t, "models.a.base_url", at.ConfigPath())
	require.Equal(t, at.ConfigPath()+": "+at.ConfigMessage(), at.Error())
	require.Contains(t, fits("sk-canary-key"), "api_key:redacted")
	require.Contains(t, fits(""), "api_key:none")
	require.Contains(t, err.Error(), "missing; give an address")
}

func fits(key string) string {
	return llm.Config{Name: "a", BaseURL: "http://x.test", APIKey: key}.String()
}

// What an answer took is known also where it is none, and nothing that it said;
// a word of errors elsewhere in it is no error.
func TestWhatIsKeptOfAFailedAnswer(t *testing.T) {
	const usage = `"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}`
	for _, body := range []string{`{"choices":[],` + usage + `}`, `{"choices":[{"message":{},"finish_reason":"length"}],` + usage + `}`,
		`{"error":{},"choices":[{"message":{"content":"canary","refusal":"canary","tool_calls":[{"id":"1","function":{"name":"f",` +
			`"arguments":"canary"}}]}}],` + usage + `}`} {
		resp, err := client(t, serve(t, answer(body)).URL, nil).Chat(t.Context(), ask("hi"))
		require.Error(t, err)
		require.Equal(t, llm.Usage{Prompt: 3, Completion: 4, Total: 7}, resp.Usage)
		require.Empty(t, resp.Content+resp.Refusal)
		require.Empty(t, resp.ToolCalls)
	}
	for _, body := range []string{`{"choices":[{"message":{"content":"x"},"error":null}]}`,
		`{"error":null,"choices":[{"message":{"content":"x"}}]}`,
		`{"choices":[{"message":{"content":"\"error\""}}]}`} {
		_, err := client(t, serve(t, answer(body)).URL, nil).Chat(t.Context(), ask("hi"))
		require.NoError(t, err, body)
	}
}

// Which statuses are a success, a redirect, a refusal.
func TestStatusesAtTheirEdges(t *testing.T) {
	for code, want := range map[int]llm.Kind{200: "", 201: "", 299: "", 300: llm.KindRequest, 399: llm.KindRequest, 400: llm.KindRequest,
		499: llm.KindRequest, 500: llm.KindServer, 599: llm.KindServer} {
		_, err := client(t, serve(t, status(code, fine)).URL, nil).Chat(t.Context(), ask("hi"))
		if want == "" {
			require.NoError(t, err, code)
			continue
		}
		var e *llm.Error
		require.ErrorAs(t, err, &e, code)
		require.Equal(t, want, e.Kind, code)
		require.Equal(t, code >= 300 && code < 400, e.Code == llm.CodeRedirect, code)
	}
}

// Tools are refused where the model takes none, and a choice that is none of
// them; a schema that is held to by an object goes beside tools.
func TestToolsThatFit(t *testing.T) {
	two := []llm.Tool{{Name: "f"}, {Name: "g"}}
	for _, tc := range []struct {
		config func(*llm.Config)
		change func(*llm.Request)
		says   string
	}{
		{nil, func(r *llm.Request) { r.Tools, r.ToolChoice = two, "g" }, ""},
		{nil, func(r *llm.Request) { r.Tools, r.ToolChoice = two, "h" }, "tool choice"},
		{func(c *llm.Config) { c.SupportsTools = ptr(true) }, func(r *llm.Request) { r.Tools = two }, ""},
		{func(c *llm.Config) { c.SupportsTools = ptr(false) }, func(r *llm.Request) { r.Tools = two }, "the model is configured without tools"},
		{func(c *llm.Config) { c.SupportsTools = ptr(false) }, func(*llm.Request) {}, ""},
		{func(c *llm.Config) { c.Schemaless = llm.ViaJSONObject }, func(r *llm.Request) { r.Tools, r.Schema = two, verdict }, ""},
		{func(c *llm.Config) { c.Schemaless = llm.ViaTool }, func(r *llm.Request) { r.Tools, r.Schema = two, verdict },
			"answers a schema by a tool call"},
		{func(c *llm.Config) { c.Schemaless = llm.ViaTool }, func(r *llm.Request) { r.ToolChoice, r.Schema = "auto", verdict },
			"answers a schema by a tool call"},
	} {
		r := ask("hi")
		tc.change(&r)
		_, err := client(t, serve(t, answer(fine)).URL, tc.config).Chat(t.Context(), r)
		if tc.says == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, tc.says)
	}
}

// A message without text says so with an empty one; only an assistant that
// called instead says null.
func TestMessagesWithoutText(t *testing.T) {
	s := serve(t, answer(fine))
	call := []llm.ToolCall{{ID: "1", Name: "f", Arguments: "{}"}}
	_, err := client(t, s.URL, nil).Chat(t.Context(), llm.Request{Messages: []llm.Message{
		{Role: llm.RoleUser}, {Role: llm.RoleAssistant}, {Role: llm.RoleAssistant, ToolCalls: call},
		{Role: llm.RoleAssistant, Content: "x", ToolCalls: call},
		{Role: llm.RoleTool, ToolCallID: "1"},
	}})
	require.NoError(t, err)
	const called = `"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]`
	require.Contains(t, s.received()[0], `"messages":[{"role":"user","content":""},{"role":"assistant","content":""},{"role":"assistant",`+
		`"content":null,`+called+
		`},{"role":"assistant","content":"x",`+called+`},{"role":"tool","content":"","tool_call_id":"1"}]`)
}

// keeper is a transport that counts what is closed.
type keeper struct{ bodies, idle int }

func (k *keeper) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}},
		Body: shut{strings.NewReader(fine), k}}, nil
}

func (k *keeper) CloseIdleConnections() { k.idle++ }

type shut struct {
	io.Reader
	k *keeper
}

func (s shut) Close() error { s.k.bodies++; return nil }

// What was opened is closed: each answer, and on request what stays open.
func TestWhatIsOpenedIsClosed(t *testing.T) {
	k := &keeper{}
	c, err := llm.New(llm.Config{Name: "a", Model: "m", BaseURL: "http://x.test"}, &http.Client{Transport: k})
	require.NoError(t, err)
	_, err = c.Chat(t.Context(), ask("hi"))
	require.NoError(t, err)
	require.Equal(t, 1, k.bodies)
	c.CloseIdle()
	require.Equal(t, 1, k.idle)
	r, err := llm.NewRoster(llm.RosterConfig{HTTP: &http.Client{Transport: k}})
	require.NoError(t, err)
	r.Close()
	require.Equal(t, 2, k.idle)
}

// Each fault of a roster is at its place and says what would be right.
func TestRostersSayWhatIsWrong(t *testing.T) {
	fits := llm.Config{Model: "m", BaseURL: "http://x.test"}
	other := fits
	other.Name = "b"
	for want, cfg := range map[string]llm.RosterConfig{
		`models: the name "a b" is not made of`:       {Models: map[string]llm.Config{"a b": fits}},
		`models.a: is configured under another name`:  {Models: map[string]llm.Config{"a": other}},
		`roles: the name "a b" is not made of`:        {Models: map[string]llm.Config{"a": fits}, Roles: map[string][]string{"a b": {"a"}}},
		`roles.r: names no model; give at least one`:  {Models: map[string]llm.Config{"a": fits}, Roles: map[string][]string{"r": nil}},
		`roles.r[0]: no model is named "z"; known: a`: {Models: map[string]llm.Config{"a": fits}, Roles: map[string][]string{"r": {"z"}}},
		`roles.r[1]: "a" is in this chain already`:    {Models: map[string]llm.Config{"a": fits}, Roles: map[string][]string{"r": {"a", "a"}}},
	} {
		_, err := llm.NewRoster(cfg)
		require.ErrorContains(t, err, want)
	}
	r, err := llm.NewRoster(llm.RosterConfig{Models: map[string]llm.Config{"a": fits}})
	require.NoError(t, err)
	_, err = r.ForRole("r")
	require.ErrorContains(t, err, `no model is configured for role "r"`)
}
