// Package responses reads and writes the Responses format of OpenAI, streamed and not.
//
// Calls are function_call items and mcp_approval_request items: a tool of a remote server that the
// provider calls after a yes. Messages, reasoning and what the provider has run itself (searches,
// code interpreter, images, MCP calls and lists) are forwarded as they came. Indices and sequence
// numbers are counted from 0 over what the client gets.
//
// The format says each call up to four times: as deltas, at the arguments' end, at the item's end
// and in the response's end. A call of which two versions differ is blocked, and a response whose
// end holds a call that was never streamed ends the stream. A blocked call is a message item in
// the stream and at the end.
//
// What it refuses by name, as a blocked call: custom tools, shell, patch and computer calls, and
// every item that isn't known. An event for an item that never began ends the stream.
//
// The package isn't stable: docs/api.md lists those that are.
package responses

import (
	"bytes"
	"crypto/sha256"
	"hash"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/stream"
	"github.com/vedette-dev/vedette/sentinel/stream/span"
	"github.com/vedette-dev/vedette/sentinel/stream/sse"
)

// Codec reads and writes one answer.
type Codec struct {
	begun   bool
	done    bool
	items   []*item
	indices map[int]*item
	byCall  []*item // by the call's number
	refused map[string]bool

	response []byte // of response.created
	next     int    // the next index to write
	sequence int    // the next number to write, -1 before the first
	ended    bool   // the response's end is written
	kept     [][]byte
	keptSize int
}

// item is one output item of the upstream.
type item struct {
	kind   itemKind
	typ    string
	place  int // in Codec.items
	id     string
	callID string
	name   string
	server string
	number int // of the call
	args   hash.Hash
	size   int  // of the arguments so far
	closed bool // its end was read
	// repeated is set where the response's end has repeated it.
	repeated bool
	argsAt   argsState

	out    int // index for the client, -1 before it is written
	notice []byte
}

type itemKind uint8

const (
	passes itemKind = iota
	calls
	dropped
)

type argsState uint8

const (
	growing argsState = iota
	whole
)

// Marks of what passes.
const (
	markOther uint8 = iota
	markAdded
	markItemDone
)

// New returns a codec for one answer.
func New() *Codec {
	return &Codec{indices: map[int]*item{}, refused: map[string]bool{}, sequence: -1}
}

// CallsLast is false: items have their places.
func (c *Codec) CallsLast() bool { return false }

var (
	errMalformed = &stream.Error{Code: stream.CodeMalformed}
	errMismatch  = &stream.Error{Code: stream.CodeMismatch}
)

// event is what one look at a frame shows.
type event struct {
	raw       []byte
	at        int // of data in raw
	typ       string
	index     int
	mark      stream.Mark
	item      []byte
	itemID    string
	delta     []byte
	arguments []byte
	name      []byte
	response  []byte
	respAt    int
	fault     []byte
	unknown   bool
}

// Decode appends the events of a frame.
func (c *Codec) Decode(events []stream.Event, f sse.Frame) ([]stream.Event, error) {
	if f.Data == nil {
		return append(events, stream.Event{Kind: stream.Beat, Raw: f.Raw}), nil
	}
	if c.done {
		return events, nil
	}
	data := bytes.TrimLeft(f.Data, " \t\n")
	e := event{raw: f.Raw, at: f.DataAt + len(f.Data) - len(data), index: -1}
	data = bytes.TrimRight(data, " \t\n")
	if !span.IsObject(data) {
		return events, errMalformed
	}
	data = f.Raw[e.at : e.at+len(data)] // line feeds between its parts are blanks there
	if e.read(data); len(f.Name) > 0 && string(f.Name) != e.typ {
		return events, errMalformed
	}
	return c.decodeEvent(events, &e)
}

// isHarmless reports whether a member that isn't known can't carry a call.
func isHarmless(key, value []byte) bool {
	return span.IsEmpty(value) || !span.MayCarryCall(key, value) && !span.Resembles(key, "type", "item", "response", "output", "delta",
		"arguments", "name", "id", "call_id", "output_index", "item_id", "input", "server_label", "status")
}

