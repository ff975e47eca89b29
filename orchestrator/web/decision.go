package web

import (
	"errors"
	"net/http"
	"time"

	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/records/story"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// decisions are the pages of one recorded call each.
type decisions struct{ *Pages }

// register adds the pages. Values come with a POST: a browser that loads a link ahead reads none.
func (s decisions) register(mux *http.ServeMux) {
	mux.HandleFunc("GET /log/{id}", s.forScope(access.Review, s.onShow))
	mux.HandleFunc("POST /log/{id}", s.forScope(access.Values, s.onRead))
}

// decisionView is all that is kept of one call.
type decisionView struct {
	story.Story
	CSRF string
	// May says that this visitor may be shown values.
	May bool
	// Args are the arguments one by one, Evidence where their values were seen.
	Args     []argView
	Evidence evidenceView
}

func (s decisions) onShow(w http.ResponseWriter, r *http.Request, v *visitor) {
	told, err := s.o.Orchestrator.Parts().Stories.Tell(r.Context(), r.PathValue("id"))
	s.showStory(w, r, v, told, err)
}

// onRead shows values. That this visitor read them is on record first.
func (s decisions) onRead(w http.ResponseWriter, r *http.Request, v *visitor) {
	if _, ok := s.readOwnForm(w, r, v); !ok {
		return
	}
	who := story.Reader{By: v.principal.Name, Via: via}
	told, err := s.o.Orchestrator.Parts().Stories.TellWithValues(r.Context(), r.PathValue("id"), who)
	s.showStory(w, r, v, told, err)
}

// showStory writes the page, or why there is none.
func (s decisions) showStory(w http.ResponseWriter, r *http.Request, v *visitor, told story.Story, err error) {
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		s.showFailure(w, v, failure{http.StatusNotFound, "No record has this address",
			"The address is wrong, or the record is in another ledger."})
		return
	case errors.Is(err, ledger.ErrAmbiguous):
		s.showFailure(w, v, failure{http.StatusConflict, "Several records have an id that begins so", "Give more of the id."})
		return
	case r.Context().Err() != nil:
		return
	case err != nil:
		s.showBroken(w, r, v, err)
		return
	}
	out := decisionView{Story: told, CSRF: v.sessionToken, May: v.principal.May(access.Values)}
	if args := told.Values.Arguments; args.State == story.Kept && args.Bytes == 0 {
		out.Args = listArgs([]byte(args.Text))
	}
	if ev := told.Values.Evidence; ev.State == story.Kept {
		out.Evidence = readEvidence(ev.Text)
	}
	title := "Record"
	if told.About != nil && told.About.Skill != "" {
		title = told.About.Skill
	}
	s.show(w, http.StatusOK, "decision", viewFor(v, "log", title, out))
}

// Waited is how long the answer to the question took.
func (d decisionView) Waited() time.Duration {
	if d.Question == nil {
		return 0
	}
	return time.Duration(d.Question.WaitedMS) * time.Millisecond
}
