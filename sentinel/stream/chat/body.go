package chat

import (
	"bytes"

	"github.com/vedette-dev/vedette/sentinel/stream"
	"github.com/vedette-dev/vedette/sentinel/stream/span"
)

// DecodeBody reads a completion that isn't streamed.
func (c *Codec) DecodeBody(body []byte) ([]stream.Event, error) {
	body = bytes.TrimSpace(body)
	choices := span.Member(body, "choices")
	if !span.IsObject(body) || len(choices) == 0 || choices[0] != '[' {
		return nil, errMalformed
	}
	var events []stream.Event
	for it := span.Members(body); it.Next(); {
		if !isBodyMember(string(it.Key), it.Value) {
			events = c.refuse(events, &chunk{unknown: "." + string(it.Key)})
		}
	}
	place := 0
	for el := span.Elements(choices); el.Next(); place++ {
		n := laneNumber(el.Value, place)
		l := c.laneOf(n)
		message := span.Member(el.Value, "message")
		if l == nil || l.ended || el.Value[0] != '{' || len(message) == 0 || message[0] != '{' {
			return nil, errMalformed
		}
		l.seen, l.ended = l.seen+1, true
		events = c.readMessage(events, n, el.Value, message)
	}
	return append(events, stream.Event{Kind: stream.End}), nil
}

// isBodyMember reports whether a member of a completion is known or harmless.
func isBodyMember(key string, value []byte) bool {
	switch key {
	case "choices":
		return true
	case "usage":
		return span.Counts(value)
	case "id", "object", "created", "model", "system_fingerprint", "service_tier":
		return !span.HoldsCall(value)
	}
	return isHarmless([]byte(key), value, chunkNames)
}

// isChoiceMember reports whether a member of a choice that holds a message is known or harmless.
func isChoiceMember(key string, value []byte) bool {
	switch key {
	case "index", "message", "finish_reason", "logprobs":
		return true
	}
	return isHarmless([]byte(key), value, innerNames)
}

func isMessageMember(key string, value []byte) bool {
	switch key {
	case "tool_calls":
		return span.IsEmpty(value) || value[0] == '['
	case "function_call":
		return span.IsNull(value) || value[0] == '{'
	case "role", "content", "refusal", "reasoning", "reasoning_content":
		return value[0] == '"' || !span.HoldsCall(value)
	}
	return isHarmless([]byte(key), value, innerNames)
}

func (c *Codec) readMessage(events []stream.Event, n int, choice, message []byte) []stream.Event {
	l := c.lanes[n]
	for it := span.Members(choice); it.Next(); {
		if !isChoiceMember(string(it.Key), it.Value) {
			events = c.refuse(events, &chunk{unknown: "." + string(it.Key), lane: n})
		}
	}
	for it := span.Members(message); it.Next(); {
		switch key := string(it.Key); {
		case !isMessageMember(key, it.Value):
			events = c.refuse(events, &chunk{unknown: "." + key, lane: n})
		case key == "function_call" && !span.IsNull(it.Value):
			l.single = c.calls
			p := piece{index: -1, one: true}
			p.readFunction(it.Value)
			events = c.addWhole(events, n, p)
		case key == "tool_calls":
			for el := span.Elements(it.Value); el.Next(); {
				l.elements = append(l.elements, c.calls)
				events = c.addWhole(events, n, readPiece(el.Value))
			}
		}
	}
	reason, _ := span.Text(span.Member(choice, "finish_reason"))
	return append(events, stream.Event{Kind: stream.Finish, Lane: n, Reason: string(reason)})
}

// addWhole appends the events of a call that isn't in pieces.
func (c *Codec) addWhole(events []stream.Event, n int, p piece) []stream.Event {
	number := c.calls
	c.calls++
	events = append(events, stream.Event{Kind: stream.Begin, Lane: n, Call: number, Start: stream.Start{ID: p.id, Name: p.name},
		Mark: markOf(p.one)})
	if p.odd {
		return append(events, stream.Event{Kind: stream.Spoil, Call: number, Code: stream.CodeShape})
	}
	return append(events, stream.Event{Kind: stream.Grow, Call: number, Args: p.args}, stream.Event{Kind: stream.Close, Call: number})
}

// remains is what the outputs leave of a completion.
type remains struct {
	forwarded map[int]bool
	notices   map[int]string // of each choice
	lanes     map[int]bool   // choices that come before the one that ended the answer, and that one
}