// read looks at the members of an event.
func (e *event) read(data []byte) {
	for it := span.Members(data); it.Next(); {
		place := span.Place{From: e.at + it.From, To: e.at + it.From + len(it.Value)}
		text, isText := span.Text(it.Value)
		switch string(it.Key) {
		case "type":
			e.typ = string(text)
		case "sequence_number":
			e.mark.Second = place
		case "output_index":
			if n, ok := span.Number(it.Value); ok {
				e.index = n
			}
			e.mark.First = place
		case "item":
			e.item = it.Value
		case "item_id":
			e.itemID = string(text)
		case "delta":
			e.delta = it.Value
		case "arguments":
			e.arguments = it.Value
		case "name":
			e.name = text
			e.unknown = e.unknown || !isText && !span.IsNull(it.Value)
		case "response":
			e.response, e.respAt = it.Value, e.at+it.From
		case "error", "code", "message", "param":
			e.fault = data
		default:
			e.unknown = e.unknown || !isHarmless(it.Key, it.Value)
		}
	}
}

func (c *Codec) decodeEvent(events []stream.Event, e *event) ([]stream.Event, error) {
	switch e.typ {
	case "error":
		if e.unknown || e.item != nil || e.response != nil || e.delta != nil {
			e.fault = nil
		}
		return append(events, stream.Event{Kind: stream.Fault, Raw: writeFault(e.fault)}), nil
	case "response.created", "response.in_progress", "response.queued":
		return c.onSnapshot(events, e)
	}
	if !c.begun || e.item != nil && !strings.HasPrefix(e.typ, "response.output_item.") {
		return events, errMalformed
	}
	switch e.typ {
	case "response.completed", "response.incomplete":
		return c.onResponseEnd(events, e)
	case "response.failed":
		c.done = true
		return append(events, stream.Event{Kind: stream.Fault, Raw: c.writeFailed(e)}), nil
	case "response.output_item.added":
		return c.onAdded(events, e)
	case "response.output_item.done":
		return c.onItemDone(events, e)
	case "response.function_call_arguments.delta", "response.function_call_arguments.done":
		return c.onArguments(events, e)
	}
	if e.response != nil {
		return events, errMalformed
	}
	return c.onOther(events, e)
}

// isKnown reports whether a type of event is of text or of what the provider runs.
func isKnown(typ string) bool {
	for _, prefix := range []string{"content_part.", "output_text.", "refusal.", "reasoning", "audio.", "file_search_call.",
		"web_search_call.", "code_interpreter_call.", "code_interpreter_call_code.", "image_generation_call.", "mcp_call.",
		"mcp_call_arguments.", "mcp_list_tools."} {
		if strings.HasPrefix(typ, "response."+prefix) {
			return true
		}
	}
	return false
}

// onOther takes an event that is neither of a call nor of an item's or the response's life.
func (c *Codec) onOther(events []stream.Event, e *event) ([]stream.Event, error) {
	odd := e.unknown || !isKnown(e.typ) && span.NamesCall([]byte(e.typ)) || len(e.delta) > 0 && span.HoldsCall(e.delta)
	odd = odd || e.arguments != nil && !strings.HasPrefix(e.typ, "response.mcp_call_arguments.")
	if e.mark.First.To == 0 {
		if odd {
			return c.refuse(events, e.typ), nil
		}
		return append(events, e.pass(markOther, 0)), nil
	}
	it := c.indices[e.index]
	switch {
	case it == nil:
		return events, errMalformed
	case it.kind == dropped:
		return events, nil
	case it.kind == calls:
		return append(events, stream.Event{Kind: stream.Spoil, Call: it.number, Code: stream.CodeShape}), nil
	case odd:
		return c.refuse(events, e.typ), nil
	}
	return append(events, e.pass(markOther, it.place)), nil
}

func (e *event) pass(code uint8, place int) stream.Event {
	e.mark.Code, e.mark.Block = code, place
	return stream.Event{Kind: stream.Pass, Raw: e.raw, Mark: e.mark}
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
	return append(events, c.newRefusal(&item{kind: dropped, out: -1}))
}

// newRefusal counts an item that isn't understood as a blocked call.
func (c *Codec) newRefusal(it *item) stream.Event {
	it.number = len(c.byCall)
	c.byCall = append(c.byCall, it)
	return stream.Event{Kind: stream.Refuse, Call: it.number, Code: stream.CodeShape}
}

// Cut says what it means that the bytes are over: without the response's end the answer is cut.
func (c *Codec) Cut(events []stream.Event) []stream.Event {
	if c.done {
		return events
	}
	c.done = true
	return append(events, stream.Event{Kind: stream.Cut})
}

// sum returns the hash of some arguments.
func sum(args []byte) string {
	s := sha256.Sum256(args)
	return string(s[:])
}
