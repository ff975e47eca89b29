// Package chat reads and writes the chat completions format of OpenAI, streamed and not.
//
// What it understands: several choices, text, refusals, reasoning fields, audio, tool calls of
// functions by index or without one, the older function_call, usage, errors. A chunk that holds
// no call and no reason to end is forwarded as it came. One that holds several things is taken
// apart: text, then calls, then the reason.
//
// A call is written whole: role first, one call in a chunk, its index counted from 0 over the
// calls that are left, with id and type. Members of a call that aren't known stay where they
// can't hold another call.
//
// What it refuses by name, as a blocked call: custom tools, arguments that are no text, names in
// pieces, and members that may hold a call and aren't known. A second choice of the reason to
// end, and text behind it, are dropped. A call behind it ends the stream.
//
// The package isn't stable: docs/api.md lists those that are.
package chat

import (
	"bytes"

	"github.com/vedette-dev/vedette/sentinel/stream"
	"github.com/vedette-dev/vedette/sentinel/stream/span"
	"github.com/vedette-dev/vedette/sentinel/stream/sse"
)

// maxLanes bounds the choices of one answer, as the format does.
const maxLanes = 128

// Codec reads and writes one answer.
type Codec struct {
	head    []byte // the members that all chunks have in common
	headID  bool   // the head holds an id
	lanes   []*lane
	calls   int
	refused map[string]bool
	done    bool
}

// lane is one choice.
type lane struct {
	role    bool // it was read
	ended   bool // its reason was read
	roleOut bool
	closed  bool // its reason was written

	calls     []*call
	forwarded int
	legacy    int // of those
	elements  []int
	single    int // number of the older call, or -1
	seen      int // chunks
}

// call is what is known of a call while its pieces come.
type call struct {
	number  int
	index   int // as the upstream counts, or -1
	id      string
	name    string
	legacy  bool
	over    bool
	balance stream.Balance
}

// New returns a codec for one answer.
func New() *Codec { return &Codec{refused: map[string]bool{}} }

// CallsLast is false: clients take calls anywhere.
func (c *Codec) CallsLast() bool { return false }

var errMalformed = &stream.Error{Code: stream.CodeMalformed}

// laneOf returns a choice, made where it is new; nil beyond the bound.
func (c *Codec) laneOf(n int) *lane {
	if n < 0 || n >= maxLanes {
		return nil
	}
	for len(c.lanes) <= n {
		c.lanes = append(c.lanes, &lane{single: -1})
	}
	return c.lanes[n]
}

// chunk is what one look at a chunk shows.
type chunk struct {
	data    []byte
	at      int // of data in the frame's Raw
	choices int
	lane    int // of the last choice
	calls   int
	reasons int
	fault   []byte
	usage   bool
	list    []byte // the choices
	unknown string // a member that may carry a call
	rewrite bool   // a role is missing, or a choice is over
	reason  string
	place   span.Place // of the reason in data
	text    bool
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
	ch := chunk{at: f.DataAt + len(f.Data) - len(data), data: bytes.TrimRight(data, " \t\n")}
	if bytes.HasPrefix(ch.data, []byte("[DONE]")) {
		return c.decodeEnd(events), nil
	}
	if !span.IsObject(ch.data) {
		return events, errMalformed
	}
	ch.data = f.Raw[ch.at : ch.at+len(ch.data)] // line feeds between its parts are blanks there
	if !c.scanChunk(&ch) {
		return events, errMalformed
	}
	return c.decodeChunk(events, f, &ch)
}

func (c *Codec) decodeChunk(events []stream.Event, f sse.Frame, ch *chunk) ([]stream.Event, error) {
	switch {
	case ch.fault != nil:
		return append(events, stream.Event{Kind: stream.Fault, Raw: writeFault(ch.fault)}), nil
	case ch.unknown != "":
		return c.refuse(events, ch), nil
	}
	c.learnHead(ch.data)
	if ch.choices == 0 {
		kind := stream.Pass
		if ch.usage {
			kind = stream.Usage
		}
		return append(events, stream.Event{Kind: kind, Raw: f.Raw, Lane: -1}), nil
	}
	if ch.rewrite || ch.calls > 0 || ch.reasons > 0 && ch.choices > 1 {
		return c.splitChunk(events, ch)
	}
	l := c.lanes[ch.lane]
	if ch.reasons == 1 {
		l.ended = true
		events = c.closeCalls(events, l, true)
		place := span.Place{From: ch.at + ch.place.From, To: ch.at + ch.place.To}
		return append(events, stream.Event{Kind: stream.Finish, Raw: f.Raw, Lane: ch.lane, Reason: ch.reason,
			Mark: stream.Mark{First: place}}), nil
	}
	at := ch.lane
	if ch.choices > 1 {
		at = -1
		for _, l := range c.lanes {
			events = c.closeCalls(events, l, false)
		}
	} else if ch.text {
		events = c.closeCalls(events, l, false)
	}
	return append(events, stream.Event{Kind: stream.Pass, Raw: f.Raw, Lane: at}), nil
}

// refuse blocks a chunk with a member that may carry a call, once for each such member.
func (c *Codec) refuse(events []stream.Event, ch *chunk) []stream.Event {
	if c.refused[ch.unknown] {
		return events
	}
	if len(c.refused) < maxLanes {
		c.refused[ch.unknown] = true
	}
	c.laneOf(ch.lane).seen++
	c.calls++
	return append(events, stream.Event{Kind: stream.Refuse, Lane: ch.lane, Call: c.calls - 1, Code: stream.CodeShape})
}

// closeCalls ends the calls of a choice: all of them where its reason came, else those whose
// arguments are whole.
func (c *Codec) closeCalls(events []stream.Event, l *lane, all bool) []stream.Event {
	for _, k := range l.calls {
		if !k.over && (all || k.balance.Whole()) {
			k.over = true
			events = append(events, stream.Event{Kind: stream.Close, Call: k.number})
		}
	}
	return events
}

// decodeEnd ends the answer. A choice without a reason gets one when it is written.
func (c *Codec) decodeEnd(events []stream.Event) []stream.Event {
	c.done = true
	for n, l := range c.lanes {
		if l.seen > 0 && !l.ended {
			l.ended = true
			events = c.closeCalls(events, l, false)
			events = append(events, stream.Event{Kind: stream.Finish, Lane: n})
		}
	}
	return append(events, stream.Event{Kind: stream.End})
}

// Cut says what it means that the bytes are over: the regular end where each choice has its
// reason.
func (c *Codec) Cut(events []stream.Event) []stream.Event {
	seen := 0
	for _, l := range c.lanes {
		if seen += l.seen; l.seen > 0 && !l.ended {
			seen = 0
			break
		}
	}
	switch {
	case c.done:
		return events
	case seen > 0:
		return c.decodeEnd(events)
	}
	c.done = true
	return append(events, stream.Event{Kind: stream.Cut})
}
