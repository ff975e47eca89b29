package parse

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/sentinel/intent"
)

// parser is one parser with its breaker.
type parser struct {
	Parser
	vocabulary *intent.Vocabulary
	job        *job  // with Goroutine
	pool       *pool // with Process
	breaker    *gobreaker.CircuitBreaker[intent.Intent]
	places     chan struct{}
	left       atomic.Int64 // goroutines that were left behind
	log        *slog.Logger

	mu       sync.Mutex
	lastUser string // of the newest failure that a text can have brought about; noUser for none
	health   Health
}

// Health says how a parser does.
type Health struct {
	Parser string `json:"parser"`
	// State is in, out (its breaker is open) or returning (the next text tries it).
	State string `json:"state"`
	// Failures is how many texts in a row its breaker has counted as failed.
	Failures int `json:"failures"`
	// LastFailure is the newest failure of the parser itself, and LastOK when it last gave an intent.
	LastFailure Code      `json:"last_failure,omitempty"`
	FailedAt    time.Time `json:"failed_at,omitzero"`
	LastOK      time.Time `json:"last_ok,omitzero"`
	// Answered and Failed count texts since the start.
	Answered int64 `json:"answered"`
	Failed   int64 `json:"failed"`
	// Ready is how many processes wait for a text; 0 without processes.
	Ready int `json:"ready,omitempty"`
}

// maxLeft is how many hanging goroutines of one parser there may be.
const maxLeft = 16

// result is what a parser gave for one text.
type result struct {
	intent     intent.Intent
	confidence int
}

// parse reads one text.
func (p *parser) parse(ctx context.Context, in Input, t task) (result, *Failure) {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	select {
	case p.places <- struct{}{}:
		defer func() { <-p.places }()
	default:
		return result{}, p.note(&Failure{Parser: p.ID, Code: Busy})
	}
	var out result
	_, err := p.breaker.Execute(func() (intent.Intent, error) {
		var f *Failure
		out, f = p.readOnce(ctx, t)
		if f == nil {
			return out.intent, nil
		}
		f.counts = p.countsFor(f.Code, in.User)
		return intent.Intent{}, f
	})
	var f *Failure
	switch {
	case err == nil:
		return out, p.note(nil)
	case errors.As(err, &f):
	default: // the breaker let nothing through
		f = &Failure{Parser: p.ID, Code: Left, cause: err}
	}
	return result{}, p.note(f)
}

