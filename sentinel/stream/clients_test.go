package stream_test

import (
	"encoding/json"
	"errors"
	"fmt"
)

type chatChunk struct {
	ID, Object string
	Choices    []struct {
		Index int
		Delta struct {
			Role, Content string
			ToolCalls     []struct {
				Index    *int
				ID, Type string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
			FunctionCall *struct{ Name, Arguments string } `json:"function_call"`
		}
		FinishReason *string `json:"finish_reason"`
	}
	Usage json.RawMessage
	Error json.RawMessage
}

// readChat is a client of chat completions that takes nothing amiss for granted.
func readChat(out string) (answer, error) {
	a := newAnswer()
	events, err := cut(out)
	if err != nil {
		return a, err
	}
	roles := map[int]bool{}
	for _, e := range events {
		if a.ended || a.fault != "" {
			return a, fmt.Errorf("behind the end: %s", e.data)
		}
		if e.data == "[DONE]" {
			a.ended = true
			continue
		}
		var c chatChunk
		if err := decode(e.data, &c); err != nil {
			return a, err
		}
		if c.Error != nil {
			a.fault = string(c.Error)
			continue
		}
		a.usage = a.usage || len(c.Usage) > 0 && string(c.Usage) != "null"
		if err := a.addChunk(c, roles); err != nil {
			return a, fmt.Errorf("%w: %s", err, e.data)
		}
	}
	if a.ended {
		for n := range roles {
			if a.reason[n] == "" {
				return a, fmt.Errorf("choice %d has no reason", n)
			}
			if tool := a.reason[n] == "tool_calls" || a.reason[n] == "function_call"; tool && len(a.calls[n]) == 0 {
				return a, errors.New("a reason of calls, and no call")
			}
		}
	}
	if a.ended == (a.fault != "") {
		return a, errors.New("neither an end nor an error")
	}
	return a, nil
}

func (a *answer) addChunk(c chatChunk, roles map[int]bool) error {
	for _, ch := range c.Choices {
		n, d := ch.Index, ch.Delta
		if a.reason[n] != "" {
			return errors.New("behind the reason")
		}
		if !roles[n] && d.Role == "" {
			return errors.New("no role in the first delta")
		}
		roles[n] = true
		a.text[n] += d.Content
		if len(d.ToolCalls) > 1 {
			return errors.New("two calls in one chunk")
		}
		for _, tc := range d.ToolCalls {
			calls := a.calls[n]
			switch {
			case tc.Index == nil || *tc.Index > len(calls):
				return errors.New("a gap in the indices")
			case *tc.Index == len(calls):
				if tc.ID == "" || tc.Type != "function" || tc.Function.Name == "" {
					return errors.New("a call without id, type or name")
				}
				calls = append(calls, said{id: tc.ID, name: tc.Function.Name})
			}
			calls[*tc.Index].args += tc.Function.Arguments
			a.calls[n] = calls
		}
		if f := d.FunctionCall; f != nil {
			a.calls[n] = append(a.calls[n], said{name: f.Name, args: f.Arguments})
		}
		if ch.FinishReason != nil {
			a.reason[n] = *ch.FinishReason
		}
	}
	return nil
}

type messageEvent struct {
	Type         string
	Index        *int
	ContentBlock struct {
		Type, ID, Name, Text string
		Input                json.RawMessage
	} `json:"content_block"`
	Delta struct {
		Type, Text  string
		PartialJSON string `json:"partial_json"`
		StopReason  string `json:"stop_reason"`
	}
	Usage json.RawMessage
	Error json.RawMessage
}

// readMessages is a client of the Messages format that holds each rule of its order.
func readMessages(out string) (answer, error) {
	a := newAnswer()
	events, err := cut(out)
	if err != nil {
		return a, err
	}
	r := messageReader{answer: a, next: 0, open: -1}
	for _, e := range events {
		if r.ended || r.fault != "" {
			return r.answer, fmt.Errorf("behind the end: %s", e.data)
		}
		var m messageEvent
		if err := decode(e.data, &m); err != nil {
			return r.answer, err
		}
		if e.name != m.Type {
			return r.answer, fmt.Errorf("event %q has type %q", e.name, m.Type)
		}
		if err := r.add(m); err != nil {
			return r.answer, fmt.Errorf("%w: %s", err, e.data)
		}
	}
	if r.ended == (r.fault != "") {
		return r.answer, errors.New("neither an end nor an error")
	}
	return r.answer, nil
}

type messageReader struct {
	answer
	started bool
	next    int
	open    int
	kind    string
}

func (r *messageReader) add(m messageEvent) error {
	switch m.Type {
	case "ping":
		return nil
	case "error":
		r.fault = string(m.Error)
		return nil
	case "message_start":
		if r.started {
			return errors.New("a second start")
		}
		r.started = true
		return nil
	}
	if !r.started {
		return errors.New("no message_start")
	}
	if r.reason[0] != "" && m.Type != "message_stop" {
		return errors.New("behind the reason")
	}
	switch m.Type {
	case "content_block_start":
		if r.open >= 0 || m.Index == nil || *m.Index != r.next {
			return errors.New("a block out of order")
		}
		if len(r.calls[0]) > 0 && m.ContentBlock.Type != "tool_use" {
			return errors.New("a block behind a call")
		}
		r.open, r.kind = r.next, m.ContentBlock.Type
		r.next++
		if r.kind == "tool_use" {
			if string(m.ContentBlock.Input) != "{}" {
				return errors.New("input in the start")
			}
			r.calls[0] = append(r.calls[0], said{id: m.ContentBlock.ID, name: m.ContentBlock.Name})
		}
	case "content_block_delta":
		if m.Index == nil || *m.Index != r.open {
			return errors.New("an orphan delta")
		}
		if r.kind == "tool_use" {
			r.calls[0][len(r.calls[0])-1].args += m.Delta.PartialJSON
		} else {
			r.text[0] += m.Delta.Text
		}
	case "content_block_stop":
		if m.Index == nil || *m.Index != r.open {
			return errors.New("an orphan stop")
		}
		r.open = -1
	case "message_delta":
		if r.open >= 0 || m.Usage == nil {
			return errors.New("an open block, or no usage")
		}
		r.usage = true
		if r.reason[0] = m.Delta.StopReason; r.reason[0] == "tool_use" && len(r.calls[0]) == 0 {
			return errors.New("a reason of calls, and no call")
		}
	case "message_stop":
		if r.reason[0] == "" {
			return errors.New("no reason")
		}
		r.ended = true
	}
	return nil
}

type responseItem struct {
	Type, ID, Name, Arguments, Status string
	CallID                            string `json:"call_id"`
	Content                           []struct{ Type, Text string }
}

type responseEvent struct {
	Type           string
	SequenceNumber *int   `json:"sequence_number"`
	OutputIndex    *int   `json:"output_index"`
	ItemID         string `json:"item_id"`
	Item           responseItem
	Delta          string
	Arguments      string
	Response       struct {
		ID, Status string
		Output     []responseItem
		Usage      json.RawMessage
	}
	Code, Message string
}

// readResponses is a client of the Responses format that compares each version of a call.
func readResponses(out string) (answer, error) {
	r := responseReader{answer: newAnswer(), at: map[int]*responseItem{}}
	events, err := cut(out)
	if err != nil {
		return r.answer, err
	}
	for n, e := range events {
		if r.ended || r.fault != "" {
			return r.answer, fmt.Errorf("behind the end: %s", e.data)
		}
		var m responseEvent
		if err := decode(e.data, &m); err != nil {
			return r.answer, err
		}
		if e.name != m.Type || m.Type != "error" && (m.SequenceNumber == nil || *m.SequenceNumber != n) {
			return r.answer, fmt.Errorf("name or number: %s", e.data)
		}
		if err := r.add(m); err != nil {
			return r.answer, fmt.Errorf("%w: %s", err, e.data)
		}
	}
	if r.ended == (r.fault != "") {
		return r.answer, errors.New("neither an end nor an error")
	}
	return r.answer, nil
}

type responseReader struct {
	answer
	at   map[int]*responseItem
	list []responseItem
}

func (r *responseReader) add(m responseEvent) error {
	switch m.Type {
	case "error", "response.failed":
		r.fault = "error"
		return nil
	case "response.created", "response.in_progress":
		return nil
	case "response.completed", "response.incomplete":
		return r.end(m)
	}
	if m.OutputIndex == nil {
		return errors.New("no index")
	}
	n := *m.OutputIndex
	if m.Type == "response.output_item.added" {
		if n != len(r.at) {
			return errors.New("a gap in the indices")
		}
		r.at[n] = &m.Item
		return nil
	}
	it := r.at[n]
	if it == nil || m.ItemID != "" && m.ItemID != it.ID {
		return errors.New("an event of no item")
	}
	switch m.Type {
	case "response.function_call_arguments.delta":
		it.Arguments += m.Delta
	case "response.output_text.delta":
		r.text[0] += m.Delta
	case "response.function_call_arguments.done":
		if m.Arguments != it.Arguments {
			return errors.New("two versions of arguments")
		}
	case "response.output_item.done":
		if m.Item.Type != it.Type || m.Item.ID != it.ID || it.Type == "function_call" && m.Item.Arguments != it.Arguments {
			return errors.New("two versions of an item")
		}
		if it.Type == "function_call" || it.Type == "mcp_approval_request" {
			r.calls[0] = append(r.calls[0], said{m.Item.CallID, m.Item.Name, m.Item.Arguments})
		}
		r.list = append(r.list, m.Item)
	}
	return nil
}

func (r *responseReader) end(m responseEvent) error {
	r.ended = true
	r.reason[0] = m.Response.Status
	r.usage = m.Response.Usage != nil
	var want, got []string
	for _, it := range r.list {
		want = append(want, it.Type+it.ID+it.Arguments)
	}
	for _, it := range m.Response.Output {
		got = append(got, it.Type+it.ID+it.Arguments)
	}
	if fmt.Sprint(want) != fmt.Sprint(got) {
		return fmt.Errorf("the end repeats %v, and %v came", got, want)
	}
	return nil
}
