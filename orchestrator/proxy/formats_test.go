package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
)

const (
	messagesPath  = "/proxy/anthropic/v1/messages"
	responsesPath = "/proxy/openai/v1/responses"
)

// event is an event of Anthropic's or of the Responses format.
func event(typ, rest string) string {
	return fmt.Sprintf("event: %s\ndata: {\"type\":%q%s}\n\n", typ, typ, rest)
}

// toolUse is a message that holds a text and then calls, as id, name and arguments.
func toolUse(text string, calls ...[3]string) string {
	out := event("message_start", `,"message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,`+
		`"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`)
	out += event("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`)
	out += event("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":`+quote(text)+`}`)
	out += event("content_block_stop", `,"index":0`)
	for i, c := range calls {
		out += event("content_block_start",
			fmt.Sprintf(`,"index":%d,"content_block":{"type":"tool_use","id":%q,"name":%q,"input":{}}`, i+1, c[0], c[1]))
		out += event("content_block_delta", fmt.Sprintf(`,"index":%d,"delta":{"type":"input_json_delta","partial_json":%s}`, i+1, quote(c[2])))
		out += event("content_block_stop", fmt.Sprintf(`,"index":%d`, i+1))
	}
	reason := "end_turn"
	if len(calls) > 0 {
		reason = "tool_use"
	}
	out += event("message_delta", fmt.Sprintf(`,"delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":9}`, reason))
	return out + event("message_stop", "")
}

// functionCalls is a response that holds calls, as id, name and arguments.
func functionCalls(calls ...[3]string) string {
	head := `{"id":"resp_1","object":"response","created_at":1,"status":%q,"model":"m","output":[%s],"usage":null}`
	out := event("response.created", `,"sequence_number":0,"response":`+fmt.Sprintf(head, "in_progress", ""))
	n := 0
	next := func() int { n++; return n }
	var done []string
	for i, c := range calls {
		item := `{"type":"function_call","id":"fc_%[1]s","call_id":%[1]q,"name":%[2]q,"arguments":%[3]s,"status":%[4]q}`
		id := strings.Trim(c[0], `"`)
		begun := fmt.Sprintf(item, id, c[1], `""`, "in_progress")
		ended := fmt.Sprintf(item, id, c[1], quote(c[2]), "completed")
		at := fmt.Sprintf(`,"output_index":%d`, i)
		out += event("response.output_item.added", fmt.Sprintf(`,"sequence_number":%d%s,"item":%s`, next(), at, begun))
		out += event("response.function_call_arguments.delta", fmt.Sprintf(`,"sequence_number":%d,"item_id":"fc_%s"%s,"delta":%s`, next(), id, at,
			quote(c[2])))
		out += event("response.function_call_arguments.done", fmt.Sprintf(`,"sequence_number":%d,"item_id":"fc_%s"%s,"name":%q,"arguments":%s`,
			next(), id, at, c[1], quote(c[2])))
		out += event("response.output_item.done", fmt.Sprintf(`,"sequence_number":%d%s,"item":%s`, next(), at, ended))
		done = append(done, ended)
	}
	return out + event("response.completed", fmt.Sprintf(`,"sequence_number":%d,"response":`, next())+
		fmt.Sprintf(head, "completed", strings.Join(done, ",")))
}

// The requests of the three formats: a first one, and one that brings a result.
const (
	bashMessages = `{"name":"Bash","description":"Run a command.",` +
		`"input_schema":{"type":"object","properties":{"command":{"type":"string"}}}}`
	bashResponses = `{"type":"function","name":"Bash","parameters":{"type":"object","properties":{"command":{"type":"string"}}}}`
)

func askMessages(stream bool, more string) string {
	return fmt.Sprintf(`{"model":"m","max_tokens":9,"stream":%t,"tools":[%s],"messages":[{"role":"user","content":"list the files"}%s]}`,
		stream, bashMessages, more)
}

func askResponses(stream bool, more string) string {
	const form = `{"model":"m","stream":%t,"tools":[%s],"input":[{"role":"user","content":"list the files"}%s]}`
	return fmt.Sprintf(form, stream, bashResponses, more)
}

