package intake

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/sentinel"
)

// flight is a request that acts, or whose approver is asked.
type flight struct {
	owner owner
	mu    sync.Mutex
	// changed is closed when where the request stands has changed.
	changed chan struct{}
	now     Answer
	err     error
	over    bool
	// held is closed once a question about the request's call is on record.
	held     chan struct{}
	holdOnce sync.Once
}

// putTime bounds how long a question is still put once the process is ending.
const putTime = 5 * time.Second

// questionContext is for a call that puts a question to a person. It ends with ctx once the question is on record, so that the next
// process puts it again. A call that is cut off before is denied for good.
func (f *flight) questionContext(ctx context.Context) (context.Context, context.CancelFunc) {
	own, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		defer end()
		last := time.NewTimer(putTime)
		defer last.Stop()
		select {
		case <-f.held:
		case <-last.C:
		case <-own.Done():
		}
	})
	return own, func() { stop(); end() }
}

// set says where the request stands.
func (f *flight) set(change func(*Answer)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.now)
	close(f.changed)
	f.changed = make(chan struct{})
}

// finish says what became of the request, or that this process goes on with it no more.
func (f *flight) finish(a Answer, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	a.Info = f.now.Info
	f.now, f.err, f.over = a, err, true
	close(f.changed)
	f.changed = make(chan struct{})
}

// sight is where a request stood when it was looked at.
type sight struct {
	now  Answer
	err  error
	over bool
	// changed is closed when it stands elsewhere.
	changed <-chan struct{}
}

// look returns where the request stands, and what tells of a change.
func (f *flight) look() sight {
	f.mu.Lock()
	defer f.mu.Unlock()
	return sight{f.now, f.err, f.over, f.changed}
}

// await waits until the request has its end, or a person is asked. A caller that leaves gets where it stands.
func (f *flight) await(ctx context.Context) (Answer, error) {
	for {
		s := f.look()
		switch {
		case s.over && s.err != nil && !errors.Is(s.err, errLeft): // after errLeft the request waits on, and the process ends
			return Answer{}, s.err
		case s.over, s.now.Status == PendingApproval && s.now.Approval != "":
			return s.now, nil
		}
		select {
		case <-s.changed:
		case <-ctx.Done():
			return s.now, nil
		}
	}
}

// pendingAnswer is where a request stands that waits on.
func (f *flight) pendingAnswer() Answer {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

// errLeft is that a request waits on after this process.
var errLeft = errors.New("the request waits for a person, beyond this process")

// flights are the requests that act, or whose approver is asked. Their goroutines end with it.
type flights struct {
	most int
	log  *slog.Logger
	base context.Context //nolint:containedctx // of what goes on while no caller waits
	stop context.CancelFunc
	work sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	list    map[string]*flight   // by request
	byCalls map[string]*flight   // by the call that a person may be asked about
	due     map[string]time.Time // requests that Sweep goes on with, and when
}

func newFlights(most int, log *slog.Logger) *flights {
	fs := &flights{most: most, log: log, list: map[string]*flight{}, byCalls: map[string]*flight{}, due: map[string]time.Time{}}
	fs.base, fs.stop = context.WithCancel(context.Background())
	return fs
}

// close ends all and returns when they have ended.
func (fs *flights) close() {
	fs.mu.Lock()
	fs.closed = true
	fs.mu.Unlock()
	fs.stop()
	fs.work.Wait()
}

// begin lists a flight and runs it. The error is ErrClosed or ErrBusy; nothing runs then.
func (fs *flights) begin(o owner, first Answer, run func(context.Context, *flight) (Answer, error)) (*flight, error) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f := fs.list[o.request]; f != nil {
		return f, nil
	}
	if err := fs.refuse(); err != nil {
		return nil, err
	}
	f := &flight{owner: o, changed: make(chan struct{}), held: make(chan struct{}), now: first}
	fs.list[o.request] = f
	fs.work.Go(func() {
		a, err := first, errors.New("the request broke")
		defer func() {
			if r := recover(); r != nil {
				fs.log.Error("a request panicked", "request", o.request)
			}
			fs.mu.Lock()
			delete(fs.list, o.request)
			if err != nil {
				fs.due[o.request] = time.Time{}
			}
			fs.mu.Unlock()
			f.finish(a, err)
		}()
		a, err = run(fs.base, f)
	})
	return f, nil
}

// makeRoom refuses a request for which no flight could begin, before anything of it is recorded.
func (fs *flights) makeRoom() error {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.refuse()
}

// refuse is ErrClosed once the process is ending, and ErrBusy where all places are taken.
func (fs *flights) refuse() error {
	switch {
	case fs.closed:
		return ErrClosed
	case len(fs.list) >= fs.most:
		return ErrBusy
	}
	return nil
}

// remind has Sweep go on with a request from a time on.
func (fs *flights) remind(request string, at time.Time) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.due[request] = at
}

// remindOf has Sweep go on with a request for which there was no room. Another error stays one.
func (fs *flights) remindOf(request string, err error) error {
	if !errors.Is(err, ErrBusy) && !errors.Is(err, ErrClosed) {
		return err
	}
	fs.remind(request, time.Time{})
	return nil
}

// takeDue returns the requests whose time to go on has come, and forgets them.
func (fs *flights) takeDue(now time.Time) (out []string) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for request, at := range fs.due {
		if !now.Before(at) {
			out = append(out, request)
			delete(fs.due, request)
		}
	}
	return out
}

// isClosed reports whether the process is ending.
func (fs *flights) isClosed() bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.closed
}

// find returns a flight; nil where the request is none.
func (fs *flights) find(request string) *flight {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.list[request]
}

// follow has events of a call told to a flight, until leave.
func (fs *flights) follow(callID string, f *flight) (leave func()) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.byCalls[callID] = f
	return func() {
		fs.mu.Lock()
		defer fs.mu.Unlock()
		delete(fs.byCalls, callID)
	}
}

// onEvent tells a flight that the question about its call is on record, and that people can find it.
func (fs *flights) onEvent(e sentinel.Event) {
	if e.Kind != sentinel.EventAsked && e.Kind != sentinel.RecordHeld {
		return
	}
	fs.mu.Lock()
	f := fs.byCalls[e.Call.Proposed().ID()]
	fs.mu.Unlock()
	if f == nil {
		return
	}
	if e.Kind == sentinel.RecordHeld {
		f.holdOnce.Do(func() { close(f.held) })
		return
	}
	f.set(func(a *Answer) {
		a.Status, a.Approval, a.Expires = PendingApproval, e.Decision.ID, e.Decision.Expires.UTC().Truncate(time.Millisecond)
	})
}
