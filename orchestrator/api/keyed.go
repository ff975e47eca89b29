package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/idempotency"
	"github.com/vedette-dev/vedette/orchestrator/problem"
)

const (
	keyHeader      = "Idempotency-Key"
	replayedHeader = "Idempotency-Replayed"

	keepFor    = 10 * time.Second // for an answer to be written down, also without its caller
	busyFor    = time.Second
	maxKept    = 2 << 20 // bytes of an answer that is kept
	locationID = "Location"
)

// conversationForm is the form of ConversationPath.ID.
var conversationForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$`)

// keyParameter describes the header.
func keyParameter() *huma.Param {
	most := idempotency.MaxKey
	one := 1
	return &huma.Param{
		Name: keyHeader, In: "header", Schema: &huma.Schema{Type: huma.TypeString, MinLength: &one, MaxLength: &most, Pattern: "^[!-~]+$"},
		Description: "The same request under the same key is answered again for 24 hours, and not worked on again.",
	}
}

// keyedRequests serves requests that name a key.
type keyedRequests struct{ *API }

// serveKeyed serves a request that names a key: it is worked on once, and its answer is kept.
func (a keyedRequests) serveKeyed(w http.ResponseWriter, r *http.Request, body []byte, p access.Principal, run func(http.ResponseWriter)) {
	values := r.Header.Values(keyHeader)
	if len(values) > 1 {
		problem.Write(w, r, nameMistake(problem.New(problem.BadRequest, "the request has more than one "+keyHeader)))
		return
	}
	user, conversation := userOf(p, r, body), r.PathValue("conversation")
	if conversation != "" && !conversationForm.MatchString(conversation) {
		run(w) // the operation says what is wrong with it
		return
	}
	var err error
	if conversation != "" {
		if conversation, err = a.findID(r.Context(), user, conversation); err != nil {
			problem.Write(w, r, a.explainFailure(r.Context(), "idempotency", err))
			return
		}
	}
	turn, err := a.keeper.Begin(r.Context(), idempotency.Request{
		Principal: p.ID, Key: values[0], Method: r.Method, Target: r.URL.RequestURI(), Body: body,
		User: user, Conversation: conversation,
	})
	if err != nil {
		problem.Write(w, r, a.explainKey(r.Context(), err))
		return
	}
	defer turn.End()
	if turn.Kept != nil {
		replayAnswer(w, *turn.Kept)
		return
	}
	rec := &recorder{ResponseWriter: w, status: http.StatusOK}
	run(rec)
	if rec.isFinal() {
		a.keepAnswer(r.Context(), turn, rec)
	}
	rec.send()
}

// userOf is for whom a request is made, so that a purge of that user erases what was answered. What
// the operation will refuse counts as the principal's own.
func userOf(p access.Principal, r *http.Request, body []byte) string {
	var b struct {
		User string `json:"user_id"`
	}
	_ = json.Unmarshal(body, &b) // the operation refuses what can't be read
	user, err := p.ActFor(cmp.Or(r.URL.Query().Get("user"), b.User))
	if err != nil {
		return p.User
	}
	return user
}

// explainKey is the problem of an error of the keeper.
func (a keyedRequests) explainKey(ctx context.Context, err error) *problem.Problem {
	switch {
	case errors.Is(err, idempotency.ErrForm):
		return problem.New(problem.BadRequest, err.Error())
	case errors.Is(err, idempotency.ErrInFlight):
		return problem.New(problem.InFlight, err.Error()).Later(busyFor)
	case errors.Is(err, idempotency.ErrOther):
		return problem.New(problem.KeyReused, err.Error())
	case errors.Is(err, idempotency.ErrGone):
		return problem.New(problem.Gone, err.Error())
	}
	return a.explainFailure(ctx, "idempotency", err)
}

// keepAnswer makes the answer durable before the caller has it. Without that the caller gets it all the same.
func (a keyedRequests) keepAnswer(ctx context.Context, turn *idempotency.Turn, rec *recorder) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepFor)
	defer cancel()
	kept := idempotency.Answer{Status: rec.status, Header: map[string]string{}, Body: rec.body}
	for _, name := range []string{"Content-Type", locationID} {
		if v := rec.Header().Get(name); v != "" {
			kept.Header[name] = v
		}
	}
	if err := turn.Keep(ctx, kept); err != nil {
		a.o.Log.Error("an answer is not kept under its idempotency key, and a repeat is worked on again", "error", err)
	}
}

// replayAnswer writes a kept answer.
func replayAnswer(w http.ResponseWriter, kept idempotency.Answer) {
	for name, v := range kept.Header {
		w.Header().Set(name, v)
	}
	w.Header().Set(replayedHeader, "true")
	w.WriteHeader(kept.Status)
	_, _ = w.Write(kept.Body) // a caller that left needs no answer
}

// recorder holds an answer back until it is kept.
type recorder struct {
	http.ResponseWriter
	status int
	body   []byte
}

// WriteHeader takes the status.
func (r *recorder) WriteHeader(status int) { r.status = status }

// Write takes a part of the body.
func (r *recorder) Write(b []byte) (int, error) {
	r.body = append(r.body, b...)
	return len(b), nil
}

// isFinal reports whether the answer is kept. What says "not now", or that the caller may not, is told again each
// time: 401, 403, 408, 429, and 500 and above. A 502 alone is the end of a request that was worked on, whose model
// failed: it is on record, and what its agents did must not be done twice.
func (r *recorder) isFinal() bool {
	switch r.status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	}
	ended := r.status < http.StatusInternalServerError || r.status == problem.ModelFailed.Status()
	return ended && len(r.body) <= maxKept
}

// send writes the answer.
func (r *recorder) send() {
	r.ResponseWriter.WriteHeader(r.status)
	_, _ = r.ResponseWriter.Write(r.body) // a caller that left needs no answer
}
