package stream_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/vedette-dev/vedette/sentinel/stream"
	"github.com/vedette-dev/vedette/sentinel/stream/chat"
	"github.com/vedette-dev/vedette/sentinel/stream/messages"
	"github.com/vedette-dev/vedette/sentinel/stream/responses"
)

var bodyCodecs = map[string]func() stream.BodyCodec{
	"chat":      func() stream.BodyCodec { return chat.New() },
	"messages":  func() stream.BodyCodec { return messages.New() },
	"responses": func() stream.BodyCodec { return responses.New() },
}

// whole writes an answer that isn't streamed.
func whole(format string, parts []part) string {
	var list []string
	text, reason := "", ""
	for n, p := range parts {
		switch {
		case format == "responses" && p.call == nil:
			_, item := writeText(n, p.text)
			list = append(list, item)
		case format == "responses":
			_, item := writeCallItem(n, *p.call)
			list = append(list, item)
		case format == "messages" && p.call == nil:
			list = append(list, `{"type":"text","text":`+quote(p.text)+"}")
		case format == "messages":
			args := p.call.args
			if args == "" {
				args = "{}"
			}
			reason = "tool_use"
			list = append(list, `{"type":"tool_use","id":`+quote(p.call.id)+`,"name":`+quote(p.call.name)+`,"input":`+args+"}")
		case p.call == nil:
			text += p.text
		default:
			reason = "tool_calls"
			list = append(list, `{"id":`+quote(p.call.id)+`,"type":"function","function":{"name":`+quote(p.call.name)+`,"arguments":`+
				quote(p.call.args)+"}}")
		}
	}
	all := strings.Join(list, ",")
	switch format {
	case "responses":
		return `{"id":"r","object":"response","status":"completed","tools":[{"type":"function","name":"x"}],"output":[` + all + `]}`
	case "messages":
		if reason == "" {
			reason = "end_turn"
		}
		return `{"id":"m","type":"message","role":"assistant","model":"m","content":[` + all + `],"stop_reason":"` + reason +
			`","usage":{"output_tokens":4}}`
	}
	calls := ""
	if reason == "" {
		reason = "stop"
	} else {
		calls = `,"tool_calls":[` + all + "]"
	}
	return `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":` + quote(text) + calls +
		`},"finish_reason":"` + reason + `"}],"usage":{"total_tokens":4}}`
}

// readWhole is what a client makes of an answer that isn't streamed.
func readWhole(t require.TestingT, format string, body []byte) (a answer) {
	a = newAnswer()
	var b struct {
		StopReason string `json:"stop_reason"`
		Content    []struct {
			Type, Text, ID, Name string
			Input                json.RawMessage
		}
		Output  []responseItem
		Choices []struct {
			Message struct {
				Content   string
				ToolCalls []struct {
					ID       string
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
			FinishReason string `json:"finish_reason"`
		}
	}
	require.NoError(t, json.Unmarshal(body, &b), "%s", body)
	switch format {
	case "chat":
		for n, ch := range b.Choices {
			a.text[n], a.reason[n] = ch.Message.Content, ch.FinishReason
			for _, tc := range ch.Message.ToolCalls {
				a.calls[n] = append(a.calls[n], said{tc.ID, tc.Function.Name, tc.Function.Arguments})
			}
		}
	case "messages":
		a.reason[0] = b.StopReason
		for _, bl := range b.Content {
			if bl.Type == "tool_use" {
				a.calls[0] = append(a.calls[0], said{bl.ID, bl.Name, string(bl.Input)})
				continue
			}
			require.Empty(t, a.calls[0], "text behind a call")
			a.text[0] += bl.Text
		}
	default:
		for _, it := range b.Output {
			if it.Type == "function_call" {
				a.calls[0] = append(a.calls[0], said{it.CallID, it.Name, it.Arguments})
			}
			for _, c := range it.Content {
				a.text[0] += c.Text
			}
		}
	}
	return a
}

func playBody(t require.TestingT, format string, opts stream.Options, in string) (string, *stream.Body) {
	b, judge, err := stream.NewBody(bodyCodecs[format](), opts, []byte(in))
	require.NoError(t, err, in)
	for _, c := range judge {
		if !b.Done() {
			require.NoError(t, b.Decide(c.Number, byName(c)))
		}
	}
	require.True(t, b.Done())
	out, err := b.Bytes()
	require.NoError(t, err)
	return string(out), b
}

// Streamed and not, the same calls arrive, and each is blocked for the same reason.
func TestOneVerdict(t *testing.T) {
	for _, format := range formats {
		t.Run(format, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				parts := drawParts(t)
				for i, p := range parts {
					if p.call != nil && format == "messages" && !json.Valid([]byte(p.call.args)) {
						parts[i].call.args = `{"A":1,"a":2}`
					}
					if p.call != nil && format == "messages" && (p.call.args == "" || strings.Contains(p.call.args, `"a":1,"a"`)) {
						parts[i].call.args = "{}" // no JSON in which a key is twice is read at all
					}
				}
				if format == "chat" { // the text of a completion stands before its calls
					var first, last []part
					for _, p := range parts {
						if p.call == nil {
							first = append(first, p)
						} else {
							last = append(last, p)
						}
					}
					parts = slices.Concat(first, last)
				}
				opts := options(t, stream.OnBlock(rapid.IntRange(0, 1).Draw(t, "onBlock")))
				in := whole(format, parts)
				if strings.Contains(in, `\ud800`) && format == "messages" {
					return
				}
				out, b := playBody(t, format, opts, in)
				h := playLate(t, codecs[format](), opts, upstream(format, parts...))
				streamed, err := readers[format](h.out)
				require.NoError(t, err)
				got := readWhole(t, format, []byte(out))
				require.Equal(t, streamed.text[0], got.text[0])
				require.Equal(t, fmt.Sprint(streamed.calls[0]), fmt.Sprint(got.calls[0]))
				if format != "responses" {
					require.Equal(t, streamed.reason[0], got.reason[0])
				}
				if opts.OnBlock == stream.Continue { // else a stream that is over hears of no more
					require.ElementsMatch(t, h.refused, b.Refused())
				}
				holdsSecret(t, parts, got.calls[0], out)
			})
		})
	}
}

