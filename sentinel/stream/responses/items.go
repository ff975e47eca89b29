package responses

import (
	"bytes"
	"crypto/sha256"

	"github.com/vedette-dev/vedette/sentinel/stream"
	"github.com/vedette-dev/vedette/sentinel/stream/span"
)

// kindOf says what becomes of an item. One passes where its kind is known and the client runs
// nothing of it.
func kindOf(object []byte) (itemKind, string) {
	typ, _ := span.Text(span.Member(object, "type"))
	if span.NamesTwice(object) {
		return dropped, string(typ)
	}
	switch string(typ) {
	case "function_call", "mcp_approval_request":
		return calls, string(typ)
	case "file_search_call", "web_search_call", "code_interpreter_call", "image_generation_call", "mcp_call", "mcp_list_tools",
		"compaction":
		return passes, string(typ)
	case "message", "reasoning":
		if span.HoldsCall(object) {
			return dropped, string(typ)
		}
		return passes, string(typ)
	}
	return dropped, string(typ)
}

// callItem is what an item says of a call.
type callItem struct {
	id, callID, name, server, status string
	args                             []byte
	odd                              bool
}

func readCallItem(object []byte) callItem {
	var ci callItem
	for it := span.Members(object); it.Next(); {
		text, isText := span.Text(it.Value)
		field := (*string)(nil)
		switch string(it.Key) {
		case "type":
			continue
		case "id":
			field = &ci.id
		case "call_id":
			field = &ci.callID
		case "name":
			field = &ci.name
		case "server_label":
			field = &ci.server
		case "status":
			field = &ci.status
		case "arguments":
			ci.args = text
		default:
			ci.odd = ci.odd || !isHarmless(it.Key, it.Value)
			continue
		}
		ci.odd = ci.odd || !isText && !span.IsNull(it.Value)
		if field != nil {
			*field = string(text)
		}
	}
	return ci
}

// maxItems bounds the items of an answer.
const maxItems = 4096

func (c *Codec) onAdded(events []stream.Event, e *event) ([]stream.Event, error) {
	if e.index < 0 || e.item == nil || e.item[0] != '{' || c.indices[e.index] != nil || e.response != nil || e.delta != nil {
		return events, errMalformed
	}
	if len(c.items) >= maxItems {
		return events, &stream.Error{Code: stream.CodeTooLarge}
	}
	it := &item{place: len(c.items), out: -1}
	it.kind, it.typ = kindOf(e.item)
	if id, ok := span.Text(span.Member(e.item, "id")); ok {
		it.id = string(id)
	}
	if c.hasID(it.id) {
		return events, errMalformed // the response's end names items by their ids
	}
	if e.unknown {
		it.kind = dropped
	}
	c.items = append(c.items, it)
	c.indices[e.index] = it
	switch it.kind {
	case dropped:
		return append(events, c.newRefusal(it)), nil
	case passes:
		return append(events, e.pass(markAdded, it.place)), nil
	}
	return c.beginCall(events, it, e.item), nil
}

// hasID reports whether an item has that id already.
func (c *Codec) hasID(id string) bool {
	for _, it := range c.items {
		if id != "" && it.id == id {
			return true
		}
	}
	return false
}

func (c *Codec) beginCall(events []stream.Event, it *item, object []byte) []stream.Event {
	ci := readCallItem(object)
	it.callID, it.name, it.server, it.args = ci.callID, ci.name, ci.server, sha256.New()
	it.number = len(c.byCall)
	c.byCall = append(c.byCall, it)
	start := stream.Start{ID: ci.callID, Name: ci.name, Server: ci.server, Head: object}
	if start.ID == "" {
		start.ID = ci.id
	}
	events = append(events, stream.Event{Kind: stream.Begin, Call: it.number, Start: start})
	if ci.odd {
		return append(events, stream.Event{Kind: stream.Spoil, Call: it.number, Code: stream.CodeShape})
	}
	return it.growCall(events, ci.args)
}

func (it *item) growCall(events []stream.Event, args []byte) []stream.Event {
	if len(args) == 0 {
		return events
	}
	it.args.Write(args)
	it.size += len(args)
	return append(events, stream.Event{Kind: stream.Grow, Call: it.number, Args: args})
}

// has reports whether these are the arguments that have come.
func (it *item) has(args []byte) bool { return string(it.args.Sum(nil)) == sum(args) }

// finishArgs takes another version of all arguments: the first where none have come, and the same
// where some have.
func (it *item) finishArgs(events []stream.Event, args []byte) ([]stream.Event, bool) {
	if it.size == 0 && it.argsAt == growing {
		events = it.growCall(events, args)
	}
	it.argsAt = whole
	return events, it.has(args)
}

func (c *Codec) onArguments(events []stream.Event, e *event) ([]stream.Event, error) {
	it := c.indices[e.index]
	if it == nil || it.kind == passes || e.response != nil {
		return events, errMalformed
	}
	if it.kind == dropped {
		return events, nil
	}
	spoil := func(code string) ([]stream.Event, error) {
		return append(events, stream.Event{Kind: stream.Spoil, Call: it.number, Code: code}), nil
	}
	switch {
	case e.unknown || it.typ != "function_call":
		return spoil(stream.CodeShape)
	case e.itemID != "" && it.id != "" && e.itemID != it.id, len(e.name) > 0 && string(e.name) != it.name:
		return spoil(stream.CodeMismatch)
	case it.argsAt == whole:
		return spoil(stream.CodeLate)
	}
	value, last := e.delta, e.typ == "response.function_call_arguments.done"
	if last {
		value = e.arguments
	}
	text, ok := span.Text(value)
	if !ok || last == (e.delta != nil) || last != (e.arguments != nil) {
		return spoil(stream.CodeShape)
	}
	if !last {
		return it.growCall(events, text), nil
	}
	events, same := it.finishArgs(events, text)
	if !same {
		return spoil(stream.CodeMismatch)
	}
	return events, nil
}

