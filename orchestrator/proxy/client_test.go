package proxy_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"

	openai "github.com/sashabaranov/go-openai"
	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/internal/testprovider"
	"github.com/vedette-dev/vedette/orchestrator/proxy"
	"github.com/vedette-dev/vedette/sentinel/approval"
)

var update = flag.Bool("update", false, "write the column of go-openai in docs/streaming.md again")

// patientJudge approves all that it is asked. A question about a slow command waits until a keep-alive was seen.
type patientJudge struct {
	*httptest.Server
	once  sync.Once
	alive chan struct{}
}

func startJudge(t *testing.T) *patientJudge {
	t.Helper()
	j := &patientJudge{alive: make(chan struct{})}
	j.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		if bytes.Contains(raw, []byte("slow one")) {
			select {
			case <-j.alive:
			case <-r.Context().Done():
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":`+
			quote(`{"decision":"approve","reason":"fits"}`)+`}}]}`)
	}))
	t.Cleanup(j.Close)
	return j
}

// see tells the judge that the client has seen a keep-alive.
func (j *patientJudge) see() { j.once.Do(func() { close(j.alive) }) }

// goClient is go-openai at an address.
type goClient struct {
	*openai.Client
	seesAlive, close func()
}

func newGoClient(url, key string, seesAlive func()) *goClient {
	c := openai.DefaultConfig(key)
	c.BaseURL = url
	client := &http.Client{Transport: &http.Transport{}}
	c.HTTPClient = client
	return &goClient{openai.NewClientWithConfig(c), seesAlive, client.CloseIdleConnections}
}

// end asks for a scenario, and returns what the client ends up with.
func (c *goClient) end(t *testing.T, scenario string, streamed bool) testprovider.Ending {
	t.Helper()
	q := openai.ChatCompletionRequest{
		Model: "m", Messages: []openai.ChatCompletionMessage{{Role: "user", Content: fmt.Sprintf("Do it, %v. scenario: %s", streamed, scenario)}},
		Tools: []openai.Tool{{Type: "function", Function: &openai.FunctionDefinition{Name: "run", Parameters: map[string]any{
			"type": "object", "properties": map[string]any{"command": map[string]any{"type": "string"}},
		}}}},
	}
	var m openai.ChatCompletionMessage
	var finish openai.FinishReason
	var err error
	if streamed {
		m, finish, err = c.readStream(t, q)
	} else {
		var r openai.ChatCompletionResponse
		if r, err = c.CreateChatCompletion(t.Context(), q); err == nil {
			m, finish = r.Choices[0].Message, r.Choices[0].FinishReason
		}
	}
	e := testprovider.Ending{Scenario: scenario, Streamed: streamed}
	if err != nil {
		e.Error = fmt.Sprintf("%T: %v", err, err)
		return e
	}
	e.Text, e.Finish = m.Content, string(finish)
	for _, one := range m.ToolCalls {
		e.Calls = append(e.Calls, one.Function.Name+" "+one.Function.Arguments)
	}
	return e
}

// readStream puts a stream together as go-openai's users do: calls by index.
func (c *goClient) readStream(
	t *testing.T, q openai.ChatCompletionRequest,
) (m openai.ChatCompletionMessage, finish openai.FinishReason, err error) {
	t.Helper()
	s, err := c.CreateChatCompletionStream(t.Context(), q)
	if err != nil {
		return m, "", err
	}
	defer func() { require.NoError(t, s.Close()) }()
	for {
		r, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return m, finish, nil
		}
		if err != nil {
			return m, "", err
		}
		for _, choice := range r.Choices {
			d := choice.Delta
			m.Content += d.Content
			for _, part := range d.ToolCalls {
				if *part.Index == len(m.ToolCalls) {
					m.ToolCalls = append(m.ToolCalls, openai.ToolCall{ID: part.ID})
				}
				at := &m.ToolCalls[*part.Index].Function
				at.Name, at.Arguments = at.Name+part.Function.Name, at.Arguments+part.Function.Arguments
			}
			if choice.FinishReason != "" {
				finish = choice.FinishReason
			}
			if d.Content == "" && d.Role == "" && d.ToolCalls == nil && choice.FinishReason == "" {
				c.seesAlive()
			}
		}
	}
}

// go-openai ends up with what it would without the proxy, less what was blocked: streamed and whole, in each scenario of the
// provider. Other clients are under clients.
func TestGoOpenAI(t *testing.T) {
	for _, word := range []string{"terminate", "continue"} {
		t.Run(word, func(t *testing.T) { compareGoOpenAI(t, word == "continue") })
	}
}

func compareGoOpenAI(t *testing.T, goesOn bool) {
	j := startJudge(t)
	word := map[bool]string{true: "continue", false: "terminate"}[goesOn]
	h := openWith(t, proxy.Options{Hold: eventually, KeepAlive: tick}, "sentinel: {mode: \"off\"}",
		"models: {j: {model: m, base_url: \""+j.URL+"\"}}\nroles: {sentinel: j}\nsentinel: {mode: enforce, canaries: {every: 0s}}",
		"skill: tool.b-uash", "skill: tool.run", "proxy:\n", "proxy:\n  on_block: "+word+"\n", "tool: Bash", "tool: run")
	h.up.says(testprovider.ServeHTTP)
	direct, behind := newGoClient(h.up.URL+"/v1", "none", func() {}), newGoClient(h.server.URL+"/proxy/openai/v1", h.key("key", nil), j.see)
	defer direct.close()
	defer behind.close()
	var without, with []testprovider.Ending
	for _, s := range testprovider.Scenarios() {
		for _, streamed := range []bool{true, false} {
			without = append(without, direct.end(t, s.Name, streamed))
			if s.Name == "ask" && streamed {
				h.answerLater(t)
			}
			with = append(with, behind.end(t, s.Name, streamed))
		}
	}
	h.answer(h.asked(1)[0].ID, approval.Yes)
	var again testprovider.Ending
	require.Eventually(t, func() bool { // the yes has its effect soon behind the answer
		again = behind.end(t, "ask", false)
		return len(again.Calls) > 0
	}, eventually, tick)
	again.Scenario = testprovider.AskAgain
	with = append(with, again)
	all := testprovider.MakeEndings(without)
	for _, e := range with {
		require.Equal(t, all.Expect(e.Scenario, e.Streamed, goesOn).Plain(), e.Plain())
	}
	if !goesOn {
		page := testprovider.Table{Page: filepath.Join("..", "..", "docs", "streaming.md"), Heading: "### Clients of chat completions"}
		require.NoError(t, page.Compare("go-openai", testprovider.MakeEndings(with), *update))
	}
}

// answerLater says yes to the next question, beside the test.
func (h *house) answerLater(t *testing.T) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for t.Context().Err() == nil {
			list, err := h.o.Parts().Inbox.List(t.Context(), approval.Filter{Limit: 1})
			if err == nil && len(list) == 1 {
				_, _ = h.o.Parts().Inbox.Answer(t.Context(), approval.Answer{Approval: list[0].ID, Word: approval.Yes, By: "bob", Via: "test"})
				return
			}
		}
	}()
	t.Cleanup(func() { <-done })
}
