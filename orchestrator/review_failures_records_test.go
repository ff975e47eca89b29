package orchestrator

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm/scripted"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/skills"
)

// due is what has to come of one call.
type due struct {
	skill, effect string
	outward       bool
	cell          string // the review's outcome
	code, reason  string // and why
	ends          string // the decision's outcome
	gate, word    string // and what decided
	asks, runs    bool
	degraded      bool
}

// due reads the table; kind is empty where a model judges.
func (o office) due(skill string, kind review.Failure) due {
	to, effect, _ := strings.Cut(skill, ".")
	d := due{skill: skill, effect: effect, outward: to == "others", cell: "allow"}
	if kind != "" {
		column, where := o.cells[skill].unjudgeable, "unjudgeable"
		d.code = review.CodeUnjudgeable
		if slices.Contains([]review.Failure{review.Connect, review.Timeout, review.RateLimited, review.Quota, review.Server,
			review.BreakerOpen}, kind) {
			column, where, d.code = o.cells[skill].unavailable, "unavailable", review.CodeUnavailable
		}
		var row string
		d.cell, row, _ = strings.Cut(column, " ")
		d.reason = fmt.Sprintf("no judgement (%s): sentinel.%s.%s is %s", kind, where, row, d.cell)
		d.degraded = d.cell == "allow"
		if d.degraded && where == "unavailable" {
			d.code = review.CodeDegraded
		}
	}
	d.asks = d.cell == "ask"
	d.runs = d.cell == "allow" || d.asks && o.yes
	switch {
	case d.runs:
		d.ends = "allow"
	case d.asks:
		d.ends, d.gate, d.word = "deny", sentinel.GateApproval, no.Code
	default:
		d.ends, d.gate, d.word = d.cell, sentinel.GateReview, d.code
	}
	return d
}

// look makes one call and looks at everything that came of it.
func (h *house) look(t *testing.T, skill string) {
	d := h.o.due(skill, h.f.kind)
	before := h.last
	ran, held, events, asked, logged := h.ran[skill], len(h.held), len(h.events), arrivals(h.server), len(h.log.String())
	res, err := h.invoke(t, skill, "ann")
	h.agentSaw(t, d, res, err)
	require.Equal(t, d.runs, h.ran[skill] == ran+1, "the skill had its effect")
	h.personSaw(t, d, held, h.events[events:])
	h.recorded(t, d, h.events[events].Call.ID())
	h.last = h.gather(t)
	require.Equal(t, h.counts(d), grown(before, h.last))
	arrived := h.f.asked
	if h.f.down || h.f.away {
		arrived = 0
	}
	require.Equal(t, asked+arrived, arrivals(h.server), "requests to the model")
	log := h.log.String()[logged:]
	require.Equal(t, d.degraded, strings.Contains(log, "REVIEW DEGRADED"), log)
	require.Equal(t, h.f.kind != "", strings.Contains(log, "failure="+string(h.f.kind)+" "), log)
	require.NotContains(t, log, canary)
}

// agentSaw looks at the result, or at a refusal: what refused, why, and what the
// agent can do, with no value of the call and no word of the model's.
func (h *house) agentSaw(t *testing.T, d due, res skills.Result, err error) {
	t.Helper()
	if d.runs {
		require.NoError(t, err)
		require.Equal(t, "done", res.Content)
		return
	}
	var r *skills.Refusal
	require.ErrorAs(t, err, &r)
	want := skills.Refusal{
		Kind: skills.KindAskDenied, Gate: d.gate, Code: d.word, Reason: no.Reason,
		WhatYouCanDo: "Don't repeat the call; tell the user what was not done.", DecisionID: r.DecisionID, RetryAfter: r.RetryAfter,
		Retryable: !d.asks, // a person said no, or no judge could say
	}
	if !d.asks {
		want.Kind, want.Reason = d.cell, d.reason
		want.WhatYouCanDo = "Nothing is wrong with the call as far as is known; try again later, or report what was not done."
	}
	require.Equal(t, want, *r)
	require.NotEmpty(t, r.DecisionID)
	require.Equal(t, d.cell == "defer", r.RetryAfter > 0, "told when to come again")
	said, err := json.Marshal(r)
	require.NoError(t, err)
	require.NotContains(t, string(said), canary)
	require.NotContains(t, string(said), "elsewhere")
}

// personSaw looks at who was asked, and at the events in their order.
func (h *house) personSaw(t *testing.T, d due, before int, events []sentinel.Event) {
	t.Helper()
	var kinds, want, asked []string
	for _, e := range events {
		kinds = append(kinds, e.Kind)
	}
	if d.asks {
		want, asked = append(want, sentinel.RecordHeld, sentinel.EventAsked), []string{d.skill}
	}
	want = append(want, sentinel.RecordDecision)
	if d.runs {
		want = append(want, sentinel.RecordOutcome)
	}
	require.Equal(t, want, kinds)
	require.Equal(t, asked, slices.Clip(append([]string(nil), h.held[before:]...)), "who was asked")
}

// onRecord is what the ledger holds of a decision.
type onRecord struct {
	Degraded, Started, Outward          bool
	Turn, Effect, Outcome, Code, Reason string
	Gates                               []gateOnRecord
}

type gateOnRecord struct {
	Gate, State, Outcome, Code, Reason string
	Degraded                           bool
	Meta                               map[string]string
}

// ofReview is the review's verdict, empty where there is none.
func ofReview(gates []gateOnRecord) gateOnRecord {
	for _, g := range gates {
		if g.Gate == sentinel.GateReview {
			return g
		}
	}
	return gateOnRecord{}
}

