package stream_test

import (
	"strings"
	"testing"

	openai "github.com/sashabaranov/go-openai"
	"github.com/stretchr/testify/require"

	"encoding/json"

	"github.com/vedette-dev/vedette/sentinel/stream"
)

// eachFormat runs a case for each format.
func eachFormat(t *testing.T, test func(t *testing.T, format string)) {
	t.Helper()
	for _, format := range formats {
		t.Run(format, func(t *testing.T) { test(t, format) })
	}
}

// A call's start and arguments send nothing, and text before it has been sent by then.
func TestCallSendsNothingBeforeItsDecision(t *testing.T) {
	eachFormat(t, func(t *testing.T, format string) {
		f := write(format, []part{txt("before"), call("1", "ok_a", `{"q":"first"}`), txt("after")})
		relay := stream.NewRelay(codecs[format](), options(t, stream.Continue))
		out := string(relay.Write([]byte(join(append(f.head, f.parts[0]...)))).Bytes)
		require.Contains(t, out, "before")
		p := relay.Write([]byte(join(append(f.parts[1], f.parts[2]...))))
		require.Empty(t, string(p.Bytes), "what follows the call waits")
		p, err := relay.Decide(0, stream.Decision{Allow: true})
		require.NoError(t, err)
		require.Contains(t, string(p.Bytes), "after")
	})
}

// Text that no call holds up is forwarded byte for byte, also its numbers, blanks and members that
// aren't known.
func TestUntouchedBytes(t *testing.T) {
	eachFormat(t, func(t *testing.T, format string) {
		in := upstream(format, txt("a"), txt("é\u2028"))
		in = strings.ReplaceAll(in, `"delta":`, `"x_extra" : 1.0,"delta": `)
		h := play(t, codecs[format](), options(t, stream.Terminate), byName, ": first\n\n"+in)
		require.Equal(t, ": first\n\n"+in, h.out)
	})
}

// Two calls, the block first, in the middle, last, all: the others arrive, indices have no gap, and
// the reason fits what is left.
func TestPlacesOfTheBlockedCall(t *testing.T) {
	for name, names := range map[string][]string{
		"first": {"bad_1", "ok_2", "ok_3"}, "middle": {"ok_1", "bad_2", "ok_3"}, "last": {"ok_1", "ok_2", "bad_3"},
		"all": {"bad_1", "bad_2", "bad_3"}, "none": {"ok_1", "ok_2", "ok_3"},
	} {
		eachFormat(t, func(t *testing.T, format string) {
			var parts []part
			var want []said
			for _, n := range names {
				c := call("id_"+n, n, `{"q":"`+n+`"}`)
				parts = append(parts, c)
				if strings.HasPrefix(n, "ok") {
					want = append(want, *c.call)
				}
			}
			a, _ := hear(t, format, options(t, stream.Continue), upstream(format, parts...))
			require.Equal(t, want, a.calls[0], name)
			require.Equal(t, len(names)-len(want), strings.Count(a.text[0], "<blocked bad_"))
			require.True(t, a.usage)
			kept, none := map[string]string{"chat": "tool_calls", "messages": "tool_use", "responses": "completed"},
				map[string]string{"chat": "stop", "messages": "end_turn", "responses": "completed"}
			if len(want) > 0 {
				require.Equal(t, kept[format], a.reason[0])
			} else {
				require.Equal(t, none[format], a.reason[0])
			}
		})
	}
}

