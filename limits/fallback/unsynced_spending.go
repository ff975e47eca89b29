package fallback

import (
	"container/list"
	"context"
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

// unsyncedSpending keeps spending that the limits store must hear of once the store is
// back. It holds what questions came to that were asked or answered during the outage. It
// holds zero for a question that came to nothing and for which the store may have
// reserved room. Without unsyncedSpending the store would reserve that room as long as
// amounts count, and questions would wait for it.
type unsyncedSpending struct {
	log *slog.Logger
	max int

	mu    sync.Mutex
	doubt map[string]bool // ids under way that the server may or may not have held room for
	byID  map[string]*list.Element
	queue list.List // of limits.Spending, the oldest first
	lost  int       // there were too many
}

func newUnsyncedSpending(log *slog.Logger) *unsyncedSpending {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &unsyncedSpending{log: log, max: maxUnsynced, doubt: map[string]bool{}, byID: map[string]*list.Element{}}
}

// markUnsure remembers that the server did not say whether it held room for id.
func (u *unsyncedSpending) markUnsure(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.doubt) == 0 && u.queue.Len() == 0 {
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

// add keeps s until the server can be told.
func (u *unsyncedSpending) add(s limits.Spending) {
	u.mu.Lock()
	defer u.mu.Unlock()
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

// removeElement takes a spending out of the queue. The caller holds the lock.
func (u *unsyncedSpending) removeElement(e *list.Element) limits.Spending {
	s, _ := u.queue.Remove(e).(limits.Spending)
	delete(u.byID, s.ID)
	return s
}

// takeOldest takes out the spending that has waited the longest.
func (u *unsyncedSpending) takeOldest() (limits.Spending, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	front := u.queue.Front()
	if front == nil {
		return limits.Spending{}, false
	}
	return u.removeElement(front), true
}

// syncSome tells the server up to n spendings that it doesn't know. The first that
// can't be told ends the sync: the server is still away then.
func (u *unsyncedSpending) syncSome(ctx context.Context, shared *limits.Limiter, n int) error {
	ctx = context.WithoutCancel(ctx) // it is others' business as well
	for range n {
		s, ok := u.takeOldest()
		if !ok {
			return nil
		}
		if err := shared.Respend(ctx, s); err != nil {
			u.add(s)
			return err
		}
		u.logSynced()
	}
	return nil
}

// logSynced logs that the server knows everything again, once the queue is empty.
func (u *unsyncedSpending) logSynced() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.queue.Len() == 0 {
		u.log.Warn("the server of the limits knows again what questions to models came to", "not_remembered", u.lost)
		u.lost = 0
	}
}

// syncAll tells the server what it has not heard yet, for syncTime at most.
func (u *unsyncedSpending) syncAll(shared *limits.Limiter) {
	if u == nil {
		return
	}
	for end := time.Now().Add(syncTime); time.Now().Before(end); {
		if err := u.syncSome(context.Background(), shared, 1); err != nil {
			break
		}
		u.mu.Lock()
		left := u.queue.Len()
		u.mu.Unlock()
		if left == 0 {
			return
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if n := u.queue.Len(); n > 0 {
		u.log.Error("the server of the limits was not told what questions to models came to", "questions", n)
	}
}
