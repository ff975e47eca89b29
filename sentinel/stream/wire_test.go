package stream_test

import (
	"encoding/json"
	"fmt"
	"strings"
)

// part is a text or a call of an upstream's answer, in the terms of no format.
type part struct {
	text string
	call *said
}

func txt(s string) part               { return part{text: s} }
func call(id, name, args string) part { return part{call: &said{id, name, args}} }
func quote(s string) string           { b, _ := json.Marshal(s); return string(b) }
func chatLine(delta, rest string) string {
	return `data: {"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":` + delta +
		`,"finish_reason":null` + rest + "}]}\n\n"
}

func chatFinish(reason string) string {
	return `data: {"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"` +
		reason + "\"}]}\n\n"
}

const (
	chatRole  = `data: {"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n"
	chatUsage = `data: {"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","choices":[],"usage":{"total_tokens":9}}` + "\n\n"
	chatDone  = "data: [DONE]\n\n"
)

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

// upstream writes an answer as a provider of the format would.
func upstream(format string, parts ...part) string {
	switch format {
	case "chat":
		return upstreamChat(parts)
	case "messages":
		return upstreamMessages(parts)
	}
	return upstreamResponses(parts)
}

func upstreamChat(parts []part) string {
	var b strings.Builder
	b.WriteString(chatRole)
	n := 0
	reason := "stop"
	for _, p := range parts {
		if p.call == nil {
			b.WriteString(chatLine(`{"content":`+quote(p.text)+"}", ""))
			continue
		}
		reason = "tool_calls"
		b.WriteString(chatLine(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":""}}]}`,
			n, quote(p.call.id), quote(p.call.name)), ""))
		for _, piece := range halves(p.call.args) {
			b.WriteString(chatLine(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, n, quote(piece)), ""))
		}
		n++
	}
	return b.String() + chatFinish(reason) + chatUsage + chatDone
}

func sent(typ, rest string) string {
	return "event: " + typ + "\ndata: {\"type\":\"" + typ + "\"" + rest + "}\n\n"
}

const messageStart = `,"message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],` +
	`"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":1}}`

func upstreamMessages(parts []part) string {
	var b strings.Builder
	b.WriteString(sent("message_start", messageStart) + sent("ping", ""))
	reason := "end_turn"
	for n, p := range parts {
		at := fmt.Sprintf(`,"index":%d`, n)
		if p.call == nil {
			b.WriteString(sent("content_block_start", at+`,"content_block":{"type":"text","text":""}`))
			b.WriteString(sent("content_block_delta", at+`,"delta":{"type":"text_delta","text":`+quote(p.text)+"}"))
		} else {
			reason = "tool_use"
			b.WriteString(sent("content_block_start", at+fmt.Sprintf(`,"content_block":{"type":"tool_use","id":%s,"name":%s,"input":{}}`,
				quote(p.call.id), quote(p.call.name))))
			for _, piece := range halves(p.call.args) {
				b.WriteString(sent("content_block_delta", at+`,"delta":{"type":"input_json_delta","partial_json":`+quote(piece)+"}"))
			}
		}
		b.WriteString(sent("content_block_stop", at))
	}
	return b.String() + sent("message_delta", `,"delta":{"stop_reason":"`+reason+`","stop_sequence":null},"usage":{"output_tokens":12}`) +
		sent("message_stop", "")
}

// responsesWriter writes events with rising numbers.
type responsesWriter struct {
	strings.Builder
	n int
}

func (w *responsesWriter) send(typ, rest string) {
	fmt.Fprintf(w, "event: %s\ndata: {\"type\":\"%s\",\"sequence_number\":%d%s}\n\n", typ, typ, w.n, rest)
	w.n++
}

func upstreamResponses(parts []part) string {
	var w responsesWriter
	response := `,"response":{"id":"r1","object":"response","status":"%s","model":"m","tools":[{"type":"function","name":"ok"}],"output":[%s]%s}`
	w.send("response.created", fmt.Sprintf(response, "in_progress", "", ""))
	var items []string
	for n, p := range parts {
		at := fmt.Sprintf(`,"output_index":%d`, n)
		if p.call != nil {
			items = append(items, w.sendCall(n, at, *p.call))
			continue
		}
		id := fmt.Sprintf("msg_%d", n)
		in := fmt.Sprintf(`,"item_id":"%s"%s,"content_index":0`, id, at)
		part := `{"type":"output_text","annotations":[],"text":` + quote(p.text) + "}"
		item := `{"id":"` + id + `","type":"message","status":"completed","role":"assistant","content":[` + part + "]}"
		w.send("response.output_item.added", at+`,"item":{"id":"`+id+`","type":"message","status":"in_progress","role":"assistant","content":[]}`)
		w.send("response.content_part.added", in+`,"part":{"type":"output_text","annotations":[],"text":""}`)
		w.send("response.output_text.delta", in+`,"delta":`+quote(p.text))
		w.send("response.output_text.done", in+`,"text":`+quote(p.text))
		w.send("response.content_part.done", in+`,"part":`+part)
		w.send("response.output_item.done", at+`,"item":`+item)
		items = append(items, item)
	}
	w.send("response.completed", fmt.Sprintf(response, "completed", strings.Join(items, ","), `,"usage":{"total_tokens":5}`))
	return w.String()
}

func (w *responsesWriter) sendCall(n int, at string, c said) string {
	id := fmt.Sprintf("fc_%d", n)
	item := `{"id":"%s","type":"function_call","status":"%s","call_id":%s,"name":%s,"arguments":%s}`
	in := fmt.Sprintf(`,"item_id":"%s"%s`, id, at)
	w.send("response.output_item.added", at+`,"item":`+fmt.Sprintf(item, id, "in_progress", quote(c.id), quote(c.name), `""`))
	for _, piece := range halves(c.args) {
		w.send("response.function_call_arguments.delta", in+`,"delta":`+quote(piece))
	}
	w.send("response.function_call_arguments.done", in+`,"arguments":`+quote(c.args))
	whole := fmt.Sprintf(item, id, "completed", quote(c.id), quote(c.name), quote(c.args))
	w.send("response.output_item.done", at+`,"item":`+whole)
	return whole
}