// Messages and Responses decide, forward, block, record and close as chat completions do.
func TestOtherFormats(t *testing.T) {
	for name, c := range map[string]struct {
		path          string
		ask           func(bool, string) string
		answer        func(calls ...[3]string) string
		whole, result string
	}{
		"messages": {messagesPath, askMessages, func(calls ...[3]string) string { return toolUse("I look.", calls...) },
			`{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"call_9","name":"Bash",` +
				`"input":{"command":"forbidden x"}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`,
			`,{"role":"assistant","content":[{"type":"tool_use","id":"call_1","name":"Bash","input":{"command":"ls"}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":"no such folder","is_error":true}]}`},
		"responses": {responsesPath, askResponses, functionCalls,
			`{"id":"resp_1","object":"response","created_at":1,"status":"completed","model":"m","output":[{"type":"function_call",` +
				`"id":"fc_9","call_id":"call_9","name":"Bash","arguments":"{\"command\":\"forbidden x\"}","status":"completed"}]}`,
			`,{"type":"function_call","call_id":"call_1","name":"Bash","arguments":"{\"command\":\"ls\"}"},` +
				`{"type":"function_call_output","call_id":"call_1","output":"a.txt"}`},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t)
			h.up.streams(c.answer([3]string{"call_1", "Bash", `{"command":"ls"}`}, [3]string{"call_2", "Bash", `{"command":"forbidden x"}`}))
			a := h.post(c.path, c.ask(true, ""))
			require.Equal(t, 200, a.status, a.body)
			require.Contains(t, a.body, `call_1`)
			require.Contains(t, a.body, "that command is forbidden")
			require.NotContains(t, a.body, "call_2")
			decisions := h.awaitRecords(sentinel.RecordDecision, 2)
			ids := strings.Split(a.trailer.Get("X-Vedette-Decisions"), ", ")
			require.ElementsMatch(t, []string{decisions[0].Decision, decisions[1].Decision}, ids)
			require.Equal(t, sentinel.StatusForwarded, h.awaitRecords(sentinel.RecordOutcome, 1)[0].Outcome)

			h.up.replies(200, c.whole)
			a = h.post(c.path, c.ask(false, c.result))
			require.Equal(t, 200, a.status, a.body)
			require.Contains(t, a.body, "that command is forbidden")
			require.NotContains(t, a.body, "call_9")
			want := sentinel.StatusOK
			if name == "messages" { // the tool said that it failed
				want = sentinel.StatusFailed
			}
			require.Equal(t, want, h.awaitRecords(sentinel.RecordOutcome, 2)[0].Outcome)
		})
	}
}

