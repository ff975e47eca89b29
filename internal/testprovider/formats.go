package testprovider

import (
	"fmt"
	"strings"
)

// chat is the format of chat completions.
type chat struct{}

func (chat) fault() string {
	return `{"error":{"message":` + quote(FaultMessage) + `,"type":"server_error"}}`
}

func (c chat) stream(s Scenario) []string {
	const form = "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":" +
		"[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n"
	out := []string{fmt.Sprintf(form, `{"role":"assistant","content":""}`, "null")}
	index := 0
	for i, p := range s.Parts {
		if p.Name == "" {
			for _, t := range pieces(p.Text) {
				out = append(out, fmt.Sprintf(form, `{"content":`+quote(t)+`}`, "null"))
			}
			continue
		}
		begin := fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":%q,"arguments":""}}]}`, index, p.ID,
			p.Name)
		out = append(out, fmt.Sprintf(form, begin, "null"))
		for j, a := range pieces(p.Args) {
			if s.isCut(i) && j == 2 {
				break
			}
			more := fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, index, quote(a))
			out = append(out, fmt.Sprintf(form, more, "null"))
		}
		index++
	}
	if s.Fault {
		return append(out, "data: "+c.fault()+"\n\n")
	}
	return append(out, fmt.Sprintf(form, "{}", quote(s.reason("stop", "tool_calls", "length"))), "data: [DONE]\n\n")
}