func (c *Codec) remainsOf(outs []stream.Output) remains {
	r := remains{map[int]bool{}, map[int]string{}, map[int]bool{}}
	for _, o := range outs {
		switch o.Kind {
		case stream.Forward:
			r.forwarded[o.Call.Number] = true
			l := c.laneOf(o.Lane)
			l.forwarded++
			if o.Mark.Code == legacyMark {
				l.legacy++
			}
		case stream.Notice:
			r.notices[o.Lane] += o.Text
			r.lanes[o.Lane] = true
		case stream.Finish:
			r.lanes[o.Lane] = r.lanes[o.Lane] || !o.Ended
		}
	}
	return r
}

// EncodeBody writes the completion as the outputs leave it.
func (c *Codec) EncodeBody(body []byte, outs []stream.Output) ([]byte, error) {
	body = bytes.TrimSpace(body)
	r := c.remainsOf(outs)
	var choices [][]byte
	changed := len(r.notices) > 0
	place := 0
	for el := span.Elements(span.Member(body, "choices")); el.Next(); place++ {
		n := laneNumber(el.Value, place)
		if !r.lanes[n] {
			changed = true
			continue
		}
		choice, same := c.writeChoice(el.Value, n, r)
		changed = changed || !same
		choices = append(choices, choice)
	}
	if !changed {
		return body, nil
	}
	list := append([]byte{'['}, bytes.Join(choices, []byte(","))...)
	list = append(list, ']')
	return span.Edit(nil, body, func(key string, value []byte) []byte {
		switch {
		case key == "choices":
			return list
		case isBodyMember(key, value):
			return value
		}
		return nil
	}), nil
}

// writeChoice writes a choice with the calls that are left. It reports whether nothing changed.
func (c *Codec) writeChoice(choice []byte, n int, r remains) (written []byte, same bool) {
	l := c.lanes[n]
	was, _ := span.Text(span.Member(choice, "finish_reason"))
	reason := l.reasonOf(string(was))
	if r.notices[n] == "" && reason == string(was) {
		return choice, true
	}
	return span.Edit(nil, choice, func(key string, value []byte) []byte {
		switch {
		case key == "message":
			return l.writeMessage(value, r, r.notices[n])
		case key == "finish_reason":
			return span.AppendQuote(nil, reason)
		case isChoiceMember(key, value):
			return value
		}
		return nil
	}), false
}

func (l *lane) writeMessage(message []byte, r remains, notice string) []byte {
	written := false
	out := span.Edit(nil, message, func(key string, value []byte) []byte {
		switch {
		case !isMessageMember(key, value):
			return nil
		case key == "content":
			written = true
			return addNotice(value, notice)
		case key == "function_call" && !span.IsNull(value) && !r.forwarded[l.single]:
			return nil
		case key == "tool_calls" && !span.IsEmpty(value):
			return l.keepCalls(value, r)
		}
		return value
	})
	if written || notice == "" {
		return out
	}
	if len(out) > 2 {
		out = append(out[:len(out)-1], ',')
	} else {
		out = out[:1]
	}
	out = span.AppendQuote(append(out, `"content":`...), notice)
	return append(out, '}')
}

// keepCalls returns the allowed calls of a list, nil where there are none.
func (l *lane) keepCalls(list []byte, r remains) []byte {
	var kept [][]byte
	place := 0
	for el := span.Elements(list); el.Next(); place++ {
		if r.forwarded[l.elements[place]] {
			kept = append(kept, el.Value)
		}
	}
	if kept == nil {
		return nil
	}
	return append(append([]byte{'['}, bytes.Join(kept, []byte(","))...), ']')
}

// addNotice puts a notice behind the content of a message: a text, a list of parts, or none.
func addNotice(content []byte, notice string) []byte {
	if notice == "" {
		return content
	}
	if text, ok := span.Text(content); ok {
		return span.AppendQuote(nil, string(text)+notice)
	}
	part := append(span.AppendQuote([]byte(`{"type":"text","text":`), notice), '}')
	if content[0] == '[' && !span.IsEmpty(content) {
		return append(append(append([]byte{}, content[:len(content)-1]...), ','), append(part, ']')...)
	}
	return span.AppendQuote(nil, notice)
}