// recorded looks at the call's records: a hold before anybody is asked, the
// decision, and the outcome of what ran.
func (h *house) recorded(t *testing.T, d due, call string) {
	t.Helper()
	var kinds []string
	for _, r := range h.list(ledger.Query{Call: call}) {
		kinds = append(kinds, r.Kind)
		require.NotContains(t, string(r.Body), canary)
		require.Equal(t, []string{"ann", d.skill}, []string{r.User, r.Skill})
		var b onRecord
		require.NoError(t, json.Unmarshal(r.Body, &b))
		switch r.Kind {
		case sentinel.RecordHeld:
			require.Equal(t, []string{"ask", sentinel.GateReview, d.code}, []string{r.Outcome, r.Gate, r.Code})
			require.Equal(t, []string{"ask", d.code, d.reason}, []string{b.Outcome, b.Code, b.Reason})
			require.False(t, b.Started)
		case sentinel.RecordDecision:
			require.Equal(t, []string{d.ends, d.gate, d.word}, []string{r.Outcome, r.Gate, r.Code})
			require.Equal(t, onRecord{
				Degraded: d.degraded, Started: d.runs, Outward: d.outward, Effect: d.effect, Outcome: d.ends, Code: d.word, Turn: b.Turn,
				Reason: b.Reason, Gates: b.Gates,
			}, b)
		case sentinel.RecordOutcome:
			require.Equal(t, sentinel.StatusOK, r.Outcome)
			continue
		}
		h.reviewed(t, d, b.Gates)
	}
	var want []string
	for _, e := range h.events {
		if e.Call.ID() == call && e.Kind != sentinel.EventAsked { // which is no record
			want = append(want, e.Kind)
		}
	}
	require.Equal(t, want, kinds)
}

// reviewed looks at the review's verdict in a record: the failure, the model
// that had it, how often it was asked, and under which prompt.
func (h *house) reviewed(t *testing.T, d due, gates []gateOnRecord) {
	t.Helper()
	got := ofReview(gates)
	sent := h.f.asked
	if h.f.away {
		sent = 0
	}
	meta := map[string]string{"prompt": review.PromptVersion, "attempts": strconv.Itoa(sent)}
	if h.f.kind != "" {
		meta["failure"] = string(h.f.kind)
	}
	if !h.f.long {
		meta["model"] = "judge"
	}
	require.Contains(t, []int{0, 12}, len(got.Meta["evidence"]), "a call that names something has evidence")
	for _, spent := range []string{"tokens_in", "tokens_out", "cost", "evidence"} { // as the server tells or not
		delete(got.Meta, spent)
	}
	require.Equal(t, gateOnRecord{
		Gate: sentinel.GateReview, State: "judged", Outcome: d.cell, Code: d.code, Reason: d.reason, Degraded: d.degraded, Meta: meta,
	}, got)
}

// counted are the metrics in which a call must leave its trace and no other.
var counted = []string{
	"calls_total", "decisions_total", "degraded_decisions_total", "approvals_requested_total", "approvals_answered_total", "skill_runs_total",
	"reviews_total", "review_cache_hits_total", "review_second_opinions_total", "review_breaker_changes_total", "model_requests_total",
	"record_failures_total",
}

// counts are the series that one call adds to, and by how much.
func (h *house) counts(d due) map[string]float64 {
	or := func(word string) string {
		if word == "" {
			return "none"
		}
		return word
	}
	out := map[string]float64{}
	add := func(n int, series string, values ...any) {
		if n > 0 {
			out[fmt.Sprintf(series, values...)] += float64(n)
		}
	}
	one := map[bool]int{true: 1}
	add(1, "calls_total effect=%s outcome=%s outward=%t skill=%s", d.effect, d.ends, d.outward, d.skill)
	add(1, "decisions_total code=%s effect=%s gate=%s outcome=%s", or(d.word), d.effect, or(d.gate), d.ends)
	add(one[d.degraded], "degraded_decisions_total effect=%s", d.effect)
	add(one[d.asks], "approvals_requested_total effect=%s", d.effect)
	add(one[d.asks], "approvals_answered_total code=%s effect=%s outcome=%s", or(d.word), d.effect, d.ends)
	add(one[d.runs], "skill_runs_total code=none skill=%s status=ok", d.skill)
	add(1, "reviews_total effect=%s failure=%s mode=enforce outcome=%s", d.effect, or(string(h.f.kind)), d.cell)
	result := string(h.f.kind)
	if result == "" {
		result = "ok"
	}
	add(h.f.asked, "model_requests_total model=judge result=%s role=review sent=%t", result, !h.f.away)
	return out
}

// gather reads the registry.
func (h *house) gather(t *testing.T) families {
	t.Helper()
	list, err := h.reg.Gather()
	require.NoError(t, err)
	return byName(list)
}

func byName(list []*dto.MetricFamily) families {
	out := families{}
	for _, f := range list {
		out[f.GetName()] = f
	}
	return out
}

// arrivals is how many requests a server has received.
func arrivals(s *scripted.Server) int {
	if got := s.Received(); len(got) > 0 {
		return got[len(got)-1].Number
	}
	return 0
}

// grown are the series that are higher than before, and by how much.
func grown(before, after families) map[string]float64 {
	then, out := before.series(), map[string]float64{}
	for name, v := range after.series() {
		if v != then[name] {
			out[name] = v - then[name]
		}
	}
	return out
}

// series are the values of what is counted, by name and labels.
func (f families) series() map[string]float64 {
	out := map[string]float64{}
	for _, name := range counted {
		for _, m := range f["vedette_"+name].GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			words := []string{name}
			for _, k := range slices.Sorted(maps.Keys(labels)) {
				words = append(words, k+"="+labels[k])
			}
			out[strings.Join(words, " ")] = m.GetCounter().GetValue()
		}
	}
	return out
}
