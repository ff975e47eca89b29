package telemetry

import (
	"context"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/limits/redisstore"
	"github.com/vedette-dev/vedette/orchestrator/models"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/leak"
)

// Event counts a decision or an outcome.
func (m *Metrics) Event(e sentinel.Event) {
	switch e.Kind {
	case sentinel.RecordRefused:
		m.countDecision(&e)
	case sentinel.RecordHeld:
		m.approvals.WithLabelValues(effects.pick(string(e.Call.Effect()))).Inc()
	case sentinel.RecordDecision:
		m.countDecision(&e)
		m.countAnswer(&e)
	case sentinel.RecordOutcome:
		skill := m.skills.pick(e.Call.Name())
		m.runs.WithLabelValues(skill, statuses.pick(e.Status), runCodes.pick(e.Code)).Inc()
		if e.Status == sentinel.StatusForwarded { // it has not run
			return
		}
		m.runTime.WithLabelValues(skill).Observe(e.Elapsed.Seconds())
	}
}

// effectOf is the effect of a call of a known skill, else no effect.
func effectOf(c *sentinel.Call) skills.Effect {
	if c.Skill() == nil {
		return ""
	}
	return c.Effect()
}

func (m *Metrics) countDecision(e *sentinel.Event) {
	d, known := &e.Decision, e.Call.Skill() != nil
	outcome, effect := outcomes.pick(d.Outcome.String()), effects.pick(string(effectOf(&e.Call)))
	skill := unknown
	if known {
		skill = m.skills.pick(e.Call.Name())
	}
	m.calls.WithLabelValues(skill, effect, yesNo(known && e.Call.Outward()), outcome).Inc()
	m.decisions.WithLabelValues(outcome, gates.pick(d.BlockedBy), effect, codes.pick(d.Code)).Inc()
	if d.Degraded && d.Outcome == sentinel.Allow {
		m.degraded.WithLabelValues(effect).Inc()
	}
	if d.Modified != nil {
		m.rewritten.WithLabelValues(skill).Inc()
	}
	for i := range d.Verdicts {
		m.countVerdict(&d.Verdicts[i])
	}
	if e.Kind == sentinel.RecordDecision {
		m.decisionTime.WithLabelValues(outcome).Observe(d.Elapsed.Seconds())
	}
}

func (m *Metrics) countVerdict(v *sentinel.Verdict) {
	gate := gates.pick(v.Gate)
	m.verdicts.WithLabelValues(gate, verdictOf(v)).Inc()
	if v.State != sentinel.Judged && v.State != sentinel.Failed && v.State != sentinel.Shadow {
		return
	}
	switch v.Gate {
	case sentinel.GateApproval: // see countAnswer
	case sentinel.GateReview:
		from := v.Meta["from"]
		if from == "" {
			from = "model"
		} else {
			from = origins.pick(from)
			m.cacheHits.WithLabelValues(from).Inc()
		}
		m.reviewTime.WithLabelValues(from).Observe(v.Elapsed.Seconds())
	default:
		m.gateTime.WithLabelValues(gate).Observe(v.Elapsed.Seconds())
	}
}

// verdictOf is the outcome of a gate that judged, the state of one that did not.
func verdictOf(v *sentinel.Verdict) string {
	if v.State == sentinel.Judged {
		return outcomes.pick(v.Outcome.String())
	}
	return v.State.String()
}

// countAnswer counts how an approval ended: by a person's answer, or without one
// (expired, unbindable, no approver, too many pending).
func (m *Metrics) countAnswer(e *sentinel.Event) {
	v, _ := e.Decision.Verdict(sentinel.GateApproval)
	if v.State != sentinel.Judged && v.State != sentinel.Failed {
		return
	}
	outcome := verdictOf(&v)
	m.approvalAnswers.WithLabelValues(effects.pick(string(effectOf(&e.Call))), outcome, codes.pick(v.Code)).Inc()
	m.approvalTime.WithLabelValues(outcome).Observe(v.Elapsed.Seconds())
}

// Request implements review.Observer.
func (m *Metrics) Request(_ context.Context, e review.RequestEvent) {
	result := failures.pick(string(e.Failure))
	switch {
	case e.Canceled:
		result = "canceled"
	case result == none:
		result = "ok"
	}
	m.countQuestion(question{reviewRole(e), e.Model, result, e.Sent, e.Wait, e.Duration, int64(e.TokensIn), int64(e.TokensOut), e.Cost})
}

