package alerts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/vedette-dev/vedette/internal/backoff"
	"github.com/vedette-dev/vedette/orchestrator/notify"
	"github.com/vedette-dev/vedette/orchestrator/records/query"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/skills"
)

const (
	// lookEvery is how often the log is looked at, and verifyEvery how often whether it is time to verify it.
	lookEvery   = 2 * time.Second
	verifyEvery = time.Minute
	// placeEvery is how often the place is kept where no alert is raised.
	placeEvery = time.Minute
	// pageSize is how many records are in memory at a time.
	pageSize = 500
)

// Options are the parts of a Watcher.
type Options struct {
	Store  *store.Store
	Ledger query.Reader
	// Channels are the names of all channels.
	Channels []string
	// Failing returns the models that fail their canaries; nil has none.
	Failing func() []string
	// Verify verifies the ledger; nil verifies nothing.
	Verify func(ctx context.Context) (ledger.Report, error)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Log is told of each alert too; nil discards.
	Log *slog.Logger
}

// watched is a rule with what it has counted.
type watched struct {
	Rule
	query  query.Query
	window window
}

// Watcher watches the log. Its methods are safe for concurrent use.
type Watcher struct {
	o      Options
	outbox *Outbox

	mu     sync.Mutex
	rules  []*watched
	state  map[string]int64 // nil until it was read
	place  int64            // up to which the log was read
	seeded int64            // up to which records count in windows and raise nothing
	kept   time.Time        // when the place was kept
	known  map[string]bool  // skills that did something irreversible
	due    []raised         // what was found and isn't written yet
}

// Open returns the watcher of rules. Its rows are in the store from then on.
func Open(ctx context.Context, o Options, rules ...Rule) (*Watcher, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	w := &Watcher{o: o, outbox: &Outbox{o.Store}, known: map[string]bool{}}
	for _, r := range rules {
		q, err := query.Parse(r.Query, o.Now())
		if err := errors.Join(err, r.Check()); err != nil {
			return nil, err
		}
		w.rules = append(w.rules, &watched{Rule: r, query: q})
	}
	if err := o.Store.Migrate(ctx, "alerts", schema); err != nil {
		return nil, err
	}
	return w, w.keepFirstPlace(ctx)
}

// keepFirstPlace writes down where the log ends when the first rule begins to watch it.
func (w *Watcher) keepFirstPlace(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.begin(ctx); err != nil {
		return err
	}
	if _, known := w.state[statePlace]; known {
		return nil
	}
	return w.keep(ctx, w.o.Now())
}

// Outbox has what the channels are to be told.
func (w *Watcher) Outbox() *Outbox { return w.outbox }

// Run watches until ctx ends, and returns nil then. An error of the store ends it too: a supervisor starts it again.
func (w *Watcher) Run(ctx context.Context) error {
	w.forgetPlace()
	g, inner := errgroup.WithContext(ctx)
	g.Go(func() error { return repeat(inner, lookEvery, w.Look) })
	g.Go(func() error { return repeat(inner, verifyEvery, w.VerifyWhenDue) })
	if err := g.Wait(); ctx.Err() == nil {
		return err
	}
	return nil
}

// repeat works again and again until ctx ends. A panic's value may be anything, so it isn't told.
func repeat(ctx context.Context, every time.Duration, work func(context.Context) error) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the watch over the decision log panicked; please report it")
		}
	}()
	for {
		if err := work(ctx); err != nil {
			return err
		}
		if !backoff.Wait(ctx, every) {
			return nil
		}
	}
}

// forgetPlace has the next look begin where the rows say: what was counted after them counts again then.
func (w *Watcher) forgetPlace() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state, w.due = nil, nil
	for _, r := range w.rules {
		r.window = window{}
	}
}

// Look reads the records that came since the last look, and writes down what is to be told. The error is the
// store's.
func (w *Watcher) Look(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.begin(ctx); err != nil {
		return err
	}
	if err := w.readLog(ctx); err != nil {
		return err
	}
	w.lookAtModels()
	now := w.o.Now()
	if len(w.due) == 0 && (w.state[statePlace] == w.place || now.Sub(w.kept).Abs() < placeEvery) {
		return nil
	}
	return w.keep(ctx, now)
}

