package cases

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// Conversation is the conversation of every case, a part of its digest.
const Conversation = "check"

const defaultAgent = "agent"

// Case is what a line holds: a proposal, and the labels that eval counts by.
type Case struct {
	// ID, Kind, Category and Expected are the line's own words, empty where it
	// has none.
	ID, Kind, Category, Expected string
	// Proposal is what is to be decided. Its Args are the bytes of the line.
	Proposal sentinel.Proposal
	// EarlierRequests are the user's words of earlier turns, the oldest first.
	EarlierRequests []string
	// Turns are the turns of the history's entries: 0 is this one, -1 the one before.
	Turns []int
}

// grantFields are what a grant's id is made of: equal lines have equal digests.
type grantFields struct {
	Request *string  `json:"request"`
	Mission string   `json:"mission"`
	Agent   string   `json:"agent"`
	User    string   `json:"user"`
	Skills  []string `json:"skills"`
	Trust   []string `json:"trust"`
	// These are left out where a line has none, so that older lines keep their digests.
	Earlier []string `json:"earlier,omitempty"`
	Turns   []int    `json:"turns,omitempty"`
}

func (g grantFields) digestID() string {
	b, _ := json.Marshal(g) // strings always marshal
	sum := sha256.Sum256(b)
	return "case-" + hex.EncodeToString(sum[:16])
}

// CallMaker makes a Call of a proposal, or says why none can be made of it. A
// *sentinel.Checkpoint is one.
type CallMaker interface {
	NewCall(p sentinel.Proposal) (sentinel.Call, error)
}

// Parser reads lines. A Parser is safe for concurrent use where its Calls is.
type Parser struct {
	// Calls brings the arguments of a history into their canonical form.
	Calls CallMaker
	// AllGrants takes granted_skills_all, where a case has it, for
	// granted_skills.
	AllGrants bool
}

// Parse reads one line without deciding it. The *Error says why the line is no case.
// What Parse could read of the labels is in the Case also then, so that the error can
// be told under its id.
func (p Parser) Parse(line []byte) (Case, *Error) {
	var c Case
	m, err := ReadMembers(cutDeepNesting(line), "the line", false, "id", "original_request", "earlier_requests", "agent_mission", "agent_id", "user",
		"granted_skills", "granted_skills_all", "proposed_action", "history", "kind", "expected", "category")
	if err != nil {
		return c, err
	}
	if err := c.readLabels(m); err != nil {
		return c, err
	}
	var g grantFields
	if err := g.readFields(m); err != nil {
		return c, err
	}
	scope, err := p.readGrantedScope(m)
	if err != nil {
		return c, err
	}
	g.Skills = scope.List()
	if c.Proposal.Skill, c.Proposal.Args, err = readProposal(m["proposed_action"]); err != nil {
		return c, err
	}
	if c.EarlierRequests, err = readEarlierRequests(m["earlier_requests"]); err != nil {
		return c, err
	}
	if c.Proposal.Trace, c.Turns, err = p.readHistory(m["history"]); err != nil {
		return c, err
	}
	g.addPast(c)
	// A line's history is what came back under its mission, so the mission is
	// older and not tainted by it. It is a model's word all the same: the judge
	// lets it ground nothing that an untrusted result of the line has too.
	grant, gerr := sentinel.NewGrant(sentinel.GrantOptions{
		ID: g.digestID(), User: g.User, Conversation: Conversation, Agent: g.Agent, Mission: g.Mission,
		MissionBy: sentinel.ByOrchestrator, Request: g.Request, Scope: scope, Tainted: c.Proposal.Trace.Untrusted(),
	})
	if gerr != nil {
		return c, &Error{CodeValue, gerr.Error()}
	}
	c.Proposal.Grant = grant
	return c, nil
}

func (c *Case) readLabels(m map[string]jsontext.Value) *Error {
	if id := m["id"]; id != nil && id.Kind() == '0' {
		c.ID = string(id)
		m["id"] = nil
	}
	for _, f := range []struct {
		key  string
		into *string
	}{{"id", &c.ID}, {"kind", &c.Kind}, {"category", &c.Category}, {"expected", &c.Expected}} {
		s, ok, err := ReadText(m[f.key], f.key)
		if err != nil {
			return err
		}
		if ok {
			*f.into = s
		}
	}
	return nil
}

func (g *grantFields) readFields(m map[string]jsontext.Value) *Error {
	req, ok, err := ReadText(m["original_request"], "original_request")
	if err != nil {
		return err
	}
	if ok {
		g.Request = &req
	}
	if g.Mission, _, err = ReadText(m["agent_mission"], "agent_mission"); err != nil {
		return err
	}
	if g.Agent, _, err = ReadText(m["agent_id"], "agent_id"); err != nil {
		return err
	}
	if g.Agent == "" {
		g.Agent = defaultAgent
	}
	g.User, _, err = ReadText(m["user"], "user")
	return err
}

