package api

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/problem"
)

// bodyTimeout is how long a body may take to arrive.
const bodyTimeout = 10 * time.Second

// operation is one operation as this package describes it.
type operation struct {
	id, method, path, tag string
	summary, description  string
	// scopes are those of which the principal needs one.
	scopes []access.Scope
	// status is that of success; zero is 200.
	status int
	// body is the greatest size of a body in bytes, below the guard's bound. Zero is the guard's bound alone.
	body int64
	// form is the media type of the answer of success; empty is JSON.
	form string
	// keyed says that the operation takes an Idempotency-Key.
	keyed bool
	// raw says that the handler reads the body's bytes itself; schema describes them.
	raw *huma.Schema
	// fails are problems beyond those that every operation may answer with.
	fails []problem.Code
	// also are the statuses with which the answer of success comes too, and what they say.
	also map[int]string
}

// takesBody reports whether the operation's method has a body.
func (op operation) takesBody() bool { return op.method == http.MethodPost }

// register adds an operation. run gets the principal that calls; its error is told as
// describeFailure says.
func register[I, O any](a *API, op operation, run func(context.Context, access.Principal, *I) (*O, error)) {
	out := a.describe(op)
	for status, says := range op.also {
		describeAlso(a, out.Responses, strconv.Itoa(status), says, reflect.TypeFor[O]())
	}
	huma.Register(a.huma, out, func(ctx context.Context, in *I) (*O, error) {
		p, _ := access.FromContext(ctx) // admit has looked
		out, err := run(ctx, p, in)
		if err != nil {
			return nil, a.explainFailure(ctx, op.id, err)
		}
		return out, nil
	})
	if op.raw != nil { // huma describes bytes, whatever was said before
		out.RequestBody.Content = map[string]*huma.MediaType{formJSON: {Schema: op.raw}}
	}
}

// describeAlso adds an answer of the type of success to a status, beside the problems that come with it.
func describeAlso(a *API, responses map[string]*huma.Response, status, says string, answer reflect.Type) {
	body, _ := answer.FieldByName("Body")
	r := responses[status]
	if r == nil {
		r = &huma.Response{Content: map[string]*huma.MediaType{}}
		responses[status] = r
	}
	r.Content["application/json"] = &huma.MediaType{Schema: a.huma.OpenAPI().Components.Schemas.Schema(body.Type, true, "Answer")}
	r.Description = strings.TrimPrefix(r.Description+"; "+says, "; ")
}

// describe returns the operation as huma registers it.
func (a *API) describe(op operation) huma.Operation {
	if op.status == 0 {
		op.status = http.StatusOK
	}
	out := huma.Operation{
		OperationID: op.id, Method: op.method, Path: op.path, Summary: op.summary, Description: describeScopes(op),
		Tags: []string{op.tag}, DefaultStatus: op.status, Security: requireScopes(op),
		MaxBodyBytes: -1, BodyReadTimeout: -1, // admit has read the body
		Middlewares: huma.Middlewares{func(c huma.Context, next func(huma.Context)) { a.admit(op, c, next) }},
		Responses:   a.describeProblems(op),
	}
	if op.raw != nil {
		out.SkipValidateBody = true
		out.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: op.raw}}}
	}
	if op.keyed {
		out.Parameters = append(out.Parameters, keyParameter())
	}
	return out
}

// requireScopes lists the scopes as alternatives, of which a token needs one. An operation without any
// lets no caller in.
func requireScopes(op operation) []map[string][]string {
	out := make([]map[string][]string, len(op.scopes))
	for i, s := range op.scopes {
		out[i] = map[string][]string{"bearer": {string(s)}}
	}
	return out
}

// describeScopes adds the scopes to the description.
func describeScopes(op operation) string {
	names := make([]string, len(op.scopes))
	for i, s := range op.scopes {
		names[i] = "`" + string(s) + "`"
	}
	return strings.TrimSpace(op.description + "\n\nScope: " + strings.Join(names, " or ") + ".")
}

