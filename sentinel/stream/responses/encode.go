package responses

import (
	"bytes"
	"strconv"

	"github.com/vedette-dev/vedette/sentinel/stream"
	"github.com/vedette-dev/vedette/sentinel/stream/span"
)

// maxKept bounds the items that are kept for the end of a response that a blocked call ends. Where
// there are more, that end repeats only the notice.
const maxKept = 256 << 10

// Encode appends an output as a client reads it.
func (c *Codec) Encode(dst []byte, o stream.Output) []byte {
	switch o.Kind {
	case stream.Pass:
		return c.writePass(dst, o)
	case stream.Usage, stream.Beat, stream.Fault:
		return append(dst, o.Raw...)
	case stream.Forward:
		return c.writeCall(dst, o)
	case stream.Notice:
		return c.writeNotice(dst, o)
	case stream.Finish:
		return c.writeEnd(dst, o)
	case stream.End:
		return c.writeEnd(dst, stream.Output{})
	case stream.Failure:
		rest := span.AppendQuote([]byte(`"code":`), o.Code)
		rest = span.AppendQuote(append(rest, `,"message":`...), stream.DescribeCode(o.Code))
		return c.writeEvent(dst, "error", string(append(rest, `,"param":null`...)))
	}
	return dst
}

// number takes the next sequence number.
func (c *Codec) number() int {
	n := max(c.sequence, 0)
	c.sequence = n + 1
	return n
}

// writeEvent writes an event of ours: rest are members without braces.
func (c *Codec) writeEvent(dst []byte, typ, rest string) []byte {
	dst = append(append(append(dst, "event: "...), typ...), "\ndata: {\"type\":\""...)
	dst = span.AppendNumber(append(append(dst, typ...), `","sequence_number":`...), c.number())
	return append(append(append(dst, ','), rest...), "}\n\n"...)
}

// change is a number to write at a place.
type change struct {
	at span.Place
	n  int
}

// writeRaw writes an event as it came, with the numbers that are the client's.
func (c *Codec) writeRaw(dst, raw []byte, m stream.Mark, index int) []byte {
	sequence, output := change{at: m.Second}, change{m.First, index}
	if m.Second.To > 0 {
		was, ok := span.Number(raw[m.Second.From:m.Second.To])
		if ok && c.sequence < 0 {
			c.sequence = was
		}
		if sequence.n = c.number(); ok && sequence.n == was {
			sequence.at.To = 0
		}
	}
	if was, ok := span.Number(raw[m.First.From:m.First.To]); index < 0 || ok && was == index {
		output.at.To = 0
	}
	first, second := sequence, output
	if output.at.From < sequence.at.From {
		first, second = output, sequence
	}
	from := 0
	for _, ch := range [2]change{first, second} {
		if ch.at.To > 0 {
			dst = span.AppendNumber(append(dst, raw[from:ch.at.From]...), ch.n)
			from = ch.at.To
		}
	}
	return append(dst, raw[from:]...)
}

// replace puts a text at a place and returns where another place is then.
func replace(raw []byte, at span.Place, text string, other span.Place) ([]byte, span.Place) {
	if other.From > at.From {
		shift := len(text) - (at.To - at.From)
		other.From += shift
		other.To += shift
	}
	return span.Splice(nil, raw, at, text), other
}

func (c *Codec) writePass(dst []byte, o stream.Output) []byte {
	if o.Mark.First.To == 0 {
		return c.writeRaw(dst, o.Raw, o.Mark, -1)
	}
	it := c.items[o.Mark.Block]
	switch o.Mark.Code {
	case markAdded:
		it.out = c.next
		c.next++
	case markItemDone:
		if at := bytes.IndexByte(o.Raw, '{'); at >= 0 {
			c.keep(span.Member(bytes.TrimSpace(o.Raw[at:]), "item"))
		}
	}
	return c.writeRaw(dst, o.Raw, o.Mark, it.out)
}

// keep remembers a written item for the response's end.
func (c *Codec) keep(object []byte) {
	if c.keptSize += len(object); c.keptSize > maxKept {
		c.kept = nil
		return
	}
	c.kept = append(c.kept, bytes.Clone(object))
}

// withMembers returns an item with other arguments and another status.
func withMembers(object, args []byte, status string) []byte {
	return span.Edit(nil, object, func(key string, value []byte) []byte {
		switch key {
		case "arguments":
			return args
		case "status":
			return span.AppendQuote(nil, status)
		}
		return value
	})
}

// writeCall writes an allowed call as one item.
func (c *Codec) writeCall(dst []byte, o stream.Output) []byte {
	it := c.byCall[o.Call.Number]
	it.out = c.next
	c.next++
	at := `"output_index":` + strconv.Itoa(it.out)
	args := span.AppendQuote(nil, string(o.Call.Args))
	last := o.Tail
	if last == nil {
		last = withMembers(o.Call.Head(), args, "completed")
	}
	if it.typ != "function_call" {
		dst = c.writeEvent(dst, "response.output_item.added", at+`,"item":`+string(last))
		c.keep(last)
		return c.writeEvent(dst, "response.output_item.done", at+`,"item":`+string(last))
	}
	head := withMembers(o.Call.Head(), []byte(`""`), "in_progress")
	id := `"item_id":` + string(span.AppendQuote(nil, it.id)) + ","
	dst = c.writeEvent(dst, "response.output_item.added", at+`,"item":`+string(head))
	for _, piece := range stream.SplitArgs(o.Call.Args) {
		delta := span.AppendQuote([]byte(`,"delta":`), string(piece))
		dst = c.writeEvent(dst, "response.function_call_arguments.delta", id+at+string(delta))
	}
	name := span.AppendQuote([]byte(`,"name":`), o.Call.Name)
	dst = c.writeEvent(dst, "response.function_call_arguments.done", id+at+string(name)+`,"arguments":`+string(args))
	c.keep(last)
	return c.writeEvent(dst, "response.output_item.done", at+`,"item":`+string(last))
}

