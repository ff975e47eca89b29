package wire

import (
	"errors"
	"net/http"

	"github.com/vedette-dev/vedette/sentinel/stream"
)

// Request is what a proxy reads of a request.
type Request struct {
	// Model is its name as the client has it.
	Model string
	// Stream says that the answer shall be an event stream.
	Stream bool
	// Tools are those that the client runs.
	Tools []Tool
	// Steps are the conversation, oldest first.
	Steps []Step
}

// Tool is a tool that the client runs.
type Tool struct {
	Name, Description string
	// Parameters is its JSON Schema; nil where the request holds none.
	Parameters []byte
	// Kind is set for a tool that the provider defines and the client runs, such as bash_20250124.
	Kind string
}

// StepKind says what a Step is.
type StepKind uint8

const (
	// User is a turn of the user's: Text, without what comes with results of tools.
	User StepKind = iota + 1
	// Call is a call that the model made before: ID, Name, Args.
	Call
	// Result is what a tool returned: ID of its call, Text, Failed.
	Result
	// Foreign is text that others may have written and that no tool of the client returned: a search of the
	// provider's, a document.
	Foreign
)

// Step is one thing in a conversation.
type Step struct {
	Kind   StepKind
	ID     string
	Name   string
	Args   []byte
	Text   string
	Failed bool
}

// Format is a wire format.
type Format interface {
	// Read reads a request. The error is an *Error, for a 400.
	Read(body []byte) (*Request, error)
	// NewCodec and NewBody return what reads and writes one answer.
	NewCodec() stream.Codec
	NewBody() stream.BodyCodec
	// ToolName is the name of a call's tool as requests have it.
	ToolName(c stream.Call) string
	// WriteError returns the body of an error.
	WriteError(e Error) []byte
}

// Error is an error that a client reads.
type Error struct {
	Status        int
	Code, Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Invalid is the error of a request that can't be read.
func Invalid(message string) *Error {
	return &Error{Status: http.StatusBadRequest, Code: "invalid_request", Message: message}
}

// ErrNoObject is the error of a body that isn't one plain JSON object.
var ErrNoObject = Invalid("the body must be one JSON object in UTF-8, without a key twice")

// Bounds of a request.
const (
	// MaxSteps bounds what is read of a conversation, MaxTools its tools.
	MaxSteps = 20_000
	MaxTools = 2048
	// MaxModel bounds a model's name in bytes.
	MaxModel = 256
)

// AsError returns what a client reads of an error.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Status: http.StatusInternalServerError, Code: "internal", Message: "the proxy failed; its log says why"}
}
