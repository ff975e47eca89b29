package control

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/vedette-dev/vedette/orchestrator/labelled"
	"github.com/vedette-dev/vedette/sentinel/label"
)

type (
	// Label is what a reviewer said of a decision.
	Label = label.Label
	// LabelSaid is what a reviewer says.
	LabelSaid = label.Said
	// LabelFilter chooses labels.
	LabelFilter = label.Filter
	// LabelDispute is a decision that reviewers hold to be different things.
	LabelDispute = label.Dispute
	// LabelledCases are cases of labelled decisions.
	LabelledCases = labelled.Page
	// LabelledPart says of which labels they are.
	LabelledPart = labelled.Part
	// LabelWord is right, wrong or unsure.
	LabelWord = label.Word
	// OfflineLabels reach the labels of a database that no process has open.
	OfflineLabels = labelled.Offline
)

// The errors of labels that commands tell apart.
var (
	ErrLabelUnknown   = label.ErrUnknown
	ErrLabelAmbiguous = label.ErrAmbiguous
)

// WriteExpectation returns a case as an item of a configuration's tests: see labelled.WriteExpectation.
func WriteExpectation(raw json.RawMessage) (text string, whole bool, err error) {
	return labelled.WriteExpectation(raw)
}

// LabelWords are all words.
func LabelWords() []LabelWord { return label.Words() }

// LabelOutcomes are what a wrong decision should have been.
func LabelOutcomes() []string { return label.Outcomes() }

// ErrNoLabels is returned by a process that keeps no labels.
var ErrNoLabels = errors.New("the process keeps no labels")

// LabelBackend is a Backend whose process keeps labels. Its methods return the errors of label.Labels.
type LabelBackend interface {
	PutLabel(ctx context.Context, s LabelSaid) (Label, error)
	ListLabels(ctx context.Context, f LabelFilter) ([]Label, error)
	ListDisputes(ctx context.Context, viewer string, limit int) ([]LabelDispute, error)
	ExportLabels(ctx context.Context, part LabelledPart, by, via string) (LabelledCases, error)
}

// errLabelled refuses a body that is no label.
var errLabelled = errors.New(`the body must be one JSON object: {"of":"…","word":"wrong","should":"allow"}, with "note" or without`)

// serveLabels adds the paths of labels.
func (s *Server) serveLabels(mux *http.ServeMux) {
	b, ok := s.b.(LabelBackend)
	if !ok {
		b = noLabels{}
	}
	mux.HandleFunc("POST /v1/labels", s.newHandler(func(r *http.Request) (any, error) {
		var in LabelSaid
		if err := readObject(r, &in); err != nil {
			return nil, err
		}
		in.By, in.Via = localName(r), ViaCommand
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), writeTimeout)
		defer cancel()
		return b.PutLabel(ctx, in)
	}))
	mux.HandleFunc("GET /v1/labels", s.newHandler(func(r *http.Request) (any, error) {
		list, err := b.ListLabels(r.Context(), readLabelFilter(r))
		if list == nil {
			list = []Label{}
		}
		return list, err
	}))
	mux.HandleFunc("GET /v1/labels/disputes", s.newHandler(func(r *http.Request) (any, error) {
		f := readLabelFilter(r)
		list, err := b.ListDisputes(r.Context(), f.Viewer, f.Limit)
		if list == nil {
			list = []LabelDispute{}
		}
		return list, err
	}))
	mux.HandleFunc("POST /v1/labels/export", s.newHandler(func(r *http.Request) (any, error) {
		var in LabelledPart
		if err := readObject(r, &in); err != nil {
			return nil, err
		}
		return b.ExportLabels(r.Context(), in, localName(r), ViaCommand)
	}))
}

// readObject reads the body of a request about labels.
func readObject(r *http.Request, into any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil || d.More() {
		return errLabelled
	}
	return nil
}

