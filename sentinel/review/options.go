package review

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// Mode says whether verdicts are applied.
type Mode string

// The modes. Empty means Enforce.
const (
	// Enforce applies verdicts.
	Enforce Mode = "enforce"
	// ShadowMode asks the model and records what it said without applying it.
	ShadowMode Mode = "shadow"
	// Off asks no model: the gate is skipped.
	Off Mode = "off"
)

// Defaults that a zero field stands for.
const (
	DefaultTimeout     = 30 * time.Second
	DefaultFailures    = 5
	DefaultWindow      = 60 * time.Second
	DefaultOpenFor     = 30 * time.Second
	DefaultConcurrency = 1024
)

// Breaker configures the circuit breaker that each model has.
type Breaker struct {
	// Failures in a row open it. It also opens when four times as many calls
	// were counted within Window and half of them failed. Zero is 5.
	Failures int
	// Window is how long a failure is remembered. Zero is 60 s.
	Window time.Duration
	// OpenFor is how long it stays open before one call may try. Zero is 30 s.
	OpenFor time.Duration
}

// Options are the parts of a Gate.
type Options struct {
	// Models is the chain: the first is asked first. None is an error unless
	// Mode is Off.
	Models []*llm.Client
	Mode   Mode
	// Modes differ from Mode for some effects and skills.
	Modes Modes
	// Prompt replaces the first part of the system message: what the document's
	// fields mean and how to weigh them. How to answer is added to it, and what
	// Keys, Trace and Flows change. Its version is custom- and the first 12 hexadecimal
	// digits of its SHA-256. Empty means ours.
	Prompt string
	// Graded asks besides the decision how likely it is right to run the call: the
	// verdict has a score, and an approval below RejectBelow is refused with
	// CodeUnsure. An answer whose number speaks against its decision is none.
	Graded bool
	// RejectBelow is in hundredths. Zero is 50; a negative number is no bound.
	RejectBelow int
	// Keys shows the model the names of declared arguments and no values.
	Keys bool
	// Reasoning lets the model write a few words before it decides. They are
	// bounded and not kept.
	Reasoning bool
	// Trace is how many of the agent's last steps the model is told of, 20 at
	// most: skill, effect, trust, outcome and size, no contents.
	Trace int
	// Flows is how many skills are marked sensitive. Where there is one, the system message
	// tells how to read what a question says of private data that goes out.
	Flows int
	// Unavailable and Unjudgeable are the two columns of outcomes without a
	// judgement. A row that is missing takes its default, see DefaultUnavailable.
	Unavailable sentinel.OutageTable
	Unjudgeable sentinel.OutageTable
	// Timeout bounds one review, all its models, waits and retries together.
	// Each model's turn has an equal share of what is left, so that one that
	// hangs leaves the next its time; the model's own timeout bounds each
	// request within it. Zero is 30 s.
	Timeout time.Duration
	Breaker Breaker
	// CacheTTL is how long an answer may be used again, of CacheSize at most;
	// zero of either keeps none. What may be used again, package review says.
	CacheTTL  time.Duration
	CacheSize int
	// Concurrency is how many requests are under way to one model at a time;
	// others wait, see Busy. Zero is 1024.
	Concurrency int
	// Retries is how often a request is sent again to a model that failed in one of these ways:
	// connect errors, status 408, 409, 429 and from 500; not a quota that is used up. Zero is
	// never.
	Retries int
	// Terms are by a model's name, in either chain; a model without any has no
	// rate and costs nothing.
	Terms map[string]Terms
	// Escalate asks for a second opinion.
	Escalate Escalate
	// Purse bounds what is spent; nil is no bound.
	Purse Purse
	// RulesFor are the calls that the rules decide alone while the day's budget of all users is
	// spent: effects, and sentinel.OutwardRow. An outward call needs both its effect and that here. Who
	// can spend the budget switches the review off for them: nil, the default, is for none.
	RulesFor []string
	// Observer is told of requests, verdicts and breakers; nil observes nothing.
	Observer Observer
	// Doubts says what becomes of the judge's doubts. Empty is DoubtsReview.
	Doubts DoubtsMode
	// Profile says which calls need no model. Empty is Strict.
	Profile Profile
	// Evidence is what the calls' evidence shows, with the values that Keys withholds withheld.
	// Where its mode is not off, the question has the evidence and the system message says how to
	// read it. sentinel.Options.Evidence should be the same, so that it is worked out once.
	Evidence sentinel.EvidenceOptions
	// Intents says that calls may be made under a trusted intent: the system message says what the question's checked_intent is.
	Intents bool
	// Measure is for measuring a model.
	Measure Measure
	// Log is told of degradation and breakers, without values; nil discards.
	Log *slog.Logger
	// Now is the clock that dates timeouts; nil means time.Now. Breakers, waits
	// and limits always use the real clock.
	Now func() time.Time
}

// Measure is how a gate differs that measures models.
type Measure struct {
	// Unproved lets a model spend doubts that was never asked the canaries for them: no canaries
	// are asked then.
	Unproved bool
	// Apart asks about each call by itself, also where another caller is asking
	// the same. Waits for a model's place and rate don't count against Options.Timeout
	// then, so that no call is busy because others are measured.
	Apart bool
}

// DefaultUnavailable returns the outcomes while no model can be reached: reads
// and inward creations go ahead, marked as degraded; a person is asked about
// the rest.
func DefaultUnavailable() sentinel.OutageTable {
	t := DefaultUnjudgeable()
	t[string(skills.Read)], t[string(skills.Create)] = sentinel.Allow, sentinel.Allow
	return t
}

