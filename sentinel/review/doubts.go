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

// noteDoubts notes in a judgement which doubts were in its question, and which evidence.
func (o Options) noteDoubts(c sentinel.Call, v sentinel.Verdict) sentinel.Verdict {
	f, _ := c.Findings() // none hold no doubts
	v.SpentDoubts = sentinel.DoubtsKey(f.Signals)
	if v.SpentDoubts != "" && o.showsEvidence() {
		v.SpentEvidence = c.EvidenceKey()
	}
	return v
}
