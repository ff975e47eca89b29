package control

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os/user"
	"slices"
	"strconv"

	"github.com/vedette-dev/vedette/sentinel/approval"
)

// ErrNoInbox is returned by a process whose questions are not kept in an inbox.
var ErrNoInbox = errors.New("the process keeps no inbox: approvals.inbox is off, or the program asks people in its own way")

type (
	// ApprovalFilter chooses approvals.
	ApprovalFilter = approval.Filter
	// ApprovalItem is an approval in a list.
	ApprovalItem = approval.Item
	// ApprovalCard is an approval with what a person must see.
	ApprovalCard = approval.Card
	// ApprovalAnswer is what a person answers.
	ApprovalAnswer = approval.Answer
	// StandingTerms are the bounds of a standing approval.
	StandingTerms = approval.StandingTerms
	// Standing is a standing approval.
	Standing = approval.Standing
	// StandingFilter chooses standing approvals.
	StandingFilter = approval.StandingFilter
)

// ApprovalBackend is a Backend whose process may have an inbox. Its methods return ErrNoInbox
// where it has none, or the errors of approval.Inbox.
type ApprovalBackend interface {
	ListApprovals(ctx context.Context, f approval.Filter) ([]approval.Item, error)
	ShowApproval(ctx context.Context, begin string) (approval.Card, error)
	AnswerApproval(ctx context.Context, a approval.Answer) (approval.Item, error)
	StandApproval(ctx context.Context, a approval.Answer, t approval.StandingTerms) (approval.Standing, error)
	ListStanding(ctx context.Context, f approval.StandingFilter) ([]approval.Standing, error)
	RevokeStanding(ctx context.Context, id, by, via string) (approval.Standing, error)
}

// said is an answer as the socket carries it. Who answers is not in it: the system tells that.
type said struct {
	Approval string        `json:"approval"`
	Word     approval.Word `json:"word"`
	Feedback string        `json:"feedback,omitempty"`
	Digest   string        `json:"digest"`
	// Edit are other arguments for the call; Standing makes the yes a standing one.
	Edit     json.RawMessage         `json:"edit,omitempty"`
	Standing *approval.StandingTerms `json:"standing,omitempty"`
}

// revoked names the standing approval to end. Who ends it is not in it.
type revoked struct {
	Standing string `json:"standing"`
}

// errSaid refuses a body that is no answer.
var errSaid = errors.New(`the body must be one JSON object: {"approval":"…","word":"yes","digest":"…"}, ` +
	`with "feedback", "edit" or "standing" or without`)

// errRevoked refuses a body that names no standing approval.
var errRevoked = errors.New(`the body must be one JSON object: {"standing":"…"}`)

// ViaCommand is how answers of the command line are recorded to have come.
const ViaCommand = "cli"

// serveApprovals adds the paths of approvals.
func (s *Server) serveApprovals(mux *http.ServeMux) {
	b, ok := s.b.(ApprovalBackend)
	if !ok {
		b = noInbox{}
	}
	mux.HandleFunc("GET /v1/approvals", s.newHandler(func(r *http.Request) (any, error) {
		f, err := readFilter(r.URL.Query())
		if err != nil {
			return nil, err
		}
		list, err := b.ListApprovals(r.Context(), f)
		if list == nil {
			list = []approval.Item{}
		}
		return list, err
	}))
	mux.HandleFunc("GET /v1/approvals/{id}", s.newHandler(func(r *http.Request) (any, error) {
		return b.ShowApproval(r.Context(), r.PathValue("id"))
	}))
	mux.HandleFunc("POST /v1/approvals/answers", s.newHandler(func(r *http.Request) (any, error) { return s.onAnswer(r, b) }))
	mux.HandleFunc("GET /v1/standing", s.newHandler(func(r *http.Request) (any, error) {
		f, err := readStandingFilter(r.URL.Query())
		if err != nil {
			return nil, err
		}
		list, err := b.ListStanding(r.Context(), f)
		if list == nil {
			list = []approval.Standing{}
		}
		return list, err
	}))
	mux.HandleFunc("POST /v1/standing/revoke", s.newHandler(func(r *http.Request) (any, error) { return s.onRevoke(r, b) }))
}

// onRevoke ends a standing approval in the name of the user at the other end.
func (s *Server) onRevoke(r *http.Request, b ApprovalBackend) (any, error) {
	var in revoked
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil || d.More() || in.Standing == "" {
		return nil, errRevoked
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), writeTimeout)
	defer cancel()
	return b.RevokeStanding(ctx, in.Standing, localName(r), ViaCommand)
}