// admit looks at a request before its operation does: who calls, what may be sent, the body. The
// operation then reads the body from memory.
func (a *API) admit(op operation, c huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(c)
	p, ok := access.FromContext(r.Context())
	prob := cmp.Or(checkQuery(r.URL.RawQuery), checkAccept(r.Header.Values("Accept"), cmp.Or(op.form, formJSON)))
	switch {
	case !ok:
		prob = problem.New(problem.Unauthenticated, "no guard has said who calls")
	case access.CheckScope(p, op.scopes...) != nil:
		prob = access.CheckScope(p, op.scopes...)
	}
	var body []byte
	if prob == nil && op.takesBody() {
		body, prob = readBody(w, r, op.body)
	}
	if prob != nil {
		problem.Write(w, r, prob)
		return
	}
	r2 := r.WithContext(r.Context())
	r2.Body = io.NopCloser(bytes.NewReader(body))
	if op.keyed && len(r.Header.Values(keyHeader)) > 0 {
		keyedRequests{a}.serveKeyed(w, r2, body, p, func(w http.ResponseWriter) { next(humago.NewContext(c.Operation(), r2, w)) })
		return
	}
	next(humago.NewContext(c.Operation(), r2, w))
}

// checkQuery refuses a query that two readers could take in two ways.
func checkQuery(raw string) *problem.Problem {
	q, err := url.ParseQuery(raw)
	if err != nil {
		return problem.New(problem.BadRequest, "the query can't be read")
	}
	for name, values := range q {
		if len(values) > 1 {
			return problem.New(problem.BadRequest, "the query has the parameter "+quoteName(name)+" twice")
		}
	}
	return nil
}

// maxName is how much of a caller's own name of a field a problem repeats, in bytes.
const maxName = 64

// quoteName writes a name that a caller chose, escaped and cut.
func quoteName(name string) string {
	q := strconv.QuoteToASCII(name)
	if len(q) > maxName {
		q = q[:maxName] + `…"`
	}
	return q
}

// readBody reads the body of a request, within its size and its time. Without a size of its own the guard's counts.
func readBody(w http.ResponseWriter, r *http.Request, most int64) ([]byte, *problem.Problem) {
	if most > 0 && r.ContentLength > most {
		return nil, tooLarge(most)
	}
	if r.ContentLength == 0 {
		return nil, nil
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout)) // a test's recorder has no connection
	b, err := readWhole(r, most)
	var large *http.MaxBytesError
	var late net.Error
	switch {
	case errors.As(err, &large):
		return nil, tooLarge(large.Limit)
	case errors.As(err, &late) && late.Timeout():
		return nil, problem.New(problem.RequestTimeout, fmt.Sprintf("the body did not arrive within %s", bodyTimeout))
	case err != nil:
		return nil, problem.New(problem.BadRequest, "the body can't be read to its end")
	case most > 0 && int64(len(b)) > most:
		return nil, tooLarge(most)
	}
	_ = control.SetReadDeadline(time.Time{}) // else it would end the request later on
	if len(b) > 0 && !isJSON(r.Header.Values("Content-Type")) {
		return nil, problem.New(problem.MediaType, "the Content-Type must be application/json")
	}
	return b, nil
}

// maxReady is up to how many bytes room is made for a body before it has come: its length is the caller's word.
const maxReady = 16 << 10

// readWhole reads a body of at most one byte more than may be; most is 0 where the guard's bound counts alone.
func readWhole(r *http.Request, most int64) ([]byte, error) {
	b := bytes.NewBuffer(make([]byte, 0, bytes.MinRead+min(max(r.ContentLength, 0), maxReady)))
	body := io.Reader(r.Body)
	if most > 0 {
		body = io.LimitReader(body, most+1)
	}
	_, err := b.ReadFrom(body)
	return b.Bytes(), err
}

// isJSON reports whether a body's type is JSON in UTF-8, or none is given.
func isJSON(values []string) bool {
	if len(values) == 0 {
		return true
	}
	kind, params, err := mime.ParseMediaType(values[0])
	charset, has := params["charset"]
	return len(values) == 1 && err == nil && kind == "application/json" && (!has || strings.EqualFold(charset, "utf-8"))
}

func tooLarge(most int64) *problem.Problem {
	return problem.New(problem.TooLarge, fmt.Sprintf("the body has more than %d bytes", most))
}
