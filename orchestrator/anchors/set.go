package anchors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// DefaultEvery is how often the newest head is sent, where it is another.
const DefaultEvery = time.Minute

// ErrWriteOnly is returned by a Place that takes heads and gives none back.
var ErrWriteOnly = errors.New("the place gives no heads back")

// Place keeps heads.
type Place interface {
	// Kind is a word for people: file, http, witness.
	Kind() string
	// Put keeps a head. It returns nil once the other side has it.
	Put(ctx context.Context, h Kept) error
	// Read returns the heads that are kept there, or the last of them; ErrWriteOnly where there is no way.
	Read(ctx context.Context) ([][]byte, error)
}

// Kept is a head on its way to a place.
type Kept struct {
	ledger.Head
	Signed []byte
	// Prove returns the hashes that prove the first records to be among those of the head.
	Prove func(ctx context.Context, from int64) ([]tlog.Hash, error)
	// Tile returns a tile of the head's tree.
	Tile func(ctx context.Context, t tlog.Tile) ([]byte, error)
}

// Ledger is what heads are of: a ledger.Ledger.
type Ledger interface {
	ExportHead(ctx context.Context) ([]byte, error)
	ProveGrowth(ctx context.Context, from int64, to ledger.Head) ([]tlog.Hash, error)
	ReadTile(ctx context.Context, of ledger.Head, t tlog.Tile) ([]byte, error)
	CompareHeads(ctx context.Context, heads [][]byte) (ledger.Comparison, error)
}

// Anchor is a place with its pace.
type Anchor struct {
	Name  string
	Place Place
	// Every is how often the newest head is sent; zero is DefaultEvery.
	Every time.Duration
	// Required refuses a start where the place can't be read, or gives no head of a ledger that has records.
	Required bool
}

// Options are the parts of a Set.
type Options struct {
	Ledger Ledger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Log is told when an anchor begins to fail and when it works again; nil discards.
	Log *slog.Logger
}

// Set are the anchors of one ledger.
type Set struct {
	o        Options
	couriers []*Courier
}

// New returns the anchors of a ledger.
func New(o Options, list ...Anchor) *Set {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Set{o: o}
	for _, a := range list {
		if a.Every <= 0 {
			a.Every = DefaultEvery
		}
		s.couriers = append(s.couriers, &Courier{o: o, anchor: a, status: Status{Anchor: a.Name, Kind: a.Place.Kind()}})
	}
	return s
}

// Couriers send heads, one for each anchor.
func (s *Set) Couriers() []*Courier { return s.couriers }

// Status says how the anchors do.
func (s *Set) Status() []Status {
	out := make([]Status, len(s.couriers))
	for i, c := range s.couriers {
		out[i] = c.Status()
	}
	return out
}

// RefusedError says that an anchor contradicts the ledger, or can't be asked and must be.
type RefusedError struct {
	Anchor string
	Err    error
}

// Error names the anchor and the remedy.
func (e *RefusedError) Error() string {
	var differs *ledger.AnchorError
	if !errors.As(e.Err, &differs) {
		return fmt.Sprintf("anchor %q can't be read, and it is required: %v; make it readable, or send it a first head with "+
			"vedette ledger anchor", e.Anchor, e.Err)
	}
	return fmt.Sprintf("anchor %q: %v; put the newest copy of the database back, and see what vedette ledger verify --head FILE says of it; "+
		"where a backup was restored on purpose, say so with vedette ledger accept-restored --by NAME", e.Anchor, e.Err)
}

// Unwrap returns the cause.
func (e *RefusedError) Unwrap() error { return e.Err }

// compareTime bounds the reading of one place at the start.
const compareTime = 10 * time.Second

// Compare holds the ledger against the newest heads that its anchors give back. The error is a *RefusedError for
// each anchor that contradicts it. An anchor that can't be read is logged, unless it is required.
func (s *Set) Compare(ctx context.Context) error {
	var wg sync.WaitGroup
	errs := make([]error, len(s.couriers))
	for i, c := range s.couriers {
		wg.Go(func() { errs[i] = c.compare(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Read returns the heads that all anchors give back, for an operator who gives them up. An anchor that can't be
// read is in the error.
func (s *Set) Read(ctx context.Context) (heads [][]byte, err error) {
	for _, c := range s.couriers {
		list, rerr := c.read(ctx)
		if rerr != nil && !errors.Is(rerr, ErrWriteOnly) {
			err = errors.Join(err, fmt.Errorf("anchor %q: %w", c.anchor.Name, rerr))
		}
		heads = append(heads, list...)
	}
	return heads, err
}

// finishTime bounds the sending of the last head.
const finishTime = 5 * time.Second

// Finish sends the newest head to all anchors that lack it, once more and for a short time. Run must have ended.
func (s *Set) Finish(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTime)
	defer cancel()
	var wg sync.WaitGroup
	for _, c := range s.couriers {
		wg.Go(func() { _ = c.Send(ctx) }) // the status and the log have it
	}
	wg.Wait()
}
