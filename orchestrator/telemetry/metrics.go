package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Names are what the configuration declares: the only names that are labels.
type Names struct {
	Skills []string
	Models []string
}

// Definition is one metric, as docs/metrics.md shows it.
type Definition struct {
	Name, Type string
	Labels     []string
	Help       string
}

// Metrics are all metrics of one orchestrator. It is a prometheus.Collector,
// safe for concurrent use; register it once.
type Metrics struct {
	skills, models named
	state          func() State
	defs           []Definition
	all            []prometheus.Collector

	calls, decisions, verdicts, degraded, rewritten               *prometheus.CounterVec
	approvals, approvalAnswers, runs, leaks                       *prometheus.CounterVec
	reviews, escalations, cacheHits, breakerChanges, profileSkips *prometheus.CounterVec
	modelRequests, modelTokens, modelCost                         *prometheus.CounterVec
	turns, agents, restarts, storeFailures, limitsAway, dropped   *prometheus.CounterVec

	decisionTime, gateTime, approvalTime, runTime, reviewTime *prometheus.HistogramVec
	modelTime, modelWait, turnTime, agentTime, recordTime     *prometheus.HistogramVec

	proxy  proxyMetrics
	gauges gauges
}

// Buckets, in seconds. Rules take microseconds, models seconds, people hours.
var (
	forRules  = prometheus.ExponentialBuckets(1e-6, 4, 10)
	forWrites = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .5, 1, 5}
	forModels = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120}
	forWork   = []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10, 30, 60, 300}
	forTurns  = []float64{.1, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}
	forPeople = []float64{1, 5, 15, 60, 300, 900, 3600, 14400, 86400}
)

// NewMetrics makes the metrics of one orchestrator. state is asked at each
// scrape; nil has no state.
func NewMetrics(n Names, state func() State) *Metrics {
	m := &Metrics{skills: sortNames(n.Skills), models: sortNames(n.Models), state: state}
	m.defineCalls()
	m.defineReview()
	m.defineModels()
	m.defineWork()
	m.defineProxy()
	m.gauges.defineGauges(m)
	return m
}

func (m *Metrics) defineCalls() {
	m.calls = m.newCounter("calls_total", "Proposed calls that were decided, by configured skill; unknown "+
		"stands for all others. outcome is what was decided in the end.", "skill", "effect", "outward", "outcome")
	m.decisions = m.newCounter("decisions_total",
		"Decisions by what decided: the first gate with the decision's outcome and its code, none for "+
			"allowed ones; gate parse for proposals that became no call.", "outcome", "gate", "effect", "code")
	m.verdicts = m.newCounter("gate_verdicts_total", "What each gate said of each call, also that it was skipped, not reached or failed.",
		"gate", "verdict")
	m.degraded = m.newCounter("degraded_decisions_total",
		"Calls that went ahead although the review gave no judgement, or the store of the limits could not be reached.", "effect")
	m.rewritten = m.newCounter("rewritten_calls_total", "Calls that rules rewrote before they were judged.", "skill")
	m.decisionTime = m.newHistogram("decision_duration_seconds",
		"From the first gate to the decision, the review included, a person's time not.", forModels, "outcome")
	m.gateTime = m.newHistogram("gate_duration_seconds", "What one gate took, review and approval aside.", forRules, "gate")
	m.approvals = m.newCounter("approvals_requested_total", "Calls for which a person was asked.", "effect")
	m.approvalAnswers = m.newCounter("approvals_answered_total", "How that ended: allow or deny, and the code of a denial.",
		"effect", "outcome", "code")
	m.approvalTime = m.newHistogram("approval_wait_seconds", "How long calls waited for a person, answered or not.", forPeople, "outcome")
	m.runs = m.newCounter("skill_runs_total", "Allowed calls that have ended. status is ok, failed or unknown; code says how it failed.",
		"skill", "status", "code")
	m.runTime = m.newHistogram("skill_run_duration_seconds", "What a skill took, its wait for room included.", forWork, "skill")
	m.leaks = m.newCounter("skill_leaked_goroutines_total", "Goroutines that calls left running.", "skill")
	m.recordTime = m.newHistogram("record_duration_seconds", "How long it took to make a record durable, with its group.", forWrites, "kind")
	m.storeFailures = m.newCounter("record_failures_total", "Records that could not be made durable. Nothing runs without its decision's.",
		"kind")
}

