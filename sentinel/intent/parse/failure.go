package parse

import (
	"context"
	"errors"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/sentinel/intent"
	"github.com/vedette-dev/vedette/sentinel/intent/grammar"
)

// Code says why a parser gave no intent. The set is closed.
type Code string

// The codes of texts that are no intent. They speak of the text and not of the parser.
const (
	NoAction  Code = "parse.no_action"
	Ambiguous Code = "parse.ambiguous"
	Negated   Code = "parse.negated"
	TooLong   Code = "parse.too_long"
	Number    Code = "parse.number"    // negative, too large, or no such date
	Reference Code = "parse.reference" // an id that is none, or too many of them
	Name      Code = "parse.name"      // a topic, a host or a currency that can't be taken
)

// The codes of parsers that failed, in ways that a text can bring about.
const (
	Schema  Code = "parse.schema"  // what it gave is no draft of an intent
	Unknown Code = "parse.unknown" // it named an action or an expertise that no list has
	Refused Code = "parse.refused" // the model, or its server's filter, refused
	Cut     Code = "parse.cut"     // the answer was cut at its limit
	Timeout Code = "parse.timeout"
	Killed  Code = "parse.killed" // its process ended before it answered
	Panic   Code = "parse.panic"
)

// The codes of parsers that failed, in ways that no text can bring about.
const (
	Unavailable Code = "parse.unavailable" // its model can't be reached
	Isolation   Code = "parse.isolation"   // no process can be started for it
	Left        Code = "parse.left"        // its breaker is open: it failed too often just now
	Busy        Code = "parse.busy"        // too many texts are with it
)

// Canceled is the code of a parser whose caller left.
const Canceled Code = "parse.canceled"

// Codes lists all codes.
func Codes() []Code {
	return []Code{NoAction, Ambiguous, Negated, TooLong, Number, Reference, Name, Schema, Unknown, Refused, Cut, Timeout, Killed, Panic,
		Unavailable, Isolation, Left, Busy, Canceled}
}

// isOfText reports whether the code speaks of the text: the parser did its work.
func (c Code) isOfText() bool {
	switch c {
	case NoAction, Ambiguous, Negated, TooLong, Number, Reference, Name:
		return true
	}
	return false
}

// isUnavailable reports whether no text can have brought the failure about.
func (c Code) isUnavailable() bool { return c == Unavailable || c == Isolation }

// Failure is why a parser gave no intent. Its text holds no word of the user's text or of an answer.
type Failure struct {
	Parser string
	Code   Code
	// counts is set where the parser's breaker counts it.
	counts bool
	// cause is told to the log alone.
	cause error
}

// Error names the parser and the code.
func (f *Failure) Error() string { return "parser " + f.Parser + ": " + string(f.Code) }

// Unwrap returns what brought the failure about.
func (f *Failure) Unwrap() error { return f.cause }

// codeOfReading names the error of a grammar, or of a draft that is no intent.
func codeOfReading(err error) Code {
	for _, c := range []struct {
		is   error
		code Code
	}{
		{grammar.ErrNoAction, NoAction}, {grammar.ErrAmbiguous, Ambiguous}, {grammar.ErrNegated, Negated}, {grammar.ErrTooLong, TooLong},
		{intent.ErrRange, Number}, {intent.ErrDate, Number}, {intent.ErrReference, Reference}, {intent.ErrTooMany, Reference},
		{intent.ErrTopic, Name}, {intent.ErrDomain, Name}, {intent.ErrDraft, Schema},
	} {
		if errors.Is(err, c.is) {
			return c.code
		}
	}
	var unknown *intent.UnknownError
	if errors.As(err, &unknown) {
		if unknown.What == "currency" {
			return Name
		}
		return Unknown
	}
	return Schema
}

// codeOfModel names the error of a model's client.
func codeOfModel(ctx context.Context, err error) Code {
	var e *llm.Error
	if !errors.As(err, &e) {
		return Unavailable
	}
	switch e.Kind {
	case llm.KindCanceled:
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) || ctx.Err() == nil {
			return Timeout
		}
		return Canceled
	case llm.KindTimeout:
		return Timeout
	case llm.KindConnect, llm.KindServer, llm.KindRateLimited, llm.KindAuth, llm.KindBudget:
		return Unavailable
	case llm.KindRequest: // a filter, a text that is too long for the model
		return Refused
	}
	return Schema
}
