package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/sentinel/label"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// reviews are the pages on which reviewers say whether decisions were right.
type reviews struct{ *Pages }

func (s reviews) register(mux *http.ServeMux) {
	mux.HandleFunc("GET /review", s.forScope(access.Label, s.onNext))
	mux.HandleFunc("GET /review/disputes", s.forScope(access.Label, s.onDisputes))
	mux.HandleFunc("GET /review/{id}", s.forScope(access.Label, s.onShow))
	mux.HandleFunc("POST /review/{id}", s.forScope(access.Label, s.onSay))
}

// reviewView is one decision that waits for a reviewer's word.
type reviewView struct {
	logRow
	// Decided is what was decided, Why why it is looked at, empty where the reviewer chose it.
	Decided, Why string
	Body         reviewBody
	// Chosen is the one reason for which the reviewer looks at decisions; empty is all. Whys are all reasons.
	Chosen string
	Whys   []string
	// Own is what the reviewer said of this decision, Others what others did, once they may be seen.
	Own    *label.Label
	Others []label.Label
	// Last is what the reviewer said just now.
	Last *label.Label
	// Left is how many wait. Empty says that none does.
	Left    int
	Empty   bool
	Problem string
	// Note is what they wrote, where it was not taken.
	Note string
	CSRF string
	// Shoulds are what it could have been instead.
	Shoulds []string
}

// reviewBody is what the page shows of a record's body: what the ledger has, so no values.
type reviewBody struct {
	Effect     string   `json:"effect"`
	Outward    bool     `json:"outward"`
	Tainted    bool     `json:"tainted"`
	Degraded   bool     `json:"degraded"`
	ArgNames   []string `json:"arg_names"`
	Undeclared int      `json:"undeclared"`
	ArgBytes   int      `json:"arg_bytes"`
	Approver   string   `json:"approver"`
	MissionBy  string   `json:"mission_by"`
	Gates      []struct {
		Gate     string `json:"gate"`
		State    string `json:"state"`
		Outcome  string `json:"outcome"`
		Code     string `json:"code"`
		Reason   string `json:"reason"`
		Score    *int   `json:"score"`
		Evidence []struct {
			Signal string   `json:"signal"`
			Args   []string `json:"args"`
			Doubt  bool     `json:"doubt"`
		} `json:"evidence"`
	} `json:"gates"`
}

// readWhy reads the one reason for which decisions are looked at; empty is all.
func readWhy(r *http.Request) string {
	if why := r.URL.Query().Get("why"); slices.Contains(label.Whys(), why) {
		return why
	}
	return ""
}

// onNext shows the next decision that waits for the reviewer.
func (s reviews) onNext(w http.ResponseWriter, r *http.Request, v *visitor) {
	out := reviewView{Chosen: readWhy(r)}
	list, err := s.labels().Queue(r.Context(), label.QueueFilter{Reviewer: v.principal.Name, Why: out.Chosen, Limit: 1})
	if err == nil && r.URL.Query().Get("said") != "" {
		out.Last, err = s.findOwn(r.Context(), v, r.URL.Query().Get("said"))
	}
	if err != nil {
		s.showBroken(w, r, v, err)
		return
	}
	if len(list) == 0 {
		out.Empty = true
		s.showReview(w, r, v, http.StatusOK, nil, out)
		return
	}
	out.Why = list[0].Why
	s.showReview(w, r, v, http.StatusOK, &list[0].Record, out)
}

// findOwn returns what the reviewer said of a decision; nil where they said nothing.
func (s reviews) findOwn(ctx context.Context, v *visitor, record string) (*label.Label, error) {
	if !idForm.MatchString(record) {
		return nil, nil
	}
	own, err := s.labels().List(ctx, label.Filter{Record: record, By: v.principal.Name, Limit: 1})
	if err != nil || len(own) == 0 {
		return nil, err
	}
	return &own[0], nil
}

// findRecord returns the record of a decision by its whole id.
func (s reviews) findRecord(w http.ResponseWriter, r *http.Request, v *visitor) (rec ledger.Record, ok bool) {
	id, err := r.PathValue("id"), label.ErrUnknown
	if idForm.MatchString(id) {
		rec, err = s.labels().FindDecision(r.Context(), id)
	}
	switch {
	case err == nil && rec.ID == id:
		return rec, true
	case err == nil, errors.Is(err, label.ErrUnknown), errors.Is(err, label.ErrAmbiguous):
		s.showFailure(w, v, failure{http.StatusNotFound, "No decision has this address", "Look at the queue again."})
	case r.Context().Err() != nil:
	default:
		s.showBroken(w, r, v, err)
	}
	return rec, false
}