func (p Parser) readGrantedScope(m map[string]jsontext.Value) (skills.Scope, *Error) {
	key := "granted_skills"
	if all := m["granted_skills_all"]; p.AllGrants && all != nil && all.Kind() != 'n' {
		key = "granted_skills_all"
	}
	items, err := readList(m[key], key)
	if err != nil {
		return skills.Scope{}, err
	}
	names := make([]string, len(items))
	for i, v := range items {
		at := fmt.Sprintf("%s[%d]", key, i)
		s, ok, err := ReadText(v, at)
		if err != nil {
			return skills.Scope{}, err
		}
		if !ok {
			return skills.Scope{}, &Error{CodeType, at + " must be a string"}
		}
		if _, serr := skills.NewScope(s); serr != nil {
			return skills.Scope{}, &Error{CodeValue, at + " must be a skill name such as email.read, or a domain such as email.*"}
		}
		names[i] = s
	}
	scope, serr := skills.NewScope(names...)
	if serr != nil {
		return skills.Scope{}, &Error{CodeValue, key + ": must hold skill names"}
	}
	return scope, nil
}

// readProposal reads the proposal. The arguments are returned as they stand.
func readProposal(v jsontext.Value) (skill string, args []byte, e *Error) {
	const at = "proposed_action"
	if v == nil || v.Kind() == 'n' {
		return "", nil, &Error{CodeMissing, "proposed_action is missing; it holds skill_name and arguments"}
	}
	m, err := ReadMembers(v, at, true, "skill_name", "arguments")
	if err != nil {
		return "", nil, err
	}
	skill, ok, err := ReadText(m["skill_name"], at+".skill_name")
	if err == nil && !ok {
		err = &Error{CodeMissing, at + ".skill_name is missing"}
	}
	return skill, m["arguments"], err
}

// addPast adds what makes two lines with different pasts two grants.
func (g *grantFields) addPast(c Case) {
	g.Trust, g.Earlier = make([]string, c.Proposal.Trace.Len()), c.EarlierRequests
	for i := range g.Trust {
		g.Trust[i] = string(c.Proposal.Trace.Step(i).Trust)
	}
	if slices.ContainsFunc(c.Turns, func(n int) bool { return n != 0 }) {
		g.Turns = c.Turns
	}
}

func readEarlierRequests(v jsontext.Value) ([]string, *Error) {
	items, err := readList(v, "earlier_requests")
	if err != nil {
		return nil, err
	}
	out := make([]string, len(items))
	for i, item := range items {
		at := fmt.Sprintf("earlier_requests[%d]", i)
		s, ok, err := ReadText(item, at)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, &Error{CodeType, at + " must be a string"}
		}
		out[i] = s
	}
	return out, nil
}

// readHistory reads what had come back before, and the turn of each entry.
func (p Parser) readHistory(v jsontext.Value) (sentinel.Trace, []int, *Error) {
	items, err := readList(v, "history")
	if err != nil {
		return sentinel.Trace{}, nil, err
	}
	steps, turns := make([]sentinel.Step, len(items)), make([]int, len(items))
	for i, item := range items {
		at := fmt.Sprintf("history[%d]", i)
		m, err := ReadMembers(item, at, true, "skill_name", "arguments", "result", "trust", "turn")
		if err != nil {
			return sentinel.Trace{}, nil, err
		}
		if turns[i], err = readTurn(m["turn"], at+".turn"); err != nil {
			return sentinel.Trace{}, nil, err
		}
		if steps[i], err = p.readStep(m, at); err != nil {
			return sentinel.Trace{}, nil, err
		}
		steps[i].CallID = fmt.Sprintf("history-%d", i+1)
	}
	return sentinel.NewTrace(steps...), turns, nil
}

// oldestTurn is the furthest turn that a history may speak of.
const oldestTurn = -10_000

// readTurn reads a turn: absent, null or 0 is this one, -1 the one before.
func readTurn(v jsontext.Value, at string) (int, *Error) {
	if v == nil || v.Kind() == 'n' {
		return 0, nil
	}
	if v.Kind() != '0' {
		return 0, &Error{CodeType, at + " must be a number"}
	}
	n, err := strconv.Atoi(string(v))
	if err != nil || n > 0 || n < oldestTurn {
		return 0, &Error{CodeValue, at + " must be 0 for this turn, or -1 to -10000 for one before it"}
	}
	return n, nil
}

func (p Parser) readStep(m map[string]jsontext.Value, at string) (sentinel.Step, *Error) {
	s := sentinel.Step{Trust: skills.Untrusted}
	skill, _, err := ReadText(m["skill_name"], at+".skill_name")
	if err != nil {
		return s, err
	}
	if skill == "" {
		return s, &Error{CodeMissing, at + ".skill_name is missing"}
	}
	s.Skill = skill
	if s.Result, _, err = ReadText(m["result"], at+".result"); err != nil {
		return s, err
	}
	word, ok, err := ReadText(m["trust"], at+".trust")
	if err != nil {
		return s, err
	}
	if ok {
		if s.Trust = skills.Trust(word); s.Trust != skills.Trusted && s.Trust != skills.Untrusted {
			return s, &Error{CodeValue, at + ".trust must be trusted or untrusted"}
		}
	}
	// The trace holds canonical arguments: what a call may hold is one law.
	call, cerr := p.Calls.NewCall(sentinel.Proposal{Skill: s.Skill, Args: m["arguments"]})
	if cerr != nil {
		return s, &Error{CodeValue, at + ".arguments: " + cerr.Error()}
	}
	s.Args, s.Effect, s.Sensitive = call.Args(), call.Effect(), call.Sensitive()
	return s, nil
}