// onAnswer takes an answer in the name of the user at the other end. It is not lost with the
// caller once it was read.
func (s *Server) onAnswer(r *http.Request, b ApprovalBackend) (any, error) {
	var in said
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil || d.More() {
		return nil, errSaid
	}
	if in.Digest == "" {
		return nil, fmt.Errorf("%w: it names no digest; say what was shown", approval.ErrAnswer)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), writeTimeout)
	defer cancel()
	a := approval.Answer{
		Approval: in.Approval, Word: in.Word, Feedback: in.Feedback, Digest: in.Digest, Edit: in.Edit, By: localName(r), Via: ViaCommand,
	}
	if in.Standing != nil {
		return b.StandApproval(ctx, a, *in.Standing)
	}
	return b.AnswerApproval(ctx, a)
}

// localName names the user at the other end as an approver.
func localName(r *http.Request) string {
	c, _ := r.Context().Value(callerKey{}).(caller)
	return NameLocal(c.uid)
}

// NameLocal names a user of this machine as an approver: local:ann. A user without a name is
// named by the id.
func NameLocal(uid int) string {
	id := strconv.Itoa(uid)
	u, err := user.LookupId(id)
	if err != nil {
		return approval.LocalPrefix + id
	}
	return approval.LocalPrefix + cmp.Or(u.Username, id)
}

// readFilter reads the filter of a list.
func readFilter(q url.Values) (f approval.Filter, err error) {
	f = approval.Filter{
		Conversation: q.Get("conversation"), User: q.Get("user"), Skill: q.Get("skill"), State: approval.State(q.Get("state")),
		All: q.Get("all") == "true", After: q.Get("after"),
	}
	if limit := q.Get("limit"); limit != "" {
		if f.Limit, err = strconv.Atoi(limit); err != nil || f.Limit < 1 {
			return f, fmt.Errorf("%w: limit must be a number from 1 on", approval.ErrAnswer)
		}
	}
	return f, nil
}

// readStandingFilter reads the filter of a list of standing approvals.
func readStandingFilter(q url.Values) (f approval.StandingFilter, err error) {
	f = approval.StandingFilter{User: q.Get("user"), Skill: q.Get("skill"), All: q.Get("all") == "true", After: q.Get("after")}
	if limit := q.Get("limit"); limit != "" {
		if f.Limit, err = strconv.Atoi(limit); err != nil || f.Limit < 1 {
			return f, fmt.Errorf("%w: limit must be a number from 1 on", approval.ErrAnswer)
		}
	}
	return f, nil
}

// writeFilter is the query of a filter.
func writeFilter(f approval.Filter) string {
	q := url.Values{}
	for k, v := range map[string]string{
		"conversation": f.Conversation, "user": f.User, "skill": f.Skill, "state": string(f.State), "after": f.After,
	} {
		if v != "" {
			q.Set(k, v)
		}
	}
	if f.All {
		q.Set("all", "true")
	}
	if f.Limit > 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	return q.Encode()
}

// noInbox is the inbox of a Backend that has none.
type noInbox struct{}

// ListApprovals returns ErrNoInbox.
func (noInbox) ListApprovals(context.Context, approval.Filter) ([]approval.Item, error) {
	return nil, ErrNoInbox
}

// ShowApproval returns ErrNoInbox.
func (noInbox) ShowApproval(context.Context, string) (approval.Card, error) {
	return approval.Card{}, ErrNoInbox
}

// AnswerApproval returns ErrNoInbox.
func (noInbox) AnswerApproval(context.Context, approval.Answer) (approval.Item, error) {
	return approval.Item{}, ErrNoInbox
}

// StandApproval returns ErrNoInbox.
func (noInbox) StandApproval(context.Context, approval.Answer, approval.StandingTerms) (approval.Standing, error) {
	return approval.Standing{}, ErrNoInbox
}

// ListStanding returns ErrNoInbox.
func (noInbox) ListStanding(context.Context, approval.StandingFilter) ([]approval.Standing, error) {
	return nil, ErrNoInbox
}

// RevokeStanding returns ErrNoInbox.
func (noInbox) RevokeStanding(context.Context, string, string, string) (approval.Standing, error) {
	return approval.Standing{}, ErrNoInbox
}

// The codes of errors about approvals on the wire.
const (
	codeNoInbox    = "no_inbox"
	codeUnknown    = "unknown"
	codeAmbiguous  = "ambiguous"
	codeDecided    = "decided"
	codeStale      = "stale"
	codeNotAllowed = "not_allowed"
	codeAnswer     = "answer"
	codeStanding   = "standing"
)