// What carries no answer of a model's is passed, with the upstream's key and what clients and providers tell each other.
func TestPassedOperations(t *testing.T) {
	h := open(t, "openai: [{", `openai: [{url: "%[1]s/other/v1", models: ["other-*"], api_key: second}, {`)
	h.up.says(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Ratelimit-Remaining-Requests", "7")
		w.Header().Set("Set-Cookie", "a=b")
		_, _ = io.WriteString(w, map[string]string{
			"/v1/messages/count_tokens": `{"input_tokens":12}`,
			"/v1/embeddings":            `{"object":"list","data":[{"embedding":[1]}]}`,
			"/v1/models":                `{"object":"list","data":[{"id":"m"}]}`,
			"/other/v1/models":          `{"object":"list","data":[{"id":"other-1"}]}`,
			"/other/v1/models/other-1":  `{"id":"other-1","capabilities":{"tools":true}}`,
		}[r.URL.Path])
	})
	a := h.post(messagesPath+"/count_tokens?beta=true", askMessages(false, ""), "Anthropic-Beta", "b1",
		"Anthropic-Version", "2023-06-01", "Cookie", "c=d")
	require.Equal(t, []any{200, `{"input_tokens":12}`, "7", ""},
		[]any{a.status, a.body, a.header.Get("X-Ratelimit-Remaining-Requests"), a.header.Get("Set-Cookie")})
	last := h.up.last()
	require.Equal(t, []string{"/v1/messages/count_tokens", "beta=true", "upstream-secret", "", "b1", "2023-06-01", ""},
		[]string{last.path, last.query, last.header.Get("X-Api-Key"), last.header.Get("Authorization"), last.header.Get("Anthropic-Beta"),
			last.header.Get("Anthropic-Version"), last.header.Get("Cookie")})
	require.Equal(t, askMessages(false, ""), last.body, "the body goes byte by byte")

	require.JSONEq(t, `{"object":"list","data":[{"embedding":[1]}]}`, h.post("/proxy/openai/v1/embeddings", `{"model":"m","input":"x"}`).body)
	require.JSONEq(t, `{"object":"list","data":[{"id":"other-1"},{"id":"m"}]}`, h.get("/proxy/openai/v1/models").body)
	require.JSONEq(t, `{"object":"list","data":[{"id":"m"}]}`, h.get("/proxy/anthropic/v1/models").body)
	require.Contains(t, h.get("/proxy/openai/v1/models/other-1").body, "capabilities")
	require.Equal(t, "Bearer second", h.up.last().header.Get("Authorization"))

	h.up.replies(200, whole("", [3]string{"c", "Bash", "{}"}))
	require.Equal(t, 502, h.post("/proxy/openai/v1/embeddings", `{"model":"m"}`).status, "an answer with a call isn't passed")
	require.Empty(t, h.records(sentinel.RecordDecision))
	for path, method := range map[string]string{
		"/proxy/openai/v1/responses/resp_1": "GET", "/proxy/openai/v1/completions": "POST", "/proxy/openai/v1/files": "GET",
		"/proxy/anthropic/v1/messages/batches": "POST", "/proxy/anthropic/v1/complete": "POST",
	} {
		require.Equal(t, 404, h.do(method, path, "{}").status, path)
	}
}

// get sends a GET.
func (h *house) get(path string) got { return h.do(http.MethodGet, path, "") }

// do sends a request of any method.
func (h *house) do(method, path, body string, headers ...string) got {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), method, h.server.URL+path, strings.NewReader(body))
	require.NoError(h.t, err)
	req.Header.Set("Authorization", "Bearer "+h.key("key", nil))
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := h.server.Client().Do(req)
	require.NoError(h.t, err)
	defer func() { require.NoError(h.t, res.Body.Close()) }()
	raw, err := io.ReadAll(res.Body)
	require.NoError(h.t, err)
	return got{res.StatusCode, res.Header, res.Trailer, string(raw)}
}

// Requests that can't be read, and what the formats can't have judged, are errors in the provider's form.
func TestRequestsThatCantBeRead(t *testing.T) {
	h := open(t)
	h.up.replies(200, `{}`)
	for _, c := range []struct {
		path, body string
		status     int
		says       string
	}{
		{chatPath, ``, 400, "must be one JSON object"}, {chatPath, `[]`, 400, "must be one JSON object"},
		{chatPath, `{"model":"m","messages":[],"model":"n"}`, 400, "must be one JSON object"},
		{chatPath, `{"model":"m","messages":[],"Model":"n"}`, 400, "must be one JSON object"},
		{chatPath, `{"messages":[]}`, 400, "model must name"}, {chatPath, `{"model":"m"}`, 400, "messages must be a list"},
		{messagesPath, `{"model":"m","messages":"x"}`, 400, "messages must be a list"},
		{messagesPath, "{\"model\":\"m\",\"messages\":[\"\xff\"]}", 400, "must be one JSON object"},
		{responsesPath, `{"model":"m","input":7}`, 400, "input must be"},
		{responsesPath, `{"model":"m","input":"x","background":true}`, 400, "background isn't supported"},
	} {
		a := h.post(c.path, c.body)
		require.Equal(t, c.status, a.status, c.body)
		require.Contains(t, a.body, c.says)
		require.Equal(t, strings.HasPrefix(c.path, "/proxy/anthropic"), strings.Contains(a.body, `"type":"error"`))
	}
	require.Equal(t, 400, h.post(chatPath, ask(false, ""), "X-Vedette-Conversation", "../x").status)
	require.Equal(t, 400, h.post(chatPath, ask(false, ""), "X-Vedette-Skills", "*").status)
	require.Empty(t, h.up.requests)
}
