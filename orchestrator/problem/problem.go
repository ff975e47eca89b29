package problem

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"
)

// ContentType is the type of the answer.
const ContentType = "application/problem+json"

// TypePrefix begins the path at which Handler explains a code.
const TypePrefix = "/problems/"

// Problem is what went wrong, as the caller reads it. It implements error.
type Problem struct {
	// Type is where the code is explained, relative to the server.
	Type string `json:"type"`
	// Title says what the code means; it is the same each time.
	Title  string `json:"title"`
	Status int    `json:"status"`
	Code   Code   `json:"code"`
	// Detail says what happened this time.
	Detail string `json:"detail,omitempty"`
	// Remedy says what the caller can do.
	Remedy string `json:"remedy,omitempty"`
	// RequestID is the id that the log has too.
	RequestID string `json:"request_id,omitempty"`
	// DecisionID is the decision that the problem is about.
	DecisionID string `json:"decision_id,omitempty"`
	// Errors are the fields that are wrong.
	Errors []Field `json:"errors,omitempty"`
	// RetryAfter is when the same request may succeed; zero where time changes nothing. It goes
	// into the Retry-After header, in whole seconds rounded up.
	RetryAfter time.Duration `json:"-"`

	// Challenge goes into WWW-Authenticate of a 401.
	Challenge string `json:"-"`
}

// Field is one field that is wrong.
type Field struct {
	// Pointer is where it is in the body, as RFC 6901 says: /arguments/to.
	Pointer string `json:"pointer"`
	Detail  string `json:"detail"`
}

// New returns the problem of a code. A code that isn't on the list becomes Internal, without
// the detail.
func New(code Code, detail string) *Problem {
	known, m := meaningOf(code)
	if known != code {
		detail = ""
	}
	return &Problem{Type: TypePrefix + string(known), Title: m.title, Status: m.status, Code: known, Detail: detail, Remedy: m.remedy}
}

// Later returns the problem with the time after which to try again.
func (p *Problem) Later(after time.Duration) *Problem {
	c := *p
	c.RetryAfter = after
	return &c
}

// About returns the problem with the decision that it is about.
func (p *Problem) About(decision string) *Problem {
	c := *p
	c.DecisionID = decision
	return &c
}

// With returns the problem with fields that are wrong.
func (p *Problem) With(fields ...Field) *Problem {
	c := *p
	c.Errors = append(append([]Field(nil), p.Errors...), fields...)
	return &c
}

// Error returns code and detail.
func (p *Problem) Error() string {
	if p.Detail == "" {
		return string(p.Code) + ": " + p.Title
	}
	return string(p.Code) + ": " + p.Detail
}

// GetStatus returns the HTTP status: huma asks errors for it.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType returns the type of the answer: huma asks errors for it.
func (p *Problem) ContentType(string) string { return ContentType }

// From returns the problem that err is. A body that was too large is TooLarge, a context that
// ended Unavailable. Any other error is Internal, and no word of it reaches the caller.
func From(err error) *Problem {
	var p *Problem
	var large *http.MaxBytesError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &p):
		return p
	case errors.As(err, &large):
		return New(TooLarge, "the body has more than "+strconv.FormatInt(large.Limit, 10)+" bytes")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return New(Unavailable, "the time of the request was over")
	}
	return New(Internal, "")
}

type requestKey struct{}

// WithRequestID returns ctx with the id of the request.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestKey{}, id)
}

// RequestID returns the id of the request, empty where it has none.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}

// Write answers the request with the problem. A nil problem is Internal. It changes neither.
func Write(w http.ResponseWriter, r *http.Request, p *Problem) {
	if p == nil {
		p = New(Internal, "")
	}
	c := *p
	if id := RequestID(r.Context()); id != "" {
		c.RequestID = id
	}
	h := w.Header()
	c.SetHeaders(h)
	h.Set("Content-Type", ContentType)
	h.Del("Content-Length")
	w.WriteHeader(c.Status)
	if r.Method != http.MethodHead {
		_ = json.NewEncoder(w).Encode(&c) // a caller that left needs no answer
	}
}

// SetHeaders sets what the problem says in headers: Retry-After, WWW-Authenticate, no caching.
func (p *Problem) SetHeaders(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(p.RetryAfter.Seconds()))))
	}
	if p.Challenge != "" {
		h.Set("WWW-Authenticate", p.Challenge)
	}
}

// Handler explains codes in plain text, below TypePrefix. It needs no token: it says the same to
// each caller.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m, ok := meanings[Code(r.PathValue("code"))]
		if !ok {
			Write(w, r, New(NotFound, "there is no such code"))
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write([]byte(m.title + ".\n" + m.remedy + "\n"))
	})
}
