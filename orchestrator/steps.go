package orchestrator

import (
	"context"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// Step is one call that was judged on the way to an answer. A program shows the user what
// was done, what was not, and why. It holds no value of a call.
type Step struct {
	// Call and Decision are the ids under which the ledger has it.
	Call     string    `json:"call"`
	Decision string    `json:"decision"`
	At       time.Time `json:"at"`
	// Skill is empty for an unknown one, whose name is the model's text.
	Skill string `json:"skill,omitempty"`
	Agent string `json:"agent,omitempty"`
	// Outcome is allow, deny, defer or, while a person is being asked, ask.
	Outcome  string `json:"outcome"`
	Degraded bool   `json:"degraded,omitempty"`
	// Status is what became of a call that was allowed: ok, failed or unknown;
	// empty until that is on record.
	Status string `json:"status,omitempty"`
	// Approver is the name of the person who answered; empty where none did.
	Approver string `json:"approver,omitempty"`
	// Refusal says who stopped the call (Gate), why (Code, Reason), what can be
	// done, and whether the same call may come again. Nil for one that was allowed.
	// While a person is being asked its Kind is ask, and nothing is refused yet.
	Refusal *skills.Refusal `json:"refusal,omitempty"`
}

// Bounds of what a reply tells.
const (
	maxSteps  = 200
	stepsPage = 500
	stepPages = 20
	stepsFor  = 2 * time.Second
)

// readSteps reads the newest records of a conversation back to the turn's first.
func (c *Conversation) readSteps(ctx context.Context, turn string) ([]Step, int, error) {
	var last *int64
	s := stepReader{turn: turn, ended: map[string]string{}, seen: map[string]bool{}}
	for range stepPages {
		page, err := c.needs.parts.Newest(ctx, c.co.ID, c.co.User, last, stepsPage)
		if err != nil {
			return nil, 0, err
		}
		before := s.found
		for i := range page {
			s.takeRecord(&page[i])
		}
		if len(page) < stepsPage || before > 0 && s.found == before {
			break
		}
		last = &page[len(page)-1].Index
	}
	slices.Reverse(s.steps)
	return s.steps, s.left, nil
}

// stepReader makes steps of records, the newest first.
type stepReader struct {
	turn  string
	ended map[string]string // statuses by decision
	seen  map[string]bool   // decisions
	steps []Step
	found int // records of the turn
	left  int
}

// takeRecord adds what a record tells of the turn.
func (s *stepReader) takeRecord(r *assembly.Recorded) {
	switch r.Kind {
	case sentinel.RecordOutcome:
		s.ended[r.Decision] = r.Outcome
		return
	case sentinel.RecordDecision, sentinel.RecordHeld, sentinel.RecordRefused:
	default:
		return
	}
	b, err := sentinel.ReadRecord(r.Kind, r.Body)
	if err != nil || b.Turn != s.turn {
		return
	}
	s.found++
	status := s.ended[r.Decision]
	delete(s.ended, r.Decision)
	switch {
	case r.Kind == sentinel.RecordHeld && s.seen[r.Call]: // it was answered later
		return
	case len(s.steps) == maxSteps:
		s.left++
		return
	}
	s.seen[r.Call] = true
	st := Step{
		Call: r.Call, Decision: r.Decision, At: r.At, Skill: r.Skill, Agent: r.Agent, Outcome: r.Outcome,
		Degraded: b.Degraded, Status: status, Approver: b.Approver, Refusal: b.Refusal,
	}
	s.steps = append(s.steps, st)
}