// A reason other than that of calls stays, with and without calls, allowed and blocked.
func TestReasonsThatStay(t *testing.T) {
	for format, reasons := range map[string][]string{
		"chat":     {"stop", "length", "content_filter", "something_new"},
		"messages": {"end_turn", "max_tokens", "stop_sequence", "refusal", "pause_turn"},
	} {
		for _, reason := range reasons {
			for _, parts := range [][]part{{txt("a")}, {call("1", "ok", `{}`)}, {call("1", "bad", `{}`)}, {txt("a"), call("1", "bad", `{}`)}} {
				in := upstream(format, parts...)
				for _, was := range []string{`"stop"`, `"tool_calls"`, `"end_turn"`, `"tool_use"`} {
					in = strings.ReplaceAll(in, `_reason":`+was, `_reason":`+quote(reason))
				}
				a, _ := hear(t, format, options(t, stream.Continue), in)
				require.Equal(t, reason, a.reason[0])
			}
		}
	}
}

// A reason of calls without any call is corrected.
func TestReasonOfCallsWithoutCalls(t *testing.T) {
	a, _ := hear(t, "chat", options(t, stream.Terminate), chatRole, chatFinish("tool_calls"), chatDone)
	require.Equal(t, "stop", a.reason[0])
	a, _ = hear(t, "messages", options(t, stream.Terminate), sent("message_start", messageStart), messageEnd("tool_use"))
	require.Equal(t, "end_turn", a.reason[0])
}

// A blocked call that ends the answer keeps the calls before it, and their reason, and usage that
// has come.
func TestTerminateKeepsWhatCameBefore(t *testing.T) {
	eachFormat(t, func(t *testing.T, format string) {
		in := upstream(format, call("1", "ok_a", `{}`), call("2", "bad", `{}`), call("3", "ok_c", `{}`), txt("later"))
		h := playHeld(t, codecs[format](), options(t, stream.Terminate), byName, in)
		a, err := readers[format](h.out)
		require.NoError(t, err)
		require.Equal(t, []said{{"1", "ok_a", `{}`}}, a.calls[0])
		require.NotContains(t, h.out, "later")
		require.True(t, a.usage, "the usage had come")
		require.True(t, a.ended)
	})
}

// Nothing reaches the client behind the end, whatever the upstream or the judge still says.
func TestNothingBehindTheEnd(t *testing.T) {
	eachFormat(t, func(t *testing.T, format string) {
		relay := stream.NewRelay(codecs[format](), options(t, stream.Terminate))
		p := relay.Write([]byte(upstream(format, call("1", "bad", `{}`), call("2", "ok", `{}`))))
		require.Len(t, p.Judge, 2)
		p, err := relay.Decide(0, stream.Decision{})
		require.NoError(t, err)
		require.True(t, p.Done)
		p, err = relay.Decide(1, stream.Decision{Allow: true})
		require.NoError(t, err)
		require.Empty(t, p.Bytes)
		require.Empty(t, relay.Write([]byte(upstream(format, txt("x")))).Bytes)
		require.Empty(t, relay.Close().Bytes)
		require.Empty(t, relay.KeepAlive())
	})
}

// An upstream's error within an answer is exactly one error, and no end follows.
func TestUpstreamError(t *testing.T) {
	for format, fault := range map[string]string{
		"chat":      "data: {\"error\":{\"message\":\"overloaded\"}}\n\n",
		"messages":  sent("error", `,"error":{"type":"overloaded_error","message":"overloaded"}`),
		"responses": sent("error", `,"sequence_number":9,"message":"overloaded"`),
	} {
		f := write(format, []part{txt("a"), call("1", "ok", `{"q":"CANARY"}`)})
		in := join(append(append(f.head, f.parts[0]...), f.parts[1]...)) + fault
		a, h := hear(t, format, options(t, stream.Terminate), in+join(f.tail))
		require.NotEmpty(t, a.fault)
		require.Contains(t, h.out, "overloaded")
		require.False(t, a.ended)
	}
}

// An answer that is cut off ends with an error in the client's format, and so does an empty one.
func TestCutAnswer(t *testing.T) {
	eachFormat(t, func(t *testing.T, format string) {
		a, h := hear(t, format, options(t, stream.Terminate), "")
		require.Contains(t, a.fault+h.out, "error")
		require.Equal(t, &stream.Error{Code: stream.CodeCut}, h.err)
	})
}

