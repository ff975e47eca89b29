package eval

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Offline stands in for the servers of models. An Offline answers their requests from a
// file and writes out those that have no answer, so that a model that can't be reached
// from here can be measured. It sits where a connection would be, so what it writes are
// the bytes of the wire and what it answers is read as any answer is.
//
//	off := eval.NewOffline(answers, file)
//	d, err := assembly.NewDecider(cfg, assembly.DeciderOptions{Transport: off.Transport})
//	ev := eval.NewEvaluator(eval.Options{Decider: d, Offline: off})
//
// A case whose request has no answer ends there: its context is cancelled, which
// is what a caller does who gives up, so nothing of it counts as a failure of
// the model, trips a breaker, is tried again or goes on to the next model. Its
// Result is Unanswered. A request that follows from an answer (a repair, the next
// model of a chain, a second opinion) is written once that answer is there: one
// answers what was written and runs again until nothing is.
//
// Evaluate one case at a time: cases that ask the same at the same moment may be
// judged by one request, and it would be chance whose.
type Offline struct {
	answers map[string]Answer

	mu      sync.Mutex
	out     io.Writer // nil writes nothing
	err     error     // of out
	written map[string]bool
	used    map[string]bool
}

// NewOffline returns an Offline that answers from answers. It writes each request
// without an answer to out, one JSON object a line; either may be nil.
//
//	{"key":"…","case":"7","model":"fast","url":"https://…/chat/completions","body":{…}}
//
// The body is the request's own, byte for byte. The key is the same whenever the
// same model is asked the same for the case of the same id: see Key.
func NewOffline(answers map[string]Answer, out io.Writer) *Offline {
	return &Offline{answers: answers, out: out, written: map[string]bool{}, used: map[string]bool{}}
}

// Key identifies a request. It is the SHA-256, in hex, of the model's configured name,
// the case's id and the body in the canonical form of RFC 8785, each as a netstring
// ("4:fast,").
func Key(model, id string, body []byte) string {
	canonical := jsontext.Value(bytes.Clone(body))
	if err := canonical.Canonicalize(); err != nil { // no JSON: it stands for itself
		canonical = body
	}
	h := sha256.New()
	for _, part := range [][]byte{[]byte(model), []byte(id), canonical} {
		_, _ = fmt.Fprintf(h, "%d:%s,", len(part), part) // a hash takes everything
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Transport returns what carries the requests of the model of that name.
func (o *Offline) Transport(model string) http.RoundTripper { return carrier{o, model} }

// Written is how many requests were written.
func (o *Offline) Written() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.written)
}

// Unused is how many answers no request asked for.
func (o *Offline) Unused() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.answers) - len(o.used)
}

// Err is why a request could not be written.
func (o *Offline) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// pending is one case under way.
type pending struct {
	id     string
	cancel context.CancelFunc

	mu         sync.Mutex
	unanswered bool
}

type pendingKey struct{}

// beginCase gives a case a context that its requests are known by. A nil Offline
// changes nothing.
func (o *Offline) beginCase(ctx context.Context, id string) (context.Context, *pending) {
	if o == nil {
		return ctx, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	p := &pending{id: id, cancel: cancel}
	return context.WithValue(ctx, pendingKey{}, p), p
}

// endCase reports whether the case lacks an answer.
func (p *pending) endCase() bool {
	if p == nil {
		return false
	}
	p.cancel()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.unanswered
}

// markUnanswered notes that an answer is missing, and reports whether it is the first.
func (p *pending) markUnanswered() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.unanswered
	p.unanswered = true
	return !was
}

func (p *pending) isUnanswered() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.unanswered
}

type carrier struct {
	o     *Offline
	model string
}

var errUnanswered = errors.New("the request has no answer yet")

// RoundTrip answers a request or writes it out.
func (c carrier) RoundTrip(req *http.Request) (*http.Response, error) {
	p, ok := req.Context().Value(pendingKey{}).(*pending)
	if !ok || req.Body == nil {
		return nil, errors.New("the request belongs to no case")
	}
	body, err := io.ReadAll(req.Body)
	if err = errors.Join(err, req.Body.Close()); err != nil {
		return nil, err
	}
	if p.isUnanswered() { // what comes after a missing answer follows from nothing
		return nil, errUnanswered
	}
	key := Key(c.model, p.id, body)
	if text, ok := c.o.findAnswer(key, body); ok {
		return &http.Response{
			Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: int64(len(text)),
			Body: io.NopCloser(bytes.NewReader(text)), Request: req,
		}, nil
	}
	if p.markUnanswered() {
		c.o.writeRequest(key, p.id, c.model, req.URL.String(), body)
	}
	p.cancel()
	return nil, errUnanswered
}

func (o *Offline) findAnswer(key string, body []byte) ([]byte, bool) {
	a, ok := o.answers[key]
	if !ok {
		return nil, false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.used[key] = true
	return a.asCompletion(body), true
}

// writeRequest writes a request once, however many cases share the key.
func (o *Offline) writeRequest(key, id, model, url string, body []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.out == nil || o.written[key] || o.err != nil {
		return
	}
	// Put together by hand: an encoder would be free to write the body in
	// another way.
	line := fmt.Appendf(nil, `{"key":%s,"case":%s,"model":%s,"url":%s,"body":`,
		marshalPlain(key), marshalPlain(id), marshalPlain(model), marshalPlain(url))
	line = append(append(line, body...), "}\n"...)
	if bytes.IndexByte(line, '\n') != len(line)-1 {
		o.err = errors.New("a request has a line break between its values, so it can't stand on one line")
		return
	}
	if _, err := o.out.Write(line); err != nil {
		o.err = err
		return
	}
	o.written[key] = true
}