// onShow shows one decision that the reviewer chose.
func (s reviews) onShow(w http.ResponseWriter, r *http.Request, v *visitor) {
	if rec, ok := s.findRecord(w, r, v); ok {
		s.showReview(w, r, v, http.StatusOK, &rec, reviewView{Chosen: readWhy(r)})
	}
}

// showReview fills in what the page shows of a decision, and writes it. A nil record is an empty queue.
func (s reviews) showReview(w http.ResponseWriter, r *http.Request, v *visitor, status int, rec *ledger.Record, out reviewView) {
	left, err := s.labels().CountLeft(r.Context(), v.principal.Name)
	if err == nil && rec != nil {
		err = s.fillReview(r.Context(), v, rec, &out)
	}
	if err != nil {
		s.showBroken(w, r, v, err)
		return
	}
	out.Left, out.CSRF, out.Whys = left, v.sessionToken, label.Whys()
	s.show(w, status, "review", viewFor(v, "review", "Review", out))
}

// fillReview fills in a decision and what was said of it.
func (s reviews) fillReview(ctx context.Context, v *visitor, rec *ledger.Record, out *reviewView) error {
	out.logRow, out.Decided = newLogRow(rec), label.DecidedOf(rec)
	if len(rec.Body) > 0 {
		_ = json.Unmarshal(rec.Body, &out.Body) // what can't be read is left out
	}
	for _, o := range label.Outcomes() {
		if o != out.Decided {
			out.Shoulds = append(out.Shoulds, o)
		}
	}
	said, err := s.labels().List(ctx, label.Filter{Record: rec.ID, Viewer: v.principal.Name})
	for i := range said {
		if said[i].By == v.principal.Name {
			out.Own = &said[i]
		} else {
			out.Others = append(out.Others, said[i])
		}
	}
	return err
}

// What the forms of a decision say; another text is what it should have been.
const (
	sayRight  = "right"
	sayUnsure = "unsure"
)

// onSay takes a reviewer's word. Who says it is the visitor.
func (s reviews) onSay(w http.ResponseWriter, r *http.Request, v *visitor) {
	form, ok := s.readOwnForm(w, r, v, "say", "note", "why")
	if !ok {
		return
	}
	rec, ok := s.findRecord(w, r, v)
	if !ok {
		return
	}
	said := label.Said{
		Of: rec.ID, Word: label.Wrong, Should: form["say"], Note: strings.TrimSpace(form["note"]), By: v.principal.Name, Via: via,
	}
	if form["say"] == sayRight || form["say"] == sayUnsure {
		said.Word, said.Should = label.Word(form["say"]), ""
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), writeFor) // it isn't lost with the browser
	defer cancel()
	_, err := s.labels().Put(ctx, said)
	switch {
	case errors.Is(err, label.ErrLabel):
		s.showReview(w, r, v, http.StatusUnprocessableEntity, &rec, reviewView{Problem: err.Error(), Note: form["note"]})
	case err != nil:
		s.showBroken(w, r, v, err)
	default:
		to := url.Values{"said": {rec.ID}}
		if slices.Contains(label.Whys(), form["why"]) {
			to.Set("why", form["why"])
		}
		http.Redirect(w, r, "/review?"+to.Encode(), http.StatusSeeOther)
	}
}

// disputesView are decisions of which reviewers said different things.
type disputesView struct{ Rows []label.Dispute }

// onDisputes shows the decisions of which others said something else than the reviewer.
func (s reviews) onDisputes(w http.ResponseWriter, r *http.Request, v *visitor) {
	list, err := s.labels().Disputes(r.Context(), v.principal.Name, pageSize)
	if err != nil {
		s.showBroken(w, r, v, err)
		return
	}
	s.show(w, http.StatusOK, "disputes", viewFor(v, "review", "Disagreements", disputesView{list}))
}

// describeSaid is what a reviewer said, for people.
func describeSaid(l label.Label) string {
	if l.Word == label.Wrong {
		return fmt.Sprintf("wrong, should %s", l.Should)
	}
	return string(l.Word)
}
