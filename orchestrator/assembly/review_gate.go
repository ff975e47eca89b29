package assembly

import (
	"errors"
	"fmt"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/intents"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/skills"
)

// newReviewGate builds the review, or what says why it is left out.
func newReviewGate(cfg *config.Config, roster *llm.Roster, o gateOptions) (sentinel.Gate, error) {
	switch {
	case o.noReview:
		return sentinel.Skip(sentinel.GateReview, "left out by --no-review"), nil
	case !isReviewOn(cfg.Sentinel):
		return sentinel.Skip(sentinel.GateReview, "sentinel.mode is off"), nil
	case len(cfg.Roles["sentinel"]) == 0:
		return nil, &skills.PathError{
			Path: "roles.sentinel", Msg: `names no model for the review; name one, or say sentinel: {mode: "off"}`,
		}
	}
	models, err := roster.ForRole("sentinel")
	if err != nil {
		return nil, err
	}
	unavailable, err1 := parseFallback("sentinel.unavailable", cfg.Sentinel.Unavailable)
	unjudgeable, err2 := parseFallback("sentinel.unjudgeable", cfg.Sentinel.Unjudgeable)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	second, err1 := newEscalation(cfg, roster)
	shown, err2 := newEvidenceOptions(cfg.Sentinel)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	b := cfg.Sentinel.Breaker
	return review.New(withQuestion(review.Options{
		Models: models, Unavailable: unavailable, Unjudgeable: unjudgeable,
		Timeout: cfg.Sentinel.Timeout, Breaker: review.Breaker{Failures: b.Failures, Window: b.Window, OpenFor: b.OpenFor},
		Concurrency: cfg.Sentinel.Concurrency, Retries: cfg.Sentinel.Retries, Terms: listTerms(cfg), Escalate: second,
		CacheTTL: o.cacheTTL, CacheSize: cfg.Sentinel.CacheSize, Purse: o.purse, RulesFor: cfg.Sentinel.Budget.RulesFor,
		Doubts: review.DoubtsMode(cfg.Sentinel.Doubts), Measure: review.Measure{Apart: o.apart, Unproved: o.apart}, Flows: o.flows,
		Evidence: shown, Intents: cfg.Intent.IsOn(),
		Observer: o.observer, Log: o.log, Now: o.now,
	}, cfg.Sentinel))
}

// newEvidenceOptions says what the evidence of calls shows. Where the review is shown no values,
// the journal has none of them in its evidence either.
func newEvidenceOptions(s config.Sentinel) (sentinel.EvidenceOptions, error) {
	o, err := sentinel.ParseEvidence(s.Evidence)
	o.Keys = s.Arguments == config.ArgumentsKeys
	return o, err
}

// newEscalation names the models that a second opinion comes from.
func newEscalation(cfg *config.Config, roster *llm.Roster) (review.Escalate, error) {
	e := cfg.Sentinel.Escalate
	effects := func(names []string) []skills.Effect {
		out := make([]skills.Effect, len(names))
		for i, n := range names {
			out[i] = skills.Effect(n)
		}
		return out
	}
	out := review.Escalate{Rejected: effects(e.Rejected), Approved: effects(e.Approved)}
	for i, name := range e.To {
		m, known := roster.Lookup(name)
		if !known {
			return out, &skills.PathError{Path: fmt.Sprintf("sentinel.escalate.to[%d]", i), Msg: fmt.Sprintf("no model is named %q", name)}
		}
		out.To = append(out.To, m)
	}
	return out, nil
}

// listTerms returns what holds between the review and each model.
func listTerms(cfg *config.Config) map[string]review.Terms {
	out := make(map[string]review.Terms, len(cfg.Models))
	for name, m := range cfg.Models {
		out[name] = review.Terms{
			RequestsPerMinute: m.RequestsPerMinute,
			Price:             review.Price{Input: int64(m.Price.Input), Output: int64(m.Price.Output)},
		}
	}
	return out
}

// parseFallback reads the outcomes of a table of the configuration, by row.
func parseFallback(path string, f config.Fallback) (sentinel.OutageTable, error) {
	t := sentinel.OutageTable{}
	var errs []error
	for _, c := range []struct {
		row  string
		cell config.Action
	}{
		{string(skills.Read), f.Read}, {string(skills.Create), f.Create}, {string(skills.Modify), f.Modify},
		{string(skills.Irreversible), f.Irreversible}, {string(skills.CostsMoney), f.CostsMoney}, {sentinel.OutwardRow, f.Outward},
	} {
		o, err := sentinel.ParseOutcome(string(c.cell))
		if err != nil {
			errs = append(errs, &skills.PathError{Path: path + "." + c.row, Msg: err.Error()})
		}
		t[c.row] = o
	}
	return t, errors.Join(errs...)
}

// withQuestion puts what shapes the review's question and answer, and which calls
// it is asked about, into its options.
func withQuestion(o review.Options, s config.Sentinel) review.Options {
	o.Mode, o.Modes, o.Profile = review.Mode(s.Mode), newModes(s.Modes), review.Profile(s.Profile)
	o.Prompt = s.PromptText
	o.Graded, o.RejectBelow = s.Answer == config.AnswerGraded, thresholdOrOff(s.RejectBelow)
	o.Keys, o.Reasoning, o.Trace = s.Arguments == config.ArgumentsKeys, s.Reasoning, s.Trace
	return o
}

// newModes returns the modes by effect and skill. The question to approvers about an intent is for people alone, unless the
// configuration says otherwise.
func newModes(m config.Modes) review.Modes {
	out := review.Modes{Effect: map[skills.Effect]review.Mode{}, Skill: map[string]review.Mode{intents.ElevateSkill: review.Off}}
	for effect, mode := range m.Effect {
		out.Effect[skills.Effect(effect)] = review.Mode(mode)
	}
	for skill, mode := range m.Skill {
		out.Skill[skill] = review.Mode(mode)
	}
	return out
}

// countSensitive returns how many skills are marked sensitive.
func countSensitive(reg *skills.Registry) int {
	n := 0
	for _, name := range reg.Names() {
		if s, known := reg.Get(name); known && s.Sensitive() {
			n++
		}
	}
	return n
}

// isReviewOn reports whether any call is to be reviewed.
func isReviewOn(s config.Sentinel) bool {
	if s.Mode != config.Off {
		return true
	}
	for _, list := range []map[string]config.Mode{s.Modes.Effect, s.Modes.Skill} {
		for _, mode := range list {
			if mode != config.Off {
				return true
			}
		}
	}
	return false
}
