package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// cardView is one approval in full.
type cardView struct {
	approval.Card
	CSRF  string
	State stateView
	Age   time.Duration
	Left  time.Duration
	// Args are the call's arguments, Evidence where their values were seen.
	Args     []argView
	Evidence evidenceView
	// Edit is the text in the form of an edit; empty where the call can't be edited.
	Edit string
	// Feedback is what the person wrote, where their answer was not taken. Problem says why it was not,
	// Opens which part of the form they used.
	Feedback, Problem, Opens string
	MaxUses, MaxHours        int
}

// stateView is how far an approval is, and what happened after it was answered.
type stateView struct {
	approval.Item
	Left time.Duration
	// Outcome is what became of the call that was allowed: ok, failed or unknown; OutcomeAt when.
	Outcome   string
	OutcomeAt time.Time
	Seen      string
	// Follows says that more may happen.
	Follows bool
}

// argView is an argument of the call.
type argView struct {
	Name, Kind, Value string
	Size              int
	Long              bool
}

// evidenceView is where the values of a call were seen, as the journal has it.
type evidenceView struct {
	Named []struct {
		Arg  string   `json:"arg"`
		Args []string `json:"args"`
		Is   string   `json:"is"`
		Made string   `json:"made_of"`
		Seen []struct {
			In    string `json:"in"`
			Field string `json:"field"`
			Trust string `json:"trust"`
			Text  string `json:"text"`
		} `json:"seen"`
	} `json:"named"`
	Nowhere []string `json:"nowhere"`
	Carries []string `json:"carries"`
	Unasked []string `json:"unasked"`
	LeftOut int      `json:"left_out"`
	Unread  int      `json:"unread_results"`
}

// readEvidence reads evidence as the journal has it. What can't be read is as if there were none.
func readEvidence(raw string) (out evidenceView) {
	if json.Unmarshal([]byte(raw), &out) != nil {
		return evidenceView{}
	}
	return out
}

// errNotYours: the rules of approvals.who don't let this person answer, so they see no values.
var errNotYours = errors.New("the rules under approvals.who let others answer this one")

// findCard returns an approval to a visitor who may answer it.
func (s approvals) findCard(ctx context.Context, v *visitor, id string) (approval.Card, error) {
	inbox := s.inbox()
	switch {
	case inbox == nil:
		return approval.Card{}, errNoInbox
	case !idForm.MatchString(id):
		return approval.Card{}, approval.ErrUnknown
	}
	card, err := inbox.Show(ctx, id)
	switch {
	case err != nil:
		return card, err
	case card.ID != id: // the beginning of an id names nothing here
		return approval.Card{}, approval.ErrUnknown
	case !inbox.May(v.principal.Name, card.Item):
		return approval.Card{Item: card.Item}, errNotYours
	}
	return card, nil
}

func (s approvals) onShow(w http.ResponseWriter, r *http.Request, v *visitor) {
	card, err := s.findCard(r.Context(), v, r.PathValue("id"))
	if err != nil {
		s.showCardFailure(w, r, v, err)
		return
	}
	s.showCard(w, r, v, http.StatusOK, cardView{Card: card})
}

// showCardFailure shows why an approval can't be shown.
func (s approvals) showCardFailure(w http.ResponseWriter, r *http.Request, v *visitor, err error) {
	switch {
	case errors.Is(err, approval.ErrUnknown), errors.Is(err, approval.ErrAmbiguous):
		s.showFailure(w, v, failure{http.StatusNotFound, "No approval has this address",
			"It was never there, or it was erased with what is kept of its user."})
	case errors.Is(err, errNotYours):
		s.showFailure(w, v, failure{http.StatusForbidden, "This one is for others to answer",
			"The rules under approvals.who don't let " + v.principal.Name + " answer it, so its values aren't shown."})
	case errors.Is(err, errNoInbox):
		s.showFailure(w, v, failure{http.StatusNotFound, "No approvals are kept here", err.Error()})
	case r.Context().Err() != nil:
	default:
		s.showBroken(w, r, v, err)
	}
}

