package fallback

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
	// maxUnsynced bounds what questions came to that the server hasn't been told.
	maxUnsynced = 10_000
	// syncStep is how many of those one question tells the server about. The question asks
	// for room of its own after that.
	syncStep = 64
	// syncTime is how long the end of the program is put off to tell the rest.
	syncTime = time.Second
)

// errPanicked stands for the error of a store that panicked.
var errPanicked = errors.New("the store of the limits panicked")

// unsyncedSpending keeps spending that the limits store must hear of once the store is
// back. It holds what questions came to that were asked or answered during the outage. It
// holds zero for a question that came to nothing and for which the store may have
// reserved room. Without unsyncedSpending the store would reserve that room as long as
// amounts count, and questions would wait for it.
//
// Each question has one entry, its latest. Hold and Spend withdraw the entry first, so this
// process sends no older amount after a newer one. A request that the network delivers late
// can still arrive after it.
type unsyncedSpending struct {
	log *slog.Logger
	max int

	mu      sync.Mutex
	doubt   map[string]bool // ids under way that the server may or may not have held room for
	byID    map[string]*list.Element
	queue   list.List                // of limits.Spending, the oldest first
	sending map[string]chan struct{} // ids that the server is being told now; closed when that has ended
	inHand  int                      // withdrawn, and not yet told, kept or dropped
	lost    int                      // there were too many
	outage  bool                     // something waits or has waited since the server knew everything
	logged  bool                     // BUDGETS DEGRADED, of this outage
}

func newUnsyncedSpending(log *slog.Logger) *unsyncedSpending {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &unsyncedSpending{
		log: log, max: maxUnsynced, doubt: map[string]bool{}, byID: map[string]*list.Element{}, sending: map[string]chan struct{}{},
	}
}

// markUnsure remembers that the server did not say whether it held room for id.
func (u *unsyncedSpending) markUnsure(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.outage = true
	if !u.logged {
		u.logged = true
		u.log.Warn("BUDGETS DEGRADED: models are asked while the server that counts for all is away, and this process counts alone")
	}
	u.doubt[id] = true
}

// clearUnsure forgets what markUnsure remembered, and tells whether there was anything.
func (u *unsyncedSpending) clearUnsure(id string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	was := u.doubt[id]
	delete(u.doubt, id)
	return was
}

// keepSpending keeps s until the server can be told. The caller holds the lock.
func (u *unsyncedSpending) keepSpending(s limits.Spending) {
	u.outage = true
	if e := u.byID[s.ID]; e != nil {
		e.Value = s
		return
	}
	if u.queue.Len() >= u.max {
		if u.lost++; u.lost == 1 {
			u.log.Error("what questions came to while the server of the limits is away is more than can be " +
				"remembered; its budgets will lack the oldest")
		}
		u.removeElement(u.queue.Front())
	}
	u.byID[s.ID] = u.queue.PushBack(s)
}

// withdraw takes out what is kept of a question that is asked or paid again, and reports
// whether anything was. The caller ends with release. withdraw waits while the store is
// being told of that question, so that the older amount arrives first. The timeouts of the
// store's calls bound the wait.
func (u *unsyncedSpending) withdraw(id string) (kept limits.Spending, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for done := u.sending[id]; done != nil; done = u.sending[id] {
		u.mu.Unlock()
		<-done
		u.mu.Lock()
	}
	e := u.byID[id]
	if e == nil {
		return limits.Spending{}, false
	}
	u.inHand++
	return u.removeElement(e), true
}

// release ends what withdraw began. had is what withdraw reported; keep keeps s until the
// store can be told.
func (u *unsyncedSpending) release(s limits.Spending, had, keep bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if had {
		u.inHand--
	}
	if keep {
		u.keepSpending(s)
	}
	u.logIfSynced()
}

// count returns how many questions the store has not been told of, or is being told of.
func (u *unsyncedSpending) count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.countLocked()
}

// countLocked is count for callers that hold the lock.
func (u *unsyncedSpending) countLocked() int { return u.queue.Len() + len(u.sending) + u.inHand }

// logIfSynced logs the end of an outage: the store knows everything, and of each question
// under way it knows what it holds. The caller holds the lock.
func (u *unsyncedSpending) logIfSynced() {
	if !u.outage || u.countLocked() > 0 || len(u.doubt) > 0 {
		return
	}
	u.log.Warn("the server of the limits knows again what questions to models came to", "not_remembered", u.lost)
	u.outage, u.logged, u.lost = false, false, 0
}

// removeElement takes a spending out of the queue. The caller holds the lock.
func (u *unsyncedSpending) removeElement(e *list.Element) limits.Spending {
	s, _ := u.queue.Remove(e).(limits.Spending)
	delete(u.byID, s.ID)
	return s
}

// takeOldest takes out the spending that has waited the longest. The caller tells the
// store, and then calls endSending.
func (u *unsyncedSpending) takeOldest() (limits.Spending, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for e := u.queue.Front(); e != nil; e = e.Next() {
		if s, _ := e.Value.(limits.Spending); u.sending[s.ID] == nil {
			u.sending[s.ID] = make(chan struct{})
			return u.removeElement(e), true
		}
	}
	return limits.Spending{}, false
}

// endSending ends what takeOldest began. A spending that the store was not told goes back,
// unless a later amount of the same question is there. It goes to the front where the store
// is away, and to the back where the store refuses it, so that the others are told.
func (u *unsyncedSpending) endSending(s limits.Spending, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	close(u.sending[s.ID])
	delete(u.sending, s.ID)
	switch {
	case err == nil || u.byID[s.ID] != nil:
	case errors.Is(err, limits.ErrAway):
		u.byID[s.ID] = u.queue.PushFront(s)
	default:
		u.byID[s.ID] = u.queue.PushBack(s)
	}
	u.logIfSynced()
}

// syncSome tells the server up to syncStep spendings that it doesn't know. The first that
// can't be told ends the sync: the server is still away then.
func (u *unsyncedSpending) syncSome(ctx context.Context, shared *limits.Limiter) error {
	ctx = context.WithoutCancel(ctx) // it is others' business as well
	for range syncStep {
		if more, err := u.sendOldest(ctx, shared); !more || err != nil {
			return err
		}
	}
	return nil
}

// sendOldest tells the server the spending that has waited the longest. more is false
// where none waits. A panic of the store leaves the spending untold.
func (u *unsyncedSpending) sendOldest(ctx context.Context, shared *limits.Limiter) (more bool, err error) {
	s, ok := u.takeOldest()
	if !ok {
		return false, nil
	}
	err = errPanicked
	defer func() { u.endSending(s, err) }()
	err = shared.Respend(ctx, s)
	return true, err
}

// syncAll tells the server what it has not heard yet, for syncTime at most.
func (u *unsyncedSpending) syncAll(shared *limits.Limiter) {
	if u == nil {
		return
	}
	more, err := true, error(nil)
	for end := time.Now().Add(syncTime); more && err == nil && time.Now().Before(end); {
		more, err = u.sendOldest(context.Background(), shared)
	}
	if n := u.count(); n > 0 {
		u.log.Error("the server of the limits was not told what questions to models came to", "questions", n)
	}
}
