package llm_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
)

// streamed answers with events, each in a write of its own.
func streamed(events ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		for _, e := range events {
			_, _ = io.WriteString(w, e)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// data is one event with a chunk.
func data(json string) string { return "data: " + json + "\n\n" }

// says is an event with a piece of text.
func says(text string) string {
	return data(`{"id":"c1","model":"m-1","choices":[{"index":0,"delta":{"content":"` + text + `"},"finish_reason":null}]}`)
}

const (
	stops = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	done  = "data: [DONE]\n\n"
	costs = `data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}` + "\n\n"
)

// follow asks for a stream. It returns the pieces, with "|" for a withdrawal, and what
// stands at the end.
func follow(t *testing.T, h http.HandlerFunc, change func(*llm.Config)) (r llm.Response, pieces []string, stands string, err error) {
	q := ask("hi")
	q.Follow = func(p llm.Piece) {
		if p.Withdrawn {
			require.Empty(t, p.Text)
			pieces, stands = append(pieces, "|"), ""
			return
		}
		require.NotEmpty(t, p.Text)
		pieces, stands = append(pieces, p.Text), stands+p.Text
	}
	r, err = client(t, serve(t, h).URL, change).Chat(t.Context(), q)
	return r, pieces, stands, err
}

// Whatever way servers write a stream, its pieces are the content.
func TestStreams(t *testing.T) {
	for name, events := range map[string][]string{
		"plain": {says("he"), says("llo"), stops, costs, done},
		"role first": {data(`{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`),
			says("he"), says("llo"), stops, costs, done},
		"comments":         {": ping\n\n", says("he"), ": ping\r\n\r\n", says("llo"), stops, costs, done},
		"named events":     {"event: chunk\nid: 7\n" + says("he"), says("llo"), stops, costs, done},
		"no blank":         {strings.ReplaceAll(says("he")+says("llo")+stops+costs+done, "data: ", "data:")},
		"CRLF":             {strings.ReplaceAll(says("he")+says("llo")+stops+costs+done, "\n", "\r\n")},
		"bytes":            strings.Split(says("he")+says("llo")+stops+costs+done, ""),
		"no last line":     {says("he"), says("llo"), stops, costs, "data: [DONE]"},
		"one in two lines": {"data: {\"choices\":[{\"index\":0,\"delta\":\ndata: {\"content\":\"he\"}}]}\n\n", says("llo"), stops, costs, done},
		"finish with text": {says("he"), data(`{"choices":[{"delta":{"content":"llo"},"finish_reason":"stop"}]}`), costs, done},
		"a filter first":   {data(`{"choices":[],"prompt_filter_results":[{"Choices":1}]}`), says("he"), says("llo"), stops, costs, done},
		"reasoning":        {data(`{"choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}`), says("he"), says("llo"), stops, costs, done},
		"more behind":      {says("he"), says("llo"), stops, costs, done, says("evil")},
		"another choice":   {says("he"), data(`{"choices":[{"index":1,"delta":{"content":"evil"}}]}`), says("llo"), stops, costs, done},
	} {
		t.Run(name, func(t *testing.T) {
			r, pieces, stands, err := follow(t, streamed(events...), nil)
			require.NoError(t, err)
			require.Equal(t, []any{"hello", "hello", []string{"he", "llo"}}, []any{r.Content, stands, pieces})
			require.Equal(t, []any{"stop", llm.Usage{Prompt: 3, Completion: 4, Total: 7}}, []any{r.FinishReason, r.Usage})
			require.Empty(t, r.ToolCalls)
		})
	}
}

// Calls are put together by their index, or their id, and text beside them is withdrawn.
func TestStreamedCalls(t *testing.T) {
	call := func(index, id, name, args string) string {
		return data(`{"choices":[{"index":0,"delta":{"tool_calls":[{` + index + `"id":"` + id + `","function":{"name":"` +
			name + `","arguments":"` +
			args + `"}}]}}]}`)
	}
	ends := data(`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`)
	want := []llm.ToolCall{{ID: "a", Name: "one", Arguments: "{}"}, {ID: "b", Name: "two", Arguments: "[1,2]"}}
	for name, events := range map[string][]string{
		"index": {says("let me see"), call(`"index":0,`, "a", "one", "{"), call(`"index":0,`, "", "", "}"), call(`"index":1,`, "b", "two", "[1"),
			call(`"index":1,`, "b", "two", ",2]"), says("and more"), ends, done},
		"no index": {says("let me see"), call("", "a", "one", "{}"), call("", "b", "two", "[1,"), call("", "", "", "2]"), ends, done},
		"interleaved": {call(`"index":0,`, "a", "one", "{"), call(`"index":1,`, "b", "two", "[1,2]"),
			call(`"index":0,`, "", "", "}"), ends, done},
	} {
		r, pieces, stands, err := follow(t, streamed(events...), nil)
		require.NoError(t, err, name)
		require.Equal(t, want, r.ToolCalls, name)
		require.Empty(t, stands, name)
		if name != "interleaved" {
			require.Equal(t, []string{"let me see", "|"}, pieces, name)
		}
	}
	for name, events := range map[string][]string{
		"a gap":         {call(`"index":2,`, "a", "one", "{}"), ends, done},
		"another name":  {call(`"index":0,`, "a", "one", "{"), call(`"index":0,`, "a", "two", "}"), ends, done},
		"another id":    {call(`"index":0,`, "a", "one", "{"), call(`"index":0,`, "b", "", "}"), ends, done},
		"no name":       {call(`"index":0,`, "a", "", "{}"), ends, done},
		"behind an end": {says("x"), stops, call(`"index":0,`, "a", "one", "{}"), done},
		"an old call":   {data(`{"choices":[{"index":0,"delta":{"function_call":{"name":"x","arguments":""}}}]}`), ends, done},
	} {
		r, _, stands, err := follow(t, streamed(events...), nil)
		require.Equal(t, llm.KindBadResponse, fails(t, err).Kind, name)
		require.Empty(t, r.ToolCalls, name)
		require.Empty(t, stands, name)
	}
}

// A stream that isn't whole is no answer, and what was told of it is withdrawn.
func TestBrokenStreams(t *testing.T) {
	for name, row := range map[string]struct {
		events []string
		kind   llm.Kind
		code   string
	}{
		"cut":          {[]string{says("he")}, llm.KindConnect, ""},
		"no DONE":      {[]string{says("he"), stops, costs}, llm.KindConnect, ""},
		"no finish":    {[]string{says("he"), done}, llm.KindBadResponse, llm.CodeShape},
		"half a chunk": {[]string{says("he"), "data: {\"choices\":\n\n", done}, llm.KindNotJSON, ""},
		"two values":   {[]string{says("he"), data(`{} {}`), done}, llm.KindNotJSON, ""},
		"a name twice": {[]string{says("he"), data(`{"choices":[{"delta":{"content":"a","content":"b"}}]}`), done}, llm.KindNotJSON, ""},
		"an error": {[]string{says("he"),
			data(`{"error":{"code":"server_error","message":"x"}}`), done}, llm.KindBadResponse, "server_error"},
		"another role":     {[]string{says("he"), data(`{"choices":[{"delta":{"role":"user"}}]}`), done}, llm.KindBadResponse, llm.CodeShape},
		"a whole message":  {[]string{says("he"), data(`{"choices":[{"message":{"content":"x"}}]}`), done}, llm.KindBadResponse, llm.CodeShape},
		"two ends":         {[]string{says("he"), stops, strings.Replace(stops, "stop", "length", 1), done}, llm.KindBadResponse, llm.CodeShape},
		"an odd index":     {[]string{says("he"), data(`{"choices":[{"index":-1,"delta":{}}]}`), done}, llm.KindBadResponse, llm.CodeShape},
		"too long":         {[]string{says("he"), says(strings.Repeat("x", 3000)), stops, done}, llm.KindTooLarge, ""},
		"too long in bits": {[]string{says("he"), strings.Repeat(": ping\n\n", 500), stops, done}, llm.KindTooLarge, ""},
		"bad UTF-8":        {[]string{says("he"), says("\xff"), stops, done}, llm.KindNotJSON, ""},
	} {
		r, pieces, stands, err := follow(t, streamed(row.events...), func(c *llm.Config) { c.MaxResponse = 2048 })
		e := fails(t, err)
		require.Equal(t, []any{row.kind, row.code}, []any{e.Kind, e.Code}, name)
		require.Equal(t, []string{"he", "|"}, pieces, name)
		require.Empty(t, stands+r.Content, name)
	}
	_, pieces, _, err := follow(t, streamed(stops, done), nil)
	require.Equal(t, llm.CodeEmpty, fails(t, err).Code)
	require.Empty(t, pieces)
}

// A server that answers in one piece is understood; a model that is marked is asked for no stream.
func TestStreamOfOnePiece(t *testing.T) {
	r, pieces, _, err := follow(t, answer(fine), nil)
	require.NoError(t, err)
	require.Equal(t, []any{"hello", []string{"hello"}}, []any{r.Content, pieces})
	_, pieces, _, err = follow(t, answer(fine), func(c *llm.Config) { c.Unstreamed = true })
	require.NoError(t, err)
	require.Empty(t, pieces)
	s := serve(t, streamed(says("x"), stops, done))
	q := ask("hi")
	q.Follow = func(llm.Piece) {}
	_, err = client(t, s.URL, nil).Chat(t.Context(), q)
	require.NoError(t, err)
	require.Contains(t, s.received()[0], `"stream":true`)
	require.Contains(t, s.received()[0], `"stream_options":{"include_usage":true}`)
}

// A stream that follows what is in it breaks nothing: an answer or a typed error, and what
// stands at the end is the content.
func FuzzStream(f *testing.F) {
	f.Add(says("he") + says("llo") + stops + costs + done)
	f.Add(": ping\n\n" + says("a") +
		`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"n","arguments":"{}"}}]}}]}` + "\n\n" + done)
	f.Fuzz(func(t *testing.T, body string) {
		hc := &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, ContentLength: -1,
				Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
		})}
		c, err := llm.New(llm.Config{Name: "fast", Model: "m", BaseURL: "http://localhost/v1", MaxResponse: 1 << 16}, hc)
		require.NoError(t, err)
		var stands string
		q := ask("hi")
		q.Follow = func(p llm.Piece) {
			if stands += p.Text; p.Withdrawn {
				stands = ""
			}
		}
		r, err := c.Chat(t.Context(), q)
		switch {
		case err != nil:
			require.Empty(t, stands)
			require.NotEqual(t, llm.CodePanic, fails(t, err).Code)
		case len(r.ToolCalls) == 0 && r.Refusal == "":
			require.Equal(t, r.Content, stands)
		default:
			require.Empty(t, stands)
		}
	})
}
