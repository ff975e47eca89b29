package replay

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/judge"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/skills"
)

// body is what is read of a decision's body.
type body struct {
	CallID    string     `json:"call"`
	Follows   string     `json:"follows"`
	SkillSpec string     `json:"skill_digest"`
	Policy    string     `json:"policy"`
	Digest    string     `json:"digest"`
	AskedAt   time.Time  `json:"asked_at"`
	Modified  *modified  `json:"modified"`
	Gates     []gateBody `json:"gates"`
}

// modified is what a record says of a rewrite.
type modified struct {
	Digest   string   `json:"digest"`
	Rules    []string `json:"rules"`
	EditedBy string   `json:"edited_by"`
}

// gateBody is a gate's verdict as a record has it.
type gateBody struct {
	Gate     string            `json:"gate"`
	State    string            `json:"state"`
	Outcome  string            `json:"outcome"`
	Code     string            `json:"code"`
	Score    *int              `json:"score"`
	Meta     map[string]string `json:"meta"`
	Evidence []struct {
		Signal string `json:"signal"`
	} `json:"evidence"`
	Doubt *struct {
		State string `json:"state"`
	} `json:"doubt"`
}

// call is a recorded decision on its way.
type call struct {
	record ledger.Record
	body   body
	was    Verdict
	values []journal.Value

	now      Verdict
	reason   Reason // of an indeterminate call
	judgedBy review.Judgement
	noReview bool // the models would have to be asked
	asking   bool // and they may be
}

// Verdict is what the gates but limits and approval came to.
type Verdict struct {
	Outcome string `json:"outcome"`
	Gate    string `json:"gate,omitempty"`
	Code    string `json:"code,omitempty"`
}

// recordedStates are the states of verdicts by their words.
func recordedStates() map[string]sentinel.State {
	out := map[string]sentinel.State{}
	for _, s := range []sentinel.State{sentinel.NotReached, sentinel.Skipped, sentinel.Judged, sentinel.Failed, sentinel.Shadow} {
		out[s.String()] = s
	}
	return out
}

// isCompared reports whether a gate's verdict can come from the configuration alone.
func isCompared(gate string) bool {
	return gate != sentinel.GateLimits && gate != sentinel.GateApproval
}

// readWas reads what the compared gates of a decision came to.
func (c *call) readWas() {
	if c.record.Kind == sentinel.RecordRefused {
		c.was = Verdict{sentinel.Deny.String(), sentinel.GateParse, c.record.Code}
		return
	}
	least, counted := sentinel.Allow, false
	for _, g := range c.body.Gates {
		if !isCompared(g.Gate) || g.State != sentinel.Judged.String() && g.State != sentinel.Failed.String() {
			continue
		}
		o, _ := sentinel.ParseOutcome(g.Outcome)
		if g.State == sentinel.Failed.String() {
			o = sentinel.Deny
		}
		if counted = true; o < least {
			least, c.was.Gate, c.was.Code = o, g.Gate, g.Code
		}
	}
	if !counted {
		least, c.was.Gate, c.was.Code = sentinel.Deny, c.record.Gate, c.record.Code
	}
	c.was.Outcome = least.String()
}

// readJudgement reads what the record has of the review.
func (c *call) readJudgement(question string) {
	j := review.Judgement{Question: question}
	for _, g := range c.body.Gates {
		if g.Doubt != nil && g.Doubt.State == sentinel.DoubtSpent.String() {
			j.SpentDoubts = true
		}
		if g.Gate != sentinel.GateReview {
			continue
		}
		j.State, j.Code, j.Meta = recordedStates()[g.State], g.Code, g.Meta
		j.Outcome, _ = sentinel.ParseOutcome(g.Outcome) // another word is Deny
		if g.Score != nil {
			j.Score, j.HasScore = *g.Score, true
		}
	}
	if j.State != sentinel.Judged && j.State != sentinel.Shadow && j.State != sentinel.Skipped {
		j.Question = "" // it was not asked, or could not answer
	}
	c.judgedBy = j
}

