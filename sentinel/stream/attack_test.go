package stream_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/stream"
)

// canary stands where a client would read a call that must not arrive.
const canary = "CANARY"

const (
	evil     = `{\"x\":\"CANARY\"}`
	evilCall = `{"index":0,"id":"c","type":"function","function":{"name":"t","arguments":"` + evil + `"}}`
)

func chatRaw(chunk string) string { return "data: " + chunk + "\n\n" }

// chatAttacks try to get a call to a client of chat completions without a Decision.
var chatAttacks = map[string]string{
	"plain call":                     chatLine(`{"tool_calls":[` + evilCall + `]}`),
	"call in the first chunk":        chatRaw(`{"id":"a","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[` + evilCall + `]}}]}`),
	"second choice":                  chatRaw(`{"id":"a","choices":[{"index":0,"delta":{"content":"x"}},{"index":1,"delta":{"tool_calls":[` + evilCall + `]}}]}`),
	"choice far away":                chatRaw(`{"id":"a","choices":[{"index":999,"delta":{"tool_calls":[` + evilCall + `]}}]}`),
	"choice with a text as index":    chatRaw(`{"id":"a","choices":[{"index":"0","delta":{"tool_calls":[` + evilCall + `]}}]}`),
	"older call":                     chatLine(`{"function_call":{"name":"t","arguments":"` + evil + `"}}`),
	"older call beside a call":       chatLine(`{"tool_calls":[{"index":0,"id":"1","function":{"name":"u","arguments":"{}"}}],"function_call":{"name":"t","arguments":"` + evil + `"}}`),
	"call beside text":               chatLine(`{"content":"hello","tool_calls":[` + evilCall + `]}`),
	"unknown member of the delta":    chatLine(`{"tool_use":` + evilCall + `}`),
	"call deep in an unknown member": chatLine(`{"extra":{"deep":[{"tool_calls":[` + evilCall + `]}]}}`),
	"kind of an unknown member":      chatLine(`{"extra":{"type":"function","name":"t","payload":"CANARY"}}`),
	"call within the reasoning":      chatLine(`{"reasoning_content":[{"type":"tool_use","input":{"x":"CANARY"}}]}`),
	"call within the content":        chatLine(`{"content":[{"type":"tool_call","x":"CANARY"}]}`),
	"call as a message":              chatRaw(`{"id":"a","choices":[{"index":0,"delta":{},"message":{"tool_calls":[` + evilCall + `]}}]}`),
	"other letters":                  chatLine(`{"Tool_Calls":[` + evilCall + `]}`),
	"other letters of the delta":     chatRaw(`{"id":"a","choices":[{"index":0,"Delta":{"tool_calls":[` + evilCall + `]}}]}`),
	"other letters of the choices":   chatRaw(`{"id":"a","Choices":[{"index":0,"delta":{"tool_calls":[` + evilCall + `]}}]}`),
	"letters that fold":              chatLine(`{"tool_callſ":[` + evilCall + `]}`),
	"letters that fold, above":       chatRaw(`{"id":"a","choiceſ":[{"index":0,"delta":{"content":"CANARY"}}]}`),
	"escaped name":                   chatLine(`{"\u0074ool_calls":[` + evilCall + `]}`),
	"name twice":                     chatLine(`{"tool_calls":[],"tool_calls":[` + evilCall + `]}`),
	"delta twice":                    chatRaw(`{"id":"a","choices":[{"index":0,"delta":{},"delta":{"tool_calls":[` + evilCall + `]}}]}`),
	"custom tool":                    chatLine(`{"tool_calls":[{"index":0,"id":"c","type":"custom","custom":{"name":"t","input":"CANARY"}}]}`),
	"custom beside function":         chatLine(`{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"t","arguments":"{}"},"custom":{"input":"CANARY"}}]}`),
	"arguments as an object":         chatLine(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"t","arguments":{"x":"CANARY"}}}]}`),
	"calls as an object":             chatLine(`{"tool_calls":` + evilCall + `}`),
	"calls as a text":                chatLine(`{"tool_calls":"CANARY"}`),
	"element that is a text":         chatLine(`{"tool_calls":["CANARY"]}`),
	"second name in the call":        chatLine(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"t","arguments":"{}","parameters":{"x":"CANARY"}}}]}`),
	"Arguments beside arguments":     chatLine(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"t","arguments":"{}","Arguments":"` + evil + `"}}]}`),
	"Function beside function":       chatLine(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"t","arguments":"{}"},"Function":{"arguments":"` + evil + `"}}]}`),
	"call behind the reason":         chatFinish("stop") + chatLine(`{"tool_calls":[`+evilCall+`]}`),
	"call with the reason":           chatRaw(`{"id":"a","choices":[{"index":0,"delta":{"tool_calls":[` + evilCall + `]},"finish_reason":"tool_calls"}]}`),
	"call behind the end":            chatFinish("stop") + chatDone + chatLine(`{"tool_calls":[`+evilCall+`]}`),
	"call beside an error":           chatRaw(`{"id":"a","error":{"message":"x"},"choices":[{"index":0,"delta":{"tool_calls":[` + evilCall + `]}}]}`),
	"call in usage by lines":         "data: {\"id\":\"a\",\"choices\":[],\"usage\":\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[" + evilCall + "]}}]}\ndata: }\n\n",
	"two values in one event":        chatRaw(`{"id":"a"} {"choices":[{"index":0,"delta":{"tool_calls":[` + evilCall + `]}}]}`),
	"two data lines":                 "data: {\"id\":\"a\"}\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[" + evilCall + "]}}]}\n\n",
	"list above":                     chatRaw(`[{"choices":[{"index":0,"delta":{"tool_calls":[` + evilCall + `]}}]}]`),
	"lone carriage returns":          "data: {\"id\":\"a\"}\r\rdata: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[" + evilCall + "]}}]}\r\r",
	"line separator in a comment":    ": x\u2028data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[" + evilCall + "]}}]}\n\n",
	"form feed in a comment":         ": x\fdata: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[" + evilCall + "]}}]}\n\n",
	"carriage return in a comment":   ": x\rdata: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[" + evilCall + "]}}]}\n\n",
	"unknown field of the stream":    "tada: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[" + evilCall + "]}}]}\n\n",
	"name of an event":               "event: x\u2028data: {\"choices\":[{\"delta\":{\"tool_calls\":[" + evilCall + "]}}]}\ndata: {\"id\":\"a\"}\n\n",
	"not terminated":                 "data: {\"id\":\"a\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[" + evilCall + "]}}]}",
	"byte order mark":                "\xef\xbb\xbfdata: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[" + evilCall + "]}}]}\n\n",
	"invalid UTF-8":                  chatLine("{\"content\":\"\xff\",\"tool_calls\":[" + evilCall + "]}"),
	"HTML":                           "<html>CANARY</html>\n\n",
	"JSON without events":            `{"choices":[{"message":{"tool_calls":[` + evilCall + `]}}]}`,
	"cut within":                     "data: {\"id\":\"a\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"1\",\"function\":{\"name\":\"t\",\"arguments\":\"{\\\"a\\\":\\\"CANARY",
	"never closed":                   chatLine(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"t","arguments":"{\"x\":\"CANARY"}}]}`) + chatFinish("length") + chatDone,
	"no name":                        chatLine(`{"tool_calls":[{"index":0,"id":"c","function":{"arguments":"`+evil+`"}}]}`) + chatFinish("tool_calls") + chatDone,
	"error within a call":            chatLine(`{"tool_calls":[`+evilCall+`]}`) + chatRaw(`{"error":{"message":"overloaded"}}`),
	"call in the name":               chatLine(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"CANARY x","arguments":"{}"}}]}`) + chatFinish("tool_calls") + chatDone,
}

