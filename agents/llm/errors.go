package llm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// Kind says what went wrong in a Chat. The set is closed.
type Kind string

const (
	// KindConnect is a connection that could not be made, or broke before the
	// answer was complete. Causes are refused, reset, cut, no such host, TLS.
	KindConnect Kind = "connect"
	// KindTimeout is Config.Timeout running out.
	KindTimeout Kind = "timeout"
	// KindCanceled is the caller's own context ending, by cancellation or by
	// its deadline. It says nothing about the model.
	KindCanceled Kind = "canceled"
	// KindRateLimited is status 429.
	KindRateLimited Kind = "rate_limited"
	// KindServer is a status from 500.
	KindServer Kind = "server"
	// KindAuth is status 401 or 403.
	KindAuth Kind = "auth"
	// KindRequest is any other status below 500 that is not a success, redirects
	// included. It is also a request that was refused before it was sent (Status 0).
	KindRequest Kind = "request"
	// KindNotJSON is a success whose body is not one JSON document. It may be HTML, a
	// truncated document, another content type, a name twice in an object that is
	// read, or invalid UTF-8.
	KindNotJSON Kind = "not_json"
	// KindBadResponse is JSON that is no answer. It may be an error object, no choices,
	// a choice with neither content nor tool call nor refusal, another shape,
	// deeper nesting than 128, or more than 64 names in an object that is read.
	KindBadResponse Kind = "bad_response"
	// KindTooLarge is a body beyond Config.MaxResponse, or beyond Client.Limited.
	KindTooLarge Kind = "too_large"
	// KindBudget is a request that was not sent, because what it may cost or
	// take in tokens is spent. Client.Chat never returns it; the code that counts does.
	KindBudget Kind = "budget"
)

// Codes of an Error that this package sets itself, beside those of the server.
const (
	CodeToolsUnsupported = "tools_unsupported"
	CodeInvalidRequest   = "invalid_request"
	CodeRedirect         = "redirect"
	CodeNoChoices        = "no_choices"
	CodeEmpty            = "empty"
	CodeLength           = "length"
	CodeContentFilter    = "content_filter"
	CodeShape            = "shape"
	CodePanic            = "panic"
	CodeOther            = "other"
	// CodeOwnBudget and CodeSharedBudget say which budget of KindBudget is spent: the
	// asking agent's own, or one that the agent shares. CodeUncounted means that the
	// store which counts is unreachable.
	CodeOwnBudget    = "own_budget"
	CodeSharedBudget = "shared_budget"
	CodeUncounted    = "uncounted"
)

// Error is the only type of error that Client.Chat returns. Its text holds the
// configured name of the model, the kind, the status and the code: never a part
// of the request or of the answer.
type Error struct {
	Kind Kind
	// Status is the HTTP status, or 0 when none was received.
	Status int
	// RetryAfter is how long the server asked to wait, at most one hour; zero
	// when it did not say.
	RetryAfter time.Duration
	// Model is Config.Name.
	Model string
	// Code is a short word from a closed list, or empty.
	Code string

	msg       string
	cause     error
	unreached bool
}

// Unreached reports whether the request never left: no host of that name, or no
// connection to it. Nothing in a request can bring that about.
func (e *Error) Unreached() bool { return e.unreached }

// isUndialled reports whether a connection could not be made, as opposed to one
// that broke with a request on it.
func isUndialled(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return errors.As(err, &dns) || errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect")
}

// Error returns a line without anything that was sent or received.
func (e *Error) Error() string {
	s := fmt.Sprintf("model %s: %s: %s", e.Model, e.Kind, e.msg)
	if e.Status != 0 {
		s += fmt.Sprintf(" (status %d)", e.Status)
	}
	if e.Code != "" {
		s += fmt.Sprintf(" (code %s)", e.Code)
	}
	return s
}

// Unwrap returns context.Canceled or context.DeadlineExceeded for KindCanceled
// and nil otherwise: a timeout of the model is not the caller's deadline.
func (e *Error) Unwrap() error { return e.cause }

// Timeout reports whether the model ran out of its own time.
func (e *Error) Timeout() bool { return e.Kind == KindTimeout }

// newCanceledError returns the error for a caller that gave up.
func newCanceledError(ctx context.Context) *Error {
	msg := "the caller cancelled"
	if ctx.Err() == context.DeadlineExceeded {
		msg = "the caller's deadline passed"
	}
	return &Error{Kind: KindCanceled, msg: msg, cause: ctx.Err()}
}

// newStatusError returns the error for a status that is not a success.
func newStatusError(status int) *Error {
	e := &Error{Status: status}
	switch {
	case status == 429:
		e.Kind, e.msg = KindRateLimited, "the server asked to slow down"
	case status >= 500:
		e.Kind, e.msg = KindServer, "the server failed"
	case status == 401 || status == 403:
		e.Kind, e.msg = KindAuth, "the server refused the credentials; check api_key"
	case status >= 300 && status < 400:
		e.Kind, e.msg, e.Code = KindRequest, "the server redirected, which is not followed; correct base_url", CodeRedirect
	default:
		e.Kind, e.msg = KindRequest, "the server refused the request"
	}
	return e
}