func (chat) whole(s Scenario) string {
	text, calls := "", []string{}
	for i, p := range s.Parts {
		if p.Name == "" {
			text += p.Text
			continue
		}
		args := p.Args
		if s.isCut(i) {
			args = strings.Join(pieces(args)[:2], "")
		}
		calls = append(calls, fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":%q,"arguments":%s}}`, p.ID, p.Name, quote(args)))
	}
	list := ""
	if len(calls) > 0 {
		list = `,"tool_calls":[` + strings.Join(calls, ",") + "]"
	}
	return fmt.Sprintf(`{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":`+
		`{"role":"assistant","content":%s%s},"finish_reason":%q}],`+
		`"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`, quote(text), list, s.reason("stop", "tool_calls", "length"))
}

// messages is the format of Anthropic's messages.
type messages struct{}

const messageHead = `"id":"msg_1","type":"message","role":"assistant","model":"m"`

func (messages) fault() string {
	return `{"type":"error","error":{"type":"overloaded_error","message":` + quote(FaultMessage) + `}}`
}

func (m messages) stream(s Scenario) []string {
	out := []string{event("message_start", `,"message":{`+messageHead+`,"content":[],"stop_reason":null,"stop_sequence":null,`+
		`"usage":{"input_tokens":1,"output_tokens":1}}`)}
	for i, p := range s.Parts {
		at := fmt.Sprintf(`,"index":%d`, i)
		block, kind, text := `{"type":"text","text":""}`, `"type":"text_delta","text":`, p.Text
		if p.Name != "" {
			block = fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":{}}`, p.ID, p.Name)
			kind, text = `"type":"input_json_delta","partial_json":`, p.Args
		}
		out = append(out, event("content_block_start", at+`,"content_block":`+block))
		for j, t := range pieces(text) {
			if s.isCut(i) && j == 2 {
				break
			}
			out = append(out, event("content_block_delta", at+`,"delta":{`+kind+quote(t)+`}`))
		}
		out = append(out, event("content_block_stop", at))
	}
	if s.Fault {
		return append(out, "event: error\ndata: "+m.fault()+"\n\n")
	}
	return append(out, event("message_delta", fmt.Sprintf(`,"delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":9}`,
		s.reason("end_turn", "tool_use", "max_tokens"))), event("message_stop", ""))
}

// whole leaves out a call in which the answer ends: its input is an object, which can't be cut.
func (messages) whole(s Scenario) string {
	var list []string
	for i, p := range s.Parts {
		switch {
		case p.Name == "":
			list = append(list, `{"type":"text","text":`+quote(p.Text)+`}`)
		case !s.isCut(i):
			list = append(list, fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":%s}`, p.ID, p.Name, p.Args))
		}
	}
	return fmt.Sprintf(`{%s,"content":[%s],"stop_reason":%q,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":9}}`, messageHead,
		strings.Join(list, ","), s.reason("end_turn", "tool_use", "max_tokens"))
}

// responses is the format of OpenAI's responses.
type responses struct{}

func (responses) fault() string { return chat{}.fault() }

// response is the object of a response.
func (responses) response(status string, items []string) string {
	more := ""
	if status == "incomplete" {
		more = `,"incomplete_details":{"reason":"max_output_tokens"}`
	}
	return fmt.Sprintf(`{"id":"resp_1","object":"response","created_at":1,"status":%q,"model":"m","output":[%s],"error":null,`+
		`"instructions":null,"metadata":{},"parallel_tool_calls":true,"temperature":1,"tool_choice":"auto","tools":[],"top_p":1,"usage":null%s}`,
		status, strings.Join(items, ","), more)
}

// item is an output item, as it begins or as it ended.
func (responses) item(s Scenario, i int, begun bool) string {
	p := s.Parts[i]
	status, args, content := "completed", p.Args, fmt.Sprintf(`{"type":"output_text","annotations":[],"logprobs":[],"text":%s}`, quote(p.Text))
	switch {
	case begun:
		status, args, content = "in_progress", "", ""
	case s.isCut(i):
		status, args = "incomplete", strings.Join(pieces(args)[:2], "")
	}
	if p.Name == "" {
		return fmt.Sprintf(`{"id":"msg_%d","type":"message","status":%q,"role":"assistant","content":[%s]}`, i, status, content)
	}
	return fmt.Sprintf(`{"id":"fc_%d","type":"function_call","status":%q,"call_id":%q,"name":%q,"arguments":%s}`, i, status, p.ID, p.Name,
		quote(args))
}

func (r responses) stream(s Scenario) []string {
	w := &responseWriter{}
	w.add("response.created", `,"response":`+r.response("in_progress", nil))
	var items []string
	for i, p := range s.Parts {
		at := fmt.Sprintf(`,"output_index":%d`, i)
		w.add("response.output_item.added", at+`,"item":`+r.item(s, i, true))
		if p.Name == "" {
			w.addText(at, i, p.Text)
		} else {
			w.addCall(at, i, p, s.isCut(i))
		}
		items = append(items, r.item(s, i, false))
		w.add("response.output_item.done", at+`,"item":`+items[i])
	}
	switch {
	case s.Fault:
		w.add("error", `,"code":"server_error","message":`+quote(FaultMessage)+`,"param":null`)
	case s.Incomplete:
		w.add("response.incomplete", `,"response":`+r.response("incomplete", items))
	default:
		w.add("response.completed", `,"response":`+r.response("completed", items))
	}
	return w.out
}

func (r responses) whole(s Scenario) string {
	var items []string
	for i := range s.Parts {
		items = append(items, r.item(s, i, false))
	}
	return r.response(s.reason("completed", "completed", "incomplete"), items)
}

// responseWriter numbers events.
type responseWriter struct {
	out []string
	n   int
}

func (w *responseWriter) add(typ, rest string) {
	w.out = append(w.out, event(typ, fmt.Sprintf(`,"sequence_number":%d%s`, w.n, rest)))
	w.n++
}

func (w *responseWriter) addText(at string, i int, text string) {
	in := fmt.Sprintf(`,"item_id":"msg_%d"%s,"content_index":0`, i, at)
	part := `{"type":"output_text","annotations":[],"logprobs":[],"text":`
	w.add("response.content_part.added", in+`,"part":`+part+`""}`)
	for _, t := range pieces(text) {
		w.add("response.output_text.delta", in+`,"logprobs":[],"delta":`+quote(t))
	}
	w.add("response.output_text.done", in+`,"logprobs":[],"text":`+quote(text))
	w.add("response.content_part.done", in+`,"part":`+part+quote(text)+`}`)
}

func (w *responseWriter) addCall(at string, i int, p Part, cut bool) {
	in := fmt.Sprintf(`,"item_id":"fc_%d"%s`, i, at)
	list := pieces(p.Args)
	if cut {
		list = list[:2]
	}
	for _, a := range list {
		w.add("response.function_call_arguments.delta", in+`,"delta":`+quote(a))
	}
	w.add("response.function_call_arguments.done", in+`,"name":`+quote(p.Name)+`,"arguments":`+quote(strings.Join(list, "")))
}
