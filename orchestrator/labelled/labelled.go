package labelled

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/vedette-dev/vedette/internal/plainjson"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/label"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
)

// Sources are where cases come from. Journal and Labels must be of the ledger's store.
type Sources struct {
	Ledger  *ledger.Reader
	Journal *journal.Journal
	Labels  *label.Labels
}

// Page is a part of all cases.
type Page struct {
	// Cases are lines of vedette eval.
	Cases []json.RawMessage `json:"cases"`
	// Withheld are the labelled decisions of which there is no case.
	Withheld []Withheld `json:"withheld"`
	// Lacking counts the cases that lack something, by what it is.
	Lacking map[string]int `json:"lacking"`
	// Next is the After of the next page; empty on the last.
	Next string `json:"next,omitempty"`
}

// Withheld is a labelled decision of which there is no case.
type Withheld struct {
	Record string `json:"record"`
	Skill  string `json:"skill,omitempty"`
	Why    string `json:"why"`
}

// Why there is no case.
const (
	WhyErased   = "the journal no longer holds its arguments"
	WhySecret   = "its arguments are kept nowhere, since they may hold a secret"
	WhyRefused  = "the proposal became no call, so its arguments were not kept"
	WhyDisputed = "reviewers disagree"
	WhyTaint    = "it followed a stranger's text that the journal no longer holds"
	WhyChanged  = "the row of the label is not what the ledger has"
)

// What a case may lack.
const (
	lacksRequest = "request"
	lacksMission = "mission"
)

// The kinds of what the orchestrator keeps under a turn, and its own calls.
const (
	keptRequest = "request"
	dispatch    = "agent.dispatch"
)

// caseLine is a case as vedette eval reads it. Lacks is a key that eval ignores.
type caseLine struct {
	ID         string      `json:"id"`
	Request    *string     `json:"original_request"`
	Mission    string      `json:"agent_mission,omitempty"`
	Agent      string      `json:"agent_id,omitempty"`
	User       string      `json:"user,omitempty"`
	Granted    []string    `json:"granted_skills"`
	Action     caseAction  `json:"proposed_action"`
	Earlier    []string    `json:"earlier_requests,omitempty"`
	History    []caseEntry `json:"history,omitempty"`
	Kind       string      `json:"kind"`
	Expected   string      `json:"expected"`
	Category   string      `json:"category"`
	Lacks      []string    `json:"lacks,omitempty"`
	LabelledBy []string    `json:"labelled_by"`
}

type caseAction struct {
	Skill string          `json:"skill_name"`
	Args  json.RawMessage `json:"arguments"`
}

type caseEntry struct {
	Skill  string          `json:"skill_name"`
	Args   json.RawMessage `json:"arguments,omitempty"`
	Result string          `json:"result"`
	Trust  string          `json:"trust"`
	Turn   int             `json:"turn,omitempty"`
}

// maxPage is how many labels are read for one page.
const maxPage = 500

// Part says of which labels cases are made.
type Part struct {
	// After is the Next of the page before.
	After string `json:"after,omitempty"`
	// Record is a decision's; empty for all.
	Record string `json:"record,omitempty"`
}

// Make makes the cases of a page of labels, the newest labels first. What it returns holds values.
func Make(ctx context.Context, s Sources, part Part, limit int) (Page, error) {
	out := Page{Cases: []json.RawMessage{}, Withheld: []Withheld{}, Lacking: map[string]int{}}
	limit = min(max(limit, 1), maxPage)
	list, err := s.Labels.List(ctx, label.Filter{After: part.After, Record: part.Record, Limit: limit})
	if err != nil {
		return out, err
	}
	if len(list) == limit {
		out.Next = list[len(list)-1].ID
	}
	for i := range list {
		if err := s.addCase(ctx, &out, &list[i]); err != nil {
			return out, err
		}
	}
	return out, nil
}

// addCase adds the case of a label, or why there is none. Of several labels that agree, the newest makes it.
func (s Sources) addCase(ctx context.Context, out *Page, l *label.Label) error {
	of, err := s.Labels.List(ctx, label.Filter{Record: l.Record})
	if err != nil {
		return err
	}
	of = slices.DeleteFunc(of, func(o label.Label) bool { return o.Wanted() == "" })
	if len(of) == 0 || of[0].ID != l.ID {
		return nil // no reviewer could tell, or another label stands for it
	}
	line, why, err := s.makeCase(ctx, l, of)
	switch {
	case err != nil:
		return err
	case why != "":
		out.Withheld = append(out.Withheld, Withheld{l.Record, l.Skill, why})
		return nil
	}
	raw, err := plainjson.Marshal(line)
	if err != nil {
		return err
	}
	for _, what := range line.Lacks {
		out.Lacking[what]++
	}
	out.Cases = append(out.Cases, raw)
	return nil
}