func (c *Codec) onItemDone(events []stream.Event, e *event) ([]stream.Event, error) {
	it := c.indices[e.index]
	if it == nil || it.closed || e.item == nil || e.item[0] != '{' || e.response != nil || e.delta != nil {
		return events, errMalformed
	}
	it.closed = true
	if it.kind == dropped {
		return events, nil
	}
	kind, typ := kindOf(e.item)
	if typ != it.typ || kind != it.kind || e.unknown {
		if it.kind == passes {
			return events, errMismatch
		}
		return append(events, stream.Event{Kind: stream.Spoil, Call: it.number, Code: stream.CodeMismatch}), nil
	}
	if it.kind == passes {
		return append(events, e.pass(markItemDone, it.place)), nil
	}
	ci := readCallItem(e.item)
	code := ""
	events, same := it.finishArgs(events, ci.args)
	switch {
	case ci.odd:
		code = stream.CodeShape
	case !same || !it.isSame(ci):
		code = stream.CodeMismatch
	case ci.status == "incomplete":
		code = stream.CodeIncomplete
	}
	if code != "" {
		return append(events, stream.Event{Kind: stream.Spoil, Call: it.number, Code: code}), nil
	}
	return append(events, stream.Event{Kind: stream.Close, Call: it.number, Raw: e.item}), nil
}

// isSame reports whether another version of the call names the same.
func (it *item) isSame(ci callItem) bool {
	return ci.id == it.id && ci.callID == it.callID && ci.name == it.name && ci.server == it.server
}

// onSnapshot takes the response before there is output in it.
func (c *Codec) onSnapshot(events []stream.Event, e *event) ([]stream.Event, error) {
	if e.unknown || e.item != nil || !isResponse(e.response) || len(c.items) > 0 {
		return events, errMalformed
	}
	if output := span.Member(e.response, "output"); output != nil && !span.IsEmpty(output) {
		return events, errMalformed
	}
	c.begun = true
	if c.response == nil {
		c.response = bytes.Clone(e.response)
	}
	return append(events, e.pass(markOther, 0)), nil
}

// isResponse reports whether nothing but the output of a response can hold a call. It repeats the
// request: tools, choices and instructions there are the client's own.
func isResponse(object []byte) bool {
	if len(object) == 0 || object[0] != '{' {
		return false
	}
	for it := span.Members(object); it.Next(); {
		switch string(it.Key) {
		case "output", "tools", "tool_choice", "parallel_tool_calls", "max_tool_calls", "instructions", "reasoning", "text",
			"metadata", "prompt", "error", "id", "status", "input", "tool_usage":
		case "usage":
			if !span.Counts(it.Value) {
				return false
			}
		case "output_text":
			if it.Value[0] != '"' && !span.IsNull(it.Value) {
				return false
			}
		default:
			if !isHarmless(it.Key, it.Value) {
				return false
			}
		}
	}
	return true
}

// onResponseEnd takes the end of the response, which repeats all of its output.
func (c *Codec) onResponseEnd(events []stream.Event, e *event) ([]stream.Event, error) {
	if e.unknown || !isResponse(e.response) || e.item != nil {
		return events, errMalformed
	}
	place := 0
	e.mark.First = span.Place{}
	for el := span.Members(e.response); el.Next(); {
		if string(el.Key) != "output" {
			continue
		}
		if el.Value[0] != '[' {
			return events, errMalformed
		}
		e.mark.First = span.Place{From: e.respAt + el.From, To: e.respAt + el.From + len(el.Value)}
		for out := span.Elements(el.Value); out.Next(); place++ {
			if !c.wasStreamed(out.Value, place) {
				return events, errMismatch
			}
		}
	}
	if e.mark.First.To == 0 || e.response[0] != '{' {
		return events, errMalformed
	}
	c.done = true
	events = append(events, stream.Event{Kind: stream.Finish, Raw: e.raw, Reason: e.typ, Mark: e.mark})
	return append(events, stream.Event{Kind: stream.End}), nil
}

// findItem returns the item that an element of the response's end repeats: by its id, or by its
// place where it has none.
func (c *Codec) findItem(object []byte, place int) *item {
	if id, ok := span.Text(span.Member(object, "id")); ok && len(id) > 0 {
		for _, it := range c.items {
			if it.id == string(id) {
				return it
			}
		}
		return nil
	}
	if it := c.indices[place]; it != nil && it.id == "" {
		return it
	}
	return nil
}

// wasStreamed reports whether an element of the response's end is what came before. What passes
// may be new: nothing of it runs.
func (c *Codec) wasStreamed(object []byte, place int) bool {
	if object[0] != '{' {
		return false
	}
	kind, typ := kindOf(object)
	it := c.findItem(object, place)
	if it == nil {
		return kind == passes
	}
	if typ != it.typ || kind != it.kind || it.repeated {
		return false
	}
	it.repeated = true
	if kind != calls {
		return true
	}
	ci := readCallItem(object)
	return !ci.odd && it.isSame(ci) && it.has(ci.args)
}