// Signs of life don't wait, and ours are in a form that clients take.
func TestKeepAlive(t *testing.T) {
	eachFormat(t, func(t *testing.T, format string) {
		relay := stream.NewRelay(codecs[format](), options(t, stream.Terminate))
		require.Empty(t, relay.KeepAlive(), "nothing has come yet")
		f := write(format, []part{call("1", "ok", `{}`)})
		out := string(relay.Write([]byte(join(append(f.head, f.parts[0]...)))).Bytes)
		beat := string(relay.KeepAlive())
		require.NotEmpty(t, beat)
		require.Contains(t, string(relay.Write([]byte(": busy\n\n")).Bytes), ": busy")
		out += beat
		p := relay.Write([]byte(join(f.tail)))
		out += string(p.Bytes)
		p, err := relay.Decide(0, stream.Decision{Allow: true})
		require.NoError(t, err)
		if format != "responses" { // the parts are numbered apart there
			_, err = readers[format](out + string(p.Bytes))
			require.NoError(t, err)
		}
	})
}

// Thinking passes unchanged, signature and all; text behind a call stands before it; a server's
// tool passes.
func TestMessagesBlocks(t *testing.T) {
	thinking := `{"type":"thinking","thinking":"","signature":""}`
	start := func(n string, block string) string {
		return sent("content_block_start", `,"index":`+n+`,"content_block":`+block)
	}
	stop := func(n string) string { return sent("content_block_stop", `,"index":`+n) }
	use := `{"type":"tool_use","id":"t1","name":"ok","input":{},"caller":{"type":"direct"}}`
	in := sent("message_start", messageStart) + start("0", use) + stop("0") +
		start("1", thinking) + sent("content_block_delta", `,"index":1,"delta":{"type":"signature_delta","signature":"abc=="}`) + stop("1") +
		start("2", `{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`) +
		sent("content_block_delta", `,"index":2,"delta":{"type":"input_json_delta","partial_json":"{\"query\":1}"}`) + stop("2") +
		start("3", `{"type":"web_search_tool_result","tool_use_id":"s","content":[]}`) + stop("3") +
		start("4", `{"type":"text","text":""}`) + sent("content_block_delta", `,"index":4,"delta":{"type":"text_delta","text":"x"}`) + stop("4") +
		messageEnd("tool_use")
	a, h := hear(t, "messages", options(t, stream.Terminate), in)
	require.Equal(t, "x", a.text[0])
	require.Equal(t, []said{{"t1", "ok", ""}}, a.calls[0])
	require.Contains(t, h.out, `"signature":"abc=="`)
	require.Contains(t, h.out, `{"type":"content_block_start","index":0,"content_block":`+thinking)
	require.Contains(t, h.out, `"name":"web_search"`)
	require.Contains(t, h.out, `"caller":{"type":"direct"}`)
}

// Names of events that are missing are put in: clients see no event without one.
func TestMessagesWithoutNames(t *testing.T) {
	in := upstream("messages", txt("a"), call("1", "ok", `{"a":1}`))
	var lines []string
	for line := range strings.SplitSeq(in, "\n") {
		if !strings.HasPrefix(line, "event:") {
			lines = append(lines, line)
		}
	}
	a, _ := hear(t, "messages", options(t, stream.Terminate), strings.Join(lines, "\n"))
	require.Equal(t, "a", a.text[0])
	require.Equal(t, []said{{"1", "ok", `{"a":1}`}}, a.calls[0])
}

// A text block that is open when a call is blocked is closed before the notice.
func TestMessagesOpenBlock(t *testing.T) {
	f := write("messages", []part{txt("a"), call("1", "bad", `{}`)})
	in := join(f.head) + f.parts[0][0] + f.parts[0][1] + join(f.parts[1])
	a, _ := hear(t, "messages", options(t, stream.Terminate), in)
	require.Equal(t, "a<blocked bad by permission: not for you; d-1>", a.text[0])
	a, _ = hear(t, "messages", options(t, stream.Continue), in+f.parts[0][2]+join(f.tail))
	require.Equal(t, "end_turn", a.reason[0])
}

