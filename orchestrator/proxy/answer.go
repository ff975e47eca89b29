package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/orchestrator/proxy/wire"
	"github.com/vedette-dev/vedette/sentinel/stream"
)

// answerKind is what an upstream says that its answer is.
type answerKind uint8

const (
	otherKind answerKind = iota
	eventStream
	wholeJSON
)

func kindOf(res *http.Response) answerKind {
	switch typ, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); {
	case typ == "text/event-stream":
		return eventStream
	case typ == "application/json", strings.HasSuffix(typ, "+json"):
		return wholeJSON
	}
	return otherKind
}

// carryBody carries an answer that isn't streamed. Its calls are decided beside each other, and no person is waited for.
func (x *exchange) carryBody(ctx context.Context, w http.ResponseWriter, res *http.Response) error {
	raw, err := readUpTo(res.Body, x.proxy.Limits.Answer, int(res.ContentLength))
	switch {
	case errors.Is(err, errLong):
		return errTooLarge
	case ctx.Err() != nil:
		return nil // the client left
	case err != nil:
		return failureOf(&stream.Error{Code: stream.CodeCut})
	}
	j := newJudge(x)
	defer j.close()
	out, err := x.judgeBody(ctx, j, raw)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(out.answer)))
	if ids := j.listDecisions(); ids != "" {
		h.Set(headerDecisions, ids)
	}
	j.keep(out.forwarded)
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(out.answer) // where it failed a part may have arrived
	x.event.Forwarded += len(out.forwarded)
	j.left(out.forwarded)
	return nil
}

// judgedBody is an answer as its decisions leave it.
type judgedBody struct {
	answer    []byte
	forwarded []int
}

// judgeBody has the calls of an answer decided.
func (x *exchange) judgeBody(ctx context.Context, j *judge, raw []byte) (out judgedBody, err error) {
	body, calls, err := stream.NewBody(x.form.NewBody(), x.options(x.proxy), raw)
	if err != nil {
		return out, failureOf(err)
	}
	x.event.Refused += len(body.Refused())
	j.recordRefused(body.Refused())
	decisions := make([]stream.Decision, len(calls))
	var all sync.WaitGroup
	for i, c := range calls {
		all.Go(func() { decisions[i] = j.decide(ctx, c, 0) })
	}
	all.Wait()
	for i, c := range calls {
		if !decisions[i].Allow {
			x.event.Blocked++
		}
		if err := body.Decide(c.Number, decisions[i]); err != nil && !errors.Is(err, stream.ErrDecided) {
			return out, failureOf(err)
		}
		if body.Done() {
			break
		}
	}
	if out.answer, err = body.Bytes(); err != nil {
		return out, failureOf(err)
	}
	out.forwarded = body.Forwarded()
	return out, nil
}

// maxFailure bounds an upstream's error that is passed on.
const maxFailure = 1 << 20

// passFailure passes an upstream's error on, where it is one in the provider's form. Anything else becomes one: a page
// of a gateway's tells a client nothing.
func (x *exchange) passFailure(w http.ResponseWriter, res *http.Response) error {
	raw, err := readUpTo(res.Body, maxFailure, int(res.ContentLength))
	status := res.StatusCode
	if status < http.StatusBadRequest { // no client follows it anywhere
		status = http.StatusBadGateway
	}
	x.event.Failure = "upstream_" + strconv.Itoa(res.StatusCode/100) + "xx"
	body := bytes.TrimSpace(raw)
	if err != nil || kindOf(res) != wholeJSON || !wire.IsError(body) {
		body = x.form.WriteError(wire.Error{Status: status, Code: "upstream_error", Message: "the upstream answered with status " +
			strconv.Itoa(res.StatusCode)})
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a caller that left needs no answer
	return nil
}

// watch carries an answer as it came, in shadow mode. What enforcing would have done is worked out beside it.
func (x *exchange) watch(ctx context.Context, cancel context.CancelCauseFunc, w http.ResponseWriter, res *http.Response) error {
	o := newObserver(x, kindOf(res))
	defer o.close()
	for name := range res.Header {
		if name == "Content-Type" {
			w.Header().Set(name, res.Header.Get(name))
		}
	}
	out := newOutlet(w)
	out.begin(res.StatusCode)
	stalled := time.AfterFunc(x.proxy.Timeouts.Idle, func() { cancel(errStalled) })
	defer stalled.Stop()
	buf := make([]byte, bufferSize)
	for {
		n, err := res.Body.Read(buf)
		stalled.Reset(x.proxy.Timeouts.Idle)
		if n > 0 {
			o.take(buf[:n])
			if werr := out.write(buf[:n]); werr != nil {
				x.event.Failure = "client_left"
				return nil // a client that left needs no answer
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			x.event.Failure = "upstream_cut"
			if ctx.Err() == nil {
				panic(http.ErrAbortHandler) // it must not look whole
			}
			return nil
		}
	}
}