// plainError is an error that a code says all of.
type plainError struct {
	code   string
	status int
	err    error
}

// plainErrors are the errors about approvals that a code says all of.
var plainErrors = []plainError{
	{codeNoInbox, http.StatusNotFound, ErrNoInbox}, {codeUnknown, http.StatusNotFound, approval.ErrUnknown},
	{codeAmbiguous, http.StatusConflict, approval.ErrAmbiguous}, {codeAnswer, http.StatusBadRequest, approval.ErrAnswer},
	{codeAnswer, http.StatusBadRequest, errSaid}, {codeAnswer, http.StatusBadRequest, errRevoked},
	{codeStanding, http.StatusConflict, approval.ErrStanding},
}

// encodeApprovalError is an error about approvals as it goes over the wire; ok is false for others.
func encodeApprovalError(err error) (status int, f failed, ok bool) {
	f.Error = err.Error()
	var decided *approval.DecidedError
	var stale *approval.StaleError
	var notAllowed *approval.NotAllowedError
	switch {
	case errors.As(err, &decided):
		f.Code, f.Decided = codeDecided, decided
		return http.StatusConflict, f, true
	case errors.As(err, &stale):
		f.Code, f.Stale = codeStale, stale
		return http.StatusConflict, f, true
	case errors.As(err, &notAllowed):
		f.Code, f.NotAllowed = codeNotAllowed, notAllowed
		return http.StatusForbidden, f, true
	}
	for _, p := range plainErrors {
		if errors.Is(err, p.err) {
			f.Code = p.code
			return p.status, f, true
		}
	}
	return 0, f, false
}

// farError is an error of the other process that wraps what a code stands for.
type farError struct {
	text string
	is   error
}

// Error returns the other process's words.
func (e *farError) Error() string { return e.text }

// Unwrap returns what the code stands for.
func (e *farError) Unwrap() error { return e.is }

// decodeError is the error that the other process told.
func (f failed) decodeError() error {
	switch {
	case f.Decided != nil:
		return f.Decided
	case f.Stale != nil:
		return f.Stale
	case f.NotAllowed != nil:
		return f.NotAllowed
	}
	for _, p := range slices.Concat(plainErrors, tokenErrors, storyErrors, labelErrors, archiveErrors) {
		if p.code == f.Code {
			return &farError{f.Error, p.err}
		}
	}
	return errors.New(f.Error)
}

// ListApprovals returns the approvals that the filter chooses, the oldest first.
func (c *Client) ListApprovals(ctx context.Context, f approval.Filter) (out []approval.Item, err error) {
	return out, c.callProcess(ctx, http.MethodGet, "/v1/approvals?"+writeFilter(f), nil, &out)
}

// ShowApproval returns an approval with what a person must see, by its id or the beginning of it.
func (c *Client) ShowApproval(ctx context.Context, begin string) (out approval.Card, err error) {
	return out, c.callProcess(ctx, http.MethodGet, "/v1/approvals/"+url.PathEscape(begin), nil, &out)
}

// AnswerApproval answers in the name of this process's user: By and Via are not sent.
func (c *Client) AnswerApproval(ctx context.Context, a approval.Answer) (out approval.Item, err error) {
	in := said{Approval: a.Approval, Word: a.Word, Feedback: a.Feedback, Digest: a.Digest, Edit: a.Edit}
	return out, c.callProcess(ctx, http.MethodPost, "/v1/approvals/answers", in, &out)
}

// StandApproval says yes in the name of this process's user, and leaves a standing approval.
func (c *Client) StandApproval(ctx context.Context, a approval.Answer, t approval.StandingTerms) (out approval.Standing, err error) {
	in := said{Approval: a.Approval, Word: a.Word, Feedback: a.Feedback, Digest: a.Digest, Edit: a.Edit, Standing: &t}
	return out, c.callProcess(ctx, http.MethodPost, "/v1/approvals/answers", in, &out)
}

// ListStanding returns standing approvals, the oldest first.
func (c *Client) ListStanding(ctx context.Context, f approval.StandingFilter) (out []approval.Standing, err error) {
	q := writeFilter(approval.Filter{User: f.User, Skill: f.Skill, All: f.All, After: f.After, Limit: f.Limit})
	return out, c.callProcess(ctx, http.MethodGet, "/v1/standing?"+q, nil, &out)
}

// RevokeStanding ends a standing approval in the name of this process's user.
func (c *Client) RevokeStanding(ctx context.Context, id string) (out approval.Standing, err error) {
	return out, c.callProcess(ctx, http.MethodPost, "/v1/standing/revoke", revoked{id}, &out)
}
