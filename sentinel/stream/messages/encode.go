package messages

import (
	"strconv"

	"github.com/vedette-dev/vedette/sentinel/stream"
	"github.com/vedette-dev/vedette/sentinel/stream/span"
)

// Encode appends an output as a client reads it.
func (c *Codec) Encode(dst []byte, o stream.Output) []byte {
	switch o.Kind {
	case stream.Pass:
		return c.writePass(dst, o)
	case stream.Usage, stream.Beat, stream.Fault:
		return append(dst, o.Raw...)
	case stream.Notice:
		c.notices = append(c.notices, o.Text)
		if c.current < 0 {
			dst = c.writeNotices(dst)
		}
		return dst
	case stream.Forward:
		return c.writeCall(c.settle(dst), o)
	case stream.Finish:
		return c.writeFinish(c.settle(dst), o)
	case stream.End:
		dst = c.writeFinish(c.settle(dst), stream.Output{})
		return writeEvent(dst, "message_stop", `}`)
	case stream.Failure:
		fault := span.AppendQuote([]byte(`{"type":"api_error","message":`), stream.DescribeCode(o.Code))
		return append(dst, writeFault(append(fault, '}'))...)
	}
	return dst
}

// writePass writes a block's event under the index that the block has for the client.
func (c *Codec) writePass(dst []byte, o stream.Output) []byte {
	switch o.Mark.Code {
	case markBegin:
		c.begun = true
		return append(dst, o.Raw...)
	case markOther:
		return append(dst, o.Raw...)
	case markStart:
		c.current = c.next
		c.next++
	}
	if c.current == o.Mark.Block {
		dst = append(dst, o.Raw...)
	} else {
		dst = span.Splice(dst, o.Raw, o.Mark.First, strconv.Itoa(c.current))
	}
	if o.Mark.Code == markStop {
		c.current = -1
		dst = c.writeNotices(dst)
	}
	return dst
}

// settle closes a block that is open and writes the notices that waited for its end.
func (c *Codec) settle(dst []byte) []byte {
	if c.current >= 0 {
		dst = writeIndexed(dst, "content_block_stop", c.current, "}")
		c.current = -1
	}
	return c.writeNotices(dst)
}

func writeEvent(dst []byte, typ, rest string) []byte {
	dst = append(append(append(dst, "event: "...), typ...), "\ndata: {\"type\":\""...)
	dst = append(append(dst, typ...), '"')
	return append(append(dst, rest...), "\n\n"...)
}

func writeIndexed(dst []byte, typ string, index int, rest string) []byte {
	return writeEvent(dst, typ, `,"index":`+strconv.Itoa(index)+rest)
}

func (c *Codec) writeNotices(dst []byte) []byte {
	for _, text := range c.notices {
		dst = writeIndexed(dst, "content_block_start", c.next, `,"content_block":{"type":"text","text":""}}`)
		delta := span.AppendQuote([]byte(`,"delta":{"type":"text_delta","text":`), text)
		dst = writeIndexed(dst, "content_block_delta", c.next, string(delta)+"}}")
		dst = writeIndexed(dst, "content_block_stop", c.next, "}")
		c.next++
	}
	c.notices = nil
	return dst
}

// writeCall writes an allowed call as a block of its own.
func (c *Codec) writeCall(dst []byte, o stream.Output) []byte {
	c.forwarded++
	dst = writeIndexed(dst, "content_block_start", c.next, `,"content_block":`+string(o.Call.Head())+"}")
	for _, args := range stream.SplitArgs(o.Call.Args) {
		delta := span.AppendQuote([]byte(`,"delta":{"type":"input_json_delta","partial_json":`), string(args))
		dst = writeIndexed(dst, "content_block_delta", c.next, string(delta)+"}}")
	}
	dst = writeIndexed(dst, "content_block_stop", c.next, "}")
	c.next++
	return dst
}

// reasonOf returns what the message ended for, as far as that is still true.
func (c *Codec) reasonOf(reason string) string {
	switch {
	case reason == "" && c.forwarded > 0:
		return "tool_use"
	case reason == "", reason == "tool_use" && c.forwarded == 0:
		return "end_turn"
	}
	return reason
}

func (c *Codec) writeFinish(dst []byte, o stream.Output) []byte {
	if c.reasoned {
		return dst
	}
	c.reasoned = true
	reason := c.reasonOf(o.Reason)
	switch {
	case o.Raw != nil && reason == o.Reason:
		return append(dst, o.Raw...)
	case o.Raw != nil:
		return span.Splice(dst, o.Raw, o.Mark.First, string(span.AppendQuote(nil, reason)))
	}
	rest := span.AppendQuote([]byte(`,"delta":{"stop_reason":`), reason)
	rest = append(rest, `,"stop_sequence":null},"usage":`...)
	if len(c.usage) > 0 && c.usage[0] == '{' {
		rest = append(rest, c.usage...)
	} else {
		rest = append(rest, `{"output_tokens":0}`...)
	}
	return writeEvent(dst, "message_delta", string(append(rest, '}')))
}

func writeFault(value []byte) []byte {
	if len(value) == 0 || value[0] != '{' {
		value = []byte(`{"type":"api_error","message":"the upstream reported an error"}`)
	}
	return writeEvent(nil, "error", `,"error":`+string(value)+"}")
}

// KeepAlive appends a ping, once the message has begun.
func (c *Codec) KeepAlive(dst []byte) []byte {
	if !c.begun {
		return dst
	}
	return writeEvent(dst, "ping", "}")
}
