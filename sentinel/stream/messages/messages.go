// Package messages reads and writes the Messages format of Anthropic, streamed and not.
//
// Text, thinking, server tools and their results are forwarded as they came, each under an index
// counted from 0. Calls (tool_use) leave last, behind every text and notice: text behind a call
// makes the client's next request an error. One message_delta follows, with the upstream's usage.
// Its reason is changed only where it says tool_use and no call is left.
//
// What it refuses as a blocked call: kinds of blocks that aren't known, and members that may hold
// a call and aren't known. What breaks the format ends the stream: an index that is missing, used
// twice or unknown, a name of an event that isn't its type, an answer that begins with content,
// and any block behind the message_delta.
//
// The package isn't stable: docs/api.md lists those that are.
package messages

import (
	"bytes"

	"github.com/vedette-dev/vedette/sentinel/stream"
	"github.com/vedette-dev/vedette/sentinel/stream/span"
	"github.com/vedette-dev/vedette/sentinel/stream/sse"
)

// Codec reads and writes one answer.
type Codec struct {
	phase   phase
	blocks  map[int]*block
	highest int // the greatest index so far
	passing int // blocks that aren't calls and are open
	calls   int
	refused map[string]bool

	usage     []byte // of the message_start
	next      int    // the next index to write
	current   int    // the index of the open block that is written, -1 for none
	forwarded int
	reasoned  bool // the message_delta is written
	begun     bool // the message_start is written
	notices   []string
}

// phase is how far the upstream is.
type phase uint8

const (
	before   phase = iota
	within         // after message_start
	finished       // after message_delta
	over           // after message_stop
)

// block is an open block of the upstream.
type block struct {
	kind   blockKind
	server bool // its input is one that the provider runs
	call   int
	filled bool // its input came with its start
}

type blockKind uint8

const (
	passes blockKind = iota
	calls
	dropped
)

// Marks of what passes.
const (
	markOther uint8 = iota
	markStart
	markDelta
	markStop
	markBegin // message_start
)

// New returns a codec for one answer.
func New() *Codec {
	return &Codec{blocks: map[int]*block{}, refused: map[string]bool{}, highest: -1, current: -1}
}

// CallsLast is true: text behind a call makes the next request an error.
func (c *Codec) CallsLast() bool { return true }

var (
	errMalformed = &stream.Error{Code: stream.CodeMalformed}
	errLate      = &stream.Error{Code: stream.CodeLate}
)

// event is what one look at a frame shows.
type event struct {
	raw     []byte
	at      int // of data in raw
	typ     string
	index   int
	place   span.Place // of the index in raw
	block   []byte
	delta   []byte
	deltaAt int // in raw
	message []byte
	fault   []byte
	unknown bool // a member may carry a call
}

// Decode appends the events of a frame.
func (c *Codec) Decode(events []stream.Event, f sse.Frame) ([]stream.Event, error) {
	if f.Data == nil {
		return append(events, stream.Event{Kind: stream.Beat, Raw: f.Raw}), nil
	}
	if c.phase == over {
		return events, nil
	}
	data := bytes.TrimLeft(f.Data, " \t\n")
	e := event{raw: f.Raw, at: f.DataAt + len(f.Data) - len(data), index: -1}
	data = bytes.TrimRight(data, " \t\n")
	if !span.IsObject(data) {
		return events, errMalformed
	}
	data = f.Raw[e.at : e.at+len(data)] // line feeds between its parts are blanks there
	typ, _ := span.Text(span.Member(data, "type"))
	e.typ = string(typ)
	switch {
	case len(f.Name) == 0 && !isTypeName(typ):
		return events, errMalformed
	case len(f.Name) == 0: // clients see no event without its name
		line := "event: " + e.typ + "\n"
		e.raw = append([]byte(line), e.raw...)
		e.at += len(line)
	case string(f.Name) != e.typ:
		return events, errMalformed
	}
	e.read(data)
	return c.decodeEvent(events, &e)
}

// isTypeName reports whether a type can stand in an event line.
func isTypeName(typ []byte) bool {
	for _, b := range typ {
		if (b < 'a' || b > 'z') && b != '_' && b != '.' {
			return false
		}
	}
	return len(typ) > 0
}

// read looks at the members of an event.
func (e *event) read(data []byte) {
	for it := span.Members(data); it.Next(); {
		from := e.at + it.From
		switch string(it.Key) {
		case "type":
		case "index":
			if n, ok := span.Number(it.Value); ok {
				e.index = n
			}
			e.place = span.Place{From: from, To: from + len(it.Value)}
		case "content_block":
			e.block = it.Value
		case "delta":
			e.delta, e.deltaAt = it.Value, from
		case "message":
			e.message = it.Value
		case "usage":
			e.unknown = e.unknown || !span.Counts(it.Value)
		case "error":
			e.fault = it.Value
		default:
			e.unknown = e.unknown || !isHarmless(it.Key, it.Value)
		}
	}
}