// What providers write in other ways comes to the same calls: without index, each with index 0, two
// in a chunk, from 1, with a gap, whole with the reason, without a type, without an id.
func TestChatIndices(t *testing.T) {
	two := func(first, second string) string {
		return chatLine(`{"tool_calls":[`+first+`]}`) + chatLine(`{"tool_calls":[`+second+`]}`)
	}
	element := func(index, id, name string) string {
		return `{` + index + id + `"type":"function","function":{"name":"` + name + `","arguments":"{\"n\":1}"}}`
	}
	for name, in := range map[string]string{
		"no index":        two(element("", `"id":"a",`, "ok_a"), element("", `"id":"b",`, "ok_b")),
		"no index, no id": two(element("", "", "ok_a"), element("", "", "ok_b")),
		"index 0 each":    two(element(`"index":0,`, `"id":"a",`, "ok_a"), element(`"index":0,`, `"id":"b",`, "ok_b")),
		"two in one chunk": chatLine(`{"tool_calls":[` + element(`"index":0,`, `"id":"a",`, "ok_a") + "," +
			element(`"index":1,`, `"id":"b",`, "ok_b") + `]}`),
		"from 1, with a gap": two(element(`"index":1,`, `"id":"a",`, "ok_a"), element(`"index":5,`, `"id":"b",`, "ok_b")),
		"null":               two(element(`"index":null,`, `"id":"a",`, "ok_a"), element(`"index":null,`, `"id":"b",`, "ok_b")),
		"name again": chatLine(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"ok_a","arguments":"{\"n\""}}]}`) +
			chatLine(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"ok_a","arguments":":1}"}}]}`) +
			chatLine(`{"tool_calls":[`+element(`"index":1,`, `"id":"b",`, "ok_b")+`]}`),
		"name late": chatLine(`{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{\"n\":"}}]}`) +
			chatLine(`{"tool_calls":[{"index":0,"function":{"name":"ok_a","arguments":"1}"}}]}`) +
			chatLine(`{"tool_calls":[`+element(`"index":1,`, `"id":"b",`, "ok_b")+`]}`),
	} {
		for _, role := range []string{chatRole, ""} {
			a, _ := hear(t, "chat", options(t, stream.Terminate), role+in+chatFinish("tool_calls")+chatDone)
			require.Len(t, a.calls[0], 2, name)
			for i, want := range []string{"ok_a", "ok_b"} {
				require.Equal(t, want, a.calls[0][i].name, name)
				require.Equal(t, `{"n":1}`, a.calls[0][i].args, name)
			}
		}
	}
}

