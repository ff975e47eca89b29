package stream

import (
	"bytes"
	"errors"
)

// OnBlock says what follows a blocked call.
type OnBlock uint8

const (
	// Terminate ends the answer behind the notice.
	Terminate OnBlock = iota
	// Continue puts the notice in the call's place, and the rest goes on.
	Continue
)

// Incomplete says what becomes of calls that have no end when the answer has.
type Incomplete uint8

const (
	// BlockIncomplete blocks them: cut arguments may mean something else.
	BlockIncomplete Incomplete = iota
	// JudgeIncomplete offers those whose arguments are whole for a Decision.
	JudgeIncomplete
)

// The bounds of a stream where Options names none.
const (
	DefaultMaxArgs     = 1 << 20
	DefaultMaxBuffered = 8 << 20
	DefaultMaxCalls    = 128
)

// Options say how an answer is judged. The zero value blocks every call: it has no Check.
type Options struct {
	OnBlock    OnBlock
	Incomplete Incomplete
	Notice     NoticeTemplate
	// Check refuses arguments that two readers may read differently. It is sentinel.CheckArguments.
	// Where it is nil every call is blocked.
	Check func(args []byte) error
	// MaxArgs bounds the arguments of one call: beyond it the call is blocked.
	MaxArgs int
	// MaxBuffered bounds all held bytes, and MaxCalls the calls of an answer: beyond them the
	// stream ends with an error.
	MaxBuffered, MaxCalls int
}

// Errors of Decide. Nothing is forwarded for either.
var (
	ErrNoCall  = errors.New("no call of this answer waits under that number; decide only the calls that the stream gave")
	ErrDecided = errors.New("the call is decided already; decide each call once")
)

type callState uint8

const (
	open    callState = iota // its arguments grow
	asked                    // a Decision is awaited
	decided                  // and its turn is awaited
	kept                     // allowed, and kept for the end of the answer
	gone                     // forwarded or replaced
)

// heldCall is a call on its way through the machine.
type heldCall struct {
	call  Call
	mark  Mark
	tail  []byte
	state callState
	allow bool
	text  string // its notice
	size  int    // what it holds of the bound
}

// item is a place in the upstream's order.
type item struct {
	event Event
	call  *heldCall // nil for what is no call
}

// Machine holds back what isn't decided. It knows no wire format.
type Machine struct {
	opts      Options
	callsLast bool // allowed calls leave behind everything else
	queue     []item
	next      int // of queue: the first that hasn't left
	calls     []*heldCall
	last      []*heldCall // allowed calls that leave last
	buffered  int
	over      bool
	step      Step
}

// Step is what one event or Decision brought about. Its slices are good until the next.
type Step struct {
	Out     []Output
	Judge   []Call
	Refused []Refusal
	// Done is set where the answer is over: everything that still comes is ignored.
	Done bool
	// Err is an *Error where the stream was ended for what it is.
	Err error
}

// NewMachine returns a machine for one answer. With callsLast allowed calls leave behind
// everything else of the answer.
func NewMachine(opts Options, callsLast bool) *Machine {
	if opts.MaxArgs <= 0 {
		opts.MaxArgs = DefaultMaxArgs
	}
	if opts.MaxBuffered <= 0 {
		opts.MaxBuffered = DefaultMaxBuffered
	}
	if opts.MaxCalls <= 0 {
		opts.MaxCalls = DefaultMaxCalls
	}
	return &Machine{opts: opts, callsLast: callsLast}
}

// Over reports whether the answer is over.
func (m *Machine) Over() bool { return m.over }

// Waiting reports how many calls are held.
func (m *Machine) Waiting() int {
	n := 0
	for _, h := range m.calls {
		if h.state < kept {
			n++
		}
	}
	return n
}

// Buffered returns how many bytes are held.
func (m *Machine) Buffered() int { return m.buffered }

// Push takes the next event of the upstream.
func (m *Machine) Push(e Event) Step {
	m.beginStep()
	if m.over {
		return m.step
	}
	switch e.Kind {
	case Pass, Usage:
		m.enqueue(e)
	case Beat:
		m.step.Out = append(m.step.Out, Output{Kind: Beat, Raw: e.Raw, Mark: e.Mark})
	case Begin, Refuse:
		m.onBegin(e)
	case Grow, Close, Spoil:
		m.onCall(e)
	case Finish, End, Cut:
		m.closeOpen(e)
		if !m.over {
			m.enqueue(e)
		}
	case Fault:
		m.onFault(e)
	default:
		m.fail(CodeMalformed)
	}
	return m.step
}

// Fail ends the stream: what is held is dropped, and the client reads an error.
func (m *Machine) Fail(code string) Step {
	m.beginStep()
	m.fail(code)
	return m.step
}

// Decide takes the word on a call, in any order. It is applied when the call's turn comes.
func (m *Machine) Decide(number int, d Decision) (Step, error) {
	m.beginStep()
	if m.over {
		return m.step, nil
	}
	if number < 0 || number >= len(m.calls) || m.calls[number].state == open {
		return m.step, ErrNoCall
	}
	h := m.calls[number]
	if h.state != asked {
		return m.step, ErrDecided
	}
	h.state, h.allow = decided, d.Allow
	if !d.Allow {
		m.dropBytes(h, d)
	}
	m.release()
	return m.step, nil
}

func (m *Machine) beginStep() {
	clear(m.step.Out)
	m.step = Step{Out: m.step.Out[:0], Judge: m.step.Judge[:0], Refused: m.step.Refused[:0], Done: m.over}
}

