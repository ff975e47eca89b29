package anchors

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/vedette-dev/vedette/internal/backoff"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// sendTime bounds one try to send.
const sendTime = 15 * time.Second

// retries are the pauses after tries that failed.
var retries = backoff.Pauses{First: time.Second, Longest: 5 * time.Minute, Spread: backoff.Spread{Least: 75, Most: 100}}

// Status says how an anchor does.
type Status struct {
	Anchor string `json:"anchor"`
	Kind   string `json:"kind"`
	// Kept is how many records the newest head covers that the place has, and Origin the file of the ledger that they are
	// in; Behind is how many it lacks.
	Origin string `json:"origin,omitempty"`
	Kept   int64  `json:"kept"`
	Behind int64  `json:"behind"`
	// Failures is how many tries failed since the last that did not; Problem is why.
	Failures int    `json:"failures"`
	Problem  string `json:"problem,omitempty"`
	// Sent is when the place last took a head of this process.
	Sent time.Time `json:"sent,omitzero"`
}

// Courier takes heads to one place. Its methods are safe for concurrent use.
type Courier struct {
	o      Options
	anchor Anchor

	sending sync.Mutex // one head at a time
	mu      sync.Mutex
	status  Status
}

// Name is the anchor's.
func (c *Courier) Name() string { return c.anchor.Name }

// Status returns how the anchor does now.
func (c *Courier) Status() Status {
	newest, _, err := c.newest(context.Background())
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.status
	switch {
	case err != nil:
	case newest.Origin != s.Origin: // another file goes on
		s.Behind = newest.Size
	default:
		s.Behind = max(0, newest.Size-s.Kept)
	}
	return s
}

// newest returns the newest head; ledger.ErrNotFound where there is none yet.
func (c *Courier) newest(ctx context.Context) (ledger.Head, []byte, error) {
	signed, err := c.o.Ledger.ExportHead(ctx)
	if err != nil {
		return ledger.Head{}, nil, err
	}
	h, err := ledger.PeekHead(signed) // it is the ledger's own
	return h, signed, err
}

// Run sends the newest head at the anchor's pace until ctx ends, and returns nil then.
func (c *Courier) Run(ctx context.Context) error {
	for {
		pause := c.anchor.Every
		if err := c.Send(ctx); err != nil {
			pause = retries.Pause(c.Status().Failures - 1)
		}
		if !backoff.Wait(ctx, pause) {
			return nil
		}
	}
}

// Send sends the newest head now, where the place lacks it.
func (c *Courier) Send(ctx context.Context) error {
	c.sending.Lock()
	defer c.sending.Unlock()
	h, signed, err := c.newest(ctx)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil
	}
	if err == nil && c.keeps(h) {
		return nil
	}
	if err == nil {
		err = c.put(ctx, Kept{Head: h, Signed: signed, Prove: func(ctx context.Context, from int64) ([]tlog.Hash, error) {
			return c.o.Ledger.ProveGrowth(ctx, from, h)
		}, Tile: func(ctx context.Context, t tlog.Tile) ([]byte, error) { return c.o.Ledger.ReadTile(ctx, h, t) }})
	}
	c.note(ctx, h, err)
	return err
}

// keeps reports whether the place has a head, or a larger one of the same file.
func (c *Courier) keeps(h ledger.Head) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return h.Origin == c.status.Origin && h.Size <= c.status.Kept
}

// put calls the place, which is bounded in time and may panic.
func (c *Courier) put(ctx context.Context, k Kept) (err error) {
	defer func() {
		if r := recover(); r != nil { // its value may be anything
			err = errors.New("the place panicked")
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	return c.anchor.Place.Put(ctx, k)
}

// note writes down what became of a try. It is logged when an anchor begins to fail, and not at each try.
func (c *Courier) note(ctx context.Context, h ledger.Head, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		if c.status.Failures > 0 {
			c.o.Log.Info("The anchor takes heads again.", "anchor", c.anchor.Name, "failures", c.status.Failures)
		}
		c.status.Failures, c.status.Problem, c.status.Sent = 0, "", c.o.Now()
		c.status.Origin, c.status.Kept = h.Origin, h.Size
	case ctx.Err() != nil && c.status.Failures > 0:
	default:
		if c.status.Failures == 0 {
			c.o.Log.Warn("The anchor takes no heads; decisions go on, and it is tried again.", "anchor", c.anchor.Name, "reason", err.Error())
		}
		c.status.Failures++
		c.status.Problem = err.Error()
	}
}

// read asks the place for its heads.
func (c *Courier) read(ctx context.Context) (heads [][]byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("the place panicked")
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, compareTime)
	defer cancel()
	return c.anchor.Place.Read(ctx)
}

// compare holds the ledger against what the place has.
func (c *Courier) compare(ctx context.Context) error {
	heads, err := c.read(ctx)
	if errors.Is(err, ErrWriteOnly) {
		return nil
	}
	if errors.Is(err, ErrForged) {
		return &RefusedError{c.anchor.Name, err}
	}
	if err != nil {
		return c.onUnread(err)
	}
	found, err := c.o.Ledger.CompareHeads(ctx, heads)
	var differs *ledger.AnchorError
	switch {
	case errors.As(err, &differs):
		return &RefusedError{c.anchor.Name, err}
	case err != nil:
		return fmt.Errorf("anchor %q: %w", c.anchor.Name, err)
	case found.Largest == nil && found.GivenUp == 0:
		if newest, _, err := c.newest(ctx); err == nil && newest.Size > 0 {
			return c.onUnread(errors.New("it has no head of this ledger yet"))
		}
		return nil
	case found.Largest == nil:
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.Origin, c.status.Kept = found.Largest.Origin, found.Largest.Size
	return nil
}

// onUnread takes a place that gave no head.
func (c *Courier) onUnread(why error) error {
	if c.anchor.Required {
		return &RefusedError{c.anchor.Name, why}
	}
	c.o.Log.Warn("The ledger could not be compared with its anchor: an older copy of it would not be noticed.",
		"anchor", c.anchor.Name, "reason", why.Error())
	return nil
}
