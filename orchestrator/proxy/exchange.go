package proxy

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/handover"
	"github.com/vedette-dev/vedette/orchestrator/problem"
	"github.com/vedette-dev/vedette/orchestrator/proxy/formats"
	"github.com/vedette-dev/vedette/orchestrator/proxy/wire"
)

// exchange is one request and its answer.
type exchange struct {
	*Door
	form    *formats.Form
	proxy   config.Proxy
	caller  *caller
	request *wire.Request
	body    []byte
	began   time.Time
	event   *Event

	arrived chan struct{} // closed once arrival and surroundings are there
	around  surroundings
	failed  error // why the arrival could not be written down
}

// answerWith returns the handler of a format's answers.
func (d *Door) answerWith(f *formats.Form) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		e := &Event{Format: f.Name, Request: problem.RequestID(r.Context()), began: d.o.Now()}
		ctx, end := d.o.Begin(r.Context(), f.Name)
		r = r.WithContext(ctx)
		defer func() {
			e.Took = d.o.Now().Sub(e.began)
			end(*e)
		}()
		w.Header().Set(headerRequest, e.Request)
		x, leave, err := d.beginExchange(r, f, e)
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // it was for the body, and would end a long answer
		if err != nil {
			e.Failure = d.failRequest(w, f, err)
			return
		}
		defer leave()
		if err := x.run(w, r); err != nil {
			e.Failure = d.failRequest(w, f, err)
		}
	}
}

// failRequest answers with an error, and returns its code. A caller that left needs no answer.
func (d *Door) failRequest(w http.ResponseWriter, f *formats.Form, err error) string {
	e := wire.AsError(err)
	if e.Code == "internal" {
		d.o.Log.Error("a proxied request failed", "error", err)
	}
	fail(w, f, e, 0)
	return e.Code
}

// beginExchange reads a request. end must be called when its answer is over.
func (d *Door) beginExchange(r *http.Request, f *formats.Form, e *Event) (x *exchange, end func(), err error) {
	x = &exchange{Door: d, form: f, proxy: d.settings(), began: d.o.Now(), event: e, arrived: make(chan struct{})}
	e.Shadow = x.proxy.Mode == config.ProxyShadow
	if x.caller, err = d.readCaller(r); err != nil {
		return nil, nil, err
	}
	end, ok := d.loads.beginStream(x.caller.principal.ID, x.proxy.Limits.Streams)
	if !ok {
		return nil, nil, &wire.Error{Status: http.StatusTooManyRequests, Code: "too_many_streams",
			Message: "as many answers of this key are under way as there may be"}
	}
	if x.body, err = readBody(r, x.proxy.Limits.Body); err == nil {
		x.request, err = f.Read(x.body)
	}
	if err != nil {
		end()
		return nil, nil, err
	}
	e.Stream = x.request.Stream
	return x, end, nil
}

// run asks the upstream and carries its answer.
func (x *exchange) run(w http.ResponseWriter, r *http.Request) error {
	to, err := chooseUpstream(x.form.Upstreams(x.proxy), x.request.Model)
	if err != nil {
		return err
	}
	w.Header().Set(headerConversation, x.caller.thread.Name)
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	var arrival sync.WaitGroup
	arrival.Go(func() { x.arrive(ctx) }) // beside the upstream: no text waits for it
	defer arrival.Wait()
	path := r.URL.Path[len(x.form.Door):]
	res, err := x.ups.ask(ctx, question{x.form, to, http.MethodPost, path, r.URL.RawQuery, r.Header, x.body, x.caller.user})
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // what was read counts
	x.event.Upstream = x.o.Now().Sub(x.began)
	x.body = nil // it was sent, and an answer may last
	copyAnswerHeaders(w.Header(), res.Header)
	switch kind := kindOf(res); {
	case res.StatusCode < 200 || res.StatusCode >= 300:
		return x.passFailure(w, res)
	case x.event.Shadow:
		return x.watch(ctx, cancel, w, res)
	case kind == eventStream:
		return x.relay(ctx, cancel, w, res)
	case kind == wholeJSON:
		return x.carryBody(ctx, w, res)
	}
	return errBadAnswer
}

// arrive takes down what the request brings, and works out what its calls are judged by. It outlives an answer that is
// short, and a client that left.
func (x *exchange) arrive(ctx context.Context) {
	defer close(x.arrived)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	defer func() {
		if recover() != nil { // it reads what a client wrote
			x.o.Log.Error("a proxied conversation broke its reader; please report it", "request_id", x.event.Request)
			x.failed = errBroke
		}
		if x.failed != nil {
			x.o.Log.Error("what a request brought could not be written down; its calls are blocked", "error", x.failed,
				"request_id", x.event.Request)
		}
	}()
	id := handover.ForwardingID(x.caller.of())
	r := newReader(x.request.Steps, x.caller.principal.IsHuman(), func(text string) bool { return x.memory.wrote(id, text) },
		func(wireID string) string { return x.memory.takeCall(id, wireID) })
	results, at := r.listResults()
	now, before := r.readForeign(nil)
	if (now || before) && !x.caller.thread.Tainted {
		if x.failed = x.o.Keys.Taint(ctx, x.caller.thread); x.failed != nil {
			return
		}
	}
	a := handover.Arrival{Results: results, ReadBefore: x.caller.thread.Tainted}
	known := map[int]bool{}
	if len(results) > 0 {
		took, err := x.forward.Arrive(ctx, x.caller.of(), a)
		if x.failed = err; err != nil {
			return
		}
		for i, is := range took {
			known[at[i]] = is
		}
	}
	x.around = r.read(known)
	a.Results = nil
	a.Read, before = r.readForeign(known)
	a.ReadBefore = a.ReadBefore || before
	if x.around.human {
		a.Turn = x.around.turn
	}
	_, x.failed = x.forward.Arrive(ctx, x.caller.of(), a)
}
