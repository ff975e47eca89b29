package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/cases"
	"github.com/vedette-dev/vedette/orchestrator/handover"
	"github.com/vedette-dev/vedette/orchestrator/problem"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
)

// calls are the operations on calls that other programs run.
type calls struct{ *API }

var whoCalls = []access.Scope{access.Call}

// callBody describes a proposal.
type callBody struct {
	Conversation string          `json:"conversation" minLength:"1" maxLength:"256" doc:"Taint, limits and history are kept by it."`
	CallID       string          `json:"call_id" minLength:"1" maxLength:"256" doc:"The same call under the same id is one call."`
	Turn         string          `json:"turn,omitempty" maxLength:"256" doc:"Names the request that the call belongs to."`
	Agent        string          `json:"agent_id,omitempty" maxLength:"256"`
	User         string          `json:"user,omitempty" maxLength:"128" doc:"Another user than the token's needs the scope act_as."`
	Skill        string          `json:"skill_name" minLength:"1" maxLength:"128"`
	Arguments    json.RawMessage `json:"arguments,omitempty"`
	Request      *string         `json:"original_request,omitempty" doc:"What the user asked for, if the token says user_turns: human."`
	Mission      string          `json:"agent_mission,omitempty"`
	Granted      []string        `json:"granted_skills,omitempty" nullable:"false" doc:"Narrows what the token may use."`
	History      []readResult    `json:"history,omitempty" nullable:"false" doc:"What was read before, the oldest first. It taints."`
	Wait         int             `json:"wait_seconds,omitempty" minimum:"0" maximum:"60" doc:"How long to wait for a person."`
}