// begin reads the rows, and finds the place to begin at: far enough back that the windows are full.
func (w *Watcher) begin(ctx context.Context) (err error) {
	if w.state != nil {
		return nil
	}
	state, err := w.outbox.readState(ctx)
	if err != nil {
		return err
	}
	newest, err := w.o.Ledger.List(ctx, ledger.Query{Newest: true, Limit: 1})
	if err != nil {
		return err
	}
	w.seeded = -1
	if place, known := state[statePlace]; known {
		w.seeded = place
	} else if len(newest) > 0 { // what was there before the first rule is told to no person
		w.seeded = newest[0].Index
	}
	w.place = w.seeded
	if back := w.longestWindow(); back > 0 {
		first, err := w.o.Ledger.List(ctx, ledger.Query{Since: w.o.Now().Add(-back), Limit: 1})
		if err != nil {
			return err
		}
		if len(first) > 0 {
			w.place = min(w.place, first[0].Index-1)
		}
	}
	w.state = state
	return nil
}

func (w *Watcher) longestWindow() (out time.Duration) {
	for _, r := range w.rules {
		if r.isRate() {
			out = max(out, r.Window)
		}
	}
	return out
}

// readLog has the rules look at each new record.
func (w *Watcher) readLog(ctx context.Context) error {
	if !slices.ContainsFunc(w.rules, func(r *watched) bool { return r.readsLog() }) {
		return nil
	}
	for {
		after := w.place
		page, err := w.o.Ledger.List(ctx, ledger.Query{AfterIndex: &after, Limit: pageSize})
		if err != nil || len(page) == 0 {
			return err
		}
		for i := range page {
			if err := w.lookAt(ctx, &page[i]); err != nil {
				return err
			}
			w.place = page[i].Index
		}
	}
}

// lookAt has the rules look at a record. One whose error broke a look off is looked at again by the next.
func (w *Watcher) lookAt(ctx context.Context, rec *ledger.Record) error {
	if !decided(rec) {
		return nil
	}
	f := readFacts(rec)
	if w.did(rec, f) {
		isFirst, err := w.isFirst(ctx, rec)
		if err != nil {
			return err
		}
		if isFirst {
			w.tellFirst(rec)
		}
		w.known[rec.Skill] = true
	}
	for _, r := range w.rules {
		if !r.isRate() || !r.query.Matches(rec) {
			continue
		}
		hit := r.hits(rec, f)
		hits, of := r.window.add(r.Window, rec.Time, hit)
		if hit && rec.Index > w.seeded && hits >= r.Count && float64(hits) >= r.Share*float64(of) {
			w.raise(r, "", notify.Alert{Count: hits, Of: of, Seconds: int64(r.Window / time.Second), Query: r.describeHits(rec)})
		}
	}
	return nil
}

// did reports whether a skill, not known to have done so before, was allowed something irreversible.
func (w *Watcher) did(rec *ledger.Record, f facts) bool {
	return rec.Kind == sentinel.RecordDecision && rec.Outcome == sentinel.Allow.String() &&
		f.Effect == string(skills.Irreversible) && !w.known[rec.Skill] && rec.Skill != ""
}

// isFirst looks through the log for an earlier one.
func (w *Watcher) isFirst(ctx context.Context, rec *ledger.Record) (bool, error) {
	if rec.Index <= w.seeded || !slices.ContainsFunc(w.rules, func(r *watched) bool { return r.Watch == notify.WatchFirstIrreversible }) {
		return false, nil
	}
	q, err := query.Parse("kind:decision outcome:allow effect:irreversible "+query.Term("skill", rec.Skill), w.o.Now())
	if err != nil {
		return false, fmt.Errorf("the log can't be asked for a skill: %w", err)
	}
	for place := (*int64)(nil); ; {
		page, next, err := q.ReadOldest(ctx, w.o.Ledger, place, pageSize)
		switch {
		case err != nil:
			return false, err
		case len(page) > 0:
			return page[0].Index >= rec.Index, nil
		case next == nil || *next >= rec.Index:
			return true, nil
		}
		place = next
	}
}