// isHarmless reports whether a member that isn't known can't carry a call.
func isHarmless(key, value []byte) bool {
	return span.IsEmpty(value) || !span.MayCarryCall(key, value) && !span.Resembles(key, "type", "index", "content_block", "delta",
		"message", "usage", "error", "content", "name", "input", "id", "partial_json", "stop_reason", "text", "thinking")
}

func (c *Codec) decodeEvent(events []stream.Event, e *event) ([]stream.Event, error) {
	switch e.typ {
	case "ping":
		if e.unknown || e.block != nil || e.delta != nil || e.message != nil {
			return events, errMalformed
		}
		return append(events, stream.Event{Kind: stream.Beat, Raw: e.raw}), nil
	case "error":
		return append(events, stream.Event{Kind: stream.Fault, Raw: writeFault(e.fault)}), nil
	case "message_start":
		return c.onMessageStart(events, e)
	}
	if c.phase == before {
		return events, errMalformed
	}
	switch e.typ {
	case "content_block_start", "content_block_delta", "content_block_stop":
		if c.phase == finished {
			return events, errLate
		}
		return c.onBlock(events, e)
	case "message_delta":
		return c.onMessageDelta(events, e)
	case "message_stop":
		return c.decodeEnd(events), nil
	}
	if e.unknown || span.NamesCall([]byte(e.typ)) || e.block != nil || e.delta != nil || e.message != nil {
		return c.refuse(events, e.typ), nil
	}
	return append(events, stream.Event{Kind: stream.Pass, Raw: e.raw}), nil
}

// refuse blocks what may carry a call, once for each name.
func (c *Codec) refuse(events []stream.Event, name string) []stream.Event {
	const most = 64
	if c.refused[name] {
		return events
	}
	if len(c.refused) < most {
		c.refused[name] = true
	}
	c.calls++
	return append(events, stream.Event{Kind: stream.Refuse, Call: c.calls - 1, Code: stream.CodeShape})
}

func (c *Codec) onMessageStart(events []stream.Event, e *event) ([]stream.Event, error) {
	if c.phase != before || e.unknown || e.block != nil || e.delta != nil || e.message == nil || e.message[0] != '{' {
		return events, errMalformed
	}
	for it := span.Members(e.message); it.Next(); {
		switch string(it.Key) {
		case "content":
			if !span.IsEmpty(it.Value) {
				return events, errMalformed // a call could be in it
			}
		case "usage":
			if !span.Counts(it.Value) {
				return events, errMalformed
			}
			c.usage = bytes.Clone(it.Value)
		case "id", "type", "role", "model", "stop_reason", "stop_sequence":
		default:
			if !isHarmless(it.Key, it.Value) {
				return events, errMalformed
			}
		}
	}
	c.phase = within
	return append(events, stream.Event{Kind: stream.Pass, Raw: e.raw, Mark: stream.Mark{Code: markBegin}}), nil
}

func (c *Codec) onMessageDelta(events []stream.Event, e *event) ([]stream.Event, error) {
	if c.phase == finished {
		return events, nil // one is what clients take
	}
	var reason []byte
	var place span.Place
	for it := span.Members(e.delta); it.Next(); {
		if string(it.Key) == "stop_reason" {
			reason, _ = span.Text(it.Value)
			place = span.Place{From: e.deltaAt + it.From, To: e.deltaAt + it.From + len(it.Value)}
			continue
		}
		e.unknown = e.unknown || !isHarmless(it.Key, it.Value)
	}
	if e.unknown || e.block != nil || e.message != nil {
		return c.refuse(events, e.typ), nil
	}
	if len(reason) == 0 {
		return events, nil // usage alone; the one with the reason has it too
	}
	c.phase = finished
	return append(events, stream.Event{Kind: stream.Finish, Raw: e.raw, Reason: string(reason), Mark: stream.Mark{First: place}}), nil
}

func (c *Codec) decodeEnd(events []stream.Event) []stream.Event {
	if c.phase == within {
		events = append(events, stream.Event{Kind: stream.Finish})
	}
	c.phase = over
	return append(events, stream.Event{Kind: stream.End})
}

// Cut says what it means that the bytes are over: the regular end where the message has its
// reason.
func (c *Codec) Cut(events []stream.Event) []stream.Event {
	switch c.phase {
	case over:
		return events
	case finished:
		return c.decodeEnd(events)
	}
	c.phase = over
	return append(events, stream.Event{Kind: stream.Cut})
}
