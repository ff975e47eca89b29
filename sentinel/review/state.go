package review

import (
	"maps"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/sentinel"
)

// State is how a gate is doing, for doctor and metrics. It holds no values.
type State struct {
	Mode   Mode         `json:"mode"`
	Prompt string       `json:"prompt"`
	Models []ModelState `json:"models"`
	Stats  Stats        `json:"stats"`
}

// ModelState is one model of the chain, or one that gives second opinions.
type ModelState struct {
	Model string `json:"model"`
	// Breaker is closed, open or half-open.
	Breaker string `json:"breaker"`
	// Failures is how many calls in a row found the model unavailable. It counts within the
	// breaker's window and since the breaker last changed.
	Failures int `json:"failures"`
	// LastFailure is the newest failure of either kind; empty where none was.
	LastFailure Failure `json:"last_failure,omitempty"`
	// Canary is what the newest canaries that said something came to; a model
	// that failed is degraded until it passes. CanaryAt is when it was asked.
	Canary   Canary    `json:"canary,omitempty"`
	CanaryAt time.Time `json:"canary_at,omitzero"`
	// DoubtCanary is what the newest canaries for doubts that said something came to. Only a
	// model that passed them may spend doubts.
	DoubtCanary Canary `json:"doubt_canary,omitempty"`
	// UnderWay is how many requests are with the model now. Paused is how long the server still
	// asks not to be asked.
	UnderWay int           `json:"under_way,omitempty"`
	Paused   time.Duration `json:"paused,omitempty"`
}

// Stats count verdicts since the gate was made.
type Stats struct {
	Approved uint64 `json:"approved"`
	Rejected uint64 `json:"rejected"`
	// Disagreed counts calls for a person because two models judged otherwise.
	Disagreed uint64 `json:"disagreed"`
	// Escalated counts calls about which a second opinion was asked for.
	Escalated uint64 `json:"escalated"`
	// Unjudged counts calls without a judgement, Degraded those of them that
	// were allowed.
	Unjudged uint64 `json:"unjudged"`
	Degraded uint64 `json:"degraded"`
	// Skipped counts calls that the profile left out.
	Skipped uint64 `json:"skipped,omitempty"`
	// Requests is how many requests about calls were sent to models. Those ahead and those whose
	// caller gave up are among them.
	Requests uint64 `json:"requests"`
	// Failures counts the calls without a judgement by their failure.
	Failures map[Failure]uint64 `json:"failures"`
	// Repaired counts the judgements that came when a model was asked once more. The key is what
	// was wrong with the first answer.
	Repaired map[Failure]uint64 `json:"repaired,omitempty"`
}

type tally struct {
	mu    sync.Mutex
	stats Stats
}

// countRequests counts requests, whatever came of them.
func (t *tally) countRequests(sent int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stats.Requests += uint64(sent) //nolint:gosec // a count
}

// countSkip counts a call that the profile left out.
func (t *tally) countSkip() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stats.Skipped++
}

func (t *tally) add(v sentinel.Verdict) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if isEscalated(v) {
		t.stats.Escalated++
	}
	failure := Failure(v.Meta["failure"])
	if r := Failure(v.Meta["repaired"]); r != "" {
		if t.stats.Repaired == nil {
			t.stats.Repaired = map[Failure]uint64{}
		}
		t.stats.Repaired[r]++
	}
	switch {
	case failure != "":
		t.stats.Unjudged++
		if t.stats.Failures == nil {
			t.stats.Failures = map[Failure]uint64{}
		}
		t.stats.Failures[failure]++
		if v.Degraded {
			t.stats.Degraded++
		}
	case v.Outcome == sentinel.Allow:
		t.stats.Approved++
	case v.Outcome == sentinel.Ask:
		t.stats.Disagreed++
	default:
		t.stats.Rejected++
	}
}

func (t *tally) snapshot() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.stats
	s.Failures, s.Repaired = maps.Clone(s.Failures), maps.Clone(s.Repaired)
	return s
}

// FailedCanaries returns the models that are wrong about calls whose verdict is known.
func (s State) FailedCanaries() (names []string) {
	for _, m := range s.Models {
		if m.Canary == CanaryFailed {
			names = append(names, m.Model)
		}
	}
	return names
}
