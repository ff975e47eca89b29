package stream

import (
	"errors"

	"github.com/vedette-dev/vedette/sentinel/stream/sse"
)

// Codec reads and writes one wire format. It serves one answer.
type Codec interface {
	// Decode appends the events of a frame. An error ends the stream; an *Error says for what.
	Decode(events []Event, f sse.Frame) ([]Event, error)
	// Cut appends what it means that the upstream's bytes are over.
	Cut(events []Event) []Event
	// Encode appends an output as the client reads it.
	Encode(dst []byte, o Output) []byte
	// KeepAlive appends what keeps the connection alive and says nothing; nothing where that
	// isn't possible yet.
	KeepAlive(dst []byte) []byte
	// CallsLast reports whether calls must stand behind everything else of an answer.
	CallsLast() bool
}

// Relay carries one streamed answer from the upstream to the client.
type Relay struct {
	reader  sse.Reader
	codec   Codec
	machine *Machine
	events  []Event
	p       Progress
}

// Progress is what became of some bytes or of a Decision. Its slices are good until the relay's
// next call; the bytes of a Call are good for longer, and are only read.
type Progress struct {
	// Bytes are for the client.
	Bytes []byte
	// Judge are whole calls to decide, and Refused calls that were blocked without a Decision.
	Judge   []Call
	Refused []Refusal
	// Forwarded are the numbers of the allowed calls that are whole in Bytes.
	Forwarded []int
	// Done is set where the answer is over. The upstream's connection can be closed.
	Done bool
	// Err is an *Error where the stream was ended for what it is. Bytes tell the client.
	Err error
}

// NewRelay returns a relay for one answer.
func NewRelay(codec Codec, opts Options) *Relay {
	r := &Relay{codec: codec, machine: NewMachine(opts, codec.CallsLast())}
	r.reader.Max = 2 * r.machine.opts.MaxBuffered
	return r
}

// Write takes bytes of the upstream, cut anywhere.
func (r *Relay) Write(p []byte) Progress {
	r.begin()
	if r.machine.Over() {
		return r.p
	}
	r.reader.Feed(p)
	r.readFrames(false)
	return r.p
}

// Close says that the upstream's bytes are over. A Decision may still be awaited then.
func (r *Relay) Close() Progress {
	r.begin()
	if r.machine.Over() {
		return r.p
	}
	r.reader.Close()
	r.readFrames(true)
	if !r.machine.Over() {
		r.events = r.codec.Cut(r.events[:0])
		r.pushAll()
	}
	return r.p
}

// Decide takes the word on a call. An error is ErrNoCall or ErrDecided.
func (r *Relay) Decide(number int, d Decision) (Progress, error) {
	r.begin()
	step, err := r.machine.Decide(number, d)
	r.take(step)
	return r.p, err
}

// Fail ends the answer with an error in the client's format. What is held is dropped.
func (r *Relay) Fail(code string) Progress {
	r.begin()
	r.take(r.machine.Fail(code))
	return r.p
}

// KeepAlive returns bytes that keep the client's connection alive.
func (r *Relay) KeepAlive() []byte {
	r.begin()
	if !r.machine.Over() {
		r.p.Bytes = r.codec.KeepAlive(r.p.Bytes)
	}
	return r.p.Bytes
}

// Waiting reports how many calls are held, and Buffered how many bytes.
func (r *Relay) Waiting() int { return r.machine.Waiting() }

// Buffered returns how many bytes are held.
func (r *Relay) Buffered() int { return r.machine.Buffered() }

// maxRoom is how much room for bytes a relay keeps between two calls.
const maxRoom = 16 << 10

func (r *Relay) begin() {
	bytes := r.p.Bytes[:0]
	if cap(bytes) > maxRoom {
		bytes = nil
	}
	clear(r.p.Judge)
	r.p = Progress{Bytes: bytes, Judge: r.p.Judge[:0], Refused: r.p.Refused[:0], Forwarded: r.p.Forwarded[:0],
		Done: r.machine.Over()}
}

// readFrames decodes what has come. At the end of the bytes a last frame that isn't one is a cut,
// and not a fault of the format.
func (r *Relay) readFrames(last bool) {
	for !r.machine.Over() {
		f, ok, err := r.reader.Next()
		if err != nil {
			r.take(r.machine.Fail(CodeTooLarge))
			return
		}
		if !ok {
			return
		}
		r.events, err = r.codec.Decode(r.events[:0], f)
		if err != nil && last {
			return
		}
		r.pushAll()
		if err != nil {
			r.take(r.machine.Fail(codeOf(err)))
		}
	}
}

// codeOf returns what a codec's error says.
func codeOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeMalformed
}

func (r *Relay) pushAll() {
	for i := range r.events {
		r.take(r.machine.Push(r.events[i]))
	}
	clear(r.events)
}

// take encodes a step.
func (r *Relay) take(s Step) {
	for i := range s.Out {
		r.p.Bytes = r.codec.Encode(r.p.Bytes, s.Out[i])
		if s.Out[i].Kind == Forward {
			r.p.Forwarded = append(r.p.Forwarded, s.Out[i].Call.Number)
		}
	}
	r.p.Refused = append(r.p.Refused, s.Refused...)
	r.p.Judge = append(r.p.Judge, s.Judge...)
	for _, refused := range s.Refused {
		r.p.Judge = withoutCall(r.p.Judge, refused.Call)
	}
	r.p.Done = r.p.Done || s.Done
	if s.Done {
		r.p.Judge = r.p.Judge[:0] // the answer is over: there is nothing to decide
	}
	if s.Err != nil {
		r.p.Err = s.Err
	}
}

// withoutCall takes a call off a list: it was blocked after it had been offered.
func withoutCall(list []Call, number int) []Call {
	for i := range list {
		if list[i].Number == number {
			return append(list[:i], list[i+1:]...)
		}
	}
	return list
}
