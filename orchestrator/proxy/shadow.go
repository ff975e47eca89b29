package proxy

import (
	"context"
	"runtime/debug"
	"slices"

	"github.com/vedette-dev/vedette/orchestrator/handover"
	"github.com/vedette-dev/vedette/sentinel/stream"
)

// observer reads a copy of an answer in shadow mode and has its calls judged. Nothing waits for it.
type observer struct {
	x     *exchange
	judge *judge
	kind  answerKind
	relay *stream.Relay
	whole []byte
}

func newObserver(x *exchange, kind answerKind) *observer {
	o := &observer{x: x, judge: newJudge(x), kind: kind}
	if kind == eventStream {
		o.relay = stream.NewRelay(x.form.NewCodec(), x.options(x.proxy))
	}
	return o
}

// take reads some bytes of the answer.
func (o *observer) take(p []byte) {
	switch {
	case o.relay != nil:
		o.see(o.relay.Write(p))
	case o.kind == wholeJSON && len(o.whole)+len(p) <= o.x.proxy.Limits.Answer:
		o.whole = append(o.whole, p...)
	}
}

// close reads the end of the answer.
func (o *observer) close() {
	if o.relay != nil {
		o.see(o.relay.Close())
		return
	}
	if o.kind != wholeJSON {
		return
	}
	body, calls, err := stream.NewBody(o.x.form.NewBody(), o.x.options(o.x.proxy), o.whole)
	if err != nil {
		return
	}
	o.note(calls, body.Refused())
}

// see notes what some bytes brought about. Every call is let through, so that the next ones are seen.
func (o *observer) see(p stream.Progress) {
	for {
		judge := slices.Clone(p.Judge)
		o.note(judge, slices.Clone(p.Refused))
		if len(judge) == 0 {
			return
		}
		for _, c := range judge {
			var err error
			if p, err = o.relay.Decide(c.Number, stream.Decision{Allow: true}); err != nil {
				return
			}
			o.note(nil, slices.Clone(p.Refused))
		}
	}
}

// note has calls judged beside the answer.
func (o *observer) note(calls []stream.Call, refused []stream.Refusal) {
	o.x.event.Refused += len(refused)
	o.x.event.Forwarded += len(calls)
	o.judge.recordRefused(refused)
	for _, c := range calls {
		o.x.work.Go(func() { o.observe(c) })
	}
}

// observe has one call judged, and takes down that it went through.
func (o *observer) observe(c stream.Call) {
	x := o.x
	defer func() {
		if recover() != nil {
			x.o.Log.Error("a call that was watched broke its judge; please report it", "request_id", x.event.Request, "stack", string(debug.Stack()))
		}
	}()
	ctx, cancel := context.WithTimeout(x.base, decideTime)
	defer cancel()
	<-x.arrived
	if x.failed != nil {
		return
	}
	p, err := o.judge.propose(c)
	if err != nil {
		return
	}
	a, err := x.forward.Observe(ctx, p)
	if err != nil {
		x.o.Log.Warn("a call that was watched could not be judged", "error", err, "request_id", x.event.Request)
		return
	}
	if a.Decision == nil { // it was no call
		return
	}
	x.memory.keepCall(handover.ForwardingID(x.caller.of()), c.ID, a.ID, c.Args)
	o.judge.tellForwarded(a.ID, true)
}
