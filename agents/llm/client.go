package llm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"
)

// Client is one configured model. It is safe for concurrent use.
type Client struct {
	cfg  Config
	lib  openai.ClientConfig
	http *http.Client
	now  func() time.Time
	// within bounds a request in time, as context.WithTimeout does.
	within func(context.Context, time.Duration) (context.Context, context.CancelFunc)
}

// Timekeeper is what a transport may be as well: it then keeps the time of its requests in
// place of the clock. It is for tests of what is late. The context that it returns ends
// with ctx, or with context.DeadlineExceeded when the time of d is over.
type Timekeeper interface {
	WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
}

// New checks a configuration and returns its client. Errors are PathErrors below
// models.<name>, joined. Of hc only the transport is used, which may be a
// Timekeeper: redirects, cookies and hc's own timeout are left out. A nil hc means a
// pool of the client's own.
func New(cfg Config, hc *http.Client) (*Client, error) {
	if !isValidName(cfg.Name) {
		return nil, &PathError{Path: "models", Msg: "a model's name is made of letters, digits, '_' and '-'"}
	}
	if err := cfg.validate("models." + cfg.Name); err != nil {
		return nil, err
	}
	if hc == nil {
		hc = NewHTTPClient()
	}
	lib := openai.DefaultConfig(cfg.APIKey)
	lib.BaseURL = strings.TrimRight(cfg.BaseURL, "/")
	c := &Client{cfg: cfg, lib: lib, now: time.Now, within: context.WithTimeout, http: &http.Client{
		Transport:     hc.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if k, ok := hc.Transport.(Timekeeper); ok {
		c.within = k.WithTimeout
	}
	return c, nil
}

// Limited returns a client of the same model and connections that reads no longer answers
// than maxResponse bytes. It is for questions whose answers are short. Where
// Config.MaxResponse is no more than that it returns c.
func (c *Client) Limited(maxResponse int64) *Client {
	if maxResponse < 1 || c.cfg.maxResponseOrDefault() <= maxResponse {
		return c
	}
	l := *c
	l.cfg.MaxResponse = maxResponse
	return &l
}

// Name returns the name that the configuration gave the model.
func (c *Client) Name() string { return c.cfg.Name }

// Config returns the configuration without its key.
func (c *Client) Config() Config {
	cfg := c.cfg
	cfg.APIKey = ""
	return cfg
}

// String describes the client without its key.
func (c *Client) String() string { return c.cfg.String() }

// GoString is String, so that %#v hides the key as well.
func (c *Client) GoString() string { return c.cfg.String() }

// LogValue describes the client for slog without its key.
func (c *Client) LogValue() slog.Value { return c.cfg.LogValue() }

// CloseIdle closes the idle connections of the client's transport, which other
// clients may share.
func (c *Client) CloseIdle() { c.http.CloseIdleConnections() }

// Chat sends one request and returns the first choice of the answer. The error,
// if any, is an *Error; with KindBadResponse the Response holds what is known
// about the answer, such as usage and finish reason, but nothing that it said.
// An answer that is complete only when ctx or Config.Timeout has ended is none.
// Chat sends once: it never retries. Only a request that met a kept connection
// which the server had closed is sent on another; no server has read it.
func (c *Client) Chat(ctx context.Context, r Request) (resp Response, err error) {
	// The library and this package handle other people's bytes. A panic over them must
	// stay in this call.
	defer func() {
		if p := recover(); p != nil {
			resp, err = Response{}, c.nameModel(&Error{Kind: KindBadResponse, Code: CodePanic, msg: "the client failed on this answer"})
		}
	}()
	if e := c.checkRequest(r); e != nil {
		return Response{}, c.nameModel(e)
	}
	if ctx.Err() != nil {
		return Response{}, c.nameModel(newCanceledError(ctx))
	}
	head, err := c.buildHead(r)
	if err != nil {
		return Response{}, c.nameModel(&Error{Kind: KindRequest, Code: CodeInvalidRequest, msg: "the request can't be written as JSON"})
	}
	callCtx, cancel := c.within(ctx, c.cfg.timeoutOrDefault())
	defer cancel()
	x := &exchange{client: c.http, head: head, limit: c.cfg.maxResponseOrDefault(), now: c.now}
	if !c.cfg.Unstreamed {
		x.follow = r.Follow
	}
	defer func() { x.withdrawText(err) }()
	err = c.sendThroughLibrary(callCtx, x, r)
	if err == nil && hasEnded(callCtx) {
		err = &Error{Kind: KindConnect, Status: x.status, msg: "the answer was complete too late"}
	}
	if err == nil {
		return x.answer, nil
	}
	e := c.classifyFailure(ctx, callCtx, x, err)
	if e.Kind == KindBadResponse {
		// An answer begun before an error must not pass for an answer.
		resp = x.answer
		resp.Content, resp.Refusal, resp.ToolCalls = "", "", nil
	}
	return resp, c.nameModel(e)
}

// sendThroughLibrary has the library write the request and send it by the exchange.
func (c *Client) sendThroughLibrary(ctx context.Context, x *exchange, r Request) error {
	lib := c.lib
	lib.HTTPClient = x
	client, tail := openai.NewClientWithConfig(lib), c.buildTail(r)
	if x.follow == nil {
		_, err := client.CreateChatCompletion(ctx, tail)
		return err
	}
	tail.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	s, err := client.CreateChatCompletionStream(ctx, tail)
	if err == nil {
		_ = s.Close() // the exchange has read all of it
	}
	return err
}

// classifyFailure turns an error of the library into one Error. The contexts are asked
// first: a transport reports a cancellation in many words.
func (c *Client) classifyFailure(ctx, callCtx context.Context, x *exchange, err error) *Error {
	var e *Error
	switch {
	case errors.As(err, &e):
		if e.Kind != KindConnect {
			return e
		}
	case x.status != 0:
		// The exchange read a success; the library failed on what it was given.
		return &Error{Kind: KindBadResponse, Status: x.status, Code: CodeShape, msg: "the answer has another shape than a chat completion"}
	default:
		return &Error{Kind: KindRequest, Code: CodeInvalidRequest, msg: "the request could not be built"}
	}
	if ctx.Err() != nil {
		return newCanceledError(ctx)
	}
	if hasEnded(callCtx) {
		if isCallersDeadline(ctx, callCtx) {
			return &Error{Kind: KindCanceled, msg: "the caller's deadline passed", cause: context.DeadlineExceeded}
		}
		return &Error{Kind: KindTimeout, Status: e.Status, msg: fmt.Sprintf("no complete answer within %s", c.cfg.timeoutOrDefault())}
	}
	return e
}

// hasDeadlinePassed reports whether the deadline has passed. A dialler that was given the
// deadline can notice a moment before the context does.
func hasDeadlinePassed(ctx context.Context) bool {
	d, ok := ctx.Deadline()
	return ok && !time.Now().Before(d)
}

// hasEnded reports whether a context has ended, noticed or not.
func hasEnded(ctx context.Context) bool { return ctx.Err() != nil || hasDeadlinePassed(ctx) }

// isCallersDeadline reports whether the deadline of a call came from its caller.
func isCallersDeadline(ctx, callCtx context.Context) bool {
	own, ok := ctx.Deadline()
	d, _ := callCtx.Deadline()
	return ok && !own.After(d)
}

// nameModel enters the model's configured name in an error.
func (c *Client) nameModel(e *Error) *Error {
	e.Model = c.cfg.Name
	return e
}
