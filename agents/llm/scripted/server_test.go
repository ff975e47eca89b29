package scripted_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm/scripted"
)

const anything = `rules: [{reply: {content: ok}}]`

// The answer has every field that clients of the format look at.
func TestAnswerOnTheWire(t *testing.T) {
	srv := play(t, `rules: [{reply: {content: hi, usage: {prompt_tokens: 1, completion_tokens: 2}}}]`,
		scripted.Options{Now: func() time.Time { return time.Unix(1700000000, 0) }})
	code, head, body := post(t, srv, `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}`)
	require.Equal(t, 200, code)
	require.Equal(t, "application/json", head.Get("Content-Type"))
	require.Equal(t, compact(t, `{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"m",
		"choices":[{"index":0,"message":{"role":"assistant","content":"hi","refusal":null},"logprobs":null,"finish_reason":"stop"}],
		"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}`), body)
}

// A request that no rule matches is told apart, without its contents.
func TestNoRule(t *testing.T) {
	var rec recorder
	srv := play(t, `rules: [{when: {has_tool: t}, reply: {content: ok}}]`, scripted.Options{Log: rec.log})
	code, _, body := post(t, srv, `{"model":"m","messages":[{"role":"system","content":"canary"},{"role":"user","content":"canary"}]}`)
	require.Equal(t, 500, code)
	require.Contains(t, body, `no rule matches request 1: model \"m\", 2 messages, last role user, turn 1, 0 tool results, tools [], `+
		`schema none`)
	require.NotContains(t, body, "canary")
	srv.Close()
	require.Equal(t, []string{""}, rec.rules())
}

