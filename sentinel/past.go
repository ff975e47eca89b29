package sentinel

import (
	"encoding/json"
	"strings"
	"time"

	"errors"

	"github.com/vedette-dev/vedette/skills"
)

// Past is what a numbered desk finds of a call that an earlier process, or an
// earlier life of the agent, proposed under the same id.
type Past struct {
	// Number is the call's place among the desk's proposals, from 0.
	Number int
	CallID string
	// Skill is empty for an unknown skill and for a proposal that was no Call.
	Skill string
	// Allowed is false for a call that was refused; Refusal says why, then.
	Allowed bool
	Refusal *skills.Refusal
	// Status of an allowed call is StatusOK, StatusFailed or StatusUnknown. An allowed
	// call without a recorded outcome is unknown.
	Status string
	Code   string
	// Args are the arguments as they were judged, secrets left out; empty
	// where they were erased, and of a refused call where they weren't kept.
	Args string
	// Result is what the skill returned.
	Result skills.Result
	// Tainted is what the grant was when the call was proposed. TaintedBefore says that it
	// was so of earlier turns alone.
	Tainted, TaintedBefore bool
	// JudgedID is the id of the call as it was judged: another than CallID where
	// rules rewrote it.
	JudgedID string

	held     *heldBefore // a person was being asked, and nothing has been decided since
	edit     *edit       // a person gave it other arguments, and nothing was decided about those
	follow   *followPast // a person was being asked about what it would write
	decision string      // the one that allowed it
	began    bool        // it was allowed under this id, perhaps before it was refused
	spec     string      // the digest of the skill as it was then
	digest   string      // keyed, of the call as it was proposed
	proposed string      // its arguments, where they are still kept
	mistake  string      // the code of a proposal that became no Call
	argBytes int         // how long its arguments were
	failure  string      // the skill's own words
	kept     string      // the call whose result in the journal is Result; empty where it is none
	marks    []string
	remote   remotePast // of a call that another program ran
	effect   skills.Effect
}

// wasInterrupted reports whether the end of the caller, or of its process, broke
// the run off, rather than the skill or its time.
func (p Past) wasInterrupted() bool {
	if p.Status == StatusOK {
		return false
	}
	switch p.Code {
	case "", FailInterrupted, skills.FailCanceled, skills.FailNotStarted, CodeOutcomePaused, CodeWithdrawn, CodeNotForwarded:
		return true
	}
	return false
}

// isRepeatable reports whether the call may run again under the same id: its
// skill says that a repeat does no harm, or reads, or it is known to have done nothing.
func (p Past) isRepeatable(s *skills.Skill) bool {
	return p.wasInterrupted() && (p.Status == StatusFailed || s != nil && s.Spec().Repeatable())
}

// readPast reads the records of one call. found is false where no gate has spoken
// the last word: nothing is there, or a person was being asked, or the caller
// left before it could start.
func readPast(callID string, list []Record) (p Past, found bool) {
	p.CallID = callID
	decision := ""
	for _, r := range list {
		switch r.Kind {
		case RecordRefused:
			p.readRefusal(r)
			found = true
		case RecordHeld:
			p.readQuestion(r)
		case RecordDecision:
			p.held = nil
			if p.isSettled() {
				continue
			}
			if r.Outcome == Allow.String() {
				p.readAllowance(r)
				decision, found = r.DecisionID, true
			} else if !isAbandoned(r) {
				p.readRefusal(r)
				p.edit = readEdit(r)
				found = p.edit == nil
			}
		case RecordShadow:
			p.readAllowance(r)
			decision, found = r.DecisionID, true
		case RecordOutcome:
			if p.Allowed && r.DecisionID == decision && !p.isSettled() {
				p.readOutcome(r)
			}
		}
	}
	return p, found
}

// readQuestion takes down that a person is being asked. Another question about the
// same call, after a restart, began when the first one did.
func (p *Past) readQuestion(r Record) {
	var b struct {
		Digest    string          `json:"digest"`
		AskedAt   time.Time       `json:"asked_at"`
		ExpiresAt time.Time       `json:"expires_at"`
		Bound     []recordedBound `json:"bound"`
	}
	if json.Unmarshal(r.Body, &b) != nil || p.held != nil && p.held.digest == b.Digest {
		return
	}
	if b.AskedAt.IsZero() { // a record of before there were times in it
		b.AskedAt = r.At
	}
	p.held = &heldBefore{decision: r.DecisionID, digest: b.Digest, asked: b.AskedAt, expires: b.ExpiresAt, bound: b.Bound, record: r}
}

