package assistants_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	openai "github.com/sashabaranov/go-openai"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/agents/llm/scripted"
	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/assistants"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/skills"
)

// How long a test waits for what must come, a little less than the watchdog does, and how often it looks.
const (
	eventually = 4 * time.Minute
	tick       = 2 * time.Millisecond
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const houseConfig = `version: 1
models:
  m: {model: m, base_url: "%[1]s", timeout: 20s}
  other: {model: other, base_url: "%[1]s", timeout: 20s}
roles: {orchestrator: m, agent: m, sentinel: m}
judge: {threshold: 0, ask_below: 0}
ledger: {path: ./v.db}
permissions:
  - {skill: "mail.send", then: ask, reason: "mails leave the house"}
approvals: {inbox: true, timeout: 10m}
`

// house is a process with its door on the loopback.
type house struct {
	t      testing.TB
	o      *orchestrator.Orchestrator
	server *httptest.Server
	model  *scripted.Server
	tokens map[string]string

	mu  sync.Mutex
	now time.Time
}

func (h *house) clock() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *house) pass(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// when is a rule of the script: the orchestrator's answer number n to a request.
func when(request string, n int, reply map[string]any) map[string]any {
	w := map[string]any{"has_tool": "dispatch_agent", "last_user_contains": request, "tool_results": n}
	return map[string]any{"when": w, "reply": reply}
}

func content(text string) map[string]any { return map[string]any{"content": text} }

func call(name string, arguments map[string]any) map[string]any {
	return map[string]any{"tool_calls": []any{map[string]any{"name": name, "arguments": arguments}}}
}

// sendsMail are the rules of a request that has an agent send a mail.
func sendsMail(request string) []map[string]any {
	dispatch := call("dispatch_agent", map[string]any{"agent_id": "a", "mission": "do " + request, "skills": []string{"mail.send"}})
	dispatch["content"] = "I ask an agent."
	agent := map[string]any{"has_tool": "use_skill"}
	return []map[string]any{
		when(request, 0, dispatch), when(request, 1, call("get_agent_results", map[string]any{"mode": "wait_all"})),
		when(request, 2, content("The mail is out.")),
		{"when": map[string]any{"has_tool": "use_skill", "tool_results": 0}, "reply": call("use_skill", map[string]any{
			"skill": "mail.send", "arguments": map[string]any{"to": "bob"}})},
		{"when": agent, "reply": content("sent")},
	}
}

func open(t testing.TB, more string, o assistants.Options, rules ...map[string]any) *house {
	t.Helper()
	h := &house{t: t, tokens: map[string]string{}, now: time.Now()}
	rules = append(rules, map[string]any{"when": map[string]any{}, "reply": content("I say nothing.")})
	src, err := json.Marshal(map[string]any{"rules": rules})
	require.NoError(t, err)
	script, err := scripted.Load(src)
	require.NoError(t, err)
	h.model, err = scripted.Serve(context.Background(), script, scripted.Options{})
	require.NoError(t, err)
	t.Cleanup(h.model.Close)
	file := filepath.Join(t.TempDir(), "vedette.yaml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, houseConfig+more, h.model.BaseURL()), 0o600))
	type in struct {
		To string `json:"to,omitempty"`
	}
	var own []*skills.GoSkill
	for _, name := range []string{"mail.send", "note.read"} {
		s := skills.Spec{Name: name, Description: "For tests.", Effect: skills.Create, Output: skills.Trusted, Reaches: skills.Self}
		g, err := skills.Func(s, func(context.Context, in) (string, error) { return "done", nil })
		require.NoError(t, err)
		own = append(own, g)
	}
	cfg, err := config.Load(file, config.Options{KnownSkills: []string{"mail.send", "note.read"}})
	require.NoError(t, err)
	log := slog.New(slog.DiscardHandler)
	h.o, err = orchestrator.New(context.Background(), cfg, orchestrator.Options{Skills: own, NoReview: true, Log: log})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.o.Close(context.Background())) })
	h.serve(cfg, o, log)
	return h
}

