package review

import (
	"fmt"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// DoubtsMode says what becomes of the judge's doubts.
type DoubtsMode string

// The modes.
const (
	// DoubtsReview puts doubts before the models. A judgement of a model that has passed
	// the canaries for doubts spends them, and they count wherever there is none.
	DoubtsReview DoubtsMode = "review"
	// DoubtsCount counts each doubt, whatever a model says.
	DoubtsCount DoubtsMode = "count"
)

func (m DoubtsMode) checkDoubts() error {
	switch m {
	case "", DoubtsReview, DoubtsCount:
		return nil
	}
	return &skills.PathError{Path: "sentinel.doubts", Msg: fmt.Sprintf("%q is not one of review, count", string(m))}
}

// spendDoubts marks a judgement of the named model as one that spends the call's doubts. A
// model may spend them once it has passed the canaries for doubts, for this prompt.
func (g *Gate) spendDoubts(c sentinel.Call, v sentinel.Verdict, name string) sentinel.Verdict {
	f, ok := c.Findings()
	if !ok || g.o.Doubts == DoubtsCount || v.State != sentinel.Judged || v.Meta["failure"] != "" {
		return v
	}
	if g.o.Unproved || g.hasProvedDoubts(name) {
		v.SpentDoubts = sentinel.DoubtsKey(f.Signals)
	}
	return v
}

// hasProvedDoubts reports whether the newest canaries for doubts of the named model were
// passed.
func (g *Gate) hasProvedDoubts(name string) bool {
	for _, m := range g.modelsOfBothChains() {
		if m.name == name {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.doubtCanary == CanaryPassed && m.canary != CanaryFailed
		}
	}
	return false
}