func (m *Metrics) defineReview() {
	m.reviews = m.newCounter("reviews_total",
		"Verdicts of the model review. failure says why there is no judgement, none where there is one; in "+
			"shadow mode outcome is what it would be, and skipped where the budget of the day is spent and "+
			"the rules decide (`sentinel.budget.rules_for`).", "mode", "effect", "outcome", "failure")
	m.profileSkips = m.newCounter("review_profile_skips_total",
		"Calls that `sentinel.profile` left to the rules, by its word. They are no verdicts of the model review.", "profile", "effect")
	m.escalations = m.newCounter("review_second_opinions_total", "Second opinions that were asked for. failure says why there is none.",
		"failure")
	m.cacheHits = m.newCounter("review_cache_hits_total",
		"Reviews without a new question to a model: from a cache, shared with an identical call in flight, or judged ahead.", "from")
	m.breakerChanges = m.newCounter("review_breaker_changes_total", "Changes of a model's breaker.", "model", "to")
	m.reviewTime = m.newHistogram("review_duration_seconds",
		"What a review took. from says where its judgement is from, model or one of the cache's.", forModels, "from")
}

func (m *Metrics) defineModels() {
	m.modelRequests = m.newCounter("model_requests_total",
		"Questions to models. role is orchestrator, agent, review, second_opinion or canary; result is ok, "+
			"the failure's name, or canceled where the caller left; sent is false for those that never left.",
		"role", "model", "result", "sent")
	m.modelTokens = m.newCounter("model_tokens_total",
		"Tokens as the server told them, estimated for agents and orchestrator where it told none.", "role", "model", "direction")
	m.modelCost = m.newCounter("model_cost_total", "What the tokens come to, in the currency that the configured prices are in.",
		"role", "model")
	m.modelTime = m.newHistogram("model_request_duration_seconds",
		"From the request to the last byte of the answer, of questions that were sent.", forModels, "role", "model")
	m.modelWait = m.newHistogram("model_request_wait_seconds", "How long a question waited for room: concurrency, rate, budget.",
		forModels, "role", "model")
}

func (m *Metrics) defineWork() {
	m.turns = m.newCounter("turns_total",
		"Requests whose work ended. result is answered, overloaded, cancelled, interrupted, not_kept or model_ and the kind of failure.",
		"result")
	m.turnTime = m.newHistogram("turn_duration_seconds", "From the request to its answer, in this process.", forTurns, "result")
	m.agents = m.newCounter("agents_total", "Agents that ended, by their last state.", "state")
	m.agentTime = m.newHistogram("agent_duration_seconds", "From an agent's start to its end, waits for people included.", forTurns, "state")
	m.restarts = m.newCounter("supervision_events_total",
		"What supervisors saw: child_restarted, child_crashed, supervisor_gave_up and the like, by what the child is.", "event", "child")
	m.limitsAway = m.newCounter("limits_store_outages_total", "How often the server of the limits went away, by cause.", "cause")
	m.dropped = m.newCounter("trace_spans_dropped_total", "Spans that could not be sent to the collector.")
}

const namespace = "vedette"

func (m *Metrics) newCounter(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.addCollector(v, name, "counter", help, labels)
	return v
}

func (m *Metrics) newHistogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
	m.addCollector(v, name, "histogram", help, labels)
	return v
}

func (m *Metrics) addCollector(c prometheus.Collector, name, kind, help string, labels []string) {
	m.all = append(m.all, c)
	m.defineMetric(name, kind, help, labels)
}

func (m *Metrics) defineMetric(name, kind, help string, labels []string) {
	m.defs = append(m.defs, Definition{namespace + "_" + name, kind, labels, help})
}

// Definitions returns every metric there is.
func (m *Metrics) Definitions() []Definition { return append([]Definition(nil), m.defs...) }

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range m.all {
		c.Describe(ch)
	}
	m.gauges.describeGauges(ch)
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	for _, c := range m.all {
		c.Collect(ch)
	}
	m.gauges.collectState(ch, m)
}
