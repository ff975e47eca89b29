package eval

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/judge"
)

// SignalReport says of each signal of the judge, and of each code with which another gate stopped
// a call, how often it was there and how many decisions hang on it alone. Benign and Attack are
// how many calls of either kind were counted; calls of other kinds are in none of the numbers.
//
// A decision without a signal is worked out from the recorded verdicts; no call is decided again.
// The judge's amounts are summed without those of the signal, against the configured thresholds,
// and the least outcome of all gates is the decision. So these are not recomputed:
//
//   - the other signals. Some cost less beside the one that is left out, or give way to it, and
//     keep what they cost there; a habit keeps what the doubts took.
//   - what else becomes of the doubts. Those that a model spent stay spent, and all others count.
//   - the gates behind a gate that denies. A review that was not reached stops nothing.
//   - a proposal that never became a call. It has a row and stays refused.
//
// A decision that needs two signals gone is in the count of neither.
type SignalReport struct {
	Benign int `json:"benign"`
	Attack int `json:"attack"`
	// Signals are in the order of the gates; within a gate, the most frequent come first.
	Signals []SignalCount `json:"signals"`
}

// SignalCount is one row of a SignalReport. Signal is the judge's name of a signal, or another
// gate's code. Gate is GateParse where a proposal became no call.
type SignalCount struct {
	Gate   string `json:"gate"`
	Signal string `json:"signal"`
	// InDoubt is on how many of the calls, of both kinds, the signal was in doubt.
	InDoubt int         `json:"in_doubt"`
	Benign  SignalRates `json:"benign"`
	Attack  SignalRates `json:"attack"`
}

// SignalRates are the rates of one signal over the calls of one kind. Fired are the calls that it
// was seen on, whatever it added. AllowedWithout are those that were stopped and are allowed
// without it alone. StoppedWithout are those that were allowed and are stopped without it, as a
// signal that raises may have it.
type SignalRates struct {
	Fired          Rate `json:"fired"`
	AllowedWithout Rate `json:"allowed_without"`
	StoppedWithout Rate `json:"stopped_without"`
}

// signalKey names a row.
type signalKey struct{ gate, signal string }

// signalHits are the counts of one row, by kind.
type signalHits struct {
	inDoubt int
	byKind  map[string]*signalKindHits
}

type signalKindHits struct{ fired, allowedWithout, stoppedWithout int }

// SignalTally counts signals. It is for one goroutine.
type SignalTally struct {
	threshold, askBelow int
	calls               map[string]int
	rows                map[signalKey]*signalHits
}

// NewSignalTally returns a tally for decisions of a judge with these thresholds, in hundredths.
// Zero never denies, or asks.
func NewSignalTally(threshold, askBelow int) *SignalTally {
	return &SignalTally{threshold, askBelow, map[string]int{}, map[signalKey]*signalHits{}}
}

// Add counts one result. It leaves out a line that is no case, a case without an answer, one that
// was resumed, since its verdicts are gone, and one that is neither benign nor an attack.
func (t *SignalTally) Add(r Result) {
	kind := r.Case.Kind
	if r.Err != nil || r.Unanswered || r.Resumed || kind != Benign && kind != Attack {
		return
	}
	t.calls[kind]++
	d := r.Decision
	if d.BlockedBy == sentinel.GateParse {
		t.countFired(signalKey{sentinel.GateParse, d.Code}, kind, d.Outcome, d.Outcome)
		return
	}
	for i, v := range d.Verdicts {
		switch {
		case v.Gate == sentinel.GateJudge && v.State == sentinel.Judged:
			t.addJudged(d, i, kind)
		case v.Counts() && weighVerdict(v) < sentinel.Allow:
			t.countFired(signalKey{v.Gate, v.Code}, kind, d.Outcome, decideWith(d, i, sentinel.Allow))
		}
	}
}

// addJudged counts the signals of the judge's verdict, which is d's at i. A signal that stands in
// the verdict twice counts once, and is left out wherever it stands.
func (t *SignalTally) addJudged(d sentinel.Decision, i int, kind string) {
	v := d.Verdicts[i]
	inDoubt := map[string]bool{}
	for _, e := range v.Evidence {
		inDoubt[e.Signal] = inDoubt[e.Signal] || e.Doubt
	}
	for name, doubtful := range inDoubt {
		hits := t.countFired(signalKey{v.Gate, name}, kind, d.Outcome, decideWith(d, i, t.weighWithout(v, name)))
		hits.inDoubt += oneIf(doubtful)
	}
}

