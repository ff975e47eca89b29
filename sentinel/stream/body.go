package stream

// BodyCodec reads and writes an answer that isn't streamed.
type BodyCodec interface {
	// DecodeBody returns the events of a whole answer, with Begin, Grow and Close for each call, a
	// Finish for each lane and an End. An error means that the answer isn't understood.
	DecodeBody(body []byte) ([]Event, error)
	// EncodeBody returns the answer as these outputs leave it: body itself where nothing changed.
	EncodeBody(body []byte, outs []Output) ([]byte, error)
	// CallsLast reports whether calls must stand behind everything else of an answer.
	CallsLast() bool
}

// Body carries one answer that isn't streamed. What it decides is what a Relay decides for the
// same answer in pieces.
type Body struct {
	raw     []byte
	codec   BodyCodec
	machine *Machine
	outs    []Output
	refused []Refusal
	err     error
}

// NewBody reads an answer and returns the calls to decide. An error is an *Error: the answer must
// not be forwarded.
func NewBody(codec BodyCodec, opts Options, raw []byte) (*Body, []Call, error) {
	b := &Body{raw: raw, codec: codec, machine: NewMachine(opts, codec.CallsLast())}
	events, err := codec.DecodeBody(raw)
	if err != nil {
		return nil, nil, &Error{codeOf(err)}
	}
	var judge []Call
	for _, e := range events {
		s := b.machine.Push(e)
		judge = append(judge, s.Judge...)
		for _, refused := range s.Refused {
			judge = withoutCall(judge, refused.Call)
		}
		b.take(s)
	}
	if b.err != nil {
		return nil, nil, b.err
	}
	if b.machine.Over() {
		judge = nil
	}
	return b, judge, nil
}

// Refused are the calls that were blocked without a Decision.
func (b *Body) Refused() []Refusal { return b.refused }

// Decide takes the word on a call. An error is ErrNoCall or ErrDecided.
func (b *Body) Decide(number int, d Decision) error {
	s, err := b.machine.Decide(number, d)
	b.take(s)
	return err
}

// Done reports whether every call that counts is decided.
func (b *Body) Done() bool { return b.machine.Over() }

// Forwarded returns the numbers of the allowed calls that are in the answer.
func (b *Body) Forwarded() (list []int) {
	for _, o := range b.outs {
		if o.Kind == Forward {
			list = append(list, o.Call.Number)
		}
	}
	return list
}

// Bytes returns the answer for the client. Before Done it is an error.
func (b *Body) Bytes() ([]byte, error) {
	if b.err != nil {
		return nil, b.err
	}
	if !b.Done() {
		return nil, ErrNoCall
	}
	return b.codec.EncodeBody(b.raw, b.outs)
}

func (b *Body) take(s Step) {
	b.outs = append(b.outs, s.Out...)
	b.refused = append(b.refused, s.Refused...)
	if s.Err != nil {
		b.err = s.Err
	}
}
