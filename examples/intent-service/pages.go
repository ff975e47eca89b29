package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"html/template"
	"log"
	"net/http"

	"github.com/vedette-dev/vedette/orchestrator/intake"
	"github.com/vedette-dev/vedette/sentinel/approval"
)

// approver is who answers what can't be decided without a person; vedette.yaml names them too.
const approver = "boss"

// maxForm bounds a form in bytes.
const maxForm = 64 << 10

//go:embed page.html
var pageText string

var pages = template.Must(template.New("page").Parse(pageText))

// service shows the form, and what became of what it sends.
type service struct {
	intake *intake.Pipeline
	inbox  *approval.Inbox
}

func (s *service) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { show(w, http.StatusOK, "form", userOf(r)) })
	mux.HandleFunc("POST /requests", s.onRequest)
	mux.HandleFunc("GET /requests/{id}", s.onLook)
	mux.HandleFunc("POST /requests/{id}", s.onConfirm)
	mux.HandleFunc("GET /approvals", s.onApprovals)
	mux.HandleFunc("POST /approvals/{id}", s.onAnswer)
	return http.MaxBytesHandler(mux, maxForm)
}

// onRequest takes a text through the stages.
func (s *service) onRequest(w http.ResponseWriter, r *http.Request) {
	a, err := s.intake.Process(r.Context(), intake.Request{User: userOf(r), Session: "form", Text: r.PostFormValue("text")})
	s.tell(w, a, err)
}

func (s *service) onLook(w http.ResponseWriter, r *http.Request) {
	a, err := s.intake.Look(r.Context(), r.PathValue("id"), userOf(r))
	s.tell(w, a, err)
}

// onConfirm takes the user's word on what was understood.
func (s *service) onConfirm(w http.ResponseWriter, r *http.Request) {
	a, err := s.intake.Confirm(r.Context(), intake.UserAnswer{
		Request: r.PathValue("id"), User: userOf(r), Digest: r.PostFormValue("digest"), Yes: r.PostFormValue("word") == "yes",
	})
	s.tell(w, a, err)
}

// statuses are the HTTP statuses of requests; those that are missing are 200.
var statuses = map[intake.Status]int{
	intake.Running: http.StatusAccepted, intake.PendingConfirmation: http.StatusAccepted, intake.PendingApproval: http.StatusAccepted,
	intake.Blocked: http.StatusForbidden, intake.Denied: http.StatusForbidden, intake.Expired: http.StatusForbidden,
	intake.Failed: http.StatusBadGateway, intake.Unknown: http.StatusBadGateway,
}

// tell shows where a request stands. A mistake in it is the user's to mend; what else goes wrong is the program's.
func (s *service) tell(w http.ResponseWriter, a intake.Answer, err error) {
	var input *intake.InputError
	switch {
	case errors.As(err, &input), errors.Is(err, intake.ErrDecided), errors.Is(err, intake.ErrDigest):
		http.Error(w, err.Error(), http.StatusBadRequest)
	case errors.Is(err, intake.ErrUnknownRequest):
		http.Error(w, "there is no such request of yours", http.StatusNotFound)
	case err != nil:
		log.Print(err)
		http.Error(w, "the request was not taken; send it again later", http.StatusServiceUnavailable)
	default:
		status := http.StatusOK
		if other, ok := statuses[a.Status]; ok {
			status = other
		}
		result, _ := json.MarshalIndent(a.Result, "", "  ") // it is JSON
		show(w, status, "request", struct {
			intake.Answer
			Text string
		}{a, string(result)})
	}
}

// onApprovals shows the approver what waits.
func (s *service) onApprovals(w http.ResponseWriter, r *http.Request) {
	if userOf(r) != approver {
		http.Error(w, "this page is the approver's", http.StatusForbidden)
		return
	}
	var cards []approval.Card
	list, err := s.inbox.List(r.Context(), approval.Filter{})
	for _, one := range list {
		if card, gone := s.inbox.Show(r.Context(), one.ID); gone == nil && card.Sheet != nil {
			cards = append(cards, card)
		}
	}
	if err != nil {
		log.Print(err)
		http.Error(w, "the approvals could not be read; try again", http.StatusServiceUnavailable)
		return
	}
	show(w, http.StatusOK, "approvals", cards)
}

// onAnswer takes the approver's word on exactly what was shown.
func (s *service) onAnswer(w http.ResponseWriter, r *http.Request) {
	if userOf(r) != approver {
		http.Error(w, "this page is the approver's", http.StatusForbidden)
		return
	}
	word := approval.No
	if r.PostFormValue("word") == "yes" {
		word = approval.Yes
	}
	_, err := s.inbox.Answer(r.Context(), approval.Answer{
		Approval: r.PathValue("id"), Word: word, Digest: r.PostFormValue("digest"), By: userOf(r), Via: "web",
	})
	if err != nil {
		http.Error(w, "the answer was not taken: "+err.Error(), http.StatusConflict)
		return
	}
	http.Redirect(w, r, "/approvals", http.StatusSeeOther)
}

func show(w http.ResponseWriter, status int, page string, data any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; form-action 'self'; frame-ancestors 'none'")
	w.WriteHeader(status)
	if err := pages.ExecuteTemplate(w, page, data); err != nil {
		log.Print(err) // the caller may have left
	}
}
