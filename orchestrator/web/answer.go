package web

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/vedette-dev/vedette/sentinel/approval"
)

// What a form of an approval does.
const (
	doApprove = "approve"
	doDeny    = "deny"
	doEdit    = "edit"
	doStand   = "stand"
)

// onAnswer takes a person's answer to exactly what their page showed.
func (s approvals) onAnswer(w http.ResponseWriter, r *http.Request, v *visitor) {
	form, ok := s.readOwnForm(w, r, v, "do", "digest", "feedback", "edit", "uses", "hours")
	if !ok {
		return
	}
	card, err := s.findCard(r.Context(), v, r.PathValue("id"))
	if err != nil {
		s.showCardFailure(w, r, v, err)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), writeFor) // it isn't lost with the browser
	defer cancel()
	if err = s.takeAnswer(ctx, card, v, form); err == nil {
		http.Redirect(w, r, "/approvals/"+card.ID, http.StatusSeeOther)
		return
	}
	status, problem := describeRefusal(err)
	if problem == "" {
		s.showBroken(w, r, v, err)
		return
	}
	now, err := s.findCard(ctx, v, card.ID)
	if err != nil {
		s.showCardFailure(w, r, v, err)
		return
	}
	s.showCard(w, r, v, status, cardView{Card: now, Problem: problem, Feedback: form["feedback"], Edit: escapeJSON(form["edit"]),
		Opens: form["do"]})
}

// takeAnswer gives the inbox what a form says. Name and principal are the visitor's, so a token says no
// yes to a call of its own here either.
func (s approvals) takeAnswer(ctx context.Context, card approval.Card, v *visitor, form map[string]string) error {
	a := approval.Answer{Approval: card.ID, Word: approval.Yes, Digest: form["digest"], By: v.principal.Name, Via: via,
		Principal: v.principal.ID}
	if len(a.Digest) != len(card.Digest) { // an empty one would compare nothing
		return &approval.StaleError{Approval: card.ID}
	}
	switch form["do"] {
	case doApprove:
	case doDeny:
		a.Word, a.Feedback = approval.No, form["feedback"]
	case doEdit:
		a.Edit = []byte(form["edit"])
	case doStand:
		uses, err := strconv.Atoi(form["uses"])
		hours, herr := strconv.Atoi(form["hours"])
		if err != nil || herr != nil || hours < 1 || hours > int(approval.MaxStandingFor.Hours()) {
			return errTerms
		}
		_, err = s.inbox().Stand(ctx, a, approval.StandingTerms{Uses: uses, For: time.Duration(hours) * time.Hour})
		return err
	default:
		return errWord
	}
	_, err := s.inbox().Answer(ctx, a)
	return err
}

// What a person can mend in the form.
var (
	errTerms = errors.New("a standing approval holds for whole hours, 24 at most, and 1 to 20 calls")
	errWord  = errors.New("say yes or no")
)

// describeRefusal says why an answer was not taken; empty for what is the server's own trouble.
func describeRefusal(err error) (status int, problem string) {
	switch {
	case errors.Is(err, approval.ErrDecided):
		return http.StatusConflict, "Your answer came too late: " + err.Error() + "."
	case errors.Is(err, approval.ErrStale):
		return http.StatusConflict, "The question has changed since you were shown it, so your answer was not taken. This is what it is now."
	case errors.Is(err, approval.ErrNotAllowed):
		return http.StatusForbidden, err.Error()
	case errors.Is(err, approval.ErrAnswer), errors.Is(err, approval.ErrStanding), errors.Is(err, errTerms),
		errors.Is(err, errWord):
		return http.StatusUnprocessableEntity, err.Error()
	}
	return 0, ""
}