// DefaultUnjudgeable returns the outcomes for calls that can't be judged: a
// person is asked about each.
func DefaultUnjudgeable() sentinel.OutageTable {
	t := sentinel.OutageTable{}
	for _, row := range sentinel.OutageRows() {
		t[row] = sentinel.Ask
	}
	return t
}

// checkAndComplete checks the options, fills in defaults and returns every fault at once.
func (o Options) checkAndComplete() (Options, error) {
	errs := []error{
		o.Unavailable.Check("sentinel.unavailable"), o.Unjudgeable.Check("sentinel.unjudgeable"),
		o.checkChain(), o.Breaker.checkBreaker(), checkNotNegative("sentinel.timeout", o.Timeout),
		checkNotNegative("sentinel.cache_ttl", o.CacheTTL),
		o.Modes.checkModes(), o.checkQuestion(), o.Doubts.checkDoubts(), o.Profile.checkProfile(),
		o.Escalate.checkEscalate(o.Models), o.checkPace(), o.checkRulesFor(),
	}
	switch o.Mode {
	case "":
		o.Mode = Enforce
	case Enforce, ShadowMode, Off:
	default:
		errs = append(errs, &skills.PathError{Path: "sentinel.mode", Msg: fmt.Sprintf("%q is not one of enforce, shadow, off", string(o.Mode))})
	}
	o.Evidence.Keys = o.Keys
	switch {
	case o.RejectBelow == 0:
		o.RejectBelow = DefaultRejectBelow
	case o.RejectBelow < 0:
		o.RejectBelow = 0
	}
	o.Unavailable = o.Unavailable.WithDefaults(DefaultUnavailable())
	o.Unjudgeable = o.Unjudgeable.WithDefaults(DefaultUnjudgeable())
	o.Timeout = orDefault(o.Timeout, DefaultTimeout)
	o.Breaker.Failures = orDefault(o.Breaker.Failures, DefaultFailures)
	o.Breaker.Window = orDefault(o.Breaker.Window, DefaultWindow)
	o.Breaker.OpenFor = orDefault(o.Breaker.OpenFor, DefaultOpenFor)
	o.Concurrency = orDefault(o.Concurrency, DefaultConcurrency)
	o.Escalate = o.Escalate.withDefaults()
	if o.Observer == nil {
		o.Observer = noObserver{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Observer = newContainedObserver(o.Observer, o.Log)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o, errors.Join(errs...)
}

func orDefault[T int | time.Duration](v, def T) T {
	if v == 0 {
		return def
	}
	return v
}

func (o Options) checkChain() error {
	if o.isOff() {
		return nil
	}
	if len(o.Models) == 0 {
		return &skills.PathError{Path: "roles.sentinel", Msg: "names no model; give one, or set sentinel.mode to \"off\""}
	}
	var errs []error
	seen := map[string]bool{}
	for i, m := range o.Models {
		path := fmt.Sprintf("roles.sentinel[%d]", i)
		switch {
		case m == nil:
			errs = append(errs, &skills.PathError{Path: path, Msg: "is no model"})
		case seen[m.Name()]:
			errs = append(errs, &skills.PathError{Path: path, Msg: fmt.Sprintf("names %q again; a model stands in the chain once", m.Name())})
		default:
			seen[m.Name()] = true
		}
	}
	return errors.Join(errs...)
}

// maxFailures keeps four times the number of failures within a uint32.
const maxFailures = 1_000_000

func (b Breaker) checkBreaker() error {
	var errs []error
	if b.Failures < 0 || b.Failures > maxFailures {
		errs = append(errs, &skills.PathError{Path: "sentinel.breaker.failures", Msg: fmt.Sprintf("must be from 1 to %d", maxFailures)})
	}
	return errors.Join(append(errs,
		checkNotNegative("sentinel.breaker.window", b.Window), checkNotNegative("sentinel.breaker.open_for", b.OpenFor))...)
}

func checkNotNegative(path string, d time.Duration) error {
	if d < 0 {
		return &skills.PathError{Path: path, Msg: "is negative; leave it out for the default"}
	}
	return nil
}

func (o Options) checkPace() error {
	switch {
	case o.Concurrency < 0 || o.Concurrency > maxConcurrency:
		return &skills.PathError{Path: "sentinel.concurrency", Msg: fmt.Sprintf("must be from 1 to %d", maxConcurrency)}
	case o.Retries < 0 || o.Retries > maxRetries:
		return &skills.PathError{Path: "sentinel.retries", Msg: fmt.Sprintf("must be from 0 to %d", maxRetries)}
	}
	for name, t := range o.Terms {
		if t.RequestsPerMinute < 0 || t.Price.Input < 0 || t.Price.Output < 0 {
			return &skills.PathError{Path: "models." + name, Msg: "has a negative rate or price"}
		}
	}
	return nil
}

func (o Options) checkRulesFor() error {
	var errs []error
	for i, row := range o.RulesFor {
		if !slices.Contains(sentinel.OutageRows(), row) {
			errs = append(errs, &skills.PathError{
				Path: fmt.Sprintf("sentinel.budget.rules_for[%d]", i), Msg: "is no effect; use " + strings.Join(sentinel.OutageRows(), ", "),
			})
		}
	}
	return errors.Join(errs...)
}

// Bounds of the options.
const (
	maxConcurrency = 1_000_000
	maxRetries     = 5
)

// Terms are what holds between this process and one model.
type Terms struct {
	// RequestsPerMinute is how fast requests may be sent; at once a second's
	// worth. Zero is no bound.
	RequestsPerMinute int
	// Price is what budgets in money count with.
	Price Price
}