// An answer in which every call is allowed is forwarded byte for byte.
func TestAllowedBodyIsUntouched(t *testing.T) {
	for _, format := range formats {
		in := whole(format, []part{txt("é "), call("1", "ok_a", `{ "b" : 1.0, "a":"x" }`)})
		out, _ := playBody(t, format, options(t, stream.Terminate), in)
		require.Equal(t, in, out)
	}
}

// Empty content, an envelope that stays, and a block that is the last of the calls.
func TestBodies(t *testing.T) {
	out, _ := playBody(t, "messages", options(t, stream.Terminate), whole("messages", nil))
	require.Equal(t, whole("messages", nil), out)
	out, _ = playBody(t, "messages", options(t, stream.Continue), whole("messages", []part{call("1", "bad", `{}`), txt("x")}))
	require.Contains(t, out, `"stop_reason":"end_turn","usage":{"output_tokens":4}`)
	out, _ = playBody(t, "chat", options(t, stream.Continue), whole("chat", []part{call("1", "bad", `{}`)}))
	require.Contains(t, out, `"finish_reason":"stop"`)
	require.Contains(t, out, `"usage":{"total_tokens":4}`)
	require.NotContains(t, out, "tool_calls")
}

// Of several choices those behind a blocked call aren't forwarded where it ends the answer.
func TestBodyWithChoices(t *testing.T) {
	in := `{"id":"c","choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"},` +
		`{"index":1,"message":{"tool_calls":[{"id":"1","type":"function","function":{"name":"bad","arguments":"{}"}}]},` +
		`"finish_reason":"tool_calls"},` +
		`{"index":2,"message":{"content":"LATER"},"finish_reason":"stop"}]}`
	out, _ := playBody(t, "chat", options(t, stream.Terminate), in)
	require.NotContains(t, out, "LATER")
	require.Contains(t, out, `"content":"a"`)
	out, _ = playBody(t, "chat", options(t, stream.Continue), in)
	require.Contains(t, out, "LATER")
}

// Whatever may hold a call in a whole answer and isn't known doesn't reach the client.
func TestBodyAttacks(t *testing.T) {
	attacks := map[string][]string{
		"chat": {
			`{"id":"c","choices":[{"index":0,"message":{"content":"a","function_call":{"name":"t","arguments":"CANARY"}}}]}`,
			`{"id":"c","choices":[{"index":0,"message":{"content":"a","Tool_Calls":[{"function":{"name":"CANARY"}}]}}]}`,
			`{"id":"c","choices":[{"index":0,"message":{"content":"a","tool_calls":[{"type":"custom","custom":{"input":"CANARY"}}]}}]}`,
			`{"id":"c","choices":[{"index":0,"message":{"content":"a"},"delta":{"tool_calls":["CANARY"]}}]}`,
			`{"id":"c","output":[{"type":"function_call","x":"CANARY"}],"choices":[{"index":0,"message":{"content":"a"}}]}`,
			`{"id":"c","choices":[{"index":0,"message":{"tool_calls":{"function":{"name":"CANARY"}}}}]}`,
			`{"id":"c","choices":[{"index":0,"message":{"tool_calls":[],"tool_calls":[{"function":{"name":"CANARY"}}]}}]}`,
		},
		"messages": {
			`{"type":"message","content":[{"type":"use","name":"t","input":"CANARY"}]}`,
			`{"type":"message","content":[],"Content":[` + evilUse + `]}`,
			`{"type":"message","content":[{"type":"text","text":"a","tool":{"x":"CANARY"}}]}`,
			`{"type":"other","content":[` + evilUse + `]}`,
		},
		"responses": {
			`{"object":"response","output":[` + evilItem + `]}`,
			`{"object":"response","output":[{"type":"custom_tool_call","input":"CANARY"}]}`,
			`{"object":"response","output":[{"type":"message","content":[` + evilItem + `]}]}`,
			`{"object":"response","output":[],"Output":[` + evilItem + `]}`,
			`{"object":"response","output":["CANARY"]}`,
		},
	}
	for format, list := range attacks {
		for _, in := range list {
			b, judge, err := stream.NewBody(bodyCodecs[format](), options(t, stream.Continue), []byte(in))
			if err != nil {
				require.ErrorAs(t, err, new(*stream.Error))
				continue
			}
			for _, c := range judge {
				require.NoError(t, b.Decide(c.Number, stream.Decision{}))
			}
			out, err := b.Bytes()
			require.NoError(t, err)
			require.NotContains(t, string(out), canary, in)
		}
	}
}
