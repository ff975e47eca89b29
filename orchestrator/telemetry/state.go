package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// State is how an orchestrator is at one moment: what a scrape reads beside the
// counters.
type State struct {
	Started  time.Time
	Draining bool
	// Held is how many calls wait for a person, Running how many skills run.
	Held, Running int
	Pools         []Pool
	// Pauses is how many are in force, by scope: all, user, skill.
	Pauses map[string]int
	// Breakers are the review's models and the state of each one's breaker.
	Breakers map[string]string
	// Canaries are those models and what each one's newest canaries came to, in the words of
	// review.Canary. A model that was asked none is not in it.
	Canaries map[string]string
	// Limits is nil where limits are counted in memory.
	Limits *LimitsState
	// Anchors are how many records the ledger's anchors lack, by name.
	Anchors map[string]AnchorState
	// Sink is nil without ledger.sink.
	Sink *SinkState
	// Tasks are goroutines under way for processes, Leaked those of processes
	// that did not stop.
	Tasks, Leaked int
}

// Pool is something that there can only be so much of at a time. Name is a
// skill's or a model's; empty for the process's own.
type Pool struct {
	Kind, Name              string
	Used, Capacity, Waiting int
	Refused                 uint64
}

// LimitsState is how the server of the limits was reached.
type LimitsState struct {
	Away              bool
	Failures, Skipped uint64
	// Unsynced are questions to models whose spending the server hasn't heard yet.
	Unsynced int
}

// AnchorState is how an anchor of the ledger does.
type AnchorState struct {
	Behind   int64
	Failures int
}

// SinkState is how the ledger's sink is doing.
type SinkState struct{ Behind, Failures int64 }

// poolKinds are what Pool.Kind may be.
var poolKinds = listOf([]string{PoolConversations, PoolRequests, PoolTurns, PoolAgents, PoolSkill, PoolModel})

// The kinds of Pool.
const (
	PoolConversations = "conversations"
	PoolRequests      = "requests"
	PoolTurns         = "turns"
	PoolAgents        = "agents"
	PoolSkill         = "skill"
	PoolModel         = "model"
)

var pauseScopes = []string{"all", "user", "skill"}

// gauges are read from a State at each scrape.
type gauges struct {
	list []*prometheus.Desc

	held, running, draining, started, tasks, leaked *prometheus.Desc
	used, capacity, waiting, refused                *prometheus.Desc
	pauses, breaker, canary                         *prometheus.Desc
	anchorBehind, anchorFailures                    *prometheus.Desc
	away, limitsFailures, limitsSkipped, unsynced   *prometheus.Desc
	sinkBehind, sinkFailures                        *prometheus.Desc
}

func (g *gauges) defineGauges(m *Metrics) {
	desc := func(name, kind, help string, labels ...string) *prometheus.Desc {
		m.defineMetric(name, kind, help, labels)
		d := prometheus.NewDesc(namespace+"_"+name, help, labels, nil)
		g.list = append(g.list, d)
		return d
	}
	g.held = desc("approvals_held", "gauge", "Calls that wait for a person now.")
	g.running = desc("skills_running", "gauge", "Calls whose skill runs now.")
	g.used = desc("in_use", "gauge", "What is in use now: conversations that are open, requests, turns "+
		"and agents under way, calls of a skill, questions to a model.", "kind", "name")
	g.capacity = desc("capacity", "gauge", "How many of those there can be at a time in this process.", "kind", "name")
	g.waiting = desc("waiting", "gauge", "What waits for room.", "kind", "name")
	g.refused = desc("admission_refusals_total", "counter", "What found no room and was refused, or left the queue.", "kind", "name")
	g.pauses = desc("pauses", "gauge", "Pauses in force: of all work, of users, of skills.", "scope")
	g.breaker = desc("review_breaker_state", "gauge", "1 for the state that the breaker of a model of the review is in.", "model", "state")
	g.canary = desc("review_canary_state", "gauge",
		"1 for what the newest canaries of a model of the review came to. Absent until it was asked.", "model", "state")
	g.away = desc("limits_store_away", "gauge", "1 while the server of the limits can't be asked. Absent where limits are in memory.")
	g.limitsFailures = desc("limits_store_failures_total", "counter", "Questions to the server of the limits that failed.")
	g.limitsSkipped = desc("limits_store_skipped_total", "counter", "Questions that were not put to it, because it had just been away.")
	g.unsynced = desc("limits_store_unsynced_questions", "gauge",
		"Questions to models whose spending the server of the limits hasn't heard yet.")
	g.anchorBehind = desc("ledger_anchor_behind_records", "gauge",
		"Records that the newest head kept by an anchor does not cover.", "anchor")
	g.anchorFailures = desc("ledger_anchor_failures", "gauge",
		"Tries to send an anchor the newest head that failed since the last that did not.", "anchor")
	g.sinkBehind = desc("ledger_sink_behind_records", "gauge",
		"Records that the ledger has and ledger.sink could not be written yet. Absent without ledger.sink.")
	g.sinkFailures = desc("ledger_sink_failures_total", "counter", "How often records could not be written to ledger.sink. None is lost.")
	g.draining = desc("draining", "gauge", "1 while work is finished and none is begun.")
	g.tasks = desc("tasks", "gauge", "Goroutines under way for processes of the supervision tree.")
	g.leaked = desc("leaked_processes", "gauge", "Processes that were told to stop and have not.")
	g.started = desc("start_time_seconds", "gauge", "When the orchestrator was started, in seconds since 1970.")
}

