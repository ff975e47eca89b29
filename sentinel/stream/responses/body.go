package responses

import (
	"bytes"

	"github.com/vedette-dev/vedette/sentinel/stream"
	"github.com/vedette-dev/vedette/sentinel/stream/span"
)

// DecodeBody reads a response that isn't streamed.
func (c *Codec) DecodeBody(body []byte) ([]stream.Event, error) {
	body = bytes.TrimSpace(body)
	if !span.IsObject(body) || !isResponse(body) {
		return nil, errMalformed
	}
	if object, _ := span.Text(span.Member(body, "object")); string(object) != "response" {
		return nil, errMalformed
	}
	output := span.Member(body, "output")
	if len(output) == 0 || output[0] != '[' {
		return nil, errMalformed
	}
	var events []stream.Event
	for el := span.Elements(output); el.Next(); {
		kind, typ := dropped, ""
		if el.Value[0] == '{' {
			kind, typ = kindOf(el.Value)
		}
		it := &item{kind: kind, typ: typ, out: -1}
		switch kind {
		case passes:
			events = append(events, stream.Event{Kind: stream.Pass, Raw: el.Value})
		case calls:
			events = c.beginCall(events, it, el.Value)
			kind := stream.Event{Kind: stream.Close, Call: it.number}
			if readCallItem(el.Value).status == "incomplete" {
				kind = stream.Event{Kind: stream.Spoil, Call: it.number, Code: stream.CodeIncomplete}
			}
			events = append(events, kind)
		default:
			events = append(events, c.newRefusal(it))
		}
	}
	events = append(events, stream.Event{Kind: stream.Finish})
	return append(events, stream.Event{Kind: stream.End}), nil
}

// EncodeBody writes the response as the outputs leave it.
func (c *Codec) EncodeBody(body []byte, outs []stream.Output) ([]byte, error) {
	body = bytes.TrimSpace(body)
	var items [][]byte
	changed := false
	for _, o := range outs {
		switch o.Kind {
		case stream.Pass:
			items = append(items, o.Raw)
		case stream.Forward:
			items = append(items, o.Call.Head())
		case stream.Notice:
			changed = true
			object, _, _ := noticeItem(o.Call.Number, o.Text)
			items = append(items, object)
		}
	}
	if !changed {
		return body, nil
	}
	list := append([]byte{'['}, bytes.Join(items, []byte(","))...)
	list = append(list, ']')
	return span.Edit(nil, body, func(key string, value []byte) []byte {
		switch key {
		case "output":
			return list
		case "output_text": // the client's library makes it
			return nil
		}
		return value
	}), nil
}
