package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/records"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// Options say what is decided again, and under which configuration.
type Options struct {
	// Source is where the calls are recorded. It is only read.
	Source records.Source
	// Chosen are the records; decisions and refusals among them are taken.
	Chosen records.ListOptions
	// Config is what they are decided under.
	Config *config.Config
	// Against, where it is set, is what Config is compared with. Without it that is what was decided then.
	Against *config.Config
	// Rules are more permission rules, a line each, with which Config is compared with Config as it is.
	Rules []string
	// NoReview leaves the review out.
	NoReview bool
	// Review has the models asked about calls whose recorded judgement doesn't fit, MaxReviews at most.
	Review     bool
	MaxReviews int
	// BeforeReviews is told what asking will come to. Its error ends the run.
	BeforeReviews func(Cost) error
	// Examples is how many decisions are named of each change and of each reason.
	Examples int
	// Workers is how many calls are decided at a time; zero is one for each processor.
	Workers int
	// Transport, where it is set, carries the requests of the model of that name.
	Transport func(model string) http.RoundTripper
	// Now says which values have expired; nil means time.Now.
	Now func() time.Time
	Log *slog.Logger
}

// Cost is what asking the models about calls will come to.
type Cost struct {
	// Calls are those whose recorded judgement doesn't fit, and Asked how many of them the models are
	// asked about.
	Calls int `json:"calls"`
	Asked int `json:"asked"`
	// Tokens is about how many tokens that takes, by what the recorded reviews took; zero where none did.
	Tokens int64 `json:"tokens"`
}

// RuleError says that one of Options.Rules can't be used.
type RuleError struct{ err error }

// Error says what is wrong with it.
func (e *RuleError) Error() string { return e.err.Error() }

// pageSize is how many records are read at a time, and atOnce of how many calls the values are in memory.
const (
	pageSize = 1000
	atOnce   = 200
)

// run is one replay under way.
type run struct {
	o        Options
	sealed   *records.Sealed
	kept     *keptValues
	deciders []*decider
	report   *Report

	unjudged []*call // whose judgement doesn't fit, MaxReviews at most
	reviews  int64   // on record, with their tokens
	tokens   int64
}

// Run decides the recorded calls again.
func Run(ctx context.Context, o Options) (_ *Report, err error) {
	began := time.Now()
	if len(o.Rules) > 0 {
		next, err := config.WithRules(o.Config, o.Rules...)
		if err != nil {
			return nil, &RuleError{err}
		}
		o.Config, o.Against = next, o.Config
	}
	r := &run{o: o, report: newReport(o)}
	if r.sealed, err = records.OpenSealed(ctx, o.Source, o.Now); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.sealed.Close()) }()
	r.kept = &keptValues{ctx: ctx, journal: r.sealed.Journal}
	defer r.closeDeciders()
	for range cmp.Or(o.Workers, runtime.GOMAXPROCS(0)) {
		d, err := newDecider(o, r.sealed, r.kept)
		switch {
		case err != nil && len(o.Rules) > 0: // without them the configuration is in force
			return nil, &RuleError{err}
		case err != nil:
			return nil, err
		}
		r.deciders = append(r.deciders, d)
	}
	r.report.Policy = r.deciders[0].PolicyDigest()
	if err := r.decideRecorded(ctx); err != nil {
		return nil, err
	}
	if err := r.askModels(ctx); err != nil {
		return nil, err
	}
	r.report.sumUp(time.Since(began))
	return r.report, nil
}

func (r *run) closeDeciders() {
	for _, d := range r.deciders {
		d.close()
	}
}

// batch is calls with all that the journal has of them, or why that can't be read.
type batch struct {
	calls []*call
	err   error
}