// isSettled reports whether the skill itself had the last word.
func (p *Past) isSettled() bool {
	return p.Allowed && !p.wasInterrupted()
}

func (r Record) findValue(name string) ([]byte, bool) {
	for i := len(r.Values) - 1; i >= 0; i-- {
		if r.Values[i].Name == name {
			return r.Values[i].Data, true
		}
	}
	return nil, false
}

// isAbandoned reports whether a call was not allowed because its caller left.
func isAbandoned(r Record) bool {
	var b struct {
		Abandoned bool `json:"abandoned"`
	}
	return json.Unmarshal(r.Body, &b) == nil && b.Abandoned
}

// readRefusal takes the words of the refusal from the journal; where they are gone
// the codes of the ledger must do.
func (p *Past) readRefusal(r Record) {
	b, proposed := r.readProposal()
	args, _ := r.findValue("args")
	*p = Past{
		Number: p.Number, CallID: p.CallID, Skill: r.readSkill(b), Args: string(args),
		began: p.began, spec: b.SkillSpec, digest: b.Digest, proposed: proposed,
		decision: r.DecisionID, remote: r.readRemote(),
	}
	if r.Kind == RecordRefused {
		p.mistake, p.argBytes = r.Code, b.ArgBytes
	}
	var no skills.Refusal
	if raw, ok := r.findValue(valueRefusal); ok && json.Unmarshal(raw, &no) == nil {
		no.Retryable = skills.Retryable(no.Kind, no.Code, no.RetryAfter) // earlier versions didn't say
		p.Refusal = &no
		return
	}
	p.Refusal = &skills.Refusal{
		Kind: skills.KindDeny, Gate: r.Gate, Code: r.Code, DecisionID: r.DecisionID, WhatYouCanDo: advice[r.Gate],
		Reason: "the reason was written down and has been erased since",
	}
	switch {
	case r.Kind == RecordRefused:
		p.Refusal.Kind = skills.KindInvalid
	case r.Gate == GateApproval && r.Code == CodePendingFull:
		p.Refusal.Kind = skills.KindBudget
	case r.Gate == GateApproval:
		p.Refusal.Kind = skills.KindAskDenied
	case r.Gate == GateLimits:
		p.Refusal.Kind = skills.KindBudget
	}
	p.Refusal.Retryable = skills.Retryable(p.Refusal.Kind, p.Refusal.Code, 0)
}

// pastBody is what is read of the body of a decision, or of a refused proposal.
type pastBody struct {
	CallID    string            `json:"call"`
	Grant     string            `json:"grant"`
	Follows   string            `json:"follows"`
	Effect    skills.Effect     `json:"effect"`
	SkillSpec string            `json:"skill_digest"`
	Digest    string            `json:"digest"`
	Tainted   bool              `json:"tainted"`
	Taint     string            `json:"taint"`
	ArgBytes  int               `json:"arg_bytes"`
	Modified  *recordedModified `json:"modified"`
}

// readProposal returns the body with the digest of the call as it was proposed, and
// its arguments where they are still kept.
func (r Record) readProposal() (b pastBody, args string) {
	_ = json.Unmarshal(r.Body, &b) // one that can't be read fits no call
	name := "args"
	if b.Modified != nil {
		name, b.Digest = "proposed", b.Modified.Digest
	}
	raw, _ := r.findValue(name)
	return b, string(raw)
}

// readSkill returns the name of the skill. That of a tool which the operator didn't name is a value.
func (r Record) readSkill(b pastBody) string {
	if r.Skill == "" && b.SkillSpec != "" {
		name, _ := r.findValue(valueSkill)
		return string(name)
	}
	return r.Skill
}

