package orchestrator

import (
	"context"
	"errors"
	"fmt"

	"github.com/vedette-dev/vedette/orchestrator/admission"
)

// Errors of this package.
var (
	// ErrClosed answers calls to an Orchestrator that was closed.
	ErrClosed = errors.New("the orchestrator is closed")
	// ErrOverloaded refuses work before anything was done about it.
	// Its errors are *OverloadedError, which says when to try again.
	ErrOverloaded = admission.ErrOverloaded
	// ErrRequest refuses a request that is empty, too long or not text, and a
	// conversation that belongs to another user. The errors below that begin so are more exact.
	ErrRequest = errors.New("bad request")
	// ErrInterrupted is a turn that broke off and could not be gone on with:
	// its process crashed again and again, or what was kept of it is gone. The
	// ledger tells what was done.
	ErrInterrupted = errors.New("the request broke off; look at what was done before you send it again")
	// ErrCancelled is a request that was stopped because its callers left, or by Cancel.
	ErrCancelled = errors.New("the request was stopped because its caller left")
	// ErrNotKept ends a turn whose texts can't be made durable. A request that
	// can't be kept starts nothing; an answer that can't is not given, and what
	// was done before it stands in the ledger. Sent again, a request that ended
	// so answers it again, and one that has no end yet is gone on with.
	ErrNotKept = errors.New("the conversation can't be written down; see to its database before you go on")
)

// BlockedError is a request that ended before any model read it: the detector of intents stopped it, or the policy blocks what it
// asks for. No turn was begun, and the same text is blocked again.
type BlockedError struct {
	// Intent is the id of its records in the ledger.
	Intent string
	// Code is the reason for programs, such as intake.detected. Reason is that for people, without a word of the request.
	Code, Reason string
}

// Error says why. It holds no word of the request.
func (e *BlockedError) Error() string { return "the request was blocked: " + e.Reason }

// What a caller did wrong. All of them are ErrRequest.
var (
	// ErrEmptyRequest refuses a request without text.
	ErrEmptyRequest = fmt.Errorf("%w: a request is text of 1 to %d bytes, and this one is empty", ErrRequest, maxRequest)
	// ErrLongRequest refuses a request of more than 65,536 bytes.
	ErrLongRequest = fmt.Errorf("%w: a request is text of 1 to %d bytes, and this one is longer", ErrRequest, maxRequest)
	// ErrBadID refuses an id of a conversation, a user or a request.
	ErrBadID = fmt.Errorf("%w: an id is 1 to 128 letters, digits and . _ : @ -, the first a letter or a digit", ErrRequest)
	// ErrOtherUser refuses a conversation that belongs to another user.
	ErrOtherUser = fmt.Errorf("%w: the conversation belongs to another user", ErrRequest)
	// ErrOtherText refuses a request whose id was used for another text.
	ErrOtherText = fmt.Errorf("%w: the id was used for another request", ErrRequest)
	// ErrUnknownConversation is a conversation in which nothing was sent, or that was purged.
	ErrUnknownConversation = fmt.Errorf("%w: no conversation of this id is known", ErrRequest)
	// ErrUnknownRequest is a request that was never begun, or whose answer is gone.
	ErrUnknownRequest = fmt.Errorf("%w: no request of this id was sent, or its answer is gone", ErrRequest)
	// ErrOrphaned refuses a conversation that has history and no owner. An operator has to
	// purge it.
	ErrOrphaned = fmt.Errorf("%w: the conversation has history and no owner; an operator has to purge it first", ErrRequest)
	// ErrCursor refuses a cursor that no page of the same kind has given.
	ErrCursor = fmt.Errorf("%w: the cursor is not one of a page; begin without one", ErrRequest)
)

var errNotHere = errors.New("the request is not being worked on")

// ModelError is a turn that ended because the orchestrator's model could not
// be asked. Kind is one of llm's kinds; budget is a turn, a conversation or a
// user whose tokens or money are spent.
type ModelError struct{ Kind string }

// Error names the kind; the server's own text is left out.
func (e *ModelError) Error() string { return "the orchestrator's model can't be asked: " + e.Kind }

// The codes of errors, for programs that tell them apart by a word: over HTTP, in an
// EventError. They don't change.
const (
	CodeEmptyRequest        = "empty_request"
	CodeLongRequest         = "long_request"
	CodeBadID               = "bad_id"
	CodeBadCursor           = "bad_cursor"
	CodeBadRequest          = "bad_request"
	CodeOtherUser           = "other_user"
	CodeOtherText           = "other_text"
	CodeUnknownConversation = "unknown_conversation"
	CodeUnknownRequest      = "unknown_request"
	CodeOrphaned            = "orphaned"
	CodeOverloaded          = "overloaded"
	CodeDraining            = "draining"
	CodeClosed              = "closed"
	CodeInterrupted         = "interrupted"
	CodeCancelled           = "cancelled"
	CodeNotKept             = "not_kept"
	CodeTimeout             = "timeout"
	CodeBudget              = "budget"
	CodeModel               = "model"
	CodeBlocked             = "blocked"
	CodeInternal            = "internal"
)

// codedErrors are the errors with a code of their own, the more exact before those that they
// are a kind of.
var codedErrors = []struct {
	err  error
	code string
}{
	{ErrEmptyRequest, CodeEmptyRequest}, {ErrLongRequest, CodeLongRequest}, {ErrBadID, CodeBadID}, {ErrCursor, CodeBadCursor},
	{ErrOtherUser, CodeOtherUser}, {ErrOtherText, CodeOtherText}, {ErrUnknownConversation, CodeUnknownConversation},
	{ErrUnknownRequest, CodeUnknownRequest}, {ErrOrphaned, CodeOrphaned}, {ErrRequest, CodeBadRequest},
	{ErrDraining, CodeDraining}, {ErrOverloaded, CodeOverloaded}, {ErrClosed, CodeClosed}, {ErrInterrupted, CodeInterrupted},
	{ErrCancelled, CodeCancelled}, {ErrNotKept, CodeNotKept},
	{context.Canceled, CodeCancelled}, {context.DeadlineExceeded, CodeTimeout},
}

// DescribeError returns an error of this package as an EventError: its code, a message
// without values, and when to come again. An error of another package is CodeInternal,
// without its text. It returns nil for nil.
func DescribeError(err error) *EventError {
	if err == nil {
		return nil
	}
	var full *OverloadedError
	var model *ModelError
	var blocked *BlockedError
	switch {
	case errors.As(err, &blocked):
		return &EventError{Code: CodeBlocked, Message: blocked.Error()}
	case errors.As(err, &full):
		return &EventError{Code: CodeOverloaded, Message: full.Error(), RetryAfter: full.RetryAfter}
	case errors.As(err, &model) && model.Kind == "budget":
		return &EventError{Code: CodeBudget, Message: "the tokens or the money for this request are spent"}
	case errors.As(err, &model):
		return &EventError{Code: CodeModel, Message: model.Error()}
	}
	for _, c := range codedErrors {
		if errors.Is(err, c.err) {
			return &EventError{Code: c.code, Message: c.err.Error()}
		}
	}
	return &EventError{Code: CodeInternal, Message: "the request failed; the log of the program says why"}
}