func block(kind string) string {
	return sent("content_block_start", `,"index":0,"content_block":`+kind)
}

const evilUse = `{"type":"tool_use","id":"t","name":"t","input":{"x":"CANARY"}}`

var messagesAttacks = map[string]string{
	"plain call":                   block(evilUse) + sent("content_block_stop", `,"index":0`) + messageEnd("tool_use"),
	"input in start and deltas":    block(evilUse) + sent("content_block_delta", `,"index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}`) + sent("content_block_stop", `,"index":0`) + messageEnd("tool_use"),
	"never stopped":                block(evilUse) + messageEnd("tool_use"),
	"call in the message's start":  sent("message_start", `,"message":{"content":[`+evilUse+`]}`),
	"delta of an unknown index":    sent("content_block_delta", `,"index":4,"delta":{"type":"input_json_delta","partial_json":"CANARY"}`),
	"input into a text":            block(`{"type":"text","text":""}`) + sent("content_block_delta", `,"index":0,"delta":{"type":"input_json_delta","partial_json":"CANARY"}`),
	"input beside text":            block(`{"type":"text","text":""}`) + sent("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":"a","partial_json":"CANARY"}`),
	"index used twice":             block(`{"type":"text","text":""}`) + block(evilUse),
	"unknown kind of block":        block(`{"type":"agent_use","id":"t","name":"t","input":{"x":"CANARY"}}`) + sent("content_block_stop", `,"index":0`),
	"kind in other letters":        block(`{"type":"Tool_Use","id":"t","name":"t","input":{"x":"CANARY"}}`),
	"Type beside type":             block(`{"type":"text","Type":"tool_use","text":"","input":{"x":"CANARY"}}`),
	"call within a text block":     block(`{"type":"text","text":"","more":{"tool_use":{"x":"CANARY"}}}`),
	"call behind the reason":       sent("message_delta", `,"delta":{"stop_reason":"tool_use"},"usage":{}`) + block(evilUse),
	"call in the reason":           sent("message_delta", `,"delta":{"stop_reason":"tool_use","content":[`+evilUse+`]},"usage":{}`),
	"call behind the end":          messageEnd("end_turn") + block(evilUse),
	"call named ping":              "event: ping\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":" + evilUse + "}\n\n",
	"call in a ping":               sent("ping", `,"content_block":`+evilUse),
	"unknown event":                sent("tool_start", `,"input":"CANARY"`),
	"unknown event with a block":   sent("news", `,"content_block":`+evilUse),
	"start with a delta":           sent("content_block_start", `,"index":0,"content_block":{"type":"text","text":""},"delta":{"type":"input_json_delta","partial_json":"CANARY"}`),
	"stop with a block":            block(`{"type":"text","text":""}`) + sent("content_block_stop", `,"index":0,"content_block":`+evilUse),
	"no index":                     sent("content_block_start", `,"content_block":`+evilUse),
	"arguments as a list":          block(`{"type":"tool_use","id":"t","name":"t","input":["CANARY"]}`) + sent("content_block_stop", `,"index":0`),
	"call without an event's name": "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":" + evilUse + "}\n\n",
	"cut":                          block(`{"type":"tool_use","id":"t","name":"t","input":{}}`) + sent("content_block_delta", `,"index":0,"delta":{"type":"input_json_delta","partial_json":"{\"x\":\"CANARY\"}"}`),
	"error within a call":          block(evilUse) + sent("error", `,"error":{"type":"overloaded_error","message":"x"}`),
}

const evilItem = `{"id":"f","type":"function_call","call_id":"c","name":"t","arguments":"` + evil + `"}`

func added(item string) string {
	return numbered("response.output_item.added", `,"output_index":0,"item":`+item)
}

func itemDone(item string) string {
	return numbered("response.output_item.done", `,"output_index":0,"item":`+item)
}

func completed(output string) string {
	return numbered("response.completed", `,"response":{"id":"r","object":"response","output":[`+output+`]}`)
}

const emptyItem = `{"id":"f","type":"function_call","call_id":"c","name":"t","arguments":""}`

var responsesAttacks = map[string]string{
	"plain call":                 added(emptyItem) + itemDone(evilItem) + completed(evilItem),
	"arguments in the start":     added(evilItem) + itemDone(evilItem) + completed(evilItem),
	"only at the response's end": completed(evilItem),
	"only at the item's end":     itemDone(evilItem),
	"text that ends as a call":   added(`{"id":"f","type":"message","content":[]}`) + itemDone(evilItem),
	"call in the snapshot":       numbered("response.in_progress", `,"response":{"output":[`+evilItem+`]}`),
	"call in a message":          added(`{"id":"f","type":"message","content":[` + evilItem + `]}`),
	"two versions, item":         added(emptyItem) + numbered("response.function_call_arguments.done", `,"output_index":0,"item_id":"f","arguments":"{}"`) + itemDone(evilItem) + completed(evilItem),
	"two versions, response":     added(emptyItem) + itemDone(strings.ReplaceAll(evilItem, evil, "{}")) + completed(evilItem),
	"two versions, deltas":       added(emptyItem) + numbered("response.function_call_arguments.delta", `,"output_index":0,"delta":"{}"`) + numbered("response.function_call_arguments.done", `,"output_index":0,"arguments":"`+evil+`"`),
	"arguments of a message":     added(`{"id":"f","type":"message","content":[]}`) + numbered("response.function_call_arguments.delta", `,"output_index":0,"delta":"CANARY"`),
	"arguments of no item":       numbered("response.function_call_arguments.delta", `,"output_index":7,"delta":"CANARY"`),
	"text of a call":             added(emptyItem) + numbered("response.output_text.delta", `,"output_index":0,"delta":"CANARY"`),
	"custom tool":                added(`{"id":"f","type":"custom_tool_call","name":"t","input":"CANARY"}`) + numbered("response.custom_tool_call_input.delta", `,"output_index":0,"delta":"CANARY"`),
	"shell":                      added(`{"id":"f","type":"local_shell_call","action":{"command":["CANARY"]}}`) + completed(`{"id":"f","type":"local_shell_call","action":{"command":["CANARY"]}}`),
	"approval of a remote tool":  added(`{"id":"f","type":"mcp_approval_request","server_label":"s","name":"t","arguments":"`+evil+`"}`) + itemDone(`{"id":"f","type":"mcp_approval_request","server_label":"s","name":"t","arguments":"`+evil+`"}`),
	"unknown event":              numbered("response.tool_run.delta", `,"delta":"CANARY"`),
	"event with an item":         numbered("response.output_text.delta", `,"output_index":0,"item":`+evilItem),
	"part that is a call":        added(`{"id":"f","type":"message","content":[]}`) + numbered("response.content_part.added", `,"output_index":0,"part":`+evilItem),
	"same id twice":              added(`{"id":"f","type":"message","content":[]}`) + strings.Replace(added(evilItem), `"output_index":0`, `"output_index":1`, 1),
	"Output beside output":       numbered("response.completed", `,"response":{"id":"r","output":[],"Output":[`+evilItem+`]}`),
	"failed response":            numbered("response.failed", `,"response":{"id":"r","error":{"message":"x"},"output":[`+evilItem+`]}`),
	"error with an item":         numbered("error", `,"message":"x","item":`+evilItem),
	"name of the event":          "event: response.output_text.delta\ndata: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":" + evilItem + "}\n\n",
	"call behind the end":        completed("") + added(evilItem),
	"delta that is an object":    added(`{"id":"f","type":"message","content":[]}`) + numbered("response.output_text.delta", `,"output_index":0,"delta":{"tool_calls":["CANARY"]}`),
	"incomplete":                 added(emptyItem) + numbered("response.function_call_arguments.delta", `,"output_index":0,"delta":"{\"x\":\"CANARY"`) + completed(""),
	"other letters of the item":  numbered("response.output_item.added", `,"output_index":0,"item":{"id":"f","type":"message","content":[]},"Item":`+evilItem),
}

// begins is how each format's answers begin.
var begins = map[string]string{
	"chat":      chatRole,
	"messages":  sent("message_start", messageStart),
	"responses": numbered("response.created", `,"response":{"id":"r","object":"response","output":[]}`),
}

func deny(stream.Call) stream.Decision { return stream.Decision{} }

// No chunk gets a byte of a call past a Decision that blocks.
func TestNothingGetsPast(t *testing.T) {
	attacks := map[string]map[string]string{"chat": chatAttacks, "messages": messagesAttacks, "responses": responsesAttacks}
	for _, format := range formats {
		for name, in := range attacks[format] {
			t.Run(format+"/"+name, func(t *testing.T) {
				for _, onBlock := range []stream.OnBlock{stream.Terminate, stream.Continue} {
					for _, begin := range []string{"", begins[format]} {
						h := play(t, codecs[format](), options(t, onBlock), deny, join([]string{begin, in}))
						require.NotContains(t, h.out, canary)
						require.True(t, h.done)
						_, err := cut(h.out)
						require.NoError(t, err)
					}
				}
			})
		}
	}
}

// The same chunks one byte at a time come to the same output.
func TestEverySplitGivesOneResult(t *testing.T) {
	attacks := map[string]map[string]string{"chat": chatAttacks, "messages": messagesAttacks, "responses": responsesAttacks}
	for _, format := range formats {
		for name, in := range attacks[format] {
			in = join([]string{begins[format], in})
			whole := playHeld(t, codecs[format](), options(t, stream.Continue), deny, in)
			split := playHeld(t, codecs[format](), options(t, stream.Continue), deny, strings.Split(in, "")...)
			require.Equal(t, whole.out, split.out, "%s %s", format, name)
			require.Equal(t, whole.refused, split.refused)
		}
	}
}

// A stream that is cut at any byte never yields a call that isn't whole. Without VEDETTE_LONG it
// is cut at every eleventh.
func TestCutAtEveryByte(t *testing.T) {
	step := 11
	if os.Getenv("VEDETTE_LONG") != "" {
		step = 1
	}
	for _, format := range formats {
		in := upstream(format, txt("a"), call("1", "ok_a", `{"q":"first"}`), call("2", "ok_b", `{"q":"é second"}`))
		for n := 0; n < len(in); n += step {
			h := play(t, codecs[format](), options(t, stream.Continue), byName, in[:n])
			a, err := readers[format](h.out)
			require.NoError(t, err, "%s\n%s", in[:n], h.out)
			for i, c := range a.calls[0] {
				require.Equal(t, []said{{"1", "ok_a", `{"q":"first"}`}, {"2", "ok_b", `{"q":"é second"}`}}[i], c)
			}
			require.True(t, h.done)
		}
	}
}