// enqueue lets an event that is no call leave, or wait behind what isn't decided.
func (m *Machine) enqueue(e Event) {
	if m.next == len(m.queue) {
		m.leave(e)
		return
	}
	e.Raw = bytes.Clone(e.Raw)
	if m.grow(len(e.Raw) + itemSize) {
		m.queue = append(m.queue, item{event: e})
	}
}

// itemSize is what a place in the queue counts for, however small its bytes are.
const itemSize = 64

// grow counts bytes that are held. Beyond the bound it ends the stream.
func (m *Machine) grow(n int) bool {
	if m.buffered += n; m.buffered <= m.opts.MaxBuffered {
		return true
	}
	m.fail(CodeTooLarge)
	return false
}

func (m *Machine) onBegin(e Event) {
	switch {
	case e.Call != len(m.calls):
		m.fail(CodeMalformed)
		return
	case len(m.calls) >= m.opts.MaxCalls:
		m.fail(CodeTooMany)
		return
	}
	s := e.Start
	h := &heldCall{mark: e.Mark}
	h.call = Call{Number: e.Call, Lane: e.Lane, ID: s.ID, Name: s.Name, Server: s.Server, head: bytes.Clone(s.Head)}
	h.size = len(s.ID) + len(s.Name) + len(s.Server) + len(s.Head) + itemSize
	m.calls = append(m.calls, h)
	m.queue = append(m.queue, item{call: h})
	if m.grow(h.size) && e.Kind == Refuse {
		m.block(h, e.Code)
	}
}

func (m *Machine) onCall(e Event) {
	if e.Call < 0 || e.Call >= len(m.calls) {
		m.fail(CodeMalformed)
		return
	}
	h := m.calls[e.Call]
	switch {
	case h.state >= kept && h.allow:
		m.fail(CodeLate) // it was judged without this
	case h.state != open && h.state != asked && !h.allow:
		return // blocked already
	case e.Kind == Spoil:
		m.block(h, e.Code)
	case h.state != open:
		m.block(h, CodeLate)
	case e.Kind == Grow:
		m.addArgs(h, e)
	default:
		m.complete(h, e.Raw)
	}
}

// addArgs takes a piece of arguments, and a name or an id that comes late.
func (m *Machine) addArgs(h *heldCall, e Event) {
	if len(h.call.Args)+len(e.Args) > m.opts.MaxArgs {
		m.block(h, CodeTooLarge)
		return
	}
	n := len(e.Args) + len(e.Start.Name) + len(e.Start.ID)
	h.size += n
	if !m.grow(n) {
		return
	}
	h.call.Args = append(h.call.Args, e.Args...)
	if h.call.Name == "" {
		h.call.Name = e.Start.Name
	}
	if h.call.ID == "" {
		h.call.ID = e.Start.ID
	}
}

// complete offers a call for a Decision, or blocks one that can't be judged.
func (m *Machine) complete(h *heldCall, tail []byte) {
	if code := m.faultOf(h.call); code != "" {
		m.block(h, code)
		return
	}
	h.size += len(tail)
	if m.grow(len(tail)) {
		h.tail = bytes.Clone(tail)
		h.state = asked
		m.step.Judge = append(m.step.Judge, h.call)
	}
}

// faultOf returns why a call can't be judged; empty where it can.
func (m *Machine) faultOf(c Call) string {
	switch {
	case c.Name == "":
		return CodeName
	case m.opts.Check == nil:
		return CodeUnchecked
	case m.opts.Check(c.Args) != nil:
		return CodeArguments
	}
	return ""
}

// block decides against a call without a Decision.
func (m *Machine) block(h *heldCall, code string) {
	m.step.Refused = append(m.step.Refused, Refusal{Call: h.call.Number, Lane: h.call.Lane, Name: h.call.Name, Code: code})
	if n := len(m.step.Judge); h.state == asked && n > 0 && m.step.Judge[n-1].Number == h.call.Number {
		m.step.Judge = m.step.Judge[:n-1]
	}
	h.state, h.allow = decided, false
	m.dropBytes(h, Decision{Gate: "stream", Reason: DescribeCode(code)})
	m.release()
}

// dropBytes writes a blocked call's notice and forgets its arguments.
func (m *Machine) dropBytes(h *heldCall, d Decision) {
	h.text = m.opts.Notice.write(h.call, d)
	h.call.Args, h.call.head, h.tail = nil, nil, nil
	m.buffered -= h.size - itemSize
	h.size = itemSize
}

// closeOpen settles the calls that have no end when their lane or the answer has.
func (m *Machine) closeOpen(e Event) {
	for _, h := range m.calls {
		if m.over {
			return
		}
		if h.state != open || e.Kind == Finish && h.call.Lane != e.Lane {
			continue
		}
		if m.opts.Incomplete == JudgeIncomplete && m.faultOf(h.call) == "" {
			m.complete(h, nil)
			continue
		}
		m.block(h, CodeIncomplete)
	}
}

// onFault forwards the upstream's error. What is held is dropped: the answer it belonged to is
// void.
func (m *Machine) onFault(e Event) {
	m.drop()
	m.step.Out = append(m.step.Out, Output{Kind: Fault, Raw: e.Raw, Mark: e.Mark})
	m.over, m.step.Done, m.step.Err = true, true, &Error{CodeUpstream}
}

func (m *Machine) fail(code string) {
	if m.over {
		return
	}
	m.drop()
	m.step.Out = append(m.step.Out, Output{Kind: Failure, Code: code})
	m.over, m.step.Done, m.step.Err = true, true, &Error{code}
}

// drop forgets everything that is held, and what this step offered.
func (m *Machine) drop() {
	m.queue, m.next, m.last, m.buffered = nil, 0, nil, 0
	m.step.Judge = m.step.Judge[:0]
	for _, h := range m.calls {
		h.call.Args, h.call.head, h.tail = nil, nil, nil
	}
}
