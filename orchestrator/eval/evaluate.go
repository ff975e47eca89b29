package eval

import (
	"context"
	"errors"
	"time"

	"github.com/vedette-dev/vedette/internal/plainjson"

	"github.com/vedette-dev/vedette/orchestrator/cases"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// Decider judges calls and runs nothing; *sentinel.Checkpoint is one.
type Decider interface {
	cases.CallMaker
	Decide(ctx context.Context, c sentinel.Call) (sentinel.Decision, error)
}

// Options are the parts of an Evaluator; only Decider is required.
type Options struct {
	Decider Decider
	// AllGrants takes granted_skills_all, where a case has it, for
	// granted_skills.
	AllGrants bool
	// Ceiling bounds each grant by what the case's request asks for; nil bounds none.
	Ceiling Ceiling
	// Earlier are results of a run before: their lines are not decided again.
	Earlier *Earlier
	// Offline stands in for the servers of models; the Decider's Transport
	// must be its own.
	Offline *Offline
	// Retry has cases decided again while a model is away; nil takes the
	// failure for the result.
	Retry *Retry
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Ceiling says what a request lets agents call at most. *policy.Ceilings is one.
type Ceiling interface {
	// Bound returns what of a grant holds for a request: nothing where the request asks for nothing that is known.
	Bound(ctx context.Context, request string, granted skills.Scope) skills.Scope
	// Digest identifies what Bound goes by.
	Digest() string
}

// Evaluator decides lines. It is safe for concurrent use where its Decider is.
type Evaluator struct {
	o     Options
	lines cases.Parser
}

// NewEvaluator returns an Evaluator.
func NewEvaluator(o Options) *Evaluator {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Evaluator{o, cases.Parser{Calls: o.Decider, AllGrants: o.AllGrants}}
}

// Result is what became of one line: a decision, or the reason why there is
// none.
type Result struct {
	Case cases.Case
	// Decision is of no use where Err is set. Its Elapsed counts from the
	// proposal's bytes on, so it is more than the sum of the gates.
	Decision sentinel.Decision
	// Err says why the line is no case.
	Err *cases.Error
	// Line is the digest of the line's bytes; empty where they were not read.
	Line string
	// Resumed is set where the result is from Options.Earlier. Its Decision
	// has no Verdicts.
	Resumed bool
	// Unanswered is set where Options.Offline had no answer, so that there is
	// no Decision.
	Unanswered bool

	fromRow *measure // of a Resumed result
}

// Evaluate decides one line. What is wrong with the line is in the Result; the
// error is ctx's, where it ended before the decision, or an *Away.
func (e *Evaluator) Evaluate(ctx context.Context, line []byte) (Result, error) {
	return e.decideLine(ctx, line, nil)
}

func (e *Evaluator) decideLine(ctx context.Context, line []byte, s slots) (res Result, err error) {
	defer func() {
		if recover() != nil { // its value may quote the line
			res.Err = &cases.Error{Code: cases.CodeInternal, Message: "the line broke the evaluation; please report it"}
		}
	}()
	digest := lineDigest(line)
	if known, ok := e.o.Earlier.takeRow(digest); ok {
		e.o.Retry.keepJudged(known.measureResult().review, line, true)
		return known, ctx.Err()
	}
	res.Line = digest
	if res.Case, res.Err = e.parserFor(ctx).Parse(line); res.Err != nil {
		return res, ctx.Err()
	}
	start := e.o.Now()
	call, cerr := e.o.Decider.NewCall(res.Case.Proposal)
	var refused *sentinel.CallError
	switch {
	case errors.As(cerr, &refused):
		res.Decision = sentinel.Refused("", refused, start)
	case cerr != nil:
		res.Err = &cases.Error{Code: cases.CodeInternal, Message: "the proposal could not be read"}
		return res, ctx.Err()
	default:
		inner, p := e.o.Offline.beginCase(ctx, res.Case.ID)
		res.Decision, err = e.o.Decider.Decide(inner, call)
		if p.endCase() {
			return Result{Case: res.Case, Line: res.Line, Unanswered: true}, ctx.Err()
		}
		if err == nil {
			err = e.retryWhileAway(ctx, call, &res, &start, s)
		}
		if err == nil {
			e.o.Retry.keepJudged(res.measureResult().review, line, false)
		}
	}
	res.Decision.Elapsed = e.o.Now().Sub(start) - res.waitedFor()
	return res, err
}

// parserFor is what reads a line, with the ceiling of its request.
func (e *Evaluator) parserFor(ctx context.Context) cases.Parser {
	p := e.lines
	if e.o.Ceiling != nil {
		p.Bound = func(request string, granted skills.Scope) skills.Scope {
			return e.o.Ceiling.Bound(ctx, request, granted)
		}
	}
	return p
}

type errorLine struct {
	ID    string       `json:"id"`
	Error *cases.Error `json:"error"`
}

// JSON returns the result as one line of the check contract, without its end.
func (r Result) JSON() []byte {
	if r.Err != nil {
		return marshalPlain(errorLine{r.Case.ID, r.Err})
	}
	return marshalPlain(r.Decision.Line(r.Case.ID))
}

// marshalPlain writes plain data as JSON, which always works.
func marshalPlain(v any) []byte {
	b, _ := plainjson.Marshal(v)
	return b
}
