package web

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/sentinel/approval"
)

// standings are the pages of standing approvals.
type standings struct{ *Pages }

func (s standings) register(mux *http.ServeMux) {
	mux.HandleFunc("GET /standing", s.forScope(access.Approve, s.onList))
	mux.HandleFunc("POST /standing/{id}/revoke", s.forScope(access.Approve, s.onRevoke))
}

// standingsView is the list of standing approvals.
type standingsView struct {
	Rows []approval.Standing
	All  bool
	CSRF string
	Next string
	Now  time.Time
}

func (s standings) onList(w http.ResponseWriter, r *http.Request, v *visitor) {
	inbox := s.inbox()
	if inbox == nil {
		s.showFailure(w, v, failure{http.StatusNotFound, "No approvals are kept here", errNoInbox.Error()})
		return
	}
	f := approval.StandingFilter{All: r.URL.Query().Get("all") == "1", Limit: pageSize + 1}
	if after := r.URL.Query().Get("after"); idForm.MatchString(after) {
		f.After = after
	}
	list, err := inbox.ListStanding(r.Context(), f)
	if err != nil {
		s.showBroken(w, r, v, err)
		return
	}
	out := standingsView{Rows: list, All: f.All, CSRF: v.sessionToken, Now: s.o.Now()}
	if len(list) > pageSize {
		out.Rows = list[:pageSize]
		out.Next = "/standing?after=" + out.Rows[pageSize-1].ID
		if f.All {
			out.Next += "&all=1"
		}
	}
	s.show(w, http.StatusOK, "standing", viewFor(v, "standing", "Standing approvals", out))
}

func (s standings) onRevoke(w http.ResponseWriter, r *http.Request, v *visitor) {
	if _, ok := s.readOwnForm(w, r, v); !ok {
		return
	}
	inbox, id := s.inbox(), r.PathValue("id")
	if inbox == nil || !idForm.MatchString(id) {
		s.showFailure(w, v, failure{http.StatusNotFound, "No standing approval has this id", "Look at the list again."})
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), writeFor)
	defer cancel()
	switch _, err := inbox.Revoke(ctx, id, v.principal.Name, via); {
	case errors.Is(err, approval.ErrUnknown), errors.Is(err, approval.ErrAmbiguous):
		s.showFailure(w, v, failure{http.StatusNotFound, "No standing approval has this id", "Look at the list again."})
	case err != nil:
		s.showBroken(w, r, v, err)
	default:
		http.Redirect(w, r, "/standing", http.StatusSeeOther)
	}
}