// countsFor reports whether a failure counts for the breaker: one that a text can bring about only where the one before was
// another user's.
func (p *parser) countsFor(c Code, user string) bool {
	switch {
	case c.isUnavailable():
		return true
	case c.isOfText(), c == Canceled, c == Busy:
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	another := p.lastUser != user
	p.lastUser = user
	return another
}

// noUser is no user's id.
const noUser = "\x00"

// note takes down how a text went.
func (p *parser) note(f *Failure) *Failure {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f == nil || f.Code.isOfText() {
		p.health.Answered++
		p.health.LastOK = time.Now()
		if f == nil {
			p.lastUser = noUser
		}
		return f
	}
	p.health.Failed++
	if f.Code != Left && f.Code != Canceled {
		p.health.LastFailure, p.health.FailedAt = f.Code, time.Now()
	}
	return f
}

// readOnce reads a text in the parser's isolation, and builds the intent of what it gave.
func (p *parser) readOnce(ctx context.Context, t task) (result, *Failure) {
	fail := func(c Code, err error) (result, *Failure) {
		return result{}, &Failure{Parser: p.ID, Code: c, cause: err}
	}
	ask := func() (string, error) { return p.ask(ctx, t) }
	var raw []byte
	var code Code
	var err error
	if p.pool != nil {
		raw, code, err = p.pool.read(ctx, t, ask)
	} else {
		raw, code, err = p.readHere(ctx, t, ask)
	}
	if err != nil || code != "" {
		if code == "" {
			code = p.codeOf(ctx, err)
		}
		return fail(code, err)
	}
	d, err := intent.ReadDraft(raw)
	if err != nil {
		return fail(Schema, err)
	}
	built, err := p.vocabulary.Build(d)
	if err != nil {
		return fail(codeOfReading(err), err)
	}
	return result{built, int(d.Confidence*100 + 0.5)}, nil
}

// ask asks the parser's model about a text. The question is written here, whatever process reads the answer.
func (p *parser) ask(ctx context.Context, t task) (string, error) {
	if p.Words == nil {
		return "", &answerError{Schema}
	}
	q, err := newQuestion(*p.Words, t.Text, t.Today)
	if err != nil {
		return "", err
	}
	return Ask(ctx, p.Model, q)
}

// codeOf names an error of reading or of asking.
func (p *parser) codeOf(ctx context.Context, err error) Code {
	if c, ok := codeOfAsking(ctx, err); ok {
		return c
	}
	if ctx.Err() != nil {
		return codeOfEnd(ctx)
	}
	return codeOfReading(err)
}

// reply is what a goroutine gave.
type reply struct {
	draft []byte
	code  Code
	err   error
}

// readHere reads a text in a goroutine of this process. One that doesn't return in time is left behind.
func (p *parser) readHere(ctx context.Context, t task, ask askFunc) ([]byte, Code, error) {
	if p.left.Load() >= maxLeft {
		return nil, Busy, errors.New("too many texts hang in the parser")
	}
	replies := make(chan reply, 1)
	p.left.Add(1)
	go func() {
		defer p.left.Add(-1)
		r := reply{code: Panic, err: errors.New("the parser broke")}
		defer func() {
			if recover() != nil {
				p.log.Error("a parser panicked", "parser", p.ID, "stack", string(debug.Stack()))
			}
			replies <- r
		}()
		draft, err := p.job.read(t, ask)
		r = reply{draft, "", err}
	}()
	select {
	case r := <-replies:
		return r.draft, r.code, r.err
	case <-ctx.Done():
		return nil, codeOfEnd(ctx), ctx.Err()
	}
}

// state returns how the parser does.
func (p *parser) state() Health {
	p.mu.Lock()
	h := p.health
	p.mu.Unlock()
	h.Parser, h.State, h.Failures = p.ID, "in", int(p.breaker.Counts().ConsecutiveFailures)
	switch p.breaker.State() {
	case gobreaker.StateOpen:
		h.State = "out"
	case gobreaker.StateHalfOpen:
		h.State = "returning"
	}
	if p.pool != nil {
		h.Ready = len(p.pool.ready)
	}
	return h
}

// newBreaker returns the breaker of a parser.
func (p *parser) newBreaker(b Breaker) *gobreaker.CircuitBreaker[intent.Intent] {
	failures := uint32(b.Failures) //nolint:gosec // it was checked
	return gobreaker.NewCircuitBreaker[intent.Intent](gobreaker.Settings{
		Name: p.ID, MaxRequests: 1, Timeout: b.OpenFor, Interval: b.Window, BucketPeriod: max(b.Window/12, 1),
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= failures },
		IsExcluded: func(err error) bool {
			var f *Failure
			return errors.As(err, &f) && !f.counts && !f.Code.isOfText()
		},
		IsSuccessful: func(err error) bool {
			var f *Failure
			return err == nil || errors.As(err, &f) && f.Code.isOfText()
		},
		OnStateChange: func(name string, from, to gobreaker.State) {
			p.log.Warn("a parser's breaker changed", "parser", name, "from", from.String(), "to", to.String())
		},
	})
}

// WithCaller returns a context under which a model is asked in a stage of reading a text, on behalf of its user.
func WithCaller(ctx context.Context, in Input, stage string) context.Context {
	return llm.WithCaller(ctx, llm.Caller{User: in.User, Conversation: in.Session, Turn: in.Request, ID: in.Request + "/" + stage})
}
