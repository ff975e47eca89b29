package parse

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/sentinel/intent"
	"github.com/vedette-dev/vedette/sentinel/intent/grammar"
	"github.com/vedette-dev/vedette/skills"
)

// How parsers are kept apart.
const (
	// OwnProcess: each text is read in a process of its own.
	OwnProcess = "process"
	// Goroutine: texts are read in this process.
	Goroutine = "goroutine"
)

// Parser is one parser. Grammar, or Model with Words, is set.
type Parser struct {
	// ID names it in records: letters, digits, '_' and '-'.
	ID string
	// Trust is in hundredths. A parser with a grammar has 100; a model has less.
	Trust int
	// Timeout bounds one text. Zero is DefaultTimeout, for a grammar DefaultRulesTimeout.
	Timeout time.Duration
	// Concurrency is how many texts may be with it at a time. Zero is DefaultConcurrency.
	Concurrency int
	Grammar     *grammar.Options
	Model       Model
	Words       *Words
}

// isRules reports whether the parser goes by fixed rules.
func (p Parser) isRules() bool { return p.Grammar != nil }

// Defaults that a zero field stands for.
const (
	DefaultTimeout      = 10 * time.Second
	DefaultRulesTimeout = 2 * time.Second
	DefaultConcurrency  = 64
	DefaultAhead        = 2
	DefaultFailures     = 5
	DefaultWindow       = time.Minute
	DefaultOpenFor      = 30 * time.Second
)

// Breaker says when a parser leaves and when it is tried again.
type Breaker struct {
	// Failures in a row make it leave. Zero is DefaultFailures.
	Failures int
	// Window is how long failures are remembered. Zero is DefaultWindow.
	Window time.Duration
	// OpenFor is how long it is gone. Zero is DefaultOpenFor.
	OpenFor time.Duration
}

// Options are the parts of an Ensemble.
type Options struct {
	Vocabulary *intent.Vocabulary
	// Parsers are asked together, one at least. One alone may have a grammar.
	Parsers []Parser
	// Isolation is "process" or Goroutine. Empty is Goroutine.
	Isolation string
	// Start starts a process; it is needed with "process".
	Start StartFunc
	// Ahead is how many processes of each parser wait for texts. Zero is DefaultAhead.
	Ahead   int
	Breaker Breaker
	// Now is the clock by whose date deadlines are read; nil means time.Now.
	Now func() time.Time
	Log *slog.Logger
}

// Input is one text.
type Input struct {
	Text string
	// User is whose text it is. Session and Request name where it belongs, for what models cost.
	User, Session, Request string
}

// Outcome is what one parser gave.
type Outcome struct {
	Parser string
	Trust  int
	Rules  bool
	// Intent and Confidence, in hundredths, are set where Failure is nil.
	Intent     intent.Intent
	Confidence int
	Failure    *Failure
	Took       time.Duration
}

// Ensemble are several parsers. It is safe for concurrent use.
type Ensemble struct {
	o       Options
	parsers []*parser
}

