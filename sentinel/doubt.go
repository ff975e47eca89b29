package sentinel

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
)

// Doubt is what rules can't tell about a call and a reader could. A doubt is no
// verdict. The checkpoint records it beside the verdict, and the review is shown the
// evidence behind it. It counts where no model has judged the call with exactly this
// evidence in its question. Then the verdict takes the doubt's outcome, once.
//
// The judge gives doubts, and the scope gate where it would ask. Those of any other gate
// count at once.
type Doubt struct {
	// Outcome is what the verdict comes to where the doubt counts: Ask or Deny.
	Outcome Outcome
	// Code, Reason and WhatYouCanDo are the verdict's where the doubt counts.
	Code, Reason, WhatYouCanDo string
	// State says what has become of the doubt.
	State DoubtState
}

// DoubtState says what has become of a doubt.
type DoubtState uint8

// The states of a Doubt. The zero value is DoubtOpen.
const (
	DoubtOpen    DoubtState = iota // nothing was decided with it yet
	DoubtCounted                   // no model judged the call, and the verdict took the doubt's outcome
	DoubtSpent                     // a model judged the call and was shown the doubt
)

var doubtWords = [...]string{"open", "counted", "spent"}

// String returns the state's word.
func (s DoubtState) String() string { return doubtWords[min(int(s), len(doubtWords)-1)] }

// MarshalText writes the state's word.
func (s DoubtState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Doubts returns the evidence of a verdict that is in doubt.
func (v Verdict) Doubts() []Evidence { return selectDoubts(v.Evidence) }

// Doubts returns what the judge found and is in doubt about.
func (f Findings) Doubts() []Evidence { return selectDoubts(f.Signals) }

func selectDoubts(all []Evidence) []Evidence {
	var out []Evidence
	for _, e := range all {
		if e.Doubt {
			out = append(out, e)
		}
	}
	return out
}

// DoubtsKey names a set of doubts: their signals, amounts and arguments, in any order. It is
// empty where there is no doubt. A review that was shown the set puts the key into its
// verdict's SpentDoubts.
func DoubtsKey(all []Evidence) string {
	doubts := selectDoubts(all)
	if len(doubts) == 0 {
		return ""
	}
	lines := make([]string, len(doubts))
	for i, e := range doubts {
		args := slices.Sorted(slices.Values(e.Args))
		lines[i] = strconv.Quote(e.Signal) + " " + strconv.Itoa(e.Amount) + " " + strconv.Quote(strings.Join(args, "\x00"))
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:])
}

// countDoubts decides what becomes of the doubts of the decision's verdicts, as soon as the
// review has been reached. Each counts once, and none raises an outcome.
func (d *Decision) countDoubts() {
	review := d.verdictOf(GateReview)
	if review == nil || review.State == NotReached {
		return
	}
	var all []Evidence
	for i := range d.Verdicts {
		if v := &d.Verdicts[i]; review.SpentDoubts != "" && v.State == Judged {
			all = append(all, v.Doubts()...)
		}
	}
	spent := review.State == Judged && review.SpentDoubts != "" && review.SpentDoubts == DoubtsKey(all)
	for i := range d.Verdicts {
		v := &d.Verdicts[i]
		if v.Doubt != nil && v.Doubt.State == DoubtOpen {
			v.closeDoubt(spent)
		}
	}
}

// closeDoubt counts the verdict's doubt, or notes that it was spent by a review that was shown
// every doubt of the decision.
func (v *Verdict) closeDoubt(spent bool) {
	if v.State != Judged {
		return
	}
	if !spent {
		v.countDoubt()
		return
	}
	doubt := *v.Doubt
	doubt.State = DoubtSpent
	v.Doubt = &doubt
}

// countDoubt gives the verdict the outcome of its doubt, where that is less. The Doubt itself is
// replaced: others may hold the verdict's old one.
func (v *Verdict) countDoubt() {
	doubt := *v.Doubt
	doubt.State = DoubtCounted
	if doubt.Outcome < v.Outcome {
		v.Outcome, v.Code, v.Reason = doubt.Outcome, doubt.Code, doubt.Reason
		v.WhatYouCanDo = cmp.Or(doubt.WhatYouCanDo, v.WhatYouCanDo)
	}
	v.Doubt = &doubt
}

// recordedDoubt is a doubt as the ledger holds it.
type recordedDoubt struct {
	Outcome Outcome    `json:"outcome"`
	Code    string     `json:"code,omitempty"`
	State   DoubtState `json:"state"`
}

// recordDoubt is what a record says of a verdict's doubt.
func recordDoubt(d *Doubt) *recordedDoubt {
	if d == nil {
		return nil
	}
	return &recordedDoubt{d.Outcome, d.Code, d.State}
}