// showCard fills in what the page shows of a card, and writes it.
func (s approvals) showCard(w http.ResponseWriter, r *http.Request, v *visitor, status int, c cardView) {
	var err error
	if c.State, err = s.readState(r.Context(), c.Item); err != nil {
		s.showBroken(w, r, v, err)
		return
	}
	now := s.o.Now()
	c.CSRF, c.Age, c.Left, c.MaxUses, c.MaxHours = v.sessionToken, now.Sub(c.Asked), c.Expires.Sub(now),
		approval.MaxStandingUses, int(approval.MaxStandingFor.Hours())
	if c.Sheet != nil {
		c.Args = listArgs(c.Sheet.Args)
		c.Evidence = readEvidence(string(c.Sheet.Evidence)) // what can't be read is in the sheet's text
		if c.Edit == "" && c.Commits == "" {
			c.Edit = indentJSON(c.Sheet.Args)
		}
	}
	out := viewFor(v, "approvals", c.Skill, c)
	if c.State.Follows {
		out.Refresh = 10
		if c.Item.State == approval.StatePending {
			out.Refresh = 0 // it would take away what the person writes
		}
	}
	s.show(w, status, "card", out)
}

// readState returns how far an approval is, with what became of its call.
func (s approvals) readState(ctx context.Context, i approval.Item) (stateView, error) {
	out := stateView{Item: i, Left: i.Expires.Sub(s.o.Now())}
	out.Follows = i.State == approval.StatePending || i.State == approval.StateApproved
	if i.State == approval.StateConsumed {
		q := ledger.Query{Decision: i.ID, Kind: sentinel.RecordOutcome, Newest: true, Limit: 1}
		list, err := s.o.Orchestrator.Parts().Ledger.List(ctx, q)
		if err != nil {
			return out, err
		}
		if out.Follows = len(list) == 0; !out.Follows {
			out.Outcome, out.OutcomeAt = list[0].Outcome, list[0].Time
		}
	}
	out.Seen = fmt.Sprintf("%s-%d-%s-%s", i.State, i.Yes, out.Outcome, i.Digest[:min(len(i.Digest), approval.MinDigest)])
	return out, nil
}

// onState answers a page that follows one approval, once it is as it was not, or after Options.Poll.
func (s approvals) onState(w http.ResponseWriter, r *http.Request, v *visitor) {
	seen := r.URL.Query().Get("seen")
	var state stateView
	err := s.follow(r.Context(), v, func(ctx context.Context) (bool, error) {
		item, err := approval.Get(ctx, s.o.Orchestrator.Parts().Store.Reader(), r.PathValue("id"), s.o.Now())
		if err == nil {
			state, err = s.readState(ctx, item)
		}
		return state.Seen != seen, err
	})
	switch {
	case r.Context().Err() != nil:
	case errors.Is(err, errGone):
		s.sendToSignIn(w, r)
	case err != nil:
		s.showCardFailure(w, r, v, err)
	default:
		if seen != "" && seen != state.Seen { // the forms of the page are those of what it was
			w.Header().Set("HX-Refresh", "true")
		}
		s.show(w, http.StatusOK, "state", state)
	}
}

const (
	// longValue is from how many bytes on a value has a box of its own that scrolls.
	longValue = 400
	// maxArgs is how many arguments a page shows one by one.
	maxArgs = 100
)

// listArgs returns the arguments, each as the person reads it: texts as they are, the rest as JSON.
func listArgs(raw json.RawMessage) []argView {
	args := map[string]json.RawMessage{}
	if json.Unmarshal(raw, &args) != nil {
		return nil
	}
	names := make([]string, 0, len(args))
	for name := range args {
		names = append(names, name)
	}
	slices.Sort(names)
	out := make([]argView, 0, len(names))
	for _, name := range names[:min(len(names), maxArgs)] {
		a := argView{Name: name, Kind: "JSON", Value: indentJSON(args[name])}
		text := ""
		if args[name][0] == '"' && json.Unmarshal(args[name], &text) == nil {
			a.Kind, a.Value = "text", text
		}
		a.Size = utf8.RuneCountInString(a.Value)
		a.Long = len(a.Value) > longValue
		out = append(out, a)
	}
	if left := len(names) - maxArgs; left > 0 {
		out = append(out, argView{Name: fmt.Sprintf("%d more", left), Kind: "note", Value: "They stand in the text below."})
	}
	return out
}

// indentJSON is JSON to read and to edit. What no screen shows in it is escaped, and its values stay.
func indentJSON(raw json.RawMessage) string {
	var b bytes.Buffer
	if len(raw) == 0 || json.Indent(&b, raw, "", "  ") != nil {
		return ""
	}
	return escapeJSON(b.String())
}

// escapeJSON writes what no screen shows in JSON as its escape: it can only stand in texts, whose values
// stay as they are.
func escapeJSON(s string) string {
	var b strings.Builder
	for _, p := range appendMarks(nil, s) {
		if !p.Mark {
			b.WriteString(p.Text)
			continue
		}
		for _, unit := range utf16.Encode([]rune(p.Hidden)) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