// serve puts the door behind a guard with tokens.
func (h *house) serve(cfg *config.Config, o assistants.Options, log *slog.Logger) {
	parts := h.o.Parts()
	all, err := access.OpenTokens(context.Background(),
		access.TokenOptions{Store: parts.Store, Ledger: parts.Ledger, Key: parts.Keys.Digest()})
	require.NoError(h.t, err)
	chat := []access.Scope{access.Chat}
	for _, w := range []access.Wanted{
		{Name: "ann", User: "ann", Scopes: chat, UserTurns: access.UserTurnsHuman},
		{Name: "ann2", User: "ann", Scopes: chat, UserTurns: access.UserTurnsHuman, Group: "gold"},
		{Name: "eve", User: "eve", Scopes: chat, UserTurns: access.UserTurnsHuman},
		{Name: "bot", User: "ann", Scopes: chat},
		{Name: "narrow", User: "ann", Scopes: chat, UserTurns: access.UserTurnsHuman, Skills: []string{"note.read"}},
		{Name: "gateway", Scopes: []access.Scope{access.Chat, access.ActAs}, UserTurns: access.UserTurnsHuman},
		{Name: "check", User: "ann", Scopes: []access.Scope{access.Check}},
	} {
		made, err := all.Create(context.Background(), w, "local:test")
		require.NoError(h.t, err)
		h.tokens[w.Name] = made.Secret
	}
	guard, err := access.NewGuard(access.GuardOptions{Tokens: all, Hosts: []string{"127.0.0.1"}, Usual: access.Limits{PerMinute: 1_000_000}})
	require.NoError(h.t, err)
	o.Orchestrator, o.Assistants, o.Log, o.Now = h.o, cfg.ListAssistants(), log, h.clock
	o.PublicURL = "https://v.example.com/"
	door, err := assistants.New(context.Background(), o)
	require.NoError(h.t, err)
	h.server = httptest.NewServer(guard.Wrap(door))
	h.t.Cleanup(func() { h.server.CloseClientConnections(); h.server.Close() })
}

// client is go-openai with the token of who, in the conversation where one is named.
func (h *house) client(who, conversation string) *openai.Client {
	c := openai.DefaultConfig(h.tokens[who])
	c.BaseURL, c.HTTPClient = h.server.URL+"/assistants/v1", named{h.server.Client(), conversation}
	return openai.NewClientWithConfig(c)
}

type named struct {
	*http.Client
	conversation string
}

func (n named) Do(r *http.Request) (*http.Response, error) {
	if n.conversation != "" {
		r.Header.Set(assistants.ConversationHeader, n.conversation)
	}
	return n.Client.Do(r)
}

// says are messages, the user's and the assistant's in turn; a text that begins with "system:" is the system's.
func says(list ...string) (out []openai.ChatCompletionMessage) {
	role := openai.ChatMessageRoleUser
	for _, text := range list {
		if s, ok := strings.CutPrefix(text, "system:"); ok {
			out = append(out, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: s})
			continue
		}
		out = append(out, openai.ChatCompletionMessage{Role: role, Content: text})
		if role == openai.ChatMessageRoleUser {
			role = openai.ChatMessageRoleAssistant
		} else {
			role = openai.ChatMessageRoleUser
		}
	}
	return out
}

// ask sends messages and returns the answer.
func (h *house) ask(c *openai.Client, list ...string) string {
	h.t.Helper()
	r, err := c.CreateChatCompletion(context.Background(), openai.ChatCompletionRequest{Model: "vedette", Messages: says(list...)})
	require.NoError(h.t, err)
	require.Len(h.t, r.Choices, 1)
	require.Equal(h.t, openai.FinishReasonStop, r.Choices[0].FinishReason)
	return r.Choices[0].Message.Content
}