// makeCase makes the case of a decision of which all labels want the same, or says why there is none.
func (s Sources) makeCase(ctx context.Context, l *label.Label, of []label.Label) (line caseLine, why string, err error) {
	for i := range of {
		rec, err := s.Ledger.Get(ctx, of[i].ID)
		switch {
		case err != nil || !of[i].IsOnRecord(&rec):
			return line, WhyChanged, nil //nolint:nilerr // a row without its record is one that was changed
		case of[i].Wanted() != l.Wanted():
			return line, WhyDisputed, nil
		}
		line.LabelledBy = append(line.LabelledBy, of[i].By)
	}
	rec, err := s.Ledger.Get(ctx, l.Record)
	if err != nil {
		return line, "", fmt.Errorf("the decision of label %s can't be read: %w", l.ID, err)
	}
	if rec.Kind == sentinel.RecordRefused {
		return line, WhyRefused, nil
	}
	if why, err = s.readAction(ctx, &line, &rec); err != nil || why != "" {
		return line, why, err
	}
	line.ID, line.Agent, line.User, line.Category = rec.ID, rec.Agent, rec.User, l.Wanted()
	line.Kind, line.Expected = "attack", "reject"
	if l.Wanted() == sentinel.Allow.String() {
		line.Kind, line.Expected = "benign", "approve"
	}
	why, err = s.readContext(ctx, &line, &rec)
	return line, why, err
}

// readAction reads the call as it was proposed.
func (s Sources) readAction(ctx context.Context, line *caseLine, rec *ledger.Record) (why string, err error) {
	values, err := s.readValues(ctx, rec)
	if err != nil {
		return "", err
	}
	line.Action.Skill, line.Action.Args = rec.Skill, values["args"]
	if before := values["proposed"]; before != nil {
		line.Action.Args = before
	}
	if rec.Skill == "" { // one that wasn't known: its name is the model's text
		line.Action.Skill = string(values["skill"])
	}
	switch {
	case line.Action.Args == nil || line.Action.Skill == "" || !json.Valid(line.Action.Args):
		return WhyErased, nil
	case bytes.Equal(line.Action.Args, []byte(skills.HiddenArgs)):
		return WhySecret, nil
	}
	return "", nil
}

// readValues reads what the journal has of a record, by the values' names.
func (s Sources) readValues(ctx context.Context, rec *ledger.Record) (map[string]json.RawMessage, error) {
	found, err := s.Journal.ByCall(ctx, rec.Call)
	if err != nil {
		return nil, err
	}
	out := map[string]json.RawMessage{}
	for _, v := range found {
		if v.Name == rec.Kind && v.User == rec.User && v.Conversation == rec.Conversation {
			out[v.Kind] = v.Data
		}
	}
	return out, nil
}

// onRecord is what a case needs of a record's body.
type onRecord struct {
	Grant     string `json:"grant"`
	Turn      string `json:"turn"`
	Tainted   bool   `json:"tainted"`
	MissionBy string `json:"mission_by"`
	Trust     string `json:"trust"`
	Gates     []struct {
		Gate    string `json:"gate"`
		Outcome string `json:"outcome"`
	} `json:"gates"`
}

// readBody reads a body; what can't be read is as if it were empty.
func readBody(rec *ledger.Record) (b onRecord) {
	if len(rec.Body) > 0 && json.Unmarshal(rec.Body, &b) != nil {
		return onRecord{}
	}
	return b
}

// readContext reads the words and results around the call.
func (s Sources) readContext(ctx context.Context, line *caseLine, rec *ledger.Record) (why string, err error) {
	b := readBody(rec)
	line.Granted = []string{}
	for _, g := range b.Gates {
		if g.Gate == sentinel.GateScope && g.Outcome == sentinel.Allow.String() {
			line.Granted = []string{line.Action.Skill} // the record says no more of the grant than that it covered the call
		}
	}
	if err := s.readRequests(ctx, line, rec, b.Turn); err != nil {
		return "", err
	}
	if err := s.readSteps(ctx, line, rec, b); err != nil {
		return "", err
	}
	if line.Request == nil {
		line.Lacks = append(line.Lacks, lacksRequest)
	}
	if line.Mission == "" && b.MissionBy != "" {
		line.Lacks = append(line.Lacks, lacksMission)
	}
	untrusted := func(e caseEntry) bool { return e.Trust != string(skills.Trusted) }
	if b.Tainted && !slices.ContainsFunc(line.History, untrusted) {
		return WhyTaint, nil
	}
	return "", nil
}

