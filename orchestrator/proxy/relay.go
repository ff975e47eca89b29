package proxy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/orchestrator/proxy/wire"
	"github.com/vedette-dev/vedette/sentinel/stream"
)

const (
	// bufferSize is what is read at a time: a chunk of text is shorter, and each stream holds such buffers.
	bufferSize = 2 << 10
	// maxUpstreamHeader bounds the headers of an upstream's answer.
	maxUpstreamHeader = 64 << 10
	idleConnection    = 90 * time.Second
)

var buffers = sync.Pool{New: func() any { b := make([]byte, bufferSize); return &b }}

// relayed is one streamed answer on its way. The upstream is read in the handler's goroutine; each call is decided in
// one of its own. What they bring about is written under the lock, so the client sees one order.
type relayed struct {
	x      *exchange
	judge  *judge
	ctx    context.Context //nolint:containedctx // of the answer: the calls are decided under it
	cancel context.CancelCauseFunc
	out    *outlet
	up     http.Header

	mu      sync.Mutex
	relay   *stream.Relay
	over    chan struct{} // closed once nothing more is written
	err     error         // why there was no whole answer
	judging sync.WaitGroup
	beat    *time.Timer
	held    time.Time // since when calls are held
}

// relay carries a streamed answer.
func (x *exchange) relay(ctx context.Context, cancel context.CancelCauseFunc, w http.ResponseWriter, res *http.Response) error {
	s := &relayed{
		x: x, judge: newJudge(x), ctx: ctx, cancel: cancel, out: newOutlet(w), up: res.Header, over: make(chan struct{}),
		relay: stream.NewRelay(x.form.NewCodec(), x.options(x.proxy)),
	}
	leave := x.active.add(s)
	defer leave()
	defer s.finish()
	s.read(res.Body)
	select { // what is held waits for its decisions
	case <-s.over:
	case <-ctx.Done():
	}
	return s.end()
}

// read carries what the upstream sends until it ends, or the answer is over.
func (s *relayed) read(body io.Reader) {
	stalled := time.AfterFunc(s.x.proxy.Timeouts.Idle, func() { s.cancel(errStalled) })
	defer stalled.Stop()
	buf := buffers.Get().(*[]byte) //nolint:forcetypeassert // it holds nothing else
	defer buffers.Put(buf)
	for {
		n, err := body.Read(*buf)
		stalled.Reset(s.x.proxy.Timeouts.Idle)
		if n > 0 && s.write((*buf)[:n]) {
			return
		}
		if err != nil {
			stalled.Stop()
			s.onUpstreamEnd(err)
			return
		}
	}
}

var errStalled = errors.New("the upstream stalled")

// write hands bytes of the upstream to the relay, and reports whether the answer is over.
func (s *relayed) write(p []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isOver() {
		s.apply(s.relay.Write(p))
	}
	return s.isOver()
}

// onUpstreamEnd says that the upstream's bytes are over: at their end, or broken off.
func (s *relayed) onUpstreamEnd(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.isOver():
	case errors.Is(err, io.EOF):
		s.apply(s.relay.Close())
	case errors.Is(context.Cause(s.ctx), errStalled):
		s.apply(s.relay.Fail(stream.CodeStalled))
	case s.ctx.Err() != nil: // the client left
	default:
		s.apply(s.relay.Fail(stream.CodeCut))
	}
}

// isOver reports whether nothing more is written. The lock is held.
func (s *relayed) isOver() bool {
	select {
	case <-s.over:
		return true
	default:
		return false
	}
}

// apply writes what some bytes or a decision brought about. The lock is held.
func (s *relayed) apply(p stream.Progress) {
	s.x.event.Refused += len(p.Refused)
	s.judge.recordRefused(slices.Clone(p.Refused))
	for _, c := range p.Judge {
		s.judging.Go(func() { s.decide(c) })
	}
	if p.Err != nil {
		s.err = failureOf(p.Err)
	}
	if s.send(p) && p.Done {
		s.stop()
	}
	s.armBeat()
}

// send writes bytes to the client. It reports false where the client left. An answer that fails before anything was
// sent is an error with a status.
func (s *relayed) send(p stream.Progress) bool {
	if len(p.Bytes) == 0 || !s.out.begun && isOurs(p.Err) {
		return true
	}
	s.judge.keep(p.Forwarded)
	if !s.out.begun {
		s.beginAnswer()
	}
	err := s.out.write(p.Bytes)
	s.x.event.Forwarded += len(p.Forwarded)
	s.judge.left(p.Forwarded) // also where the write failed: a part may have arrived
	if err != nil {
		s.cancel(err)
		s.stop()
	}
	return err == nil
}

