package llm

import (
	"bytes"
	"context"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxErrorBody is how much of a failure's body is looked at, for its code.
const maxErrorBody = 64 << 10

// maxAhead is how much memory an answer gets before its bytes have come.
const maxAhead = 64 << 10

// maxRetryAfter caps what a server can make its callers wait.
const maxRetryAfter = time.Hour

// exchange is the HTTP client that the library gets, for one request. The exchange
// completes the body on the way out. On the way back it reads the answer under a
// limit and decodes it, since the library's decoder takes "Choices" for
// "choices". The library sees an empty object where that went well.
type exchange struct {
	client *http.Client
	head   []byte
	limit  int64
	now    func() time.Time

	follow func(Piece) // asks for a stream, where it is set
	told   bool        // it was told of text that stands
	status int         // of the answer, 0 before one came
	answer Response    // of a success; after an error, what is known of it
}

// Do sends the request; every error it returns is an *Error.
func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	if e := x.completeBody(req); e != nil {
		return nil, e
	}
	res, err := x.sendRequest(req)
	if err != nil {
		return nil, &Error{Kind: KindConnect, msg: "no answer from the server; check base_url and the network", unreached: isUndialled(err)}
	}
	body := res.Body // res gets another below
	defer func() { _ = body.Close() }()
	x.status = res.StatusCode
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return nil, x.readFailure(res)
	}
	read := x.readSuccess
	if x.follow != nil && isEventStream(res.Header) {
		read = x.readStream
	}
	if e := read(req.Context(), res); e != nil {
		e.Status = res.StatusCode
		return nil, e
	}
	res.Body = io.NopCloser(strings.NewReader("{}"))
	return res, nil
}

// completeBody puts the client's half of the body in front of the library's.
func (x *exchange) completeBody(req *http.Request) *Error {
	fault := &Error{Kind: KindRequest, Code: CodeInvalidRequest, msg: "the request could not be built"}
	lib, err := io.ReadAll(req.Body)
	if err != nil {
		return fault
	}
	body, ok := joinHalves(x.head, lib)
	if !ok {
		return fault
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	// GetBody lets the transport send again when a warm connection was closed before a
	// byte was written, and sendRequest when one was closed before the server read it.
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.ContentLength = int64(len(body))
	return nil
}

// readFailure reads as much of the body as can hold a code. The status decides the
// kind, also when the body can't be read.
func (x *exchange) readFailure(res *http.Response) *Error {
	e := newStatusError(res.StatusCode)
	e.RetryAfter = readRetryAfter(res.Header, x.now())
	if body, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBody)); err == nil {
		e.Code = findErrorCode(body, e.Code)
	}
	return e
}

// readSuccess reads and decodes the body of a success, within the limits of size and
// time.
func (x *exchange) readSuccess(ctx context.Context, res *http.Response) *Error {
	if !isJSONType(res.Header.Get("Content-Type")) {
		return &Error{Kind: KindNotJSON, msg: "the content type is not JSON; check base_url"}
	}
	if res.ContentLength > x.limit {
		return &Error{Kind: KindTooLarge, msg: "the answer is longer than the limit"}
	}
	var body bytes.Buffer
	// A length is a claim: no more than a little is set aside for it.
	body.Grow(int(min(max(res.ContentLength, 0), maxAhead)) + bytes.MinRead)
	_, err := body.ReadFrom(io.LimitReader(res.Body, x.limit+1))
	switch {
	case int64(body.Len()) > x.limit:
		return &Error{Kind: KindTooLarge, msg: "the answer is longer than the limit"}
	case err != nil:
		return &Error{Kind: KindConnect, msg: "the connection broke within the answer"}
	}
	var e *Error
	x.answer, e = decodeAnswer(body.Bytes(), func() bool { return hasEnded(ctx) })
	if e == nil && x.follow != nil {
		x.tellWhole()
	}
	return e
}

// withdrawText takes back the text that the caller was told, where it became no answer.
func (x *exchange) withdrawText(err error) {
	if err != nil && x.told {
		x.told = false
		x.follow(Piece{Withdrawn: true})
	}
}

// isJSONType reports whether a content type is JSON's. A missing type passes: it claims
// nothing, and the body is checked.
func isJSONType(contentType string) bool {
	if contentType == "" {
		return true
	}
	t, _, err := mime.ParseMediaType(contentType)
	return err == nil && (t == "application/json" || t == "text/json" || strings.HasSuffix(t, "+json"))
}

// readRetryAfter returns the wait that a server asks for. Servers write Retry-After in
// seconds or as a date; some send milliseconds.
func readRetryAfter(h http.Header, now time.Time) time.Duration {
	var d time.Duration
	if ms, err := strconv.ParseUint(h.Get("Retry-After-Ms"), 10, 32); err == nil {
		d = time.Duration(ms) * time.Millisecond
	} else if v := strings.TrimSpace(h.Get("Retry-After")); v != "" {
		if sec, err := strconv.ParseUint(v, 10, 32); err == nil {
			d = time.Duration(sec) * time.Second
		} else if at, err := http.ParseTime(v); err == nil {
			d = at.Sub(now)
		}
	}
	return min(max(d, 0), maxRetryAfter)
}

// sendRequest sends the request, and once more where a kept connection was closed before
// the server read it.
func (x *exchange) sendRequest(req *http.Request) (*http.Response, error) {
	for n := 1; ; n++ {
		var l connectionTrace
		res, err := x.client.Do(l.attachTrace(req, x.now))
		if err == nil || n > staleTries || req.Context().Err() != nil || !l.isStale(err, x.now()) {
			return res, err
		}
		body, e := req.GetBody()
		if e != nil {
			return nil, err
		}
		req.Body = body
	}
}