// What a real service would refuse is refused, with the reason and without contents.
func TestStrictAboutRequests(t *testing.T) {
	const user = `"messages":[{"role":"user","content":"canary"}]`
	const calls = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	schema := func(s string) string {
		return `{"model":"m",` + user + `,"response_format":{"type":"json_schema","json_schema":` + s + `}}`
	}
	rows := []struct{ name, body, want string }{
		{"not JSON", `{"model":`, "the body"},
		{"duplicate key", `{"model":"m","model":"n",` + user + `}`, "not what a chat completion request holds"},
		{"trailing text", `{"model":"m",` + user + `} x`, "not what a chat completion request holds"},
		{"unknown key", `{"model":"m",` + user + `,"temprature":0}`, "unknown key"},
		{"key in another case", `{"Model":"m",` + user + `}`, "unknown key"},
		{"wrong type", `{"model":"m",` + user + `,"max_completion_tokens":"canary"}`, "/max_completion_tokens"},
		{"no model", `{` + user + `}`, "model is missing"},
		{"no messages", `{"model":"m","messages":[]}`, "messages is empty"},
		{"stream options without a stream", `{"model":"m",` + user + `,"stream_options":{"include_usage":true}}`, "stream_options"},
		{"n", `{"model":"m",` + user + `,"n":2}`, "n other than 1"},
		{"both limits", `{"model":"m",` + user + `,"max_tokens":1,"max_completion_tokens":1}`, "exclude each other"},
		{"temperature", `{"model":"m",` + user + `,"temperature":3}`, "between 0 and 2"},
		{"effort", `{"model":"m",` + user + `,"reasoning_effort":"canary"}`, "reasoning_effort"},
		{"limit of a reasoning model", `{"model":"gpt-5-mini",` + user + `,"max_tokens":1}`, "max_tokens is not supported"},
		{"temperature of a reasoning model", `{"model":"openai/o3",` + user + `,"temperature":0}`, "temperature other than 1"},
		{"minimal effort after gpt-5", `{"model":"gpt-5.2",` + user + `,"reasoning_effort":"minimal"}`, "minimal"},
		{"role", `{"model":"m","messages":[{"role":"canary","content":"x"}]}`, "role is not known"},
		{"user without content", `{"model":"m","messages":[{"role":"user"}]}`, "no content"},
		{"content of another type", `{"model":"m","messages":[{"role":"user","content":{"canary":1}}]}`, "neither a string nor"},
		{"assistant that says nothing", `{"model":"m","messages":[{"role":"assistant","content":null}]}`, "neither content nor tool_calls"},
		{"tool result for nobody", `{"model":"m","messages":[{"role":"tool","tool_call_id":"a","content":"x"}]}`, "did not make"},
		{"tool result without id", `{"model":"m","messages":[{"role":"tool","content":"x"}]}`, "no tool_call_id"},
		{"call without an answer", `{"model":"m","messages":[` + calls + `]}`, "not answered"},
		{"user between call and answer", `{"model":"m","messages":[` + calls + `,{"role":"user","content":"x"}]}`, "before 1 tool calls"},
		{"arguments left out", `{"model":"m","messages":[` + strings.Replace(calls, `,"arguments":"{}"`, "", 1) + `]}`, "no arguments"},
		{"tool name", `{"model":"m",` + user + `,"tools":[{"type":"function","function":{"name":"a.b"}}]}`, "tools[0]"},
		{"same tool twice", `{"model":"m",` + user +
			`,"tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"f"}}]}`, "name of another tool"},
		{"choice without tools", `{"model":"m",` + user + `,"tool_choice":"auto"}`, "without tools"},
		{"choice of nothing", `{"model":"m",` + user +
			`,"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":{"type":"function","function":{"name":"g"}}}`, "names no tool"},
		{"json_object without the word", `{"model":"m",` + user + `,"response_format":{"type":"json_object"}}`, "must contain the word json"},
		{"json_object with a schema", `{"model":"m","messages":[{"role":"user","content":"JSON"}],"response_format":{"type":"json_object",` +
			`"json_schema":{"name":"s","schema":{}}}}`, "stands beside another type"},
		{"another format", `{"model":"m",` + user + `,"response_format":{"type":"xml"}}`, "not text, json_object or json_schema"},
		{"schema without a name", schema(`{"strict":true,"schema":{"type":"object","properties":{},"required":[],` +
			`"additionalProperties":false}}`), "no usable name"},
		{"schema left out", schema(`{"name":"s","strict":true}`), "schema is not an object"},
		{"open object", schema(`{"name":"s","strict":true,"schema":{"type":"object","properties":{}}}`),
			"additionalProperties is required to be supplied and to be false, at root"},
		{"optional property", schema(`{"name":"s","strict":true,"schema":{"type":"object","properties":{"a":{"type":"string"}},` +
			`"additionalProperties":false}}`), "required has to hold every property"},
		{"required without a property", schema(`{"name":"s","strict":true,"schema":{"type":"object","properties":{"a":{"type":"string"}},` +
			`"required":["b"],"additionalProperties":false}}`), "required has to hold every property"},
		{"open object inside", schema(`{"name":"s","strict":true,"schema":{"type":"object","required":["a"],` +
			`"properties":{"a":{"type":"array","items":{"type":"object"}}},"additionalProperties":false}}`), "at root.properties.items"},
		{"root that is no object", schema(`{"name":"s","strict":true,"schema":{"type":"array","items":{"type":"string"}}}`),
			"root is not of type object"},
		{"property without a type", schema(`{"name":"s","strict":true,"schema":{"type":"object","required":["a"],"properties":{"a":{}},` +
			`"additionalProperties":false}}`), "a schema has no type, at root.properties"},
		{"allOf", schema(`{"name":"s","strict":true,"schema":{"type":"object","required":["a"],` +
			`"properties":{"a":{"allOf":[{"type":"string"}]}},"additionalProperties":false}}`), "allOf is not permitted"},
		{"strict tool that is open", `{"model":"m",` + user +
			`,"tools":[{"type":"function","function":{"name":"f","strict":true,"parameters":{"type":"object","properties":{}}}}]}`,
			"tools[0].function.parameters is not strict"},
		{"parameters of no type", `{"model":"m",` + user +
			`,"tools":[{"type":"function","function":{"name":"f","parameters":{"properties":{}}}}]}`, "not an object of type object"},
		{"top_p of a reasoning model", `{"model":"gpt-5.2",` + user + `,"top_p":0.5}`, "top_p is not supported"},
	}
	srv := play(t, anything, scripted.Options{})
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			code, _, body := post(t, srv, row.body)
			require.Equal(t, 400, code, body)
			require.Contains(t, body, row.want)
			require.NotContains(t, body, "canary")
		})
	}
	require.Len(t, srv.Requests(), len(rows), "refused requests are kept as well")
}

// Methods, paths, types, keys, sizes and models are held to.
func TestPathsMethodsAndKeys(t *testing.T) {
	srv := play(t, `{models: [m], rules: [{reply: {content: ok}}]}`, scripted.Options{APIKey: "k"})
	hc := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	rows := []struct {
		name, method, path, kind, key, body string
		code                                int
		want                                string
	}{
		{"models", "GET", "/v1/models", "", "k", "", 200, `"id":"m"`},
		{"models by POST", "POST", "/v1/models", "", "k", "", 405, "use GET"},
		{"chat by GET", "GET", "/v1/chat/completions", "", "k", "", 405, "use POST"},
		{"another path", "GET", "/", "", "k", "", 404, "no such path"},
		{"no key", "GET", "/v1/models", "", "", "", 401, "did not provide an API key"},
		{"wrong key", "GET", "/v1/models", "", "kk", "", 401, "invalid_api_key"},
		{"no type", "POST", "/v1/chat/completions", "", "k", "{}", 400, "content type"},
		{"too large", "POST", "/v1/chat/completions", "application/json", "k", strings.Repeat(" ", 9<<20), 413, "too large"},
		{"another model", "POST", "/v1/chat/completions", "application/json", "k", `{"model":"n","messages":[{"role":"user","content":"x"}]}`,
			404, "model_not_found"},
		{"all right", "POST", "/v1/chat/completions", "application/json; charset=utf-8", "k",
			`{"model":"m","messages":[{"role":"user","content":"x"}]}`, 200, `"content":"ok"`},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), row.method, srv.URL()+row.path, strings.NewReader(row.body))
			require.NoError(t, err)
			if row.kind != "" {
				req.Header.Set("Content-Type", row.kind)
			}
			if row.key != "" {
				req.Header.Set("Authorization", "Bearer "+row.key)
			}
			res, err := hc.Do(req)
			require.NoError(t, err)
			defer func() { _ = res.Body.Close() }()
			body, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.Equal(t, row.code, res.StatusCode)
			require.Contains(t, string(body), row.want)
		})
	}
}