// countFired counts a signal on a call that came to was, and without it comes to without.
func (t *SignalTally) countFired(key signalKey, kind string, was, without sentinel.Outcome) *signalHits {
	hits := t.rows[key]
	if hits == nil {
		hits = &signalHits{byKind: map[string]*signalKindHits{Benign: {}, Attack: {}}}
		t.rows[key] = hits
	}
	of := hits.byKind[kind]
	of.fired++
	of.allowedWithout += oneIf(was != sentinel.Allow && without == sentinel.Allow)
	of.stoppedWithout += oneIf(was == sentinel.Allow && without != sentinel.Allow)
	return hits
}

// weighWithout is what the judge's verdict comes to without a signal: with its doubts, unless a
// model has spent them.
func (t *SignalTally) weighWithout(v sentinel.Verdict, signal string) sentinel.Outcome {
	rest := slices.DeleteFunc(slices.Clone(v.Evidence), func(e sentinel.Evidence) bool { return e.Signal == signal })
	verdict, counted := judge.Outcomes(rest, t.threshold, t.askBelow)
	if v.Doubt != nil && v.Doubt.State == sentinel.DoubtSpent {
		return verdict
	}
	return counted
}

// decideWith is what a decision comes to where the verdict at i has another outcome.
func decideWith(d sentinel.Decision, i int, o sentinel.Outcome) sentinel.Outcome {
	for k, v := range d.Verdicts {
		if k != i && v.Counts() {
			o = min(o, weighVerdict(v))
		}
	}
	return o
}

// weighVerdict is the outcome of a verdict that counts. A gate that failed denies.
func weighVerdict(v sentinel.Verdict) sentinel.Outcome {
	if v.State == sentinel.Failed {
		return sentinel.Deny
	}
	return v.Outcome
}

// Report returns the counts so far.
func (t *SignalTally) Report() SignalReport {
	r := SignalReport{Benign: t.calls[Benign], Attack: t.calls[Attack], Signals: []SignalCount{}}
	for key, hits := range t.rows {
		rates := func(kind string) SignalRates {
			h, n := hits.byKind[kind], t.calls[kind]
			return SignalRates{NewRate(h.fired, n), NewRate(h.allowedWithout, n), NewRate(h.stoppedWithout, n)}
		}
		r.Signals = append(r.Signals, SignalCount{key.gate, key.signal, hits.inDoubt, rates(Benign), rates(Attack)})
	}
	order := append([]string{sentinel.GateParse}, sentinel.GateNames()...)
	slices.SortFunc(r.Signals, func(a, b SignalCount) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Gate), slices.Index(order, b.Gate)),
			cmp.Compare(b.Benign.Fired.Count+b.Attack.Fired.Count, a.Benign.Fired.Count+a.Attack.Fired.Count),
			cmp.Compare(a.Signal, b.Signal))
	})
	return r
}

// writeSignals writes a report of signals for people.
func writeSignals(w io.Writer, colour bool, r SignalReport) error {
	t := terminal.Table{Colour: colour, Right: map[int]bool{2: true, 3: true, 4: true, 5: true, 6: true, 7: true, 8: true}}
	t.Add("GATE", "SIGNAL", "IN DOUBT", "BENIGN", "ATTACKS", "BENIGN ALLOWED WITHOUT", "ATTACKS ALLOWED WITHOUT",
		"BENIGN STOPPED WITHOUT", "ATTACKS STOPPED WITHOUT")
	for _, s := range r.Signals {
		t.Add(s.Gate, s.Signal, strconv.Itoa(s.InDoubt), formatCountOf(s.Benign.Fired), formatCountOf(s.Attack.Fired),
			formatCountOf(s.Benign.AllowedWithout), formatCountOf(s.Attack.AllowedWithout),
			formatCountOf(s.Benign.StoppedWithout), formatCountOf(s.Attack.StoppedWithout))
	}
	if len(r.Signals) == 0 {
		_, err := io.WriteString(w, "\nsignals     none\n")
		return err
	}
	return terminal.WriteSection(w, fmt.Sprintf("signals     of %d benign calls and %d attacks, with 95%% intervals", r.Benign, r.Attack), &t)
}

// formatCountOf is "39 (87.1 - 99.6%)", or "0".
func formatCountOf(r Rate) string {
	if r.Count == 0 {
		return "0"
	}
	return fmt.Sprintf("%d (%.1f - %.1f%%)", r.Count, 100*r.Low, 100*r.High)
}
