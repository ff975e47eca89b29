package chat

import (
	"bytes"
	"fmt"

	"github.com/vedette-dev/vedette/sentinel/stream"
	"github.com/vedette-dev/vedette/sentinel/stream/span"
)

// Encode appends an output as a client reads it.
func (c *Codec) Encode(dst []byte, o stream.Output) []byte {
	switch o.Kind {
	case stream.Pass, stream.Beat, stream.Fault:
		if o.Kind == stream.Pass && o.Lane >= 0 {
			c.laneOf(o.Lane).roleOut = true
		}
		return append(dst, o.Raw...)
	case stream.Usage:
		if o.Ended {
			dst = c.finishLanes(dst)
		}
		return append(dst, o.Raw...)
	case stream.Forward:
		return c.writeCall(dst, o)
	case stream.Notice:
		content := span.AppendQuote([]byte(`"content":`), o.Text)
		return c.writeChunk(dst, o.Lane, content, "")
	case stream.Finish:
		return c.writeFinish(dst, o)
	case stream.End:
		return append(c.finishLanes(dst), "data: [DONE]\n\n"...)
	case stream.Failure:
		return append(dst, writeFault(writeError(o.Code))...)
	}
	return dst
}

// writeChunk appends a chunk of ours: members of a delta, and a reason or none.
func (c *Codec) writeChunk(dst []byte, n int, delta []byte, reason string) []byte {
	l := c.laneOf(n)
	dst = append(dst, "data: {"...)
	if !c.headID {
		dst = append(dst, `"id":"chatcmpl-vedette",`...)
	}
	if len(c.head) == 0 {
		dst = append(dst, `"created":0,"model":"",`...)
	}
	dst = append(append(dst, c.head...), `"object":"chat.completion.chunk","choices":[{"index":`...)
	dst = append(span.AppendNumber(dst, n), `,"delta":{`...)
	if !l.roleOut {
		l.roleOut = true
		dst = append(dst, `"role":"assistant"`...)
		if len(delta) > 0 {
			dst = append(dst, ',')
		}
	}
	dst = append(append(dst, delta...), `},"finish_reason":`...)
	if reason == "" {
		dst = append(dst, "null"...)
	} else {
		dst = span.AppendQuote(dst, reason)
	}
	return append(dst, "}]}\n\n"...)
}

// writeCall appends an allowed call, long arguments in pieces.
func (c *Codec) writeCall(dst []byte, o stream.Output) []byte {
	l := c.laneOf(o.Lane)
	index := l.forwarded - l.legacy
	legacy := o.Mark.Code == legacyMark
	l.forwarded++
	if legacy {
		l.legacy++
	}
	for i, args := range stream.SplitArgs(o.Call.Args) {
		var d []byte
		switch {
		case legacy:
			d = append(d, `"function_call":{`...)
		default:
			d = span.AppendNumber(append(d, `"tool_calls":[{"index":`...), index)
			if i == 0 {
				d = span.AppendQuote(append(d, `,"id":`...), idOf(o.Call))
				d = append(append(d, `,"type":"function"`...), o.Call.Head()...)
			}
			d = append(d, `,"function":{`...)
		}
		if i == 0 {
			d = append(span.AppendQuote(append(d, `"name":`...), o.Call.Name), ',')
		}
		d = append(span.AppendQuote(append(d, `"arguments":`...), string(args)), '}')
		if !legacy {
			d = append(d, "}]"...)
		}
		dst = c.writeChunk(dst, o.Lane, d, "")
	}
	return dst
}

// idOf returns the call's id. Clients answer by it, so a call without one gets one.
func idOf(c stream.Call) string {
	if c.ID != "" {
		return c.ID
	}
	return fmt.Sprintf("call_vedette_%d", c.Number)
}

// reasonOf returns what a choice ended for, as far as that is still true of it.
func (l *lane) reasonOf(reason string) string {
	switch {
	case reason == "" && l.forwarded > 0 && l.legacy == l.forwarded:
		return "function_call"
	case reason == "" && l.forwarded > 0:
		return "tool_calls"
	case reason == "", l.forwarded == 0 && (reason == "tool_calls" || reason == "function_call"):
		return "stop"
	}
	return reason
}

func (c *Codec) writeFinish(dst []byte, o stream.Output) []byte {
	l := c.laneOf(o.Lane)
	if l.closed {
		return dst
	}
	reason := l.reasonOf(o.Reason)
	l.closed = true
	if o.Raw == nil || o.Ended {
		dst = c.writeChunk(dst, o.Lane, nil, reason)
		return c.writeUsageOf(dst, o.Raw)
	}
	l.roleOut = true
	if reason == o.Reason {
		return append(dst, o.Raw...)
	}
	return span.Splice(dst, o.Raw, o.Mark.First, string(span.AppendQuote(nil, reason)))
}

// writeUsageOf appends the usage that stood in a chunk of which nothing else is forwarded.
func (c *Codec) writeUsageOf(dst, raw []byte) []byte {
	at := bytes.IndexByte(raw, '{')
	if at < 0 {
		return dst
	}
	usage := orNull(span.Member(bytes.TrimSpace(raw[at:]), "usage"))
	if span.IsNull(usage) {
		return dst
	}
	dst = append(append(append(dst, "data: {"...), c.head...), `"object":"chat.completion.chunk","choices":[],"usage":`...)
	return append(append(dst, usage...), "}\n\n"...)
}

// finishLanes gives each choice a reason that has none.
func (c *Codec) finishLanes(dst []byte) []byte {
	for n, l := range c.lanes {
		if l.seen > 0 && !l.closed {
			dst = c.writeFinish(dst, stream.Output{Lane: n})
		}
	}
	return dst
}

func writeFault(value []byte) []byte {
	out := append([]byte(`data: {"error":`), value...)
	return append(out, "}\n\n"...)
}

func writeError(code string) []byte {
	out := span.AppendQuote([]byte(`{"message":`), stream.DescribeCode(code))
	out = span.AppendQuote(append(out, `,"type":"proxy_error","param":null,"code":`...), code)
	return append(out, '}')
}

// KeepAlive appends a chunk with an empty delta: clients take it where they fail on other signs
// of life. Before the first chunk of the upstream there is nothing to send.
func (c *Codec) KeepAlive(dst []byte) []byte {
	if !c.headID {
		return dst
	}
	return c.writeChunk(dst, 0, nil, "")
}
