package assembly

import (
	"container/list"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/limits"
)

const (
	// maxOwed bounds what questions came to that the server hasn't been told.
	maxOwed = 10_000
	// payStep is how many of those one question tells it about, before it asks
	// for itself.
	payStep = 64
	// payTime is how long the end of the program is put off to tell the rest.
	payTime = time.Second
)

// owed keeps spending that the limits store must hear of once the store is back. It
// holds what questions came to that were asked or answered during the outage. It
// holds zero for a question that came to nothing and for which the store may have
// reserved room. Without owed the store would reserve that room as long as amounts
// count, and questions would wait for it.
type owed struct {
	log *slog.Logger
	max int

	mu    sync.Mutex
	doubt map[string]bool // ids under way that the server may or may not have held room for
	byID  map[string]*list.Element
	queue list.List // of limits.Spending, the oldest first
	lost  int       // there were too many
}

func newOwed(log *slog.Logger) *owed {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &owed{log: log, max: maxOwed, doubt: map[string]bool{}, byID: map[string]*list.Element{}}
}

// unsure remembers that the server did not say whether it held room for id.
func (o *owed) unsure(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.doubt) == 0 && o.queue.Len() == 0 {
		o.log.Warn("BUDGETS DEGRADED: models are asked while the server that counts for all is away, and this process counts alone")
	}
	o.doubt[id] = true
}

// sure forgets that, and tells whether there was any doubt.
func (o *owed) sure(id string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	was := o.doubt[id]
	delete(o.doubt, id)
	return was
}

// add owes the server the news of s.
func (o *owed) add(s limits.Spending) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if e := o.byID[s.ID]; e != nil {
		e.Value = s
		return
	}
	if o.queue.Len() >= o.max {
		if o.lost++; o.lost == 1 {
			o.log.Error("what questions came to while the server of the limits is away is more than can be " +
				"remembered; its budgets will lack the oldest")
		}
		o.remove(o.queue.Front())
	}
	o.byID[s.ID] = o.queue.PushBack(s)
}

func (o *owed) remove(e *list.Element) limits.Spending {
	s, _ := o.queue.Remove(e).(limits.Spending)
	delete(o.byID, s.ID)
	return s
}

// next takes out what is owed for the longest.
func (o *owed) next() (limits.Spending, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	front := o.queue.Front()
	if front == nil {
		return limits.Spending{}, false
	}
	return o.remove(front), true
}

// pay tells the server up to n things that it doesn't know. The first that
// can't be told ends it: then it is still away.
func (o *owed) pay(ctx context.Context, all *limits.Limiter, n int) error {
	ctx = context.WithoutCancel(ctx) // it is others' business as well
	for range n {
		s, ok := o.next()
		if !ok {
			return nil
		}
		if err := all.Respend(ctx, s); err != nil {
			o.add(s)
			return err
		}
		o.paid()
	}
	return nil
}

func (o *owed) paid() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.queue.Len() == 0 {
		o.log.Warn("the server of the limits knows again what questions to models came to", "not_remembered", o.lost)
		o.lost = 0
	}
}

// hold asks the limits store for room. During an outage this process counts for
// itself if limits.store.when_away lets reads go on. A question to a model changes
// nothing, as a read does. Otherwise hold returns an error, and the model isn't
// asked.
func (c *counters) hold(ctx context.Context, s limits.Spending) (limits.Verdict, error) {
	if c.alone == nil {
		return c.all.Hold(ctx, s)
	}
	err := c.owed.pay(ctx, c.all, payStep)
	if err == nil {
		var v limits.Verdict
		if v, err = c.all.Hold(ctx, s); err == nil {
			return v, nil
		}
	}
	if !c.open || !errors.Is(err, limits.ErrAway) {
		c.owes(err, nothing(s)) // it may hold room for what isn't asked
		return limits.Verdict{}, err
	}
	c.owed.unsure(s.ID)
	v, err := c.alone.Hold(ctx, s)
	if err != nil || !v.OK {
		c.owed.sure(s.ID)
		c.owed.add(nothing(s))
	}
	return v, err
}

// owes keeps what the server can be told later. What it could never be told,
// because it is malformed, is no debt.
func (c *counters) owes(err error, s limits.Spending) {
	if err != nil && !errors.Is(err, limits.ErrProposal) && !errors.Is(err, limits.ErrRequest) {
		c.owed.add(s)
	}
}

// nothing is a question that wasn't asked.
func nothing(s limits.Spending) limits.Spending {
	s.Tokens, s.Cost = 0, 0
	return s
}

// spend tells what was spent to who counts for all, now or once it is back, and
// to this process, whose counts then hold also what it did before.
func (c *counters) spend(ctx context.Context, s limits.Spending) error {
	if c.alone == nil {
		return c.all.Spend(ctx, s)
	}
	tell := c.all.Spend
	if c.owed.sure(s.ID) { // a server that held nothing for it would count nothing
		tell = c.all.Respend
	}
	err := tell(ctx, s)
	c.owes(err, s)
	if errors.Is(err, limits.ErrAway) { // its store has said so
		err = nil
	}
	return errors.Join(err, c.alone.Respend(ctx, s))
}

// payAll tells the server what it isn't told yet, as far as there is time.
func (o *owed) payAll(all *limits.Limiter) {
	if o == nil {
		return
	}
	for end := time.Now().Add(payTime); time.Now().Before(end); {
		if err := o.pay(context.Background(), all, 1); err != nil {
			break
		}
		o.mu.Lock()
		left := o.queue.Len()
		o.mu.Unlock()
		if left == 0 {
			return
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if n := o.queue.Len(); n > 0 {
		o.log.Error("the server of the limits was not told what questions to models came to", "questions", n)
	}
}
