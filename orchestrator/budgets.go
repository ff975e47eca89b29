package orchestrator

import (
	"time"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// The orchestrator's model is bounded as its agents' are (docs/architecture.md). The
// bounds are the calls of one answer and the bytes of a turn's messages. Where those are
// spent the calls that are left are answered in a few words, and the model is asked once
// more, without tools. After the first refusal of a spent budget, calls that the same
// budget would refuse are not proposed: they are counted, and the ledger has their number
// when the turn ends.

// budgetKind is what a call counts against. It is true for the orchestrator's own skills,
// which count as agents, and false for calls.
type budgetKind bool

// refusedBudget is a refusal that stands for the calls after it.
type refusedBudget struct {
	no    *skills.Refusal
	until time.Time // zero: as long as the turn
}

// spentBudgets are the refusals of budgets that are spent.
type spentBudgets struct{ byKind map[budgetKind]refusedBudget }

// noteRefusal remembers a refusal for a budget that is spent.
func (b *spentBudgets) noteRefusal(no *skills.Refusal, native bool) {
	if no == nil || no.Kind != skills.KindBudget || no.Gate != sentinel.GateLimits {
		return
	}
	r := refusedBudget{no: no}
	if no.RetryAfter > 0 {
		r.until = time.Now().Add(no.RetryAfter)
	}
	if b.byKind == nil {
		b.byKind = map[budgetKind]refusedBudget{}
	}
	b.byKind[budgetKind(native)] = r
}

// findRefusal returns the refusal of a call whose budget is spent, nil where it
// isn't.
func (b *spentBudgets) findRefusal(native bool) *skills.Refusal {
	return b.byKind[budgetKind(native)].no
}

// renew forgets, before the calls of a new answer, what may have room
// again. Within an answer a refusal stands, so that a restart numbers its calls
// as they were.
func (b *spentBudgets) renew() {
	for kind, r := range b.byKind {
		if !r.until.IsZero() && time.Now().After(r.until) {
			delete(b.byKind, kind)
		}
	}
}