// Review implements review.Observer.
func (m *Metrics) Review(_ context.Context, e review.ReviewEvent) {
	if e.Profile != "" {
		m.profileSkips.WithLabelValues(profiles.pick(string(e.Profile)), effects.pick(string(e.Effect))).Inc()
		return
	}
	outcome := outcomes.pick(e.Outcome.String())
	if e.ByRules {
		outcome = "skipped"
	}
	m.reviews.WithLabelValues(modes.pick(string(e.Mode)), effects.pick(string(e.Effect)), outcome, failures.pick(string(e.Failure))).Inc()
	if e.Escalated {
		m.escalations.WithLabelValues(failures.pick(string(e.SecondFailure))).Inc()
	}
}

// Breaker implements review.Observer.
func (m *Metrics) Breaker(e review.BreakerEvent) {
	m.breakerChanges.WithLabelValues(m.models.pick(e.Model), breakers.pick(e.To)).Inc()
}

// Model counts a question of an agent or of the orchestrator.
func (m *Metrics) Model(_ context.Context, e models.Event) {
	wait := time.Since(e.Asked)
	if !e.Sent.IsZero() {
		wait = e.Sent.Sub(e.Asked)
	}
	result := kinds.pick(string(e.Failure))
	if result == none {
		result = "ok"
	}
	m.countQuestion(question{roleOf(e), e.Model, result, !e.Sent.IsZero(), wait, e.Duration, e.TokensIn, e.TokensOut, e.Cost})
}

// reviewRole is what a question of the review was asked for.
func reviewRole(e review.RequestEvent) string {
	switch {
	case e.Canary:
		return "canary"
	case e.Second:
		return "second_opinion"
	}
	return "review"
}

func roleOf(e models.Event) string {
	if e.Agent {
		return "agent"
	}
	return "orchestrator"
}

// question is one to any model.
type question struct {
	role, model, result string
	sent                bool
	wait, took          time.Duration
	in, out, cost       int64
}

func (m *Metrics) countQuestion(q question) {
	model := m.models.pick(q.model)
	m.modelRequests.WithLabelValues(q.role, model, q.result, yesNo(q.sent)).Inc()
	m.modelWait.WithLabelValues(q.role, model).Observe(q.wait.Seconds())
	if q.sent {
		m.modelTime.WithLabelValues(q.role, model).Observe(q.took.Seconds())
	}
	m.modelTokens.WithLabelValues(q.role, model, "input").Add(float64(max(q.in, 0)))
	m.modelTokens.WithLabelValues(q.role, model, "output").Add(float64(max(q.out, 0)))
	m.modelCost.WithLabelValues(q.role, model).Add(float64(max(q.cost, 0)) / 1e6)
}

// Record counts a record that was made durable, or was not.
func (m *Metrics) Record(kind string, took time.Duration, err error) {
	kind = records.pick(kind)
	m.recordTime.WithLabelValues(kind).Observe(took.Seconds())
	if err != nil {
		m.storeFailures.WithLabelValues(kind).Inc()
	}
}

// Turn counts a request whose work ended. result is one of the closed words of
// the orchestrator, or model_ and a kind of failure.
func (m *Metrics) Turn(result string, took time.Duration) {
	result = turnResults.pick(result)
	m.turns.WithLabelValues(result).Inc()
	m.turnTime.WithLabelValues(result).Observe(took.Seconds())
}

// turnResults are what Turn knows.
var turnResults = func() words {
	w := listOf([]string{"answered", "overloaded", "cancelled", "interrupted", "not_kept", "model_refusal",
		"model_empty", "model_unavailable"})
	for k := range kinds {
		w["model_"+k] = true
	}
	return w
}()

// Agent counts an agent that ended.
func (m *Metrics) Agent(state string, took time.Duration) {
	state = agentStates.pick(state)
	m.agents.WithLabelValues(state).Inc()
	m.agentTime.WithLabelValues(state).Observe(took.Seconds())
}

// Supervision counts what a supervisor saw.
func (m *Metrics) Supervision(e otp.Event) {
	if e.Type == otp.ChildStarted { // one for each agent: agents_total counts those
		return
	}
	m.restarts.WithLabelValues(strings.ReplaceAll(e.Type.String(), " ", "_"), childKind(e.ChildID)).Inc()
}

// Limits counts outages of the server of the limits.
func (m *Metrics) Limits(e redisstore.Event) {
	if e.Away {
		cause := other
		if causes[e.Cause] {
			cause = e.Cause
		}
		m.limitsAway.WithLabelValues(cause).Inc()
	}
}

// Leak counts goroutines that a call left running.
func (m *Metrics) Leak(l leak.Leak) {
	m.leaks.WithLabelValues(m.skills.pick(l.Skill)).Add(float64(max(l.Goroutines, 0)))
}