// New returns an Ensemble. With "process" its Services must run, or no parser has a process. The error joins
// *skills.PathError values with paths such as parsers.local.trust.
func New(o Options) (*Ensemble, error) {
	o = o.withDefaults()
	e := &Ensemble{o: o}
	errs := []error{o.check()}
	for _, p := range o.Parsers {
		one, err := e.newParser(p)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		e.parsers = append(e.parsers, one)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return e, nil
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Isolation == "" {
		o.Isolation = Goroutine
	}
	o.Ahead = orDefault(o.Ahead, DefaultAhead)
	o.Breaker.Failures = orDefault(o.Breaker.Failures, DefaultFailures)
	o.Breaker.Window = orDefault(o.Breaker.Window, DefaultWindow)
	o.Breaker.OpenFor = orDefault(o.Breaker.OpenFor, DefaultOpenFor)
	return o
}

func orDefault[T int | time.Duration](v, def T) T {
	if v <= 0 {
		return def
	}
	return v
}

// check returns what is wrong with the options as a whole.
func (o Options) check() error {
	var errs []error
	add := func(path, format string, args ...any) {
		errs = append(errs, &skills.PathError{Path: path, Msg: fmt.Sprintf(format, args...)})
	}
	if o.Vocabulary == nil {
		add("actions", "is missing: parsers need a vocabulary")
	}
	if len(o.Parsers) == 0 {
		add("parsers", "names no parser")
	}
	switch o.Isolation {
	case Goroutine:
	case OwnProcess:
		if o.Start == nil {
			add("isolation", "is process, and this program can't start any")
		}
	default:
		add("isolation", "%q is none of process and goroutine", o.Isolation)
	}
	rules, seen := 0, map[string]bool{}
	for _, p := range o.Parsers {
		if p.isRules() {
			rules++
		}
		if seen[p.ID] {
			add("parsers."+p.ID, "is there twice")
		}
		seen[p.ID] = true
	}
	if rules > 1 {
		add("parsers", "has several parsers with a grammar; one is enough, since they would read alike")
	}
	return errors.Join(errs...)
}

// newParser makes one parser.
func (e *Ensemble) newParser(p Parser) (*parser, error) {
	if err := checkParser(&p); err != nil {
		return nil, err
	}
	one := &parser{Parser: p, vocabulary: e.o.Vocabulary, places: make(chan struct{}, p.Concurrency), log: e.o.Log, lastUser: noUser}
	one.breaker = one.newBreaker(e.o.Breaker)
	s := setup{Grammar: p.Grammar, Words: p.Words}
	j, err := newJob(s) // also with processes: a mistake is told at once
	if err != nil {
		return nil, err
	}
	if e.o.Isolation == OwnProcess {
		one.pool = newPool(p.ID, s, e.o.Start, e.o.Ahead, e.o.Log)
	} else {
		one.job = j
	}
	return one, nil
}

// checkParser checks one parser and fills in its defaults.
func checkParser(p *Parser) error {
	fail := func(key, msg string) error { return &skills.PathError{Path: "parsers." + p.ID + key, Msg: msg} }
	p.Concurrency = orDefault(p.Concurrency, DefaultConcurrency)
	switch {
	case p.ID == "" || len(p.ID) > 64 || slices.ContainsFunc([]byte(p.ID), isOddByte):
		return fail("", "needs a name of letters, digits, '_' and '-'")
	case p.isRules() && (p.Model != nil || p.Trust != 0 && p.Trust != 100):
		return fail(".trust", "of a parser with a grammar is 1, and it asks no model")
	case p.isRules():
		p.Trust, p.Timeout = 100, orDefault(p.Timeout, DefaultRulesTimeout)
		return nil
	case p.Model == nil || p.Words == nil:
		return fail("", "has neither a grammar nor a model")
	case p.Trust < 1 || p.Trust > 99:
		return fail(".trust", "of a model must be from 0.01 to 0.99: a model can invent what the text doesn't say")
	}
	p.Timeout = orDefault(p.Timeout, DefaultTimeout)
	return nil
}

func isOddByte(c byte) bool {
	return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-'
}

// Parse has all parsers read a text. It returns when each has answered or its time is over, in the order of
// Options.Parsers.
func (e *Ensemble) Parse(ctx context.Context, in Input) []Outcome {
	out := make([]Outcome, len(e.parsers))
	t := task{Text: in.Text, Today: e.o.Now()}
	var all sync.WaitGroup
	for i, p := range e.parsers {
		all.Go(func() {
			began := time.Now()
			r, f := p.parse(WithCaller(ctx, in, p.ID), in, t)
			out[i] = Outcome{Parser: p.ID, Trust: p.Trust, Rules: p.isRules(), Intent: r.intent, Confidence: r.confidence, Failure: f,
				Took: time.Since(began)}
			if f != nil && f.cause != nil && !f.Code.isOfText() {
				e.o.Log.Debug("a parser failed", "parser", p.ID, "code", string(f.Code))
			}
		})
	}
	all.Wait()
	return out
}

// Health returns how each parser does.
func (e *Ensemble) Health() []Health {
	out := make([]Health, len(e.parsers))
	for i, p := range e.parsers {
		out[i] = p.state()
	}
	return out
}

// Service keeps the processes of one parser ready.
type Service struct {
	Parser string
	// Run returns nil when ctx has ended and no process of the parser is left.
	Run func(ctx context.Context) error
}

// Services are what must run while the Ensemble is in use, under a supervisor; none without processes.
func (e *Ensemble) Services() (out []Service) {
	for _, p := range e.parsers {
		if p.pool != nil {
			out = append(out, Service{p.ID, func(ctx context.Context) error {
				p.pool.run(ctx)
				return nil
			}})
		}
	}
	return out
}
