package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/intake"
)

// intents are the pages of users' texts that became intents: which there were, and the way of one through the stages. They
// show what the ledger has, so no value.
type intents struct{ *Pages }

func (s intents) register(mux *http.ServeMux) {
	mux.HandleFunc("GET /intents", s.forScope(access.Review, s.onList))
	mux.HandleFunc("GET /intents/{id}", s.forScope(access.Review, s.onShow))
	mux.HandleFunc("GET /intents/{id}/way", s.forScope(access.Review, s.onWay))
}

// intentsView is a list of requests, the newest first.
type intentsView struct {
	Rows []intake.Summary
	Show string
	Next string
}

// archive reads what is recorded of requests.
func (s intents) archive() intake.Archive {
	return intake.Archive{Ledger: &s.o.Orchestrator.Parts().Ledger.Reader}
}

func (s intents) onList(w http.ResponseWriter, r *http.Request, v *visitor) {
	q := r.URL.Query()
	f := intake.Filter{Newest: true, Limit: pageSize + 1, After: readPlace(q.Get("after"))}
	out := intentsView{}
	switch show := q.Get("show"); show {
	case "blocked":
		f.Outcome, out.Show = string(intake.Blocked), show
	case "elevations":
		f.Outcome, out.Show = string(intake.PendingApproval), show
	}
	list, err := s.archive().List(r.Context(), f)
	if err != nil {
		s.showBroken(w, r, v, err)
		return
	}
	out.Rows = list
	if len(list) > pageSize {
		out.Rows = list[:pageSize]
		next := url.Values{"after": {strconv.FormatInt(out.Rows[pageSize-1].Index, 10)}}
		if out.Show != "" {
			next.Set("show", out.Show)
		}
		out.Next = "/intents?" + next.Encode()
	}
	s.show(w, http.StatusOK, "intents", viewFor(v, "intents", "Intents", out))
}

// wayView is one request's way through the stages.
type wayView struct {
	intake.Way
	// Seen is how many stages the page shows, Follows that more may come.
	Seen    int
	Follows bool
}

// readWay reads the way of the request in the path.
func (s intents) readWay(ctx context.Context, id string) (wayView, error) {
	if !idForm.MatchString(id) {
		return wayView{}, intake.ErrUnknownRequest
	}
	way, err := s.archive().Show(ctx, id)
	return wayView{way, len(way.Stages), !way.Summary.Status.IsEnd()}, err
}

func (s intents) onShow(w http.ResponseWriter, r *http.Request, v *visitor) {
	way, err := s.readWay(r.Context(), r.PathValue("id"))
	if err != nil {
		s.showNoWay(w, r, v, err)
		return
	}
	page := viewFor(v, "intents", "Intent", way)
	if way.Follows {
		page.Refresh = 10
	}
	s.show(w, http.StatusOK, "intent", page)
}

// onWay answers a page that follows one request, once it has gone further, or after Options.Poll.
func (s intents) onWay(w http.ResponseWriter, r *http.Request, v *visitor) {
	seen, _ := strconv.Atoi(r.URL.Query().Get("seen")) // what is none is zero: it is answered at once
	var way wayView
	err := s.follow(r.Context(), v, func(ctx context.Context) (other bool, err error) {
		way, err = s.readWay(ctx, r.PathValue("id"))
		return way.Seen != seen, err
	})
	switch {
	case r.Context().Err() != nil:
	case errors.Is(err, errGone):
		s.sendToSignIn(w, r)
	case err != nil:
		s.showNoWay(w, r, v, err)
	default:
		s.show(w, http.StatusOK, "way", way)
	}
}

// showNoWay says why there is no page of a request.
func (s intents) showNoWay(w http.ResponseWriter, r *http.Request, v *visitor, err error) {
	if errors.Is(err, intake.ErrUnknownRequest) {
		s.showFailure(w, v, failure{http.StatusNotFound, "No request has this address",
			"The address is wrong, or the request is in another ledger."})
		return
	}
	s.showBroken(w, r, v, err)
}