// hasHabit reports whether approvals of the past were part of the recorded verdict.
func (c *call) hasHabit() bool {
	for _, g := range c.body.Gates {
		for _, e := range g.Evidence {
			if e.Signal == judge.SignalHabit {
				return true
			}
		}
	}
	return false
}

// findValue returns the newest value of a kind that came with a decision or with its question.
func (c *call) findValue(kind string) ([]byte, bool) {
	for _, v := range slices.Backward(c.values) {
		ours := v.Name == sentinel.RecordDecision || v.Name == sentinel.RecordHeld
		if v.Kind == kind && ours && v.User == c.record.User && v.Conversation == c.record.Conversation {
			return v.Data, true
		}
	}
	return nil, false
}

// valueKinds are the kinds of values that a call is put together from.
func valueKinds() []string { return []string{"args", "proposed", "skill", sentinel.ValuePremises} }

// findProposal returns the skill and the arguments that the gates were asked about first, and their
// digest on record. ok is false where they are kept no more.
func (c *call) findProposal() (p sentinel.Proposal, digest string, ok bool) {
	kind, digest := "args", c.body.Digest
	if m := c.body.Modified; m != nil && m.EditedBy == "" {
		kind, digest = "proposed", m.Digest
	}
	p.ID, p.Skill = c.record.Call, c.record.Skill
	if p.Skill == "" {
		name, _ := c.findValue("skill")
		p.Skill = string(name)
	}
	p.Args, ok = c.findValue(kind)
	return p, digest, ok && p.Skill != ""
}

// unreplayable is the reason why a call can't be decided again, whatever the journal holds.
func (c *call) unreplayable() Reason {
	if c.body.Follows != "" {
		return ReasonFollows
	}
	if m := c.body.Modified; m != nil && m.EditedBy != "" && len(m.Rules) > 0 {
		return ReasonEdited
	}
	for _, g := range c.body.Gates {
		if g.Code == sentinel.CodeNoExecutor || g.Code == sentinel.CodeRunsHere {
			return ReasonPlace
		}
	}
	return ""
}

// rebuild puts the call together as it was proposed. The reason says why it can't be.
func (c *call) rebuild(d *decider, key [32]byte) (sentinel.Call, Reason, error) {
	none := sentinel.Call{}
	if why := c.unreplayable(); why != "" {
		return none, why, nil
	}
	p, digest, kept := c.findProposal()
	data, known := c.findValue(sentinel.ValuePremises)
	if !kept || !known {
		return none, ReasonGone, nil
	}
	s, err := d.recaller.Recall(data)
	switch {
	case errors.Is(err, sentinel.ErrSecret):
		return none, ReasonSecret, nil
	case errors.Is(err, sentinel.ErrNotKept):
		return none, ReasonGone, nil
	case err != nil:
		return none, "", err
	}
	p.Grant, p.Trace, p.BeforeTaint = s.Grant, s.Trace, s.BeforeTaint
	c.readJudgement(s.Question)
	made, err := d.NewCall(p)
	if err != nil {
		return none, ReasonOtherBytes, nil //nolint:nilerr // the reason says it
	}
	order := made.Order()
	order.SkillDigest = c.body.SkillSpec // that of then: the skill may be another now
	if sentinel.KeyedDigest(key, order.Digest()) == digest {
		return made, "", nil
	}
	if s := made.Skill(); s != nil && s.Secretive() || string(p.Args) == skills.HiddenArgs {
		return none, ReasonSecret, nil
	}
	return none, ReasonOtherBytes, nil
}

// moment is when the call was judged first.
func (c *call) moment() time.Time {
	if !c.body.AskedAt.IsZero() {
		return c.body.AskedAt
	}
	return c.record.Time
}

// readRecord reads the record's body. What of it can't be read is as if it weren't there.
func (c *call) readRecord() {
	c.body, c.was = body{}, Verdict{}
	_ = json.Unmarshal(c.record.Body, &c.body)
	c.readWas()
}

type callKey struct{}

// withCall hands the call to what stands in the place of the review.
func withCall(ctx context.Context, c *call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}