// noticeItem writes a notice as a message.
func noticeItem(number int, text string) (object, part []byte, id string) {
	id = "msg_vedette_" + strconv.Itoa(number)
	part = span.AppendQuote([]byte(`{"type":"output_text","annotations":[],"logprobs":[],"text":`), text)
	part = append(part, '}')
	object = append([]byte(`{"id":"`+id+`","type":"message","status":"completed","role":"assistant","content":[`), part...)
	return append(object, "]}"...), part, id
}

func (c *Codec) writeNotice(dst []byte, o stream.Output) []byte {
	it := c.byCall[o.Call.Number]
	it.out = c.next
	c.next++
	object, part, id := noticeItem(o.Call.Number, o.Text)
	it.notice = object
	at := `"output_index":` + strconv.Itoa(it.out)
	in := `"item_id":"` + id + `",` + at + `,"content_index":0,`
	empty := `{"type":"output_text","annotations":[],"logprobs":[],"text":""}`
	begin := `{"id":"` + id + `","type":"message","status":"in_progress","role":"assistant","content":[]}`
	text := string(span.AppendQuote(nil, o.Text))
	dst = c.writeEvent(dst, "response.output_item.added", at+`,"item":`+begin)
	dst = c.writeEvent(dst, "response.content_part.added", in+`"part":`+empty)
	dst = c.writeEvent(dst, "response.output_text.delta", in+`"logprobs":[],"delta":`+text)
	dst = c.writeEvent(dst, "response.output_text.done", in+`"logprobs":[],"text":`+text)
	dst = c.writeEvent(dst, "response.content_part.done", in+`"part":`+string(part))
	c.keep(object)
	return c.writeEvent(dst, "response.output_item.done", at+`,"item":`+string(object))
}

// writeEnd writes the response's end with the output that the client has got.
func (c *Codec) writeEnd(dst []byte, o stream.Output) []byte {
	if c.ended {
		return dst
	}
	c.ended = true
	if o.Raw != nil && o.Mark.First.To > 0 {
		output, changed := c.outputOf(o)
		if !changed {
			return c.writeRaw(dst, o.Raw, stream.Mark{Second: o.Mark.Second}, -1)
		}
		raw, second := replace(o.Raw, o.Mark.First, string(output), o.Mark.Second)
		return c.writeRaw(dst, raw, stream.Mark{Second: second}, -1)
	}
	response := span.Edit(nil, c.response, func(key string, value []byte) []byte {
		switch key {
		case "status":
			return []byte(`"completed"`)
		case "output":
			return nil
		}
		return value
	})
	list := append([]byte("["), bytes.Join(c.kept, []byte(","))...)
	response = append(response[:len(response)-1], `,"output":`...)
	response = append(append(response, list...), "]}"...)
	return c.writeEvent(dst, "response.completed", `"response":`+string(response))
}

// outputOf returns the output of the response's end, and whether it differs from the upstream's.
func (c *Codec) outputOf(o stream.Output) (list []byte, changed bool) {
	list = []byte{'['}
	place := 0
	var used []*item
	add := func(object []byte) {
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = append(list, object...)
	}
	for el := span.Elements(o.Raw[o.Mark.First.From:o.Mark.First.To]); el.Next(); place++ {
		it := c.findItem(el.Value, place)
		switch {
		case it == nil:
			if changed = changed || o.Ended; !o.Ended {
				add(el.Value)
			}
		case it.notice != nil:
			changed = true
			add(it.notice)
			used = append(used, it)
		case it.out >= 0:
			add(el.Value)
		default:
			changed = true
		}
	}
	for _, it := range c.byCall { // notices of what the end doesn't repeat
		if it.notice != nil && !contains(used, it) {
			changed = true
			add(it.notice)
		}
	}
	return append(list, ']'), changed
}

func contains(list []*item, it *item) bool {
	for _, have := range list {
		if have == it {
			return true
		}
	}
	return false
}

// writeFailed writes the failure of a response without its output: what was held is void.
func (c *Codec) writeFailed(e *event) []byte {
	fault := span.Member(e.response, "error")
	id, _ := span.Text(span.Member(e.response, "id"))
	response := span.AppendQuote([]byte(`{"id":`), string(id))
	response = append(response, `,"object":"response","status":"failed","output":[],"error":`...)
	if len(fault) == 0 {
		fault = []byte("null")
	}
	response = append(append(response, fault...), '}')
	return c.writeEvent(nil, e.typ, `"response":`+string(response))
}

func writeFault(data []byte) []byte {
	if data == nil {
		data = []byte(`{"type":"error","message":"the upstream reported an error"}`)
	}
	out := append([]byte("event: error\ndata: "), data...)
	return append(out, "\n\n"...)
}

// KeepAlive appends a comment: readers of this format pass over it.
func (c *Codec) KeepAlive(dst []byte) []byte {
	if !c.begun {
		return dst
	}
	return append(dst, ": keep-alive\n\n"...)
}