// beginAnswer sends the headers. Decisions that are made later are named in the trailer.
func (s *relayed) beginAnswer() {
	h := s.out.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache, no-store")
	h.Set("X-Accel-Buffering", "no")
	h.Add("Trailer", headerDecisions)
	s.out.begin(http.StatusOK)
}

// stop ends the answer: nothing more is read or written. The lock is held.
func (s *relayed) stop() {
	if s.isOver() {
		return
	}
	close(s.over)
	s.cancel(nil)
}

// decide has one call decided, and applies the decision.
func (s *relayed) decide(c stream.Call) {
	defer func() {
		if recover() != nil {
			s.x.o.Log.Error("a proxied stream broke; please report it", "request_id", s.x.event.Request, "stack", string(debug.Stack()))
			s.cancel(errBroke)
		}
	}()
	d := s.judge.decide(s.ctx, c, s.x.proxy.Hold)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isOver() {
		return
	}
	if !d.Allow {
		s.x.event.Blocked++
	}
	p, err := s.relay.Decide(c.Number, d)
	if err == nil { // it was blocked after it had been offered, otherwise
		s.apply(p)
	}
}

// armBeat has something sent now and then while calls are held. The lock is held.
func (s *relayed) armBeat() {
	waiting := s.relay.Waiting() > 0 && !s.isOver()
	switch now := s.x.o.Now(); {
	case waiting && s.held.IsZero():
		s.held = now
	case !waiting && !s.held.IsZero():
		s.x.event.Held += now.Sub(s.held)
		s.held = time.Time{}
	}
	switch {
	case !waiting && s.beat != nil:
		s.beat.Stop()
		s.beat = nil
	case waiting && s.beat == nil:
		s.beat = time.AfterFunc(s.x.proxy.KeepAlive, s.sendBeat)
	}
}

// sendBeat keeps the client's connection alive.
func (s *relayed) sendBeat() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isOver() || s.beat == nil {
		return
	}
	s.send(stream.Progress{Bytes: s.relay.KeepAlive()})
	s.beat.Reset(s.x.proxy.KeepAlive)
}

// fail ends the answer with an error of ours: the server is ending.
func (s *relayed) fail(code string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isOver() {
		s.apply(s.relay.Fail(code))
	}
}

// end returns what the client is still to be told: nothing where it was told all, or left.
func (s *relayed) end() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	cause := context.Cause(s.ctx)
	switch {
	case s.err != nil && s.out.begun:
		s.x.event.Failure = wire.AsError(s.err).Code
	case s.err != nil:
		return s.err
	case !s.isOver() && errors.Is(cause, errStalled) && !s.out.begun:
		return errSlow
	case !s.isOver():
		s.x.event.Failure = "client_left"
	}
	return nil
}

// finish waits for the calls that are being decided, and takes down what never left.
func (s *relayed) finish() {
	s.mu.Lock()
	s.stop()
	if s.beat != nil {
		s.beat.Stop()
		s.beat = nil
	}
	s.mu.Unlock()
	s.judge.close()
	s.judging.Wait()
	if s.out.begun {
		s.out.w.Header().Set(headerDecisions, s.judge.listDecisions())
	}
}

// outlet writes to a client, and flushes what it wrote.
type outlet struct {
	w       http.ResponseWriter
	control *http.ResponseController
	begun   bool
}

func newOutlet(w http.ResponseWriter) *outlet {
	return &outlet{w: w, control: http.NewResponseController(w)}
}

func (o *outlet) begin(status int) {
	o.begun = true
	o.w.WriteHeader(status)
}

func (o *outlet) write(p []byte) error {
	if _, err := o.w.Write(p); err != nil {
		return err
	}
	return o.control.Flush()
}

// activeStreams are the answers under way, so that they can be ended with an error that clients read.
type activeStreams struct {
	mu sync.Mutex
	of map[*relayed]struct{}
}

func (a *activeStreams) add(s *relayed) (leave func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of = map[*relayed]struct{}{}
	}
	a.of[s] = struct{}{}
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.of, s)
	}
}

// endAll ends them.
func (a *activeStreams) endAll() {
	a.mu.Lock()
	list := make([]*relayed, 0, len(a.of))
	for s := range a.of {
		list = append(list, s)
	}
	a.mu.Unlock()
	for _, s := range list {
		s.fail(stream.CodeEnding)
	}
}
