package review

import (
	"fmt"
	"slices"

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

// noteDoubts notes in a judgement which doubts were in its question.
func noteDoubts(c sentinel.Call, v sentinel.Verdict) sentinel.Verdict {
	f, _ := c.Findings() // none hold no doubts
	v.SpentDoubts = sentinel.DoubtsKey(f.Signals)
	return v
}

// withholdDoubts takes the doubts from a judgement that may not spend them. Whether the
// models that judged may is asked now, also of a judgement that was kept.
func (g *Gate) withholdDoubts(v sentinel.Verdict) sentinel.Verdict {
	by := []string{v.Meta["model"]}
	if v.Meta["second"] != "" {
		by = append(by, v.Meta["second_model"])
	}
	if g.o.Doubts == DoubtsCount || !slices.ContainsFunc(by, g.maySpendDoubts) {
		v.SpentDoubts = ""
	}
	return v
}

// maySpendDoubts reports whether the named model passed its newest canaries for doubts, for
// this prompt, and has failed no plain ones since.
func (g *Gate) maySpendDoubts(name string) bool {
	for _, m := range g.modelsOfBothChains() {
		if m.name != name {
			continue
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.canary == CanaryFailed || m.doubtCanary == CanaryFailed {
			return false
		}
		return m.doubtCanary == CanaryPassed || g.o.Unproved
	}
	return false
}
