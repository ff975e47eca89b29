package stream

import (
	"fmt"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/sentinel/stream/span"
)

// Kind says what an Event or an Output is.
type Kind uint8

// The kinds of events, in both directions.
const (
	// Pass is what carries no call: text, thinking, whatever else is known to be safe.
	Pass Kind = iota + 1
	// Beat keeps a connection alive and says nothing: it waits for no Decision.
	Beat
	// Begin is the start of a call.
	Begin
	// Grow is a piece of a call's arguments.
	Grow
	// Close says that a call is whole.
	Close
	// Spoil says that a call isn't understood: it is blocked, whatever a Decision says.
	Spoil
	// Refuse is something that might carry a call and isn't understood.
	Refuse
	// Finish is the model's reason to end, of one lane.
	Finish
	// Usage counts tokens and nothing else. It is kept where the rest is cut off.
	Usage
	// Fault is the upstream's own error.
	Fault
	// End is the format's regular end.
	End
	// Cut is an end that the upstream didn't announce.
	Cut

	// Forward is an allowed call, in Outputs alone.
	Forward
	// Notice stands in place of a blocked call, in Outputs alone.
	Notice
	// Failure ends the stream with an error of ours, in Outputs alone.
	Failure
)

// Event is one thing that a codec read.
type Event struct {
	Kind Kind
	// Raw are the bytes that may be forwarded. They are the codec's until the next frame.
	Raw []byte
	// Lane is the choice it belongs to, where a format has several answers in one.
	Lane int
	// Call is the call's number, counted from 0 by the codec.
	Call int
	// Code says what is wrong, of Spoil and Refuse.
	Code string
	// Reason is what the model ended for, of Finish.
	Reason string
	// Start is what a call begins with, of Begin.
	Start Start
	// Args is a piece of arguments, of Grow.
	Args []byte
	// Mark is the codec's own note. The machine hands it back unread.
	Mark Mark
}

// Start is what a codec knows of a call at its begin.
type Start struct {
	ID, Name, Server string
	// Head are the codec's bytes to write the call with. The machine copies them.
	Head []byte
}

// Mark is a codec's note on an Event.
type Mark struct {
	Code  uint8
	Block int
	// First and Second are values in Raw that the codec may replace.
	First, Second span.Place
}

// Output is one thing to write to the client.
type Output struct {
	Kind   Kind
	Raw    []byte
	Lane   int
	Reason string
	// Call is the allowed call, of Forward, and the blocked one's number, of Notice.
	Call Call
	// Tail are the bytes of the call's Close, of Forward.
	Tail []byte
	// Text is what a Notice says.
	Text string
	// Code is what a Failure is about.
	Code string
	// Ended is set for what leaves after a blocked call has ended the answer: of Raw nothing but
	// reason and usage may be used then.
	Ended bool
	Mark  Mark
}

// Call is one whole call of the model's, to be decided. Its bytes are its own.
type Call struct {
	// Number is the call's place in the answer, counted from 0.
	Number int
	Lane   int
	// ID is the upstream's name for the call; empty where it gave none.
	ID string
	// Name is the tool's, as the model wrote it: the model's own text.
	Name string
	// Server is set for a tool of a remote server that the provider calls after a yes.
	Server string
	// Args are the arguments as they came. Empty means none.
	Args []byte

	head []byte
}

// Head returns the codec's bytes of the call's begin.
func (c Call) Head() []byte { return c.head }

// Decision is the word on one call. The zero value blocks.
type Decision struct {
	Allow bool
	// Gate, Reason and ID fill the notice. Reason is for the reader of the answer: it names no
	// argument value, and one that does is left out of the notice.
	Gate, Reason, ID string
}

// Refusal is a call that was blocked without a Decision, for the record.
type Refusal struct {
	Call int
	Lane int
	Name string
	Code string
}

// Codes of Refusals and Errors.
const (
	CodeShape      = "stream.unknown_shape"
	CodeName       = "stream.no_name"
	CodeArguments  = "stream.arguments"
	CodeIncomplete = "stream.incomplete"
	CodeTooLarge   = "stream.too_large"
	CodeTooMany    = "stream.too_many_calls"
	CodeUnchecked  = "stream.unchecked"
	CodeMismatch   = "stream.mismatch"
	CodeLate       = "stream.late"
	CodeMalformed  = "stream.malformed"
	CodeCut        = "stream.cut"
	CodeUpstream   = "stream.upstream"
	CodeStalled    = "stream.stalled"
	CodeEnding     = "stream.ending"
)

// reasons say each code to the reader of an answer. They hold nothing of the stream.
var reasons = map[string]string{
	CodeShape:      "the answer holds a call of a kind that isn't known",
	CodeName:       "the call names no tool",
	CodeArguments:  "the arguments aren't one plain JSON object",
	CodeIncomplete: "the answer ended within the call",
	CodeTooLarge:   "the call is larger than the bound",
	CodeTooMany:    "the answer holds more calls than the bound",
	CodeUnchecked:  "the proxy has no check of arguments",
	CodeMismatch:   "the answer gives the call in two versions that differ",
	CodeLate:       "the answer changes or adds a call after its end",
	CodeMalformed:  "the upstream's answer breaks its format",
	CodeCut:        "the upstream ended the answer early",
	CodeUpstream:   "the upstream reported an error",
	CodeStalled:    "the upstream sent nothing for too long",
	CodeEnding:     "the proxy is ending; send the request again",
}

// DescribeCode returns a code in words for the client. They hold nothing of the stream.
func DescribeCode(code string) string {
	if r, ok := reasons[code]; ok {
		return r
	}
	return "the call isn't allowed"
}

// Error says why a stream was ended.
type Error struct{ Code string }

// Error returns the code in words.
func (e *Error) Error() string {
	return fmt.Sprintf("the stream is ended (%s): %s", e.Code, DescribeCode(e.Code))
}

// SplitArgs cuts arguments into pieces that clients with short lines can read, each of whole
// characters. Empty arguments are one empty piece.
func SplitArgs(args []byte) [][]byte {
	const most = 16 << 10
	var out [][]byte
	for len(args) > most {
		n := most
		for n > most-utf8.UTFMax && !utf8.RuneStart(args[n]) {
			n--
		}
		out = append(out, args[:n])
		args = args[n:]
	}
	return append(out, args)
}