// stream sends messages and returns the answer as it was streamed, with the last usage.
func (h *house) stream(c *openai.Client, list ...string) (string, *openai.Usage) {
	h.t.Helper()
	s, err := c.CreateChatCompletionStream(context.Background(), openai.ChatCompletionRequest{Model: "vedette",
		Messages: says(list...), Stream: true, StreamOptions: &openai.StreamOptions{IncludeUsage: true}})
	require.NoError(h.t, err)
	defer func() { require.NoError(h.t, s.Close()) }()
	var text strings.Builder
	var reason openai.FinishReason
	var use *openai.Usage
	first := true
	for {
		e, err := s.Recv()
		if err == io.EOF { //nolint:errorlint // as go-openai says
			break
		}
		require.NoError(h.t, err)
		if len(e.Choices) == 0 {
			use = e.Usage
			continue
		}
		require.Equal(h.t, first, e.Choices[0].Delta.Role == "assistant")
		first = false
		text.WriteString(e.Choices[0].Delta.Content)
		if e.Choices[0].FinishReason != "" {
			require.Empty(h.t, reason, "one reason")
			reason = e.Choices[0].FinishReason
		}
	}
	require.Equal(h.t, openai.FinishReasonStop, reason)
	return text.String(), use
}

// post sends a body as it is.
func (h *house) post(who, body string, header ...string) (*http.Response, string) {
	h.t.Helper()
	address := h.server.URL + "/assistants/v1/chat/completions"
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, address, strings.NewReader(body))
	require.NoError(h.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+h.tokens[who])
	for pair := range slices.Chunk(header, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	res, err := h.server.Client().Do(r)
	require.NoError(h.t, err)
	defer func() { require.NoError(h.t, res.Body.Close()) }()
	out, err := io.ReadAll(res.Body)
	require.NoError(h.t, err)
	return res, string(bytes.TrimSpace(out))
}

// asked waits for an open question of the conversation's user.
func (h *house) asked() approval.Item {
	h.t.Helper()
	var list []approval.Item
	require.Eventually(h.t, func() bool {
		var err error
		list, err = h.o.Parts().Inbox.List(context.Background(), approval.Filter{})
		return err == nil && len(list) == 1
	}, eventually, tick)
	return list[0]
}

// questions are what the orchestrator's model was asked, from the one of that number on.
func (h *house) questions(from int) []string {
	var out []string
	for _, q := range h.model.Requests()[from:] {
		out = append(out, string(q))
	}
	return out
}

// answer answers the open question.
func (h *house) answer(word approval.Word) {
	item := h.asked()
	_, err := h.o.Parts().Inbox.Answer(context.Background(), approval.Answer{Approval: item.ID, Word: word, By: "bob", Via: "test"})
	if err != nil {
		h.t.Errorf("the question can't be answered: %v", err)
	}
}

// conversation returns what lists the messages of a conversation.
func (h *house) conversation(user, name string) func() ([]orchestrator.Message, error) {
	id := h.info(user, name).ID
	c, err := h.o.Open(context.Background(), orchestrator.ConversationOptions{ID: id, User: user})
	require.NoError(h.t, err)
	return func() ([]orchestrator.Message, error) {
		page, err := c.Messages(context.Background(), orchestrator.MessageQuery{})
		return page.Messages, err
	}
}

// info is what is known of the conversation that a token of the user calls by name.
func (h *house) info(user, name string) orchestrator.ConversationInfo {
	h.t.Helper()
	list, err := h.o.Conversations(context.Background(), orchestrator.ConversationQuery{User: user})
	require.NoError(h.t, err)
	for _, c := range list.Conversations {
		if strings.HasPrefix(c.ID, name+".u") {
			return c
		}
	}
	require.Failf(h.t, "no conversation", "%s of %s: %v", name, user, list)
	return orchestrator.ConversationInfo{}
}