// readLabelFilter reads the filter of a list. Without "all" the caller is blind to what others said too early.
func readLabelFilter(r *http.Request) LabelFilter {
	q := r.URL.Query()
	limit, _ := strconv.Atoi(q.Get("limit")) // what is no number lists as many as without one
	f := LabelFilter{
		Record: q.Get("record"), By: q.Get("by"), User: q.Get("user"), Skill: q.Get("skill"), Word: label.Word(q.Get("word")),
		All: q.Get("replaced") == "true", After: q.Get("after"), Limit: limit,
	}
	if q.Get("seeing") != "true" {
		f.Viewer = localName(r)
	}
	return f
}

// writeLabelFilter is the query of a filter. A Viewer is the caller, whatever its name.
func writeLabelFilter(f LabelFilter) string {
	q := url.Values{}
	for name, value := range map[string]string{
		"record": f.Record, "by": f.By, "user": f.User, "skill": f.Skill, "word": string(f.Word), "after": f.After,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.All {
		q.Set("replaced", "true")
	}
	if f.Viewer == "" {
		q.Set("seeing", "true")
	}
	if f.Limit > 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	return q.Encode()
}

// The codes of errors about labels on the wire.
const (
	codeNoLabels      = "no_labels"
	codeLabel         = "label"
	codeLabelUnknown  = "label_unknown"
	codeLabelSeveral  = "label_ambiguous"
	codeLabelNoObject = "label_body"
)

// labelErrors are the errors about labels that a code says all of.
var labelErrors = []plainError{
	{codeNoLabels, http.StatusNotFound, ErrNoLabels}, {codeLabel, http.StatusBadRequest, label.ErrLabel},
	{codeLabelUnknown, http.StatusNotFound, label.ErrUnknown}, {codeLabelSeveral, http.StatusConflict, label.ErrAmbiguous},
	{codeLabelNoObject, http.StatusBadRequest, errLabelled},
}

// encodeLabelError is an error about labels as it goes over the wire; ok is false for others.
func encodeLabelError(err error) (status int, f failed, ok bool) {
	for _, p := range labelErrors {
		if errors.Is(err, p.err) {
			return p.status, failed{Error: err.Error(), Code: p.code}, true
		}
	}
	return 0, failed{}, false
}

// noLabels are the labels of a Backend that has none.
type noLabels struct{}

// PutLabel returns ErrNoLabels.
func (noLabels) PutLabel(context.Context, LabelSaid) (Label, error) { return Label{}, ErrNoLabels }

// ListLabels returns ErrNoLabels.
func (noLabels) ListLabels(context.Context, LabelFilter) ([]Label, error) { return nil, ErrNoLabels }

// ListDisputes returns ErrNoLabels.
func (noLabels) ListDisputes(context.Context, string, int) ([]LabelDispute, error) {
	return nil, ErrNoLabels
}

// ExportLabels returns ErrNoLabels.
func (noLabels) ExportLabels(context.Context, LabelledPart, string, string) (LabelledCases, error) {
	return LabelledCases{}, ErrNoLabels
}

// PutLabel says something of a decision in the name of this process's user: By and Via are not sent.
func (c *Client) PutLabel(ctx context.Context, s LabelSaid) (out Label, err error) {
	return out, c.callProcess(ctx, http.MethodPost, "/v1/labels", s, &out)
}

// ListLabels returns labels, the newest first. Any Viewer stands for this process's user.
func (c *Client) ListLabels(ctx context.Context, f LabelFilter) (out []Label, err error) {
	return out, c.callProcess(ctx, http.MethodGet, "/v1/labels?"+writeLabelFilter(f), nil, &out)
}

// ListDisputes returns the decisions of which reviewers said different things. Any viewer stands for this process's user.
func (c *Client) ListDisputes(ctx context.Context, viewer string, limit int) (out []LabelDispute, err error) {
	q := writeLabelFilter(LabelFilter{Viewer: viewer, Limit: limit})
	return out, c.callProcess(ctx, http.MethodGet, "/v1/labels/disputes?"+q, nil, &out)
}

// ExportLabels returns a page of cases, on record in the name of this process's user.
func (c *Client) ExportLabels(ctx context.Context, part LabelledPart) (out LabelledCases, err error) {
	return out, c.callProcess(ctx, http.MethodPost, "/v1/labels/export", part, &out)
}
