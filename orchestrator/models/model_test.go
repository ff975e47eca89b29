package models_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/limits"
	"github.com/vedette-dev/vedette/orchestrator/models"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newModel returns a model whose server answers every question with body.
func newModel(t *testing.T, body string, o models.Options) *models.Model {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, body)
	}))
	t.Cleanup(web.Close)
	yes := true
	roster, err := llm.NewRoster(llm.RosterConfig{
		Models: map[string]llm.Config{"m": {Name: "m", Model: "m", BaseURL: web.URL + "/v1", Timeout: 20 * time.Second, SupportsTools: &yes}},
		HTTP:   llm.NewPool(1),
	})
	require.NoError(t, err)
	t.Cleanup(roster.Close)
	client, ok := roster.Lookup("m")
	require.True(t, ok)
	o.Client, o.Concurrency, o.Timeout = client, 1, 20*time.Second
	return models.New(o)
}

// newAnswer is a server's answer with what it says of its tokens.
func newAnswer(usage string) string {
	return `{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop",` +
		`"message":{"role":"assistant","content":"all is well"}}]` + usage + `}`
}

var question = llm.Request{
	Messages: []llm.Message{{Role: llm.RoleUser, Content: strings.Repeat("four", 25)}},
	Tools:    []llm.Tool{{Name: "x", Parameters: []byte(`{"type":"object"}`)}},
}

// What a question came to is what the server told, or an estimate that says so; it is
// counted for the caller, priced upwards, and observed.
func TestQuestionsAreCounted(t *testing.T) {
	for name, row := range map[string]struct {
		usage     string
		tokens    int64
		estimated bool
	}{
		"told":          {`,"usage":{"prompt_tokens":90,"completion_tokens":10,"total_tokens":100}`, 100, false},
		"told in total": {`,"usage":{"prompt_tokens":90,"completion_tokens":10,"total_tokens":130}`, 130, false},
		"not told":      {``, 41, true}, // (116 + 34 bytes) by four, rounded up, and 11 by four and one more
	} {
		t.Run(name, func(t *testing.T) {
			var events []models.Event
			m := newModel(t, newAnswer(row.usage), models.Options{
				Price:   models.Price{Input: 1, Output: 1}, // a millionth of a millionth: rounded up
				Observe: func(_ context.Context, e models.Event) { events = append(events, e) },
			})
			var spent llm.Spent
			_, err := m.Chat(llm.WithCaller(t.Context(), llm.Caller{User: "ann", Agent: "a", Spent: &spent}), question)
			require.NoError(t, err)
			tokens, cost, estimated := spent.Read()
			require.Equal(t, []any{row.tokens, int64(1), row.estimated}, []any{tokens, cost, estimated})
			require.Len(t, events, 1)
			require.Equal(t, []any{"m", true, row.tokens}, []any{events[0].Model, events[0].Agent, events[0].TokensIn + events[0].TokensOut})
			require.Empty(t, events[0].Failure)
			require.Zero(t, m.Stats().Used)
		})
	}
}

// A question that its budget has no room for is not asked, and the error says whose
// budget it was. A question outside of any turn has no budget.
func TestBudgetsBoundQuestions(t *testing.T) {
	ten := limits.Budget{Tokens: 10}
	for code, row := range map[string]struct {
		budgets limits.Budgets
		who     llm.Caller
	}{
		llm.CodeOwnBudget:    {limits.Budgets{Agent: ten}, llm.Caller{User: "ann", Conversation: "c", Turn: "t", Agent: "a"}},
		llm.CodeSharedBudget: {limits.Budgets{Turn: ten}, llm.Caller{User: "ann", Conversation: "c", Turn: "t", Agent: "a"}},
	} {
		t.Run(code, func(t *testing.T) {
			l, err := limits.New(limits.Config{Budgets: row.budgets}, limits.NewMemory(limits.MemoryOptions{}))
			require.NoError(t, err)
			m := newModel(t, newAnswer(""), models.Options{Budgets: l})
			_, err = m.Chat(llm.WithCaller(t.Context(), row.who), question)
			var e *llm.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, []any{llm.KindBudget, code}, []any{e.Kind, e.Code})
			_, err = m.Chat(t.Context(), question)
			require.NoError(t, err)
		})
	}
}

// A caller that leaves while another question is under way was not asked for.
func TestCallerLeavesTheQueue(t *testing.T) {
	m := newModel(t, newAnswer(""), models.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := m.Chat(ctx, question)
	var e *llm.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, llm.KindCanceled, e.Kind)
}