// Without a list, the models are those that rules name.
func TestModelsOfRules(t *testing.T) {
	srv := play(t, `rules: [{when: {model: a}, reply: {content: x}}, {when: {model: a, turn: 2}, reply: {content: x}}, {when: {model: b},`+
		` reply: {content: x}}]`,
		scripted.Options{Now: func() time.Time { return time.Unix(7, 0) }})
	hc := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := hc.Get(srv.BaseURL() + "/models")
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.JSONEq(t, `{"object":"list","data":[{"id":"a","object":"model","created":7,"owned_by":"scripted"},{"id":"b","object":"model",`+
		`"created":7,"owned_by":"scripted"}]}`, string(body))
}

// Requests are copies of the newest bodies, byte for byte.
func TestRequestsAreBoundedCopies(t *testing.T) {
	srv := play(t, anything, scripted.Options{Keep: 2})
	bodies := []string{`{"model":"1","messages":[{"role":"user","content":"x"}]}`,
		` {"model":"2","messages":[{"role":"user","content":"\u0078"}]}`, `broken`}
	for _, b := range bodies {
		post(t, srv, b)
	}
	got := srv.Requests()
	kept := []string{string(got[0]), string(got[1])}
	require.Equal(t, bodies[1:], kept)
	got[0][0] = 'X'
	require.Equal(t, bodies[1], string(srv.Requests()[0]))
}

// Closing ends replies that hang or wait, from either side, and may be repeated.
func TestCloseReleases(t *testing.T) {
	for _, reply := range []string{"{hang: true}", "{delay: 5m, content: late}"} {
		t.Run(reply, func(t *testing.T) {
			script, err := scripted.Load([]byte("rules: [{reply: " + reply + "}]"))
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			srv, err := scripted.Serve(ctx, script, scripted.Options{})
			require.NoError(t, err)
			status := make(chan int, 1)
			go func() {
				hc := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
				res, err := hc.Post(srv.BaseURL()+"/chat/completions", "application/json",
					strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"x"}]}`))
				if err != nil {
					status <- 0
					return
				}
				_ = res.Body.Close()
				status <- res.StatusCode
			}()
			require.Eventually(t, func() bool { return len(srv.Requests()) == 1 }, 4*time.Minute, time.Millisecond)
			cancel()
			require.Equal(t, http.StatusServiceUnavailable, <-status)
			srv.Close()
			srv.Close()
		})
	}
}

// Many at once: every request is answered and counted once.
func TestConcurrentRequests(t *testing.T) {
	srv := play(t, `rules: [{times: 20, reply: {content: first}}, {reply: {content: second}}]`, scripted.Options{})
	var wg sync.WaitGroup
	codes := make(chan string, 50)
	for range 50 {
		wg.Go(func() {
			hc := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			res, err := hc.Post(srv.BaseURL()+"/chat/completions", "application/json",
				strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"x"}]}`))
			if err != nil {
				codes <- err.Error()
				return
			}
			b, _ := io.ReadAll(res.Body)
			_ = res.Body.Close()
			codes <- string(b)
		})
	}
	wg.Wait()
	close(codes)
	var first, second int
	for body := range codes {
		if strings.Contains(body, `"content":"first"`) {
			first++
		} else if strings.Contains(body, `"content":"second"`) {
			second++
		}
	}
	require.Equal(t, 20, first)
	require.Equal(t, 30, second)
}

// A server needs a script and an address that is free.
func TestServeRefuses(t *testing.T) {
	_, err := scripted.Serve(t.Context(), nil, scripted.Options{})
	require.ErrorContains(t, err, "no script")
	srv := play(t, anything, scripted.Options{})
	script, err := scripted.Load([]byte(anything))
	require.NoError(t, err)
	_, err = scripted.Serve(t.Context(), script, scripted.Options{Addr: strings.TrimPrefix(srv.URL(), "http://")})
	require.ErrorContains(t, err, "can't listen")
}
