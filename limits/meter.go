package limits

import (
	"container/list"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// maxAmount bounds amounts and budgets: sums of them stay exact in floating point,
// in which some servers count.
const maxAmount = 1 << 50

// foldPrefix begins the ids of amounts that were added up. Ids of callers are
// segments, which have no such sign.
const foldPrefix = "+"

// MeterStore holds amounts that are spent: tokens, money. An id has one amount
// in a meter. It is held before it is known, by an upper bound, and spent once
// it is.
type MeterStore interface {
	// Hold puts id's amount into every meter, or into none if one would exceed its
	// Max. It is one atomic step. Where a meter has the id already, Hold replaces
	// the amount. The window counts from the moment of the first.
	Hold(ctx context.Context, id string, meters []Meter) (Metered, error)

	// Spend sets what id came to in every meter that it is in, whatever Max
	// says: it has been spent. Zero takes id out. A meter that it isn't in, or
	// not any more, is left alone.
	Spend(ctx context.Context, id string, meters []Meter) error
}

// Meter is one budget, and what an id takes of it.
type Meter struct {
	// Key is a path as in Bucket; Forget drops meters as it drops buckets.
	Key string
	// Amount is what the id takes, zero or more.
	Amount int64
	// Max is how much the meter holds; zero or less means that there is no
	// bound, and it only counts.
	Max int64
	// Window is how long an amount counts, zero until Forget.
	Window time.Duration
	// Fold, if not zero, lets Spend add up what was put there within one such
	// span. The sum counts as long as its newest part: a day's worth takes the
	// room of a day's folds. Such an id must not come again, for it would be a new
	// one. Hold ignores Fold.
	Fold time.Duration
}

// Metered answers Hold.
type Metered struct {
	// OK says that every meter holds the amount.
	OK bool
	// Full is the index of the first meter without room, -1 if OK.
	Full int
	// Used is what others take of meter Full. Held is the part of Used that is
	// only held and may become less. Both are zero if OK.
	Used, Held int64
	// RetryAfter is when so much has left meter Full's window that there is
	// room; zero if that won't happen.
	RetryAfter time.Duration
}

// meters holds the meters of a Memory, under its mutex.
type meters struct {
	byKey map[string]*meter
	idle  list.List // of *meter, the longest unused first
}

type meter struct {
	key       string
	window    time.Duration
	used      time.Duration // when it was last asked for
	sum, held int64
	byID      map[string]*list.Element
	amounts   list.List // of *amount, the oldest first
	place     *list.Element
}

type amount struct {
	id   string
	at   time.Duration
	n    int64
	held bool
}

// Hold implements MeterStore. ErrFull: there would be more than MaxKeys meters.
func (m *Memory) Hold(ctx context.Context, id string, list []Meter) (Metered, error) {
	none := Metered{Full: -1}
	if err := ctx.Err(); err != nil {
		return none, err
	}
	if err := CheckMeters(id, list); err != nil {
		return none, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.readClock()
	m.meters.dropIdleMeters(now, m.idleTTL)
	missing := 0
	for i, want := range list {
		k := m.meters.refreshMeter(want, now)
		if k == nil {
			missing++
			k = &meter{}
		}
		own := k.amountOf(id)
		if used := k.sum - own.n; want.Max > 0 && used+want.Amount > want.Max {
			held := k.held
			if own.held {
				held -= own.n
			}
			return Metered{Full: i, Used: used, Held: held, RetryAfter: k.timeUntilRoom(want, id, now)}, nil
		}
	}
	if len(m.meters.byKey)+missing > m.maxKeys {
		return none, fmt.Errorf("%w: %d meters", ErrFull, len(m.meters.byKey))
	}
	for _, want := range list {
		m.meters.findOrCreate(want, now).setAmount(id, want.Amount, true, now)
	}
	return Metered{OK: true, Full: -1}, nil
}

// Spend implements MeterStore.
func (m *Memory) Spend(ctx context.Context, id string, list []Meter) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := CheckMeters(id, list); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.readClock()
	m.meters.dropIdleMeters(now, m.idleTTL)
	for _, want := range list {
		if k := m.meters.refreshMeter(want, now); k != nil && k.byID[id] != nil {
			k.setAmount(id, want.Amount, false, now)
			k.foldAmount(id, want.Fold)
		}
	}
	return nil
}

// refreshMeter returns the meter if there is one, without what has left its window.
func (s *meters) refreshMeter(want Meter, now time.Duration) *meter {
	k := s.byKey[want.Key]
	if k == nil {
		return nil
	}
	k.window, k.used = want.Window, now
	s.idle.MoveToBack(k.place)
	for e := k.amounts.Front(); e != nil && k.window > 0; e = k.amounts.Front() {
		a, _ := e.Value.(*amount)
		if now-a.at < k.window {
			break
		}
		k.removeAmount(e)
	}
	return k
}

// findOrCreate returns the meter, which is new and empty if there was none.
func (s *meters) findOrCreate(want Meter, now time.Duration) *meter {
	if k := s.byKey[want.Key]; k != nil {
		return k
	}
	k := &meter{key: want.Key, window: want.Window, used: now, byID: map[string]*list.Element{}}
	if s.byKey == nil {
		s.byKey = map[string]*meter{}
	}
	s.byKey[want.Key], k.place = k, s.idle.PushBack(k)
	return k
}

// dropIdleMeters removes meters that no call has used for longer than any of their amounts
// counts. A meter whose window is longer than the idle time delays the meters behind it.
func (s *meters) dropIdleMeters(now, idle time.Duration) {
	for e := s.idle.Front(); e != nil; e = s.idle.Front() {
		k, _ := e.Value.(*meter)
		if now-k.used < max(idle, k.window) {
			return
		}
		s.removeMeter(k)
	}
}

// removeMeter drops k with its amounts.
func (s *meters) removeMeter(k *meter) {
	delete(s.byKey, k.key)
	s.idle.Remove(k.place)
}

// forgetUnder drops the lifetime meters under a prefix.
func (s *meters) forgetUnder(prefix string) {
	for key, k := range s.byKey {
		under := key == prefix || strings.HasPrefix(key, prefix) && key[len(prefix)] == '/'
		if under && k.window == 0 {
			s.removeMeter(k)
		}
	}
}

// amountOf returns id's amount, the zero amount if there is none.
func (k *meter) amountOf(id string) amount {
	if e := k.byID[id]; e != nil {
		a, _ := e.Value.(*amount)
		return *a
	}
	return amount{}
}

// setAmount replaces id's amount; zero removes it.
func (k *meter) setAmount(id string, n int64, held bool, now time.Duration) {
	old := k.amountOf(id)
	if e := k.byID[id]; e != nil {
		if n == 0 {
			k.removeAmount(e)
			return
		}
		a, _ := e.Value.(*amount)
		a.n, a.held = n, held
	} else if n > 0 {
		k.byID[id] = k.amounts.PushBack(&amount{id, now, n, held})
	}
	k.sum += n - old.n
	if old.held {
		k.held -= old.n
	}
	if held {
		k.held += n
	}
}

// foldAmount adds what an id has spent to the others of its span. No id is like
// that of a fold, see foldPrefix.
func (k *meter) foldAmount(id string, span time.Duration) {
	e := k.byID[id]
	if e == nil || span <= 0 {
		return
	}
	a, _ := e.Value.(*amount)
	one := foldPrefix + strconv.FormatInt(int64(a.at/span), 10)
	into := k.byID[one]
	if into == nil {
		delete(k.byID, id)
		a.id, k.byID[one] = one, e
		return
	}
	k.removeAmount(e)
	sum, _ := into.Value.(*amount)
	// Those behind it in the list are let go of up to a span late by that.
	sum.n, sum.at = sum.n+a.n, max(sum.at, a.at)
	k.sum += a.n
}

// removeAmount takes one amount out of the sums.
func (k *meter) removeAmount(e *list.Element) {
	a, _ := k.amounts.Remove(e).(*amount)
	delete(k.byID, a.id)
	k.sum -= a.n
	if a.held {
		k.held -= a.n
	}
}

// timeUntilRoom returns after how long enough of the others' amounts has left the window.
func (k *meter) timeUntilRoom(want Meter, id string, now time.Duration) time.Duration {
	if want.Window == 0 {
		return 0
	}
	over := k.sum - k.amountOf(id).n + want.Amount - want.Max
	for e := k.amounts.Front(); e != nil; e = e.Next() {
		a, _ := e.Value.(*amount)
		if a.id == id {
			continue
		}
		if over -= a.n; over <= 0 {
			return a.at + want.Window - now
		}
	}
	return 0
}
