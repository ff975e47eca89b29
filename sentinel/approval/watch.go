package approval

import (
	"context"
	"errors"
	"sync"

	"github.com/vedette-dev/vedette/sentinel/store"
)

// ChangeKind is what has happened to an approval.
type ChangeKind string

// The kinds of a Change.
const (
	ChangeAsked     ChangeKind = "asked"     // people are asked, for the first time or about something else than before
	ChangeRecounted ChangeKind = "recounted" // who may answer has changed, and the answers were counted again
	ChangeAnswered  ChangeKind = "answered"  // a person has answered, and the call has no decision yet
	ChangeEnded     ChangeKind = "ended"     // the call has its decision
	ChangeForgotten ChangeKind = "forgotten" // the approval was purged or pruned; its Item has the id alone
	ChangeGap       ChangeKind = "gap"       // changes were left out, since this reader was too slow: list again
)

// Change is one change of the inbox. Its Item is the approval as it was then, without its place
// in a batch; that of a gap is empty.
type Change struct {
	Kind ChangeKind `json:"kind"`
	Item Item       `json:"item"`
}

const (
	// MaxWatchers is how many readers Watch has at a time.
	MaxWatchers = 4096
	// watchRoom is how many changes wait for one reader.
	watchRoom = 64
)

// ErrWatchers is returned by Watch where as many readers as may be watch already.
var ErrWatchers = errors.New("too many readers watch the approvals; try again later")

// Watch tells of every change of the inbox from now on, once it is on disk, until ctx ends: the
// channel is closed then. A reader that lets 64 changes wait loses those that follow, and is told
// so by one Change of the kind ChangeGap; it never slows an answer or a call. List after Watch
// misses nothing. The error is ErrWatchers.
//
// An approval whose time is over ends when the checkpoint says so on record. A reader who shows
// how much time is left goes by Item.Expires.
func (in *Inbox) Watch(ctx context.Context) (<-chan Change, error) {
	return in.watch.join(ctx)
}

// watchers are the readers of an inbox's changes.
type watchers struct {
	mu     sync.Mutex
	all    map[*watcher]struct{}
	staged []Change // of submissions that are not on disk yet
}

// watcher is one reader. Its channel has room for one Change more than it is given, which is that
// of the gap.
type watcher struct {
	to     chan Change
	missed bool // the gap was told, and the reader has not caught up since
}

func (w *watchers) join(ctx context.Context) (<-chan Change, error) {
	one := &watcher{to: make(chan Change, watchRoom+1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.all) >= MaxWatchers {
		return nil, ErrWatchers
	}
	if w.all == nil {
		w.all = map[*watcher]struct{}{}
	}
	w.all[one] = struct{}{}
	context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.all, one)
		close(one.to)
	})
	return one.to, nil
}

// stage keeps a change until its submission is on disk, and takes it back with the submission.
func (w *watchers) stage(tx *store.Tx, c Change) {
	w.mu.Lock()
	at := len(w.staged)
	w.staged = append(w.staged, c)
	w.mu.Unlock()
	tx.OnUndo(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.staged = w.staged[:min(at, len(w.staged))]
	})
}

// publish tells the readers what is on disk now, and wakes who waits for the answer to it.
func (w *watchers) publish(wake func(id string)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.staged {
		wake(c.Item.ID)
		for one := range w.all {
			one.tell(c)
		}
	}
	w.staged = nil
}

// tell gives the reader a change, or says that there is a gap. Only publish sends, under the
// lock, so the room that is there stays there.
func (w *watcher) tell(c Change) {
	switch waiting := len(w.to); {
	case waiting < watchRoom && !w.missed, waiting == 0:
		w.missed = false
		w.to <- c
	case !w.missed:
		w.missed = true
		w.to <- Change{Kind: ChangeGap}
	}
}
