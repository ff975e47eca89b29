package cases

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

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
}

// grantFields are what a grant's id is made of: equal lines have equal digests.
type grantFields struct {
	Request *string  `json:"request"`
	Mission string   `json:"mission"`
	Agent   string   `json:"agent"`
	User    string   `json:"user"`
	Skills  []string `json:"skills"`
	Trust   []string `json:"trust"`
	// Earlier and Turns are left out where a line has none, so that its digest is that of
	// a line without these keys.
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
	// Bound returns what of a case's grant holds for its request, which is empty where it has none. Nil takes all of it.
	Bound func(request string, granted skills.Scope) skills.Scope
}

// Parse reads one line without deciding it. The *Error says why the line is no case.
// What Parse could read of the labels is in the Case also then, so that the error can
// be told under its id.
func (p Parser) Parse(line []byte) (Case, *Error) {
	var c Case
	m, err := ReadMembers(cutDeepNesting(line), "the line", false, "id", "original_request", "agent_mission", "agent_id", "user",
		"granted_skills", "granted_skills_all", "proposed_action", "earlier_requests", "history", "kind", "expected", "category")
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
	if p.Bound != nil {
		scope = p.Bound(g.requestText(), scope)
	}
	g.Skills = scope.List()
	if c.Proposal.Skill, c.Proposal.Args, err = readProposal(m["proposed_action"]); err != nil {
		return c, err
	}
	if g.Earlier, err = readEarlierRequests(m["earlier_requests"]); err != nil {
		return c, err
	}
	h, err := p.readHistory(m["history"])
	if err != nil {
		return c, err
	}
	c.Proposal.Trace = sentinel.NewTrace(h.steps...).WithEarlier(h.earlier...).WithPastResults(h.results...)
	g.Trust, g.Turns = h.trust, h.turns
	// A line's history is what came back under its mission, so the mission is
	// older and not tainted by it. It is a model's word all the same: the judge
	// lets it ground nothing that an untrusted result of the line has too.
	grant, gerr := sentinel.NewGrant(sentinel.GrantOptions{
		ID: g.digestID(), User: g.User, Conversation: Conversation, Agent: g.Agent, Mission: g.Mission,
		MissionBy: sentinel.ByOrchestrator, Request: g.Request, Scope: scope, Tainted: h.isTainted(),
		TaintedBefore: !c.Proposal.Trace.Untrusted(), Earlier: h.listEarlierTurns(g.Earlier),
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

// requestText is the user's words, empty where there are none.
func (g *grantFields) requestText() string {
	if g.Request == nil {
		return ""
	}
	return *g.Request
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

// readHistory reads what had come back before.
func (p Parser) readHistory(v jsontext.Value) (h pastResults, e *Error) {
	items, err := readList(v, "history")
	if err != nil {
		return h, err
	}
	h.trust = make([]string, len(items))
	for i, item := range items {
		at := fmt.Sprintf("history[%d]", i)
		m, err := ReadMembers(item, at, true, "skill_name", "arguments", "result", "trust", "turn")
		if err != nil {
			return h, err
		}
		turn, err := readTurn(m["turn"], at+".turn")
		if err != nil {
			return h, err
		}
		s, err := p.readStep(m, at)
		if err != nil {
			return h, err
		}
		s.CallID = fmt.Sprintf("history-%d", i+1)
		h.trust[i] = string(s.Trust)
		h.add(s, turn)
	}
	return h, nil
}

// readStep reads one entry of a history, whose members are m.
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
	if known := call.Skill(); known != nil {
		s.StrangerFields = known.Spec().StrangerFields
	}
	return s, nil
}
