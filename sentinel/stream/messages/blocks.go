package messages

import (
	"strings"

	"github.com/vedette-dev/vedette/sentinel/stream"
	"github.com/vedette-dev/vedette/sentinel/stream/span"
)

// isServerBlock reports whether a kind of block is of a tool that the provider has run, or its
// result. No client runs it.
func isServerBlock(typ string) bool {
	switch typ {
	case "server_tool_use", "mcp_tool_use", "mcp_tool_result", "container_upload":
		return true
	case "tool_result":
		return false
	}
	return strings.HasSuffix(typ, "_tool_result")
}

// kindOf says what becomes of a block: it passes where its kind is known and nothing in it may
// carry a call.
func kindOf(object []byte) (kind blockKind, server bool) {
	typ, _ := span.Text(span.Member(object, "type"))
	switch {
	case span.NamesTwice(object):
		return dropped, false
	case string(typ) == "tool_use":
		return calls, false
	case isServerBlock(string(typ)):
		return passes, true
	}
	known := map[string]string{"text": "text", "thinking": "thinking", "redacted_thinking": "data", "compaction": "content"}
	main, ok := known[string(typ)]
	if !ok {
		return dropped, false
	}
	for it := span.Members(object); it.Next(); {
		switch string(it.Key) {
		case "type", main, "signature", "citations":
			if span.HoldsCall(it.Value) {
				return dropped, false
			}
		default:
			if !isHarmless(it.Key, it.Value) {
				return dropped, false
			}
		}
	}
	return passes, false
}

// onBlock takes the start, a delta or the stop of a block.
func (c *Codec) onBlock(events []stream.Event, e *event) ([]stream.Event, error) {
	if e.index < 0 || e.message != nil {
		return events, errMalformed
	}
	if e.typ == "content_block_start" {
		if e.index <= c.highest || e.block == nil || e.block[0] != '{' || e.delta != nil {
			return events, errMalformed
		}
		return c.onStart(events, e)
	}
	b := c.blocks[e.index]
	if b == nil || e.block != nil {
		return events, errMalformed
	}
	if e.typ == "content_block_stop" {
		return c.onStop(events, e, b)
	}
	if e.delta == nil || e.delta[0] != '{' {
		return events, errMalformed
	}
	return c.onDelta(events, e, b)
}

func (c *Codec) onStart(events []stream.Event, e *event) ([]stream.Event, error) {
	b := &block{}
	if b.kind, b.server = kindOf(e.block); e.unknown {
		b.kind = dropped
	}
	c.highest = e.index
	c.blocks[e.index] = b
	switch b.kind {
	case calls:
		b.call = c.calls
		c.calls++
		return b.begin(events, e.block, true), nil
	case dropped:
		c.calls++
		return append(events, stream.Event{Kind: stream.Refuse, Call: c.calls - 1, Code: stream.CodeShape}), nil
	}
	if c.passing++; c.passing > 1 {
		return events, errMalformed // two open texts have no order
	}
	return append(events, stream.Event{Kind: stream.Pass, Raw: e.raw, Mark: stream.Mark{Code: markStart, Block: e.index, First: e.place}}), nil
}

// begin appends the begin of a call. In a stream its input belongs into deltas: one that came with
// the start is written as a delta, so that all clients read it alike.
func (b *block) begin(events []stream.Event, object []byte, streamed bool) []stream.Event {
	var start stream.Start
	var input []byte
	odd, list := false, false
	head := span.Edit(nil, object, func(key string, value []byte) []byte {
		text, isText := span.Text(value)
		switch key {
		case "type", "caller":
		case "id":
			start.ID, odd = string(text), odd || !isText
		case "name":
			start.Name, odd = string(text), odd || !isText
		case "input":
			if list = value[0] != '{' && !span.IsNull(value); !span.IsEmpty(value) {
				input = value
			}
			return []byte("{}")
		default:
			odd = odd || !isHarmless([]byte(key), value)
		}
		return value
	})
	if start.Head = head; !streamed {
		start.Head = object
	} else if span.Member(object, "input") == nil {
		head = append(head[:len(head)-1], `,"input":{}}`...)
		start.Head = head
	}
	events = append(events, stream.Event{Kind: stream.Begin, Call: b.call, Start: start})
	if odd {
		return append(events, stream.Event{Kind: stream.Spoil, Call: b.call, Code: stream.CodeShape})
	}
	if list {
		return append(events, stream.Event{Kind: stream.Spoil, Call: b.call, Code: stream.CodeArguments})
	}
	if input != nil {
		b.filled = true
		events = append(events, stream.Event{Kind: stream.Grow, Call: b.call, Args: input})
	}
	return events
}

// deltaKind returns a delta's type and whether a member of it may carry a call.
func deltaKind(delta []byte) (typ string, piece []byte, odd bool) {
	for it := span.Members(delta); it.Next(); {
		switch string(it.Key) {
		case "type":
			text, _ := span.Text(it.Value)
			typ = string(text)
		case "text", "thinking", "signature", "citation", "content":
			odd = odd || span.HoldsCall(it.Value)
		case "partial_json":
			text, ok := span.Text(it.Value)
			if odd = odd || !ok; text == nil {
				text = []byte{}
			}
			piece = text
		default:
			odd = odd || !isHarmless(it.Key, it.Value)
		}
	}
	return typ, piece, odd || span.NamesCall([]byte(typ))
}

func (c *Codec) onDelta(events []stream.Event, e *event, b *block) ([]stream.Event, error) {
	typ, piece, odd := deltaKind(e.delta)
	input := typ == "input_json_delta"
	switch b.kind {
	case dropped:
		return events, nil
	case calls:
		switch {
		case odd || e.unknown || !input || piece == nil:
			return append(events, stream.Event{Kind: stream.Spoil, Call: b.call, Code: stream.CodeShape}), nil
		case len(piece) == 0:
			return events, nil
		case b.filled:
			return append(events, stream.Event{Kind: stream.Spoil, Call: b.call, Code: stream.CodeMismatch}), nil
		}
		return append(events, stream.Event{Kind: stream.Grow, Call: b.call, Args: piece}), nil
	}
	switch {
	case (input || piece != nil) && !b.server:
		return events, errMalformed
	case odd || e.unknown:
		return c.refuse(events, "delta "+typ), nil
	}
	return append(events, stream.Event{Kind: stream.Pass, Raw: e.raw, Mark: stream.Mark{Code: markDelta, Block: e.index, First: e.place}}), nil
}

func (c *Codec) onStop(events []stream.Event, e *event, b *block) ([]stream.Event, error) {
	delete(c.blocks, e.index)
	switch b.kind {
	case dropped:
		return events, nil
	case calls:
		return append(events, stream.Event{Kind: stream.Close, Call: b.call}), nil
	}
	c.passing--
	if e.unknown || e.delta != nil {
		return events, errMalformed
	}
	return append(events, stream.Event{Kind: stream.Pass, Raw: e.raw, Mark: stream.Mark{Code: markStop, Block: e.index, First: e.place}}), nil
}
