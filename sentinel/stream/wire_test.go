package stream_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// part is a text or a call of an upstream's answer, in the terms of no format.
type part struct {
	text string
	call *said
}

func txt(s string) part               { return part{text: s} }
func call(id, name, args string) part { return part{call: &said{id, name, args}} }

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

const chatHead = `data: {"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","choices":[`

func chatLine(delta string) string {
	return chatHead + `{"index":0,"delta":` + delta + `,"finish_reason":null}]}` + "\n\n"
}

func chatFinish(reason string) string {
	return chatHead + `{"index":0,"delta":{},"finish_reason":"` + reason + "\"}]}\n\n"
}

const (
	chatUsage = chatHead + `],"usage":{"total_tokens":9}}` + "\n\n"
	chatDone  = "data: [DONE]\n\n"
)

var chatRole = chatLine(`{"role":"assistant","content":""}`)

// halves cuts arguments into pieces of a few bytes, between characters.
func halves(args string) []string {
	var out []string
	runes := []rune(args)
	for len(runes) > 5 {
		out = append(out, string(runes[:5]))
		runes = runes[5:]
	}
	return append(out, string(runes))
}

// frames are an answer as a provider of a format writes it: what comes first, the frames of each
// part, and what comes last.
type frames struct {
	head  []string
	parts [][]string
	tail  []string
}

// join puts frames into one stream and numbers those that have numbers.
func join(list []string) string {
	var b strings.Builder
	for n, f := range list {
		b.WriteString(strings.ReplaceAll(f, "@SEQ", strconv.Itoa(n)))
	}
	return b.String()
}

// upstream writes an answer as a provider of the format would.
func upstream(format string, parts ...part) string {
	f := write(format, parts)
	list := f.head
	for _, p := range f.parts {
		list = append(list, p...)
	}
	return join(append(list, f.tail...))
}

func write(format string, parts []part) frames {
	switch format {
	case "chat":
		return writeChat(parts)
	case "messages":
		return writeMessages(parts)
	}
	return writeResponses(parts)
}

func writeChat(parts []part) frames {
	f := frames{head: []string{chatRole}}
	n, reason := 0, "stop"
	for _, p := range parts {
		if p.call == nil {
			f.parts = append(f.parts, []string{chatLine(`{"content":` + quote(p.text) + "}")})
			continue
		}
		reason = "tool_calls"
		list := []string{chatLine(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":""}}]}`,
			n, quote(p.call.id), quote(p.call.name)))}
		for _, piece := range halves(p.call.args) {
			list = append(list, chatLine(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, n, quote(piece))))
		}
		f.parts = append(f.parts, list)
		n++
	}
	f.tail = []string{chatFinish(reason), chatUsage, chatDone}
	return f
}

func sent(typ, rest string) string {
	return "event: " + typ + "\ndata: {\"type\":\"" + typ + "\"" + rest + "}\n\n"
}

const messageStart = `,"message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],` +
	`"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":1}}`

func messageEnd(reason string) string {
	return sent("message_delta", `,"delta":{"stop_reason":"`+reason+`","stop_sequence":null},"usage":{"output_tokens":12}`) +
		sent("message_stop", "")
}

func writeMessages(parts []part) frames {
	f := frames{head: []string{sent("message_start", messageStart), sent("ping", "")}}
	reason := "end_turn"
	for n, p := range parts {
		at := fmt.Sprintf(`,"index":%d`, n)
		if p.call == nil {
			f.parts = append(f.parts, []string{
				sent("content_block_start", at+`,"content_block":{"type":"text","text":""}`),
				sent("content_block_delta", at+`,"delta":{"type":"text_delta","text":`+quote(p.text)+"}"),
				sent("content_block_stop", at),
			})
			continue
		}
		reason = "tool_use"
		list := []string{sent("content_block_start", at+fmt.Sprintf(`,"content_block":{"type":"tool_use","id":%s,"name":%s,"input":{}}`,
			quote(p.call.id), quote(p.call.name)))}
		for _, piece := range halves(p.call.args) {
			list = append(list, sent("content_block_delta", at+`,"delta":{"type":"input_json_delta","partial_json":`+quote(piece)+"}"))
		}
		f.parts = append(f.parts, append(list, sent("content_block_stop", at)))
	}
	f.tail = []string{messageEnd(reason)}
	return f
}

func numbered(typ, rest string) string { return sent(typ, `,"sequence_number":@SEQ`+rest) }

const responseObject = `,"response":{"id":"r1","object":"response","status":"%s","model":"m",` +
	`"tools":[{"type":"function","name":"ok"}],"output":[%s]%s}`

func writeResponses(parts []part) frames {
	f := frames{head: []string{numbered("response.created", fmt.Sprintf(responseObject, "in_progress", "", ""))}}
	var items []string
	for n, p := range parts {
		list, item := writeText(n, p.text)
		if p.call != nil {
			list, item = writeCallItem(n, *p.call)
		}
		f.parts, items = append(f.parts, list), append(items, item)
	}
	f.tail = []string{numbered("response.completed",
		fmt.Sprintf(responseObject, "completed", strings.Join(items, ","), `,"usage":{"total_tokens":5}`))}
	return f
}

func writeText(n int, text string) (list []string, item string) {
	id, at := fmt.Sprintf("msg_%d", n), fmt.Sprintf(`,"output_index":%d`, n)
	in := fmt.Sprintf(`,"item_id":"%s"%s,"content_index":0`, id, at)
	content := `{"type":"output_text","annotations":[],"text":` + quote(text) + "}"
	item = `{"id":"` + id + `","type":"message","status":"completed","role":"assistant","content":[` + content + "]}"
	return []string{
		numbered("response.output_item.added", at+`,"item":{"id":"`+id+`","type":"message","role":"assistant","content":[]}`),
		numbered("response.content_part.added", in+`,"part":{"type":"output_text","annotations":[],"text":""}`),
		numbered("response.output_text.delta", in+`,"delta":`+quote(text)),
		numbered("response.output_text.done", in+`,"text":`+quote(text)),
		numbered("response.content_part.done", in+`,"part":`+content),
		numbered("response.output_item.done", at+`,"item":`+item),
	}, item
}

func writeCallItem(n int, c said) (list []string, item string) {
	id, at := fmt.Sprintf("fc_%d", n), fmt.Sprintf(`,"output_index":%d`, n)
	const form = `{"id":"%s","type":"function_call","status":"%s","call_id":%s,"name":%s,"arguments":%s}`
	in := fmt.Sprintf(`,"item_id":"%s"%s`, id, at)
	list = append(list, numbered("response.output_item.added",
		at+`,"item":`+fmt.Sprintf(form, id, "in_progress", quote(c.id), quote(c.name), `""`)))
	for _, piece := range halves(c.args) {
		list = append(list, numbered("response.function_call_arguments.delta", in+`,"delta":`+quote(piece)))
	}
	item = fmt.Sprintf(form, id, "completed", quote(c.id), quote(c.name), quote(c.args))
	return append(list, numbered("response.function_call_arguments.done", in+`,"arguments":`+quote(c.args)),
		numbered("response.output_item.done", at+`,"item":`+item)), item
}
