package http

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"

	"github.com/vedette-dev/vedette/internal/scrub"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/decode"
	"github.com/vedette-dev/vedette/skills/warrant"
)

// maxSnippet is how much of an error's body the model is shown, in bytes.
const maxSnippet = 2 << 10

// StatusError is an answer that is no success.
type StatusError struct {
	Status int
	// Body is the beginning of what the server sent: untrusted text.
	Body string
}

// Error returns the status and the beginning of the body, which may hold
// values and is for the model alone.
func (e *StatusError) Error() string {
	msg := fmt.Sprintf("the server answered %d %s", e.Status, http.StatusText(e.Status))
	if e.Status >= 300 && e.Status < 400 {
		msg += "; redirects are not followed"
	}
	if e.Body != "" {
		msg += ": " + e.Body
	}
	return msg
}

func (e *endpoint) runRequest(ctx context.Context, o skills.Order) (skills.Result, error) {
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	req, clean, err := e.buildRequest(ctx, o)
	if err != nil {
		return skills.Result{}, err
	}
	x := &exchange{endpoint: e, clean: clean}
	resp, err := e.client.Do(req)
	if err != nil {
		return skills.Result{}, x.unansweredError(ctx, err, connected.Load())
	}
	defer func() { _ = resp.Body.Close() }()
	res := skills.Result{Isolation: "remote"}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return res, x.refusedError(resp)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, int64(e.OutputLimit)+1))
	if err != nil {
		return res, e.unsureFailure(fmt.Errorf("the server answered %d, but its answer broke off", resp.StatusCode))
	}
	if len(b) > e.OutputLimit {
		b, res.Truncated = b[:e.OutputLimit], true
	}
	res.Content = clean.Cut(string(b), res.Truncated)
	return res, nil
}

// exchange is one request under way, and what must not come back from it.
type exchange struct {
	*endpoint
	clean *scrub.Scrubber
}

// buildRequest builds what is sent, and what takes its secrets out of an answer.
// Nothing has been sent where it fails.
func (e *endpoint) buildRequest(ctx context.Context, o skills.Order) (*http.Request, *scrub.Scrubber, error) {
	args, err := parseArguments(o.Args)
	if err != nil {
		return nil, nil, err
	}
	u, err := fillURL(e.URL, e.Query, args)
	if err != nil {
		return nil, nil, err
	}
	var body []byte
	var reader io.Reader
	if e.Body == "json" {
		body = []byte(o.Args)
		reader = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, e.Method, u.String(), reader)
	if err != nil {
		return nil, nil, decode.Refuse("the arguments make no request")
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range e.Headers {
		req.Header.Set(k, v)
	}
	req.Header.Set("Idempotency-Key", o.IdempotencyKey())
	clean, err := e.addCredentials(ctx, req.Header, o)
	if err != nil {
		return nil, nil, err
	}
	if e.token == nil {
		return req, clean, nil
	}
	t, err := e.token(o, Request{Audience: e.audience, Method: e.Method, Target: req.URL.RequestURI(), Body: body})
	if err != nil {
		return nil, nil, decode.Refuse("no token could be made for the request: %w", err)
	}
	req.Header.Set(warrant.Header, t)
	return req, clean.With(t), nil
}

// unansweredError tells an error before the request from one after. The client's own
// error names the URL, which holds arguments, so only its cause is kept.
//
// A broken answer is quoted in it, so what is kept is scrubbed.
func (e *exchange) unansweredError(ctx context.Context, err error, connected bool) error {
	var wrapped interface{ Unwrap() error }
	if errors.As(err, &wrapped) && wrapped.Unwrap() != nil {
		err = wrapped.Unwrap()
	}
	err = e.clean.Error(err)
	switch {
	case !connected && errors.Is(err, skills.ErrNoEffect):
		return err
	case !connected:
		return decode.Refuse("no connection: %w", err)
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return e.unsureFailure(fmt.Errorf("no answer: %w", err))
}

func (e *exchange) refusedError(resp *http.Response) error {
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxSnippet+1)) // what there is of it
	cut := err != nil || len(b) > maxSnippet
	text := e.clean.Cut(string(b[:min(len(b), maxSnippet)]), cut)
	status := &StatusError{Status: resp.StatusCode, Body: strings.ToValidUTF8(strings.TrimSpace(text), "\uFFFD")}
	if resp.StatusCode >= 400 && resp.StatusCode < 500 {
		return &skills.Failure{Code: skills.FailFailed, Err: status}
	}
	return e.unsureFailure(status)
}

// unsureFailure is a failure after which Vedette doesn't know what the server did.
func (e *endpoint) unsureFailure(err error) error {
	return &skills.Failure{Code: skills.FailFailed, Unknown: !e.readsOnly, Err: err}
}