func (p *Past) readAllowance(r Record) {
	b, proposed := r.readProposal()
	args, _ := r.findValue("args")
	*p = Past{
		Number: p.Number, CallID: p.CallID, Allowed: true, Skill: r.readSkill(b), Status: StatusUnknown, Args: string(args),
		Tainted: b.Tainted, TaintedBefore: b.Taint == taintBefore, JudgedID: b.CallID,
		began: true, spec: b.SkillSpec, digest: b.Digest, proposed: proposed,
		decision: r.DecisionID, remote: r.readRemote(), effect: b.Effect,
	}
	if m := b.Modified; m != nil {
		p.Result.Note = Modified{Rules: m.Rules, Args: m.Args, EditedBy: m.EditedBy}.noteRan(p.Args)
	}
}

func (p *Past) readOutcome(r Record) {
	var b outcomeBody
	_ = json.Unmarshal(r.Body, &b) // what can't be read is untrusted
	p.Status, p.Code, p.marks, p.remote.report = r.Outcome, r.Code, b.Marks, b.Report
	name := "result"
	if p.Status != StatusOK {
		name = "error"
	}
	text, ok := r.findValue(name)
	p.Result.Trust, p.Result.Isolation = skills.Trust(b.Trust), b.Isolation
	p.Result.Truncated, p.Result.Template = b.Truncated, b.Template
	if p.Status == StatusOK {
		p.Result.Content, p.kept = string(text), p.CallID
		if !ok {
			p.kept = ""
			p.Result.Content = "The call ran and succeeded; its result was erased since."
		}
		return
	}
	p.failure = strings.TrimPrefix(string(text), "skill "+p.Code+": ")
}

// deskResult is what the desk gives for the call, as it did when it ran.
func (p Past) deskResult() (skills.Result, error) {
	switch p.Status {
	case StatusOK:
		return p.Result, nil
	case StatusUnknown:
		if p.wasInterrupted() {
			return skills.Result{}, errInterrupted
		}
	}
	return skills.Result{}, &skills.Failure{Code: p.Code, Unknown: p.Status == StatusUnknown, Err: pastError(p.failure)}
}

// pastError is the text that a skill failed with in an earlier process.
type pastError string

// Error returns the text.
func (e pastError) Error() string {
	if e == "" {
		return "its message was erased"
	}
	return string(e)
}

// FailInterrupted is the code of a call whose process ended before it could
// say what became of it.
const FailInterrupted = "interrupted"

var errInterrupted = &skills.Failure{
	Code: FailInterrupted, Unknown: true, Err: pastError("the process ended while the call was under way; it may or may not have happened"),
}

// newStep is the call's place in the trace. A call without a known end returned
// nothing, so it left no step.
func (p Past) newStep() (Step, bool) {
	if !p.Allowed || p.wasInterrupted() && p.Result.Trust == "" {
		return Step{}, false
	}
	st := Step{Skill: p.Skill, CallID: p.JudgedID, Args: p.Args, Result: p.Result.Content, Trust: p.Result.Trust,
		Marks: p.marks, Failed: p.Status != StatusOK}
	if p.Status != StatusOK {
		st.Result, st.Marks = p.failure, nil
		st = st.withMarks()
	}
	st.kept = p.kept
	if p.remote.principal != "" { // its skill may be one that no registry has
		st.Effect = p.effect
	}
	if st.Trust != skills.Trusted {
		st.Trust = skills.Untrusted // also where nothing is said
	}
	return st, true
}

// onceFor is how long the id of an allowed call is kept from being allowed
// again, besides the time that the journal keeps what a restart would read.
const onceFor = 7 * 24 * time.Hour

// isProposal reports whether a proposal is the one that was recorded: the same Call, or
// none for the same reason.
func (p Past) isProposal(m recordMaker, c Call, err error, argBytes int) bool {
	var ce *CallError
	if errors.As(err, &ce) {
		return p.mistake == ce.Code && p.argBytes == argBytes
	}
	return err == nil && p.isCall(m, c)
}

// isCall reports whether the call is the one that was recorded. A skill that was
// changed since gives it another digest: then name and arguments must do. Where
// those were erased, or some are kept nowhere, nothing is known: it fits none.
func (p Past) isCall(m recordMaker, c Call) bool {
	if p.digest != "" && m.keyedDigest(c.Digest()) == p.digest {
		return true
	}
	s := c.Skill()
	if s == nil || p.Skill != c.Name() || p.proposed == "" || p.spec == s.Digest() || s.Secretive() {
		return false
	}
	return p.proposed == string(shownArgs(c, false)) || p.proposed == string(shownArgs(c, true)) // as it was rewritten
}
