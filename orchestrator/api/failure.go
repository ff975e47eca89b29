package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/problem"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/pause"
)

// everyCode are the problems that each operation may answer with.
var everyCode = []problem.Code{
	problem.BadRequest, problem.Unauthenticated, problem.ScopeMissing, problem.NotFound, problem.NotAcceptable, problem.Conflict,
	problem.Invalid, problem.RateLimited, problem.HeadersTooLarge, problem.Internal, problem.Unavailable,
}

// describeProblems are the responses of what may go wrong in an operation, by their status.
func (a *API) describeProblems(op operation) map[string]*huma.Response {
	codes := slices.Concat(everyCode, op.fails)
	if op.takesBody() {
		codes = append(codes, problem.RequestTimeout, problem.TooLarge, problem.MediaType)
	}
	if op.keyed {
		codes = append(codes, problem.InFlight, problem.KeyReused, problem.Gone)
	}
	schema := a.huma.OpenAPI().Components.Schemas.Schema(problemType, true, "Problem")
	out := map[string]*huma.Response{}
	for _, code := range codes {
		status := strconv.Itoa(code.Status())
		if out[status] == nil {
			out[status] = &huma.Response{Content: map[string]*huma.MediaType{problem.ContentType: {Schema: schema}}}
		} else if strings.Contains(out[status].Description, "`"+string(code)+"`") {
			continue
		}
		out[status].Description = strings.TrimPrefix(out[status].Description+", `"+string(code)+"`", ", ")
	}
	return out
}

// transformProblem makes a problem of what huma itself finds wrong, and puts the request's id into each.
// The value that was wrong is left out: huma would repeat it.
func transformProblem(c huma.Context, _ string, v any) (any, error) {
	var p *problem.Problem
	switch v := v.(type) {
	case *problem.Problem:
		own := *v
		p = &own
	case *huma.ErrorModel:
		p = describeInvalid(v)
	default:
		return v, nil
	}
	p = nameMistake(p)
	p.RequestID = problem.RequestID(c.Context())
	h := http.Header{}
	p.SetHeaders(h)
	for name := range h {
		c.SetHeader(name, h.Get(name))
	}
	return p, nil
}

// nameMistake is a problem whose remedy says to correct what errors names, with its detail there where no field is named.
func nameMistake(p *problem.Problem) *problem.Problem {
	if p.Code != problem.Invalid && p.Code != problem.BadRequest || len(p.Errors) > 0 || p.Detail == "" {
		return p
	}
	own := *p
	own.Errors = []problem.Field{{Detail: p.Detail}} // the empty pointer is the whole request
	return &own
}

// describeInvalid is the problem of what huma refuses.
func describeInvalid(m *huma.ErrorModel) *problem.Problem {
	code := problem.Invalid
	switch m.Status {
	case http.StatusBadRequest:
		code = problem.BadRequest
	case http.StatusUnsupportedMediaType:
		code = problem.MediaType
	case http.StatusUnprocessableEntity:
	default:
		code = problem.Internal
	}
	p := problem.New(code, "")
	if code == problem.Internal {
		return p
	}
	p.Detail = "the request is not as the operation wants it"
	for _, e := range m.Errors[:min(len(m.Errors), maxFields)] {
		p.Errors = append(p.Errors, describeField(e))
	}
	if len(m.Errors) == 0 && code == problem.BadRequest {
		p.Detail = "the request has no body"
	}
	return p
}

const (
	maxFields = 20  // fields that one problem names
	maxDetail = 200 // bytes of what it says of each
)

// describeField says what is wrong with one field. Its place is a JSON pointer in the body, or the
// kind and name of a parameter.
func describeField(e *huma.ErrorDetail) problem.Field {
	kind, rest, _ := strings.Cut(e.Location, ".")
	f := problem.Field{Detail: cutText(e.Message)}
	if kind != "body" {
		f.Detail = cutText(kind + " " + quoteName(rest) + ": " + e.Message)
		return f
	}
	for part := range strings.FieldsFuncSeq(rest, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~", "~0"), "/", "~1")
		f.Pointer = cutText(f.Pointer + "/" + part)
	}
	return f
}

// cutText cuts what is said of a mistake to maxDetail bytes, at the end of a character.
func cutText(s string) string {
	const most = maxDetail
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// explainFailure is the problem of an error of an operation. One that isn't known is logged and
// is internal to the caller.
func (a *API) explainFailure(ctx context.Context, operation string, err error) *problem.Problem {
	p := describeFailure(err)
	if p != nil {
		return p
	}
	if ctx.Err() != nil { // the caller left, its token was revoked, or the time was over
		return problem.From(ctx.Err())
	}
	a.o.Log.Error("a request failed", "operation", operation, "request_id", problem.RequestID(ctx), "error", err)
	return problem.New(problem.Internal, "")
}

// describeFailure is the problem of an error that this package knows, nil for another.
func describeFailure(err error) *problem.Problem {
	var known *problem.Problem
	if errors.As(err, &known) {
		return known
	}
	for _, describe := range []func(error) *problem.Problem{
		describeApproval, describeConversation, describeCall, describeIntent, describeLabel,
	} {
		if p := describe(err); p != nil {
			return p
		}
	}
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return problem.New(problem.NotFound, "no record has this id")
	case errors.Is(err, ledger.ErrAmbiguous):
		return problem.New(problem.Conflict, "several records begin with this id; give more of it")
	case errors.Is(err, pause.ErrTarget), errors.Is(err, pause.ErrUnknown):
		return problem.New(problem.Invalid, cutText(err.Error()))
	case errors.Is(err, pause.ErrFull):
		return problem.New(problem.Conflict, err.Error())
	}
	return nil
}

// describeApproval is the problem of an error of the inbox. Their texts hold names, times and codes.
func describeApproval(err error) *problem.Problem {
	var decided *approval.DecidedError
	switch {
	case errors.As(err, &decided):
		return problem.New(problem.AlreadyDecided, decided.Error()).About(decided.Item.ID)
	case errors.Is(err, approval.ErrStale):
		return problem.New(problem.Stale, err.Error())
	case errors.Is(err, approval.ErrNotAllowed):
		return problem.New(problem.NotAllowed, err.Error())
	case errors.Is(err, approval.ErrUnknown):
		return problem.New(problem.NotFound, "no approval has this id")
	case errors.Is(err, approval.ErrAmbiguous):
		return problem.New(problem.Conflict, err.Error())
	case errors.Is(err, approval.ErrAnswer), errors.Is(err, approval.ErrStanding):
		return problem.New(problem.Invalid, cutText(err.Error()))
	case errors.Is(err, approval.ErrWatchers):
		return problem.New(problem.Overloaded, err.Error()).Later(crowdedFor)
	}
	return nil
}

// crowdedFor is when there may be room for a stream again.
const crowdedFor = 10 * time.Second

// actFor returns the user for whom a request is made: the principal's, or the one that the request
// names where the principal may.
func actFor(p access.Principal, named string) (string, error) {
	user, err := p.ActFor(named)
	switch {
	case err == nil:
		return user, nil
	case named != "" && named != p.User && !p.May(access.ActAs):
		return "", problem.New(problem.ScopeMissing, "naming another user needs the scope act_as")
	}
	return "", problem.New(problem.Invalid, cutText(err.Error()))
}
