package habit

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vedette-dev/vedette/internal/plainjson"
	"github.com/vedette-dev/vedette/sentinel"
)

// What makes a habit.
const (
	// Days is on how many days a person must have approved.
	Days = 3
	// For is how long an approval counts.
	For = 90 * 24 * time.Hour
)

// Store finds the approvals that were kept under a reference of a user's, newest first, at
// most limit of them.
type Store interface {
	Approvals(ctx context.Context, user, ref string, limit int) ([][]byte, error)
}

// Options are the parts of Habits.
type Options struct {
	Store Store
	// Key makes references of names. It must be the same after a restart.
	Key [32]byte
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Log is told once of each outage of the store, without values; nil discards.
	Log *slog.Logger
}

// Habits remembers approvals and tells habits. It is safe for concurrent use.
type Habits struct {
	o    Options
	away atomic.Bool // the store failed when it was asked last

	mu   sync.Mutex
	kept map[string]keptApprovals // by reference; see maxKept
}

// keptApprovals are approvals as they were read lately.
type keptApprovals struct {
	list  []approval
	until time.Time
}

// approval is a person's yes as it is kept: when, and the numbers of the call by the place
// of their arguments. What the call was says Summarize alone.
type approval struct {
	At      time.Time          `json:"at"`
	Numbers map[string]float64 `json:"numbers,omitempty"`
	Skill   string             `json:"skill,omitempty"`
	To      []string           `json:"to,omitempty"` // the first recipients, each cut
	ToMore  int                `json:"to_more,omitempty"`
}

// Bounds.
const (
	maxKept      = 1024             // references whose approvals are kept in memory
	keepFor      = 10 * time.Second // so long a purge by another process isn't felt
	maxApprovals = 256              // that are read of one reference, the newest
	readTimeout  = 2 * time.Second
)

// New returns Habits.
func New(o Options) *Habits {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Habits{o: o, kept: map[string]keptApprovals{}}
}

// Remember implements sentinel.HabitKeeper: it returns what to keep of a call that a person
// approved at that time. ok is false where nothing is to be kept: the call can have no habit,
// or an approval of that day covers it.
func (h *Habits) Remember(ctx context.Context, c sentinel.Call, at time.Time) (row sentinel.HabitRow, ok bool) {
	k, can := keyOf(c)
	if !can {
		return sentinel.HabitRow{}, false
	}
	ref, at := k.digest(h.o.Key), at.UTC()
	if before, err := h.readApprovals(ctx, c.Grant().User(), ref); err == nil {
		for _, a := range before {
			if dayOf(a.At) == dayOf(at) && covers([]approval{a}, k.numbers) {
				return sentinel.HabitRow{}, false
			}
		}
	}
	h.mu.Lock()
	delete(h.kept, ref)
	h.mu.Unlock()
	said := approval{At: at, Numbers: k.numbers, Skill: c.Skill().Name()}
	said.To, said.ToMore = listRecipients(c)
	data, err := plainjson.Marshal(said)
	return sentinel.HabitRow{Ref: ref, Data: data, Expires: at.Add(For)}, err == nil
}

// IsHabit reports whether a call is a habit of its user's. Where that can't be read it is none.
func (h *Habits) IsHabit(ctx context.Context, c sentinel.Call) bool {
	k, can := keyOf(c)
	if !can {
		return false
	}
	list, err := h.recallApprovals(ctx, c.Grant().User(), k.digest(h.o.Key))
	if err != nil {
		return false
	}
	now := h.o.Now()
	var counted []approval
	days := map[string]bool{}
	for _, a := range list {
		if !a.At.After(now) && now.Sub(a.At) < For {
			counted, days[dayOf(a.At)] = append(counted, a), true
		}
	}
	return len(days) >= Days && covers(counted, k.numbers)
}

func dayOf(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// covers reports whether each number is within what was approved.
func covers(list []approval, numbers map[string]float64) bool {
	for place, n := range numbers {
		least, most, found := 0.0, 0.0, false
		for _, a := range list {
			if was, ok := a.Numbers[place]; ok {
				least, most, found = min(least, was), max(most, was), true
			}
		}
		if !found || n < least || n > most {
			return false
		}
	}
	return true
}

// recallApprovals returns approvals that were read lately, or reads them.
func (h *Habits) recallApprovals(ctx context.Context, user, ref string) ([]approval, error) {
	now := h.o.Now()
	h.mu.Lock()
	k, ok := h.kept[ref]
	h.mu.Unlock()
	if ok && now.Before(k.until) {
		return k.list, nil
	}
	list, err := h.readApprovals(ctx, user, ref)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.kept) >= maxKept {
		maps.DeleteFunc(h.kept, func(string, keptApprovals) bool { return true })
	}
	h.kept[ref] = keptApprovals{list, now.Add(keepFor)}
	return list, nil
}

// readApprovals asks the store. What can't be read of a row counts for nothing. The log is
// told when the store begins to fail.
func (h *Habits) readApprovals(ctx context.Context, user, ref string) ([]approval, error) {
	limited, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	rows, err := h.o.Store.Approvals(limited, user, ref, maxApprovals)
	if err != nil {
		if ctx.Err() == nil && h.away.CompareAndSwap(false, true) {
			h.o.Log.Warn("habits can't be read, so the judge's doubts count as without them", "error", err)
		}
		return nil, err
	}
	h.away.Store(false)
	list := make([]approval, 0, len(rows))
	for _, data := range rows {
		var a approval
		if json.Unmarshal(data, &a) == nil && !a.At.IsZero() {
			list = append(list, a)
		}
	}
	return list, nil
}