func (g *gauges) describeGauges(ch chan<- *prometheus.Desc) {
	for _, d := range g.list {
		ch <- d
	}
}

// collectState asks for the state and sends it on. The goroutine is the registry's,
// so what breaks here must stay here: the scrape then lacks the state.
func (g *gauges) collectState(ch chan<- prometheus.Metric, m *Metrics) {
	defer func() { _ = recover() }()
	if m.state == nil {
		return
	}
	s := m.state()
	send := func(d *prometheus.Desc, t prometheus.ValueType, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, t, v, labels...)
	}
	gauge := func(d *prometheus.Desc, v int, labels ...string) {
		send(d, prometheus.GaugeValue, float64(v), labels...)
	}
	gauge(g.held, s.Held)
	gauge(g.running, s.Running)
	gauge(g.draining, boolValue(s.Draining))
	gauge(g.tasks, s.Tasks)
	gauge(g.leaked, s.Leaked)
	send(g.started, prometheus.GaugeValue, float64(s.Started.UnixMilli())/1000)
	for _, p := range s.Pools {
		kind, name := poolKinds.pick(p.Kind), m.poolName(p)
		gauge(g.used, p.Used, kind, name)
		gauge(g.capacity, p.Capacity, kind, name)
		gauge(g.waiting, p.Waiting, kind, name)
		send(g.refused, prometheus.CounterValue, float64(p.Refused), kind, name)
	}
	for _, scope := range pauseScopes {
		gauge(g.pauses, s.Pauses[scope], scope)
	}
	for _, model := range m.models {
		if now, ok := s.Breakers[model]; ok {
			for state := range breakers {
				gauge(g.breaker, boolValue(now == state), model, state)
			}
		}
		if now, ok := s.Canaries[model]; ok {
			for state := range canaries {
				gauge(g.canary, boolValue(now == state), model, state)
			}
		}
	}
	for name, a := range s.Anchors {
		gauge(g.anchorBehind, int(a.Behind), name)
		gauge(g.anchorFailures, a.Failures, name)
	}
	if l := s.Limits; l != nil {
		gauge(g.away, boolValue(l.Away))
		send(g.limitsFailures, prometheus.CounterValue, float64(l.Failures))
		send(g.limitsSkipped, prometheus.CounterValue, float64(l.Skipped))
		gauge(g.unsynced, l.Unsynced)
	}
	if k := s.Sink; k != nil {
		send(g.sinkBehind, prometheus.GaugeValue, float64(k.Behind))
		send(g.sinkFailures, prometheus.CounterValue, float64(k.Failures))
	}
}

func (m *Metrics) poolName(p Pool) string {
	switch p.Kind {
	case PoolSkill:
		return m.skills.pick(p.Name)
	case PoolModel:
		return m.models.pick(p.Name)
	}
	return ""
}

func boolValue(b bool) int {
	if b {
		return 1
	}
	return 0
}