func (w *Watcher) tellFirst(rec *ledger.Record) {
	for _, r := range w.rules {
		if r.Watch == notify.WatchFirstIrreversible && r.query.Matches(rec) {
			w.add(r, rec.Skill, notify.Alert{Name: rec.Skill, Query: query.Term("decision", rec.Decision)})
		}
	}
}

// lookAtModels tells of models that fail their canaries.
func (w *Watcher) lookAtModels() {
	if w.o.Failing == nil {
		return
	}
	for _, r := range w.rules {
		if r.Watch != notify.WatchCanaries {
			continue
		}
		for _, name := range w.o.Failing() {
			w.raise(r, name, notify.Alert{Name: name})
		}
	}
}

// VerifyWhenDue verifies the ledger where it is time. It may take long, and no look waits for it.
func (w *Watcher) VerifyWhenDue(ctx context.Context) error {
	rules, err := w.toVerify(ctx)
	if err != nil || len(rules) == 0 || w.o.Verify == nil {
		return err
	}
	report, err := w.o.Verify(ctx)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		w.o.Log.Warn("The ledger can't be verified.", "reason", err.Error())
	}
	a := notify.Alert{Count: int64(len(report.Problems))}
	if i := slices.IndexFunc(report.Problems, func(p ledger.Problem) bool { return p.To > p.From }); i >= 0 {
		a.Record = &report.Problems[i].From
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state == nil { // the other half has begun again, and reads it first
		return nil
	}
	if err != nil || !report.OK() {
		for _, r := range rules {
			w.raise(r, "", a)
		}
	}
	now := w.o.Now()
	w.state[stateVerified] = now.UnixMilli()
	return w.keep(ctx, now)
}

// toVerify returns the rules for which it is time.
func (w *Watcher) toVerify(ctx context.Context) (out []*watched, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.begin(ctx); err != nil {
		return nil, err
	}
	last := time.UnixMilli(w.state[stateVerified])
	for _, r := range w.rules {
		if r.Watch == notify.WatchVerify && w.o.Now().Sub(last).Abs() >= r.Every {
			out = append(out, r)
		}
	}
	return out, nil
}

// raise adds an alert where the rule's throttle lets it. A clock that was set back doesn't silence a rule.
func (w *Watcher) raise(r *watched, about string, a notify.Alert) {
	name, now := stateRaised+r.Name+":"+about, w.o.Now()
	if last, told := w.state[name]; told && now.Sub(time.UnixMilli(last)).Abs() < r.Throttle {
		return
	}
	w.state[name] = now.UnixMilli()
	w.add(r, about, a)
}

func (w *Watcher) add(r *watched, about string, a notify.Alert) {
	now := w.o.Now()
	a.ID, a.Rule, a.Watch, a.At = nameAlert(r.Name, about, now), r.Name, r.Watch, now.UTC()
	channels := r.Channels
	if len(channels) == 0 {
		channels = w.o.Channels
	}
	w.due = append(w.due, raised{a, channels})
}

// keep writes down what is to be told, and the state. What can't be written is told to no person now: the next
// look begins again at the place that is written.
func (w *Watcher) keep(ctx context.Context, now time.Time) error {
	w.state[statePlace] = max(w.place, w.seeded)
	list := w.due
	if err := w.outbox.write(ctx, list, w.state, now); err != nil {
		return err
	}
	w.due, w.kept = nil, now
	for _, a := range list {
		w.o.Log.Warn("The decision log shows what a rule under alerts watches for.",
			"rule", a.Rule, "watch", string(a.Watch), "name", strconv.QuoteToASCII(a.Name), "count", a.Count, "of", a.Of)
	}
	return nil
}