// decideRecorded decides every call up to the newest record of when it begins, the oldest first. The next calls are
// read meanwhile.
func (r *run) decideRecorded(ctx context.Context) error {
	newest, err := r.sealed.Ledger.List(ctx, ledger.Query{Newest: true, Limit: 1})
	if err != nil || len(newest) == 0 {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	ready := make(chan batch, 1)
	go func() {
		defer close(ready)
		if err := r.readCalls(ctx, newest[0].Index, ready); err != nil {
			ready <- batch{err: err}
		}
	}()
	defer func() {
		cancel()
		for range ready { // until the reader has ended
		}
	}()
	for b := range ready {
		if b.err != nil {
			return b.err
		}
		if err := r.decideAll(ctx, b.calls); err != nil {
			return err
		}
		for _, c := range b.calls {
			r.takeCall(c)
		}
	}
	return ctx.Err()
}

// readCalls reads the calls up to a place, the oldest first.
func (r *run) readCalls(ctx context.Context, last int64, ready chan<- batch) (err error) {
	defer func() {
		if recover() != nil {
			err = errBroken
		}
	}()
	for place := (*int64)(nil); ; {
		page, next, err := r.o.Chosen.Query.ReadOldest(ctx, r.sealed.Ledger, place, pageSize)
		if err != nil {
			return err
		}
		var calls []*call
		for i := range page {
			kind := page[i].Kind
			if page[i].Index <= last && (kind == sentinel.RecordDecision || kind == sentinel.RecordRefused) {
				calls = append(calls, &call{record: page[i]})
			}
		}
		for some := range slices.Chunk(calls, atOnce) {
			if err := r.readValues(ctx, some); err != nil {
				return err
			}
			ready <- batch{calls: some}
		}
		if place = next; next == nil || *next >= last || ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// errBroken is what a panic becomes. Its value may be anything, so it isn't told.
var errBroken = errors.New("a replay broke; please report it")

// readValues reads what the journal has of calls.
func (r *run) readValues(ctx context.Context, calls []*call) error {
	ids := make([]string, 0, len(calls))
	for _, c := range calls {
		if c.record.Call != "" {
			ids = append(ids, c.record.Call)
		}
	}
	values, err := r.sealed.Journal.ByCalls(ctx, ids, valueKinds())
	if err != nil {
		return fmt.Errorf("the values of the calls can't be read: %w", err)
	}
	for _, c := range calls {
		c.values = values[c.record.Call]
	}
	if err := r.kept.fetch(calls); err != nil {
		return fmt.Errorf("what the calls were judged in can't be read: %w", err)
	}
	return nil
}

// decideAll decides calls, those of a conversation one after the other.
func (r *run) decideAll(ctx context.Context, calls []*call) error {
	shares := make([][]*call, len(r.deciders))
	for _, c := range calls {
		h := fnv.New32a()
		_, _ = h.Write([]byte(c.record.Conversation)) // a hash takes everything
		n := int(h.Sum32() % uint32(len(shares)))
		shares[n] = append(shares[n], c)
	}
	g, inner := errgroup.WithContext(ctx)
	for i, d := range r.deciders {
		g.Go(func() (err error) {
			defer func() {
				if recover() != nil {
					err = errBroken
				}
			}()
			for _, c := range shares[i] {
				if err := d.decide(inner, c); err != nil {
					return fmt.Errorf("decision %s can't be made again: %w", c.record.Decision, err)
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// takeCall counts a call, or keeps it for the models.
func (r *run) takeCall(c *call) {
	c.values = nil
	if n, err := strconv.ParseInt(c.judgedBy.Meta["tokens_in"], 10, 64); err == nil && n > 0 {
		out, _ := strconv.ParseInt(c.judgedBy.Meta["tokens_out"], 10, 64)
		r.reviews, r.tokens = r.reviews+1, r.tokens+n+max(out, 0)
	}
	if c.reason == ReasonReview && r.o.Review {
		r.report.Cost.Calls++
		if len(r.unjudged) < r.o.MaxReviews {
			r.unjudged = append(r.unjudged, c)
			return
		}
	}
	r.report.add(c)
}

// askModels decides the calls again that the models are asked about.
func (r *run) askModels(ctx context.Context) error {
	if !r.o.Review {
		return nil
	}
	cost := &r.report.Cost
	cost.Asked = len(r.unjudged)
	if r.reviews > 0 {
		cost.Tokens = int64(cost.Asked) * (r.tokens / r.reviews)
	}
	if r.o.BeforeReviews != nil {
		if err := r.o.BeforeReviews(*cost); err != nil {
			return err
		}
	}
	for _, c := range r.unjudged {
		c.asking = true
	}
	for some := range slices.Chunk(r.unjudged, atOnce) {
		if err := r.readValues(ctx, some); err != nil {
			return err
		}
		if err := r.decideAll(ctx, some); err != nil {
			return err
		}
	}
	for _, c := range r.unjudged {
		r.report.add(c)
	}
	return nil
}
