package messages

import (
	"bytes"

	"github.com/vedette-dev/vedette/sentinel/stream"
	"github.com/vedette-dev/vedette/sentinel/stream/span"
)

// DecodeBody reads a message that isn't streamed. An answer of another type is an error: those of
// other endpoints hold no call and need no codec.
func (c *Codec) DecodeBody(body []byte) ([]stream.Event, error) {
	body = bytes.TrimSpace(body)
	if typ, _ := span.Text(span.Member(body, "type")); !span.IsObject(body) || string(typ) != "message" {
		return nil, errMalformed
	}
	var events []stream.Event
	var reason string
	for it := span.Members(body); it.Next(); {
		switch string(it.Key) {
		case "content":
			if it.Value[0] != '[' {
				return nil, errMalformed
			}
			events = c.readContent(events, it.Value)
		case "stop_reason":
			text, _ := span.Text(it.Value)
			reason = string(text)
		default:
			if !isBodyMember(string(it.Key), it.Value) {
				events = c.refuse(events, string(it.Key))
			}
		}
	}
	events = append(events, stream.Event{Kind: stream.Finish, Reason: reason})
	return append(events, stream.Event{Kind: stream.End}), nil
}

func (c *Codec) readContent(events []stream.Event, list []byte) []stream.Event {
	for el := span.Elements(list); el.Next(); {
		b := &block{call: c.calls}
		b.kind, b.server = kindOf(el.Value)
		switch b.kind {
		case passes:
			events = append(events, stream.Event{Kind: stream.Pass, Raw: el.Value})
		case calls:
			c.calls++
			events = b.begin(events, el.Value, false)
			events = append(events, stream.Event{Kind: stream.Close, Call: b.call})
		default:
			c.calls++
			events = append(events, stream.Event{Kind: stream.Refuse, Call: b.call, Code: stream.CodeShape})
		}
	}
	return events
}

// EncodeBody writes the message as the outputs leave it.
func (c *Codec) EncodeBody(body []byte, outs []stream.Output) ([]byte, error) {
	body = bytes.TrimSpace(body)
	list := []byte{'['}
	var blocks [][]byte
	for _, o := range outs {
		switch o.Kind {
		case stream.Pass:
			blocks = append(blocks, o.Raw)
		case stream.Forward:
			c.forwarded++
			blocks = append(blocks, o.Call.Head())
		case stream.Notice:
			text := span.AppendQuote([]byte(`{"type":"text","text":`), o.Text)
			blocks = append(blocks, append(text, '}'))
		}
	}
	list = append(append(list, bytes.Join(blocks, []byte(","))...), ']')
	was, _ := span.Text(span.Member(body, "stop_reason"))
	reason := c.reasonOf(string(was))
	if reason == string(was) && isList(span.Member(body, "content"), blocks) {
		return body, nil
	}
	return span.Edit(nil, body, func(key string, value []byte) []byte {
		switch key {
		case "content":
			return list
		case "stop_reason":
			return span.AppendQuote(nil, reason)
		}
		if !isBodyMember(key, value) {
			return nil
		}
		return value
	}), nil
}

// isBodyMember reports whether a member of a message is known or harmless.
func isBodyMember(key string, value []byte) bool {
	switch key {
	case "usage":
		return span.Counts(value)
	case "id", "type", "role", "model", "stop_sequence":
		return !span.HoldsCall(value)
	}
	return isHarmless([]byte(key), value)
}

// isList reports whether a list holds exactly these elements.
func isList(list []byte, elements [][]byte) bool {
	n := 0
	for el := span.Elements(list); el.Next(); n++ {
		if n >= len(elements) || !bytes.Equal(el.Value, elements[n]) {
			return false
		}
	}
	return n == len(elements)
}