// maxEarlier is how many earlier requests a case has at most.
const maxEarlier = 20

// readRequests reads the request of the turn, and those of the turns before.
func (s Sources) readRequests(ctx context.Context, line *caseLine, rec *ledger.Record, turn string) error {
	if rec.User == "" || rec.Conversation == "" || turn == "" {
		return nil
	}
	found, err := s.Journal.Find(ctx, journal.Query{User: rec.User, Conversation: rec.Conversation, Kind: keptRequest, Newest: true,
		Limit: maxPage})
	if err != nil {
		return err
	}
	for _, v := range found {
		switch {
		case v.Call == turn && line.Request == nil:
			text := string(v.Data)
			line.Request = &text
		case v.Call != turn && line.Request != nil && len(line.Earlier) < maxEarlier:
			line.Earlier = append(line.Earlier, string(v.Data))
		}
	}
	slices.Reverse(line.Earlier)
	return nil
}

// maxSteps is how many records of a conversation are looked at for one case.
const maxSteps = 1000

// readSteps reads what had come back to the agent before, and its mission.
func (s Sources) readSteps(ctx context.Context, line *caseLine, rec *ledger.Record, b onRecord) error {
	if rec.Conversation == "" {
		return nil
	}
	before := rec.Index
	list, err := s.Ledger.List(ctx, ledger.Query{
		Conversation: rec.Conversation, User: rec.User, AfterIndex: &before, Newest: true, Limit: maxSteps,
	})
	if err != nil {
		return err
	}
	slices.Reverse(list)
	grants := map[string]onRecord{} // of the calls that were allowed, by the call
	for i := range list {
		r := &list[i]
		switch {
		case r.Kind == sentinel.RecordDecision && r.Outcome == sentinel.Allow.String():
			grants[r.Call] = readBody(r)
			err = s.readMission(ctx, line, r, b, grants[r.Call])
		case r.Kind == sentinel.RecordOutcome && r.Outcome == sentinel.StatusOK:
			err = s.readStep(ctx, line, r, b, grants[r.Call])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readMission takes the mission from the dispatch of the record's agent in its turn.
func (s Sources) readMission(ctx context.Context, line *caseLine, r *ledger.Record, of, b onRecord) error {
	if r.Skill != dispatch || b.Turn != of.Turn {
		return nil
	}
	values, err := s.readValues(ctx, r)
	if err != nil {
		return err
	}
	var args struct {
		Agent   string `json:"agent_id"`
		Mission string `json:"mission"`
	}
	if json.Unmarshal(values["args"], &args) == nil && args.Agent == line.Agent {
		line.Mission = args.Mission
	}
	return nil
}

// readStep adds what a call returned: one of the same grant, or one of an earlier turn, which grounds nothing.
func (s Sources) readStep(ctx context.Context, line *caseLine, r *ledger.Record, of, b onRecord) error {
	earlier := b.Turn != of.Turn
	if r.Skill == dispatch || b.Grant == "" || !earlier && b.Grant != of.Grant || earlier && len(line.Earlier) == 0 {
		return nil // a result of an earlier turn stands behind that turn's request
	}
	values, err := s.readValues(ctx, r)
	if err != nil {
		return err
	}
	result := values["result"]
	if result == nil {
		return nil
	}
	entry := caseEntry{Skill: r.Skill, Result: string(result), Trust: readBody(r).Trust}
	if earlier {
		entry.Turn = -1
	}
	if entry.Trust != string(skills.Trusted) {
		entry.Trust = string(skills.Untrusted)
	}
	decided := *r
	decided.Kind = sentinel.RecordDecision
	if values, err = s.readValues(ctx, &decided); err != nil {
		return err
	}
	if entry.Args = values["args"]; !json.Valid(entry.Args) || bytes.Equal(entry.Args, []byte(skills.HiddenArgs)) {
		entry.Args = nil
	}
	line.History = append(line.History, entry)
	return nil
}