// Names in pieces are one reader's two names and another's one: the call is blocked.
func TestChatNameInPieces(t *testing.T) {
	in := chatRole + chatLine(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"ok_","arguments":"{"}}]}`) +
		chatLine(`{"tool_calls":[{"index":0,"function":{"name":"rm","arguments":"}"}}]}`) + chatFinish("tool_calls") + chatDone
	a, h := hear(t, "chat", options(t, stream.Terminate), in)
	require.Empty(t, a.calls[0])
	require.Equal(t, stream.CodeShape, h.refused[0].Code)
}

// Several choices: calls of each are judged and counted apart, text in each flows, each has one
// reason.
func TestChatChoices(t *testing.T) {
	line := func(n, delta, reason string) string {
		return chatHead + `{"index":` + n + `,"delta":` + delta + `,"finish_reason":` + reason + "}]}\n\n"
	}
	in := line("0", `{"role":"assistant","content":"a"}`, "null") + line("1", `{"role":"assistant","content":"b"}`, "null") +
		line("1", `{"tool_calls":[`+evilCall+`]}`, "null") + line("0", `{"content":"c"}`, "null") +
		line("1", `{}`, `"tool_calls"`) + line("0", `{}`, `"stop"`) + chatDone
	a, _ := hear(t, "chat", options(t, stream.Continue), in)
	require.Equal(t, map[int]string{0: "ac", 1: "b"}, a.text)
	require.Len(t, a.calls[1], 1)
	require.Equal(t, map[int]string{0: "stop", 1: "tool_calls"}, a.reason)
	a, _ = hear(t, "chat", options(t, stream.Terminate), strings.ReplaceAll(in, `"name":"t"`, `"name":"bad"`))
	require.Equal(t, map[int]string{0: "stop", 1: "stop"}, a.reason)
	require.Equal(t, "a", a.text[0])
}

// The older function_call is a call like each other.
func TestChatFunctionCall(t *testing.T) {
	in := chatLine(`{"role":"assistant","content":null,"function_call":{"name":"ok","arguments":""}}`) +
		chatLine(`{"function_call":{"arguments":"{\"a\""}}`) + chatLine(`{"function_call":{"arguments":":1}"}}`) +
		chatFinish("function_call") + chatDone
	a, _ := hear(t, "chat", options(t, stream.Terminate), in)
	require.Equal(t, []said{{"", "ok", `{"a":1}`}}, a.calls[0])
	require.Equal(t, "function_call", a.reason[0])
	a, _ = hear(t, "chat", options(t, stream.Terminate), strings.ReplaceAll(in, `"ok"`, `"bad"`))
	require.Empty(t, a.calls[0])
	require.Equal(t, "stop", a.reason[0])
}

// Missing ends are put in, second ones are left out, and members of a call that aren't known stay.
func TestChatEnds(t *testing.T) {
	text := chatRole + chatLine(`{"content":"a","reasoning_content":"r","refusal":null}`)
	for _, in := range []string{
		text + chatFinish("stop"), // no [DONE]
		text + chatDone,           // no reason
		text + chatFinish("stop") + chatFinish("length") + chatDone, // two reasons
		text + chatFinish("stop") + chatLine(`{"content":""}`) + chatDone,
		text + chatFinish("stop") + chatDone + chatDone,
	} {
		a, h := hear(t, "chat", options(t, stream.Terminate), in)
		require.Equal(t, "stop", a.reason[0])
		require.Contains(t, h.out, `"reasoning_content":"r"`)
	}
	in := chatRole + chatLine(`{"tool_calls":[{"index":0,"id":"a","type":"function","extra_content":{"google":{"thought_signature":"s=="}},`+
		`"function":{"name":"ok","arguments":"{}"}}]}`) + chatFinish("tool_calls") + chatDone
	_, h := hear(t, "chat", options(t, stream.Terminate), in)
	require.Contains(t, h.out, `"extra_content":{"google":{"thought_signature":"s=="}}`)
}

// Long arguments leave in pieces that clients with short lines can read.
func TestLongArguments(t *testing.T) {
	eachFormat(t, func(t *testing.T, format string) {
		args := `{"q":"` + strings.Repeat("é🙂", 9000) + `"}`
		a, _ := hear(t, format, options(t, stream.Terminate), upstream(format, call("1", "ok", args)))
		require.Equal(t, []said{{"1", "ok", args}}, a.calls[0])
	})
}

// A tool of a remote server that waits for the client's yes is a call: it is judged under the name
// of its server, and arrives as it came.
func TestResponsesApprovalRequest(t *testing.T) {
	item := `{"id":"f","type":"mcp_approval_request","server_label":"git","name":"push","arguments":"{\"a\":1}"}`
	in := join([]string{begins["responses"], added(item), itemDone(item), completed(item)})
	a, h := hear(t, "responses", options(t, stream.Terminate), in)
	require.Equal(t, "git", h.judged[0].Server)
	require.Equal(t, "push", h.judged[0].Name)
	require.Len(t, a.calls[0], 1)
	h = play(t, codecs["responses"](), options(t, stream.Continue), deny, in)
	require.NotContains(t, h.out, "mcp_approval_request")
	require.Contains(t, h.out, "<blocked git/push by")
}

// What the provider runs itself passes: searches, code, images, MCP calls and lists.
func TestResponsesBuiltInTools(t *testing.T) {
	for _, typ := range []string{"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call",
		"mcp_call", "mcp_list_tools"} {
		item := `{"id":"f","type":"` + typ + `","status":"completed","arguments":"{}","tools":[{"name":"t"}]}`
		in := join([]string{begins["responses"], added(item),
			numbered("response."+typ+".completed", `,"output_index":0,"item_id":"f"`), itemDone(item), completed(item)})
		h := play(t, codecs["responses"](), options(t, stream.Terminate), deny, in)
		require.Equal(t, in, h.out, typ)
		_, err := readResponses(h.out)
		require.NoError(t, err)
	}
}

// go-openai, whose types drop what they don't know, reads what the machine writes.
func TestGoOpenAIReadsIt(t *testing.T) {
	in := upstream("chat", txt("a"), call("1", "ok_a", `{"n":1}`), call("2", "bad", `{"n":2}`), call("3", "ok_c", `{"n":3}`))
	h := play(t, codecs["chat"](), options(t, stream.Continue), byName, in)
	events, err := cut(h.out)
	require.NoError(t, err)
	var names []string
	var reason openai.FinishReason
	for _, e := range events[:len(events)-1] {
		var c openai.ChatCompletionStreamResponse
		require.NoError(t, json.Unmarshal([]byte(e.data), &c))
		require.Equal(t, "c1", c.ID)
		require.Equal(t, "chat.completion.chunk", c.Object)
		for _, ch := range c.Choices {
			for _, tc := range ch.Delta.ToolCalls {
				require.Equal(t, len(names), *tc.Index)
				require.Equal(t, openai.ToolTypeFunction, tc.Type)
				names = append(names, tc.Function.Name)
			}
			reason = max(reason, ch.FinishReason)
		}
	}
	require.Equal(t, []string{"ok_a", "ok_c"}, names)
	require.Equal(t, openai.FinishReasonToolCalls, reason)
	require.Equal(t, "[DONE]", events[len(events)-1].data)

	in = whole("chat", []part{txt("a"), call("1", "ok_a", `{}`), call("2", "bad", `{}`)})
	body, _ := playBody(t, "chat", options(t, stream.Continue), in)
	var c openai.ChatCompletionResponse
	require.NoError(t, json.Unmarshal([]byte(body), &c))
	require.Len(t, c.Choices[0].Message.ToolCalls, 1)
}

// A call that the response's end repeats twice would run twice.
func TestResponsesEndRepeatsOnce(t *testing.T) {
	item := strings.ReplaceAll(evilItem, `"t"`, `"ok"`)
	in := join([]string{begins["responses"], added(strings.ReplaceAll(item, evil, "")), itemDone(item), completed(item + "," + item)})
	_, h := hear(t, "responses", options(t, stream.Terminate), in)
	require.Equal(t, &stream.Error{Code: stream.CodeMismatch}, h.err)
	require.NotContains(t, h.out, "response.completed")
}

// Data over several lines is written in one, also what of it a call is written with.
func TestLineFeedsInACall(t *testing.T) {
	in := "data: {\"id\":\"a\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"extra\":[\ndata: 1],\n" +
		"data: \"function\":{\"name\":\"ok\",\"arguments\":\"{}\"}}]}}]}\n\n"
	a, h := hear(t, "chat", options(t, stream.Terminate), in+chatFinish("tool_calls")+chatDone)
	require.Len(t, a.calls[0], 1)
	require.Contains(t, h.out, `"extra":[ 1]`)
}