// readResult is something that the caller read before.
type readResult struct {
	Skill     string          `json:"skill_name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Result    string          `json:"result,omitempty"`
}

var callKeys = []string{"conversation", "call_id", "turn", "agent_id", "user", "skill_name", "arguments", "original_request",
	"agent_mission", "granted_skills", "history", "wait_seconds"}

// maxWait is how long a call may wait for a person, in seconds.
const maxWait = 60

func (s calls) register() {
	schemas := s.huma.OpenAPI().Components.Schemas
	register(s.API, operation{
		id: "propose-call", method: http.MethodPost, path: "/v1/calls", tag: "calls", scopes: whoCalls,
		raw: schemas.Schema(reflect.TypeFor[callBody](), true, "Proposal"), summary: "Decide a call that you run",
		description: "Where the state is `allowed`, run exactly `arguments` and report the outcome; the `warrant` is given once. Where it is " +
			"`pending`, a person is asked: propose the same call again later. A repeat is answered from the record. " +
			"Another call under the same id " +
			"is `digest_mismatch`. Paths are judged without this server's files.",
		fails: []problem.Code{problem.DigestMismatch, problem.Overloaded, problem.NotKept, problem.Draining},
	}, s.onPropose)
	register(s.API, operation{
		id: "show-call", method: http.MethodGet, path: "/v1/calls/{id}", tag: "calls", scopes: whoCalls, summary: "Show where a call stands",
		description: "It changes nothing: a pending call doesn't go on, and no warrant is given.",
	}, s.onShow)
	register(s.API, operation{
		id: "report-outcome", method: http.MethodPost, path: "/v1/calls/{id}/outcome", tag: "calls", scopes: whoCalls,
		summary:     "Report what became of a call",
		description: "The result has its skill's trust. The same report again is answered as the first. Unreported in time is `unknown`.",
		fails:       []problem.Code{problem.NotKept},
	}, s.onReport)
}

// calledAnswer is where a call stands, as a caller reads it.
type calledAnswer struct {
	ID        string          `json:"id" doc:"Names the call on this server: report the outcome under it."`
	State     handover.State  `json:"state" enum:"pending,allowed,denied,deferred,expired,unknown,ok,failed"`
	Decision  *sentinel.Line  `json:"decision,omitempty"`
	Approval  string          `json:"approval,omitempty" doc:"The id of the question to a person."`
	Link      string          `json:"link,omitempty" doc:"Where a person answers it."`
	Warrant   string          `json:"warrant,omitempty" doc:"The proof that the call was allowed. It is given once."`
	Arguments json.RawMessage `json:"arguments,omitempty" doc:"What was allowed, in canonical form. Run this, and not what was proposed."`
	Note      string          `json:"note,omitempty" doc:"What rules changed in the arguments."`
	Expires   *time.Time      `json:"expires,omitempty" doc:"When the question ends, or until when an allowed call is to be reported."`
	Refusal   *Card           `json:"refusal,omitempty"`
	Result    string          `json:"result,omitempty"`
	Trust     skills.Trust    `json:"trust,omitempty"`
}

type called struct {
	RetryAfter string `header:"Retry-After"`
	Body       calledAnswer
}

// newCalled is an answer as a caller reads it.
func (s calls) newCalled(a handover.Answer, skill string) *called {
	out := &called{Body: calledAnswer{
		ID: a.ID, State: a.State, Decision: a.Decision, Approval: a.Approval, Warrant: a.Warrant, Arguments: a.Arguments, Note: a.Note,
		Expires: a.Expires, Refusal: s.view.newCard(a.Refusal, skill, a.Approval), Result: a.Result, Trust: a.Trust,
	}}
	if a.Approval != "" {
		out.Body.Link = s.view.link("/approvals/" + a.Approval)
	}
	if card := out.Body.Refusal; card != nil && card.RetryAfter > 0 {
		out.RetryAfter = fmt.Sprint(card.RetryAfter)
	}
	return out
}

func (s calls) onPropose(ctx context.Context, p access.Principal, in *rawInput) (*called, error) {
	prop, err := readProposal(p, in.RawBody)
	if err != nil {
		return nil, err
	}
	a, err := s.handover().Propose(ctx, prop)
	if err != nil {
		return nil, err
	}
	return s.showRecorded(ctx, a, prop.Skill)
}

// showRecorded is an answer with what the ledger calls its decision. Without a skill, it is that of the record: empty for
// one that was not declared.
func (s calls) showRecorded(ctx context.Context, a handover.Answer, skill string) (*called, error) {
	fresh := a.DecisionID != "" && a.Decision != nil && a.Decision.TS != nil
	if !fresh || skill == "" {
		list, err := s.o.Orchestrator.Parts().Ledger.List(ctx, ledger.Query{Call: a.ID})
		if err != nil {
			return nil, err
		}
		rec, found := findDecided(a, list)
		if found && !fresh && a.Decision != nil {
			a.DecisionID, a.Decision.TS = rec.Decision, &rec.Time
		}
		skill = cmp.Or(skill, rec.Skill)
	}
	if a.DecisionID != "" && a.Decision != nil {
		a.Decision.ID = a.DecisionID
	}
	return s.newCalled(a, skill), nil
}

// findDecided returns the record of the decision that an answer tells: the one that its refusal names, else the one
// that allowed the call.
func findDecided(a handover.Answer, list []ledger.Record) (rec ledger.Record, found bool) {
	want := a.DecisionID
	if want == "" && a.Refusal != nil {
		want = a.Refusal.DecisionID
	}
	at := slices.IndexFunc(list, func(r ledger.Record) bool {
		switch r.Kind {
		case sentinel.RecordDecision, sentinel.RecordHeld, sentinel.RecordRefused:
			return r.Decision == want || want == "" && r.Outcome == sentinel.Allow.String()
		}
		return false
	})
	if at < 0 {
		return rec, false
	}
	return list[at], true
}

// CallPath names a call.
type CallPath struct {
	ID string `path:"id" minLength:"1" maxLength:"128" pattern:"^[A-Za-z0-9_.:@-]+$"`
}

func (s calls) onShow(ctx context.Context, p access.Principal, in *CallPath) (*called, error) {
	a, err := s.handover().Look(ctx, p.ID, in.ID)
	if err != nil {
		return nil, err
	}
	return s.showRecorded(ctx, a, "")
}

type reportInput struct {
	CallPath
	Body struct {
		Outcome handover.State `json:"outcome" enum:"ok,failed"`
		Result  string         `json:"result,omitempty" doc:"What the skill returned, or the words it failed with."`
	}
}

func (s calls) onReport(ctx context.Context, p access.Principal, in *reportInput) (*called, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeFor) // it isn't lost with the caller
	defer cancel()
	a, err := s.handover().Report(ctx, handover.Report{Principal: p.ID, ID: in.ID, Outcome: in.Body.Outcome, Result: in.Body.Result})
	if err != nil {
		return nil, err
	}
	return s.showRecorded(ctx, a, "")
}

// readProposal reads a proposal. What the server knows of its caller comes from the principal. The
// arguments are taken as they stand: what is wrong in them is the checkpoint's to refuse, on record.
func readProposal(p access.Principal, raw []byte) (out handover.Proposal, err error) {
	m, e := cases.ReadMembers(raw, "the body", true, callKeys...)
	if e != nil {
		return out, describeCase(e)
	}
	var named string
	for key, into := range map[string]*string{
		"conversation": &out.Conversation, "call_id": &out.CallID, "turn": &out.Turn, "agent_id": &out.Agent, "user": &named,
		"skill_name": &out.Skill, "agent_mission": &out.Mission,
	} {
		if *into, _, e = cases.ReadText(m[key], key); e != nil {
			return out, describeCase(e)
		}
	}
	request, said, e := cases.ReadText(m["original_request"], "original_request")
	if e != nil {
		return out, describeCase(e)
	}
	if said {
		out.Request, out.RequestHuman = &request, p.IsHuman()
	}
	out.Principal, out.By, out.Scope, out.Arguments = p.ID, p.Name, p.Skills, json.RawMessage(m["arguments"])
	if out.User, err = actFor(p, named); err != nil {
		return out, err
	}
	if out.Only, err = readGranted(m["granted_skills"]); err != nil {
		return out, err
	}
	if out.Wait, err = readWait(m["wait_seconds"]); err != nil {
		return out, err
	}
	out.History, err = readHistory(m["history"])
	return out, err
}

// readGranted reads what a proposal narrows its skills to, nil where it doesn't.
func readGranted(v jsontext.Value) (*skills.Scope, error) {
	if v == nil || v.Kind() == 'n' {
		return nil, nil //nolint:nilnil // it narrows nothing
	}
	var names []string
	err := json.Unmarshal(v, &names)
	if err != nil {
		return nil, problem.New(problem.Invalid, "granted_skills must be a list of names")
	}
	scope, err := skills.NewScope(names...)
	if err != nil {
		return nil, problem.New(problem.Invalid, "granted_skills must hold skill names such as email.read, or domains such as email.*")
	}
	return &scope, nil
}

// readWait reads how long a call waits for a person.
func readWait(v jsontext.Value) (time.Duration, error) {
	if v == nil {
		return 0, nil
	}
	n := -1
	if err := json.Unmarshal(v, &n); err != nil || n < 0 || n > maxWait {
		return 0, problem.New(problem.Invalid, fmt.Sprintf("wait_seconds must be a whole number from 0 to %d", maxWait))
	}
	return time.Duration(n) * time.Second, nil
}

// readHistory reads what a program had read before. How long it may be is the handover's to say.
func readHistory(v jsontext.Value) (out []handover.Result, err error) {
	if v == nil || v.Kind() == 'n' {
		return nil, nil
	}
	var items []json.RawMessage
	if v.Kind() != '[' || json.Unmarshal(v, &items) != nil {
		return nil, problem.New(problem.Invalid, "history must be a list")
	}
	for i, item := range items {
		at := fmt.Sprintf("history[%d]", i)
		m, e := cases.ReadMembers(item, at, true, "skill_name", "arguments", "result")
		if e != nil {
			return nil, describeCase(e)
		}
		r := handover.Result{Arguments: json.RawMessage(m["arguments"])}
		for key, into := range map[string]*string{"skill_name": &r.Skill, "result": &r.Result} {
			if *into, _, e = cases.ReadText(m[key], at+"."+key); e != nil {
				return nil, describeCase(e)
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// describeCall is the problem of an error of package handover. Their texts quote nothing of a call.
func describeCall(err error) *problem.Problem {
	for known, code := range map[error]problem.Code{
		handover.ErrDigest: problem.DigestMismatch, handover.ErrUnknownCall: problem.NotFound, handover.ErrNotAllowed: problem.Conflict,
		handover.ErrReported: problem.Conflict, handover.ErrLate: problem.Conflict, handover.ErrConversationFull: problem.Conflict,
	} {
		if errors.Is(err, known) {
			return problem.New(code, known.Error())
		}
	}
	switch {
	case errors.Is(err, handover.ErrProposal):
		return problem.New(problem.Invalid, cutText(err.Error()))
	case errors.Is(err, handover.ErrBusy):
		return problem.New(problem.Overloaded, handover.ErrBusy.Error()).Later(crowdedFor)
	case errors.Is(err, handover.ErrClosed):
		return problem.New(problem.Draining, handover.ErrClosed.Error()).Later(drainedFor)
	case errors.Is(err, sentinel.ErrNotRecorded):
		return problem.New(problem.NotKept, "").Later(crowdedFor)
	}
	return nil
}

// handover returns what decides calls that other programs run.
func (s calls) handover() *handover.Handover { return s.o.Orchestrator.Parts().Handover }
