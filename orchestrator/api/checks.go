package api

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/cases"
	"github.com/vedette-dev/vedette/orchestrator/handover"
	"github.com/vedette-dev/vedette/orchestrator/problem"
	"github.com/vedette-dev/vedette/sentinel"
)

const (
	maxChecks = 64 // that are decided at a time
	checksFor = time.Second
)

// checks is the operation that only decides.
type checks struct {
	*API
	room chan struct{} // holds a token for each check under way
}

func newChecks(a *API) checks { return checks{a, make(chan struct{}, maxChecks)} }

// caseKeys are the keys of a case that reach the gates. Labels mean nothing here.
var caseKeys = []string{"id", "original_request", "agent_mission", "agent_id", "user", "granted_skills", "proposed_action",
	"earlier_requests", "history"}

// checkBody describes a case.
type checkBody struct {
	ID       string         `json:"id,omitempty" doc:"The answer repeats it."`
	Request  *string        `json:"original_request,omitempty" doc:"What the user asked for, if the token says user_turns: human."`
	Earlier  []string       `json:"earlier_requests,omitempty" nullable:"false" doc:"What the user said before, the oldest first."`
	Mission  string         `json:"agent_mission,omitempty"`
	Agent    string         `json:"agent_id,omitempty"`
	User     string         `json:"user,omitempty" doc:"Another user than the token's needs the scope act_as."`
	Granted  []string       `json:"granted_skills,omitempty" nullable:"false" doc:"What the agent holds. The token's skills are the most."`
	Proposed proposedAction `json:"proposed_action"`
	History  []pastResult   `json:"history,omitempty" nullable:"false" doc:"What skills returned before."`
}

// proposedAction is what is to be decided.
type proposedAction struct {
	Skill     string          `json:"skill_name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// pastResult is what a skill returned before.
type pastResult struct {
	Skill     string          `json:"skill_name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Result    string          `json:"result,omitempty"`
	Trust     string          `json:"trust,omitempty" enum:"trusted,untrusted" doc:"It is left aside: what a caller read is a stranger's."`
	Turn      int             `json:"turn,omitempty" maximum:"0" doc:"0 is this turn, -1 the one before."`
}

func (s checks) register() {
	register(s.API, operation{
		id: "check", method: http.MethodPost, path: "/v1/check", tag: "calls", scopes: []access.Scope{access.Check},
		raw:     s.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[checkBody](), true, "Case"),
		summary: "Decide a call, and do nothing else",
		description: "The twin of `vedette check`: no skill runs, no person is asked, nothing is recorded, no limit is counted. " +
			"A call that a person would have to approve stays `ask`. Paths are judged without this server's files. " +
			"Arguments that are malformed are a `deny` by `parse`.",
		fails: []problem.Code{problem.Overloaded},
	}, s.onCheck)
}

type rawInput struct {
	RawBody []byte `contentType:"application/json"`
}

type decisionLine struct{ Body sentinel.Line }

func (s checks) onCheck(ctx context.Context, p access.Principal, in *rawInput) (*decisionLine, error) {
	asker, err := readAsker(p, in.RawBody)
	if err != nil {
		return nil, err
	}
	select {
	case s.room <- struct{}{}:
		defer func() { <-s.room }()
	default:
		return nil, problem.New(problem.Overloaded, "too many checks are under way").Later(checksFor)
	}
	line, mistake, err := s.o.Orchestrator.Parts().Handover.CheckLine(ctx, asker, in.RawBody)
	switch {
	case err != nil:
		return nil, err
	case mistake != nil && mistake.Code == cases.CodeInternal:
		return nil, mistake
	case mistake != nil:
		return nil, describeCase(mistake)
	}
	return &decisionLine{line}, nil
}

// readAsker says who asks: the principal, for the user that the case names where it may.
func readAsker(p access.Principal, raw []byte) (handover.Asker, error) {
	a := handover.Asker{Principal: p.ID, Scope: p.Skills, RequestHuman: p.IsHuman()}
	m, e := cases.ReadMembers(raw, "the body", false, caseKeys...)
	if e != nil {
		return a, describeCase(e)
	}
	named, _, e := cases.ReadText(m["user"], "user")
	if e != nil {
		return a, describeCase(e)
	}
	var err error
	a.User, err = actFor(p, named)
	return a, err
}

// describeCase is the problem of a body that is no case. Its message holds no value.
func describeCase(e *cases.Error) *problem.Problem {
	code := problem.Invalid
	if e.Code == cases.CodeSyntax || e.Code == cases.CodeUTF8 || e.Code == cases.CodeDuplicate {
		code = problem.BadRequest
	}
	return problem.New(code, cutText(e.Message))
}

var _ huma.StatusError = (*problem.Problem)(nil)
