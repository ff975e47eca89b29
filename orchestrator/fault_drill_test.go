package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/llm/scripted"
	"github.com/vedette-dev/vedette/internal/arrival"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/skills"
)

// spell is a time in which the model's server does one thing, and what comes of
// the requests that it gets; nothing where it answers.
type spell struct {
	what  string
	fault scripted.Fault
	kind  review.Failure
}

var spells = []spell{
	{what: "the model answers"},
	{"the model says nothing", scripted.Hang, review.Timeout},
	{"the model answers with status 500", scripted.ServerError, review.Server},
	{"the model answers with status 429 and Retry-After", scripted.RateLimited, review.RateLimited},
	{"the model resets connections", scripted.Reset, review.Connect},
	{what: "the model answers"},
}

// How the drill is done: so many callers, who each make the next call as soon as
// they have the answer of the one before.
const (
	drillCallers  = 12
	drillFailures = 5 // open the breaker
	drillOpen     = 200 * time.Millisecond
	drillSpell    = 36 // calls that a spell has at least, judged or refused by the open breaker
)

// drillOffice is what is configured: not the default of every cell.
func drillOffice() office {
	return office{name: "drill", config: `,
  unavailable: {modify: defer, irreversible: deny}, unjudgeable: {create: defer}`, cells: map[string]columns{
		"self.read": {"allow read", "ask read"}, "others.read": {"ask outward", "ask read"},
		"self.create": {"allow create", "defer create"}, "others.create": {"ask outward", "defer create"},
		"self.modify": {"defer modify", "ask modify"}, "others.modify": {"defer modify", "ask modify"},
		"self.irreversible": {"deny irreversible", "ask irreversible"}, "others.irreversible": {"deny irreversible", "ask irreversible"},
		"self.costs_money": {"ask costs_money", "ask costs_money"}, "others.costs_money": {"ask costs_money", "ask costs_money"},
	}}
}

// A model goes bad while twelve callers of four users make calls of every
// effect, inward and outward, and gets well again: each call's outcome in the
// ledger is that of the table, reads that went on are marked, what was allowed
// ran once and has its outcome, no call asks while the breaker is open, and
// nothing is started again. The timeline is in the log of go test -v.
func TestFaultDrillOnRecord(t *testing.T) {
	way := &exchanges{}
	way.Next = llm.NewHTTPClient().Transport
	d := &drill{way: way, house: build(t, drillOffice(), fall{model: ", timeout: 250ms", way: way,
		more: fmt.Sprintf(", breaker: {failures: %d, window: %s, open_for: %s}", drillFailures, ample, drillOpen)})}
	callers := d.load(t)
	for i, s := range spells {
		require.True(t, t.Run(s.what, func(t *testing.T) { d.next(t, i) }))
	}
	callers()
	d.read(t)
	d.tell(t)
	d.checkCalls(t)
	d.checkBreaker(t)
	d.checkMetrics(t)
}

// drill is the house and what came of it.
type drill struct {
	*house
	way     *exchanges
	began   time.Time
	spell   atomic.Int64
	starts  []time.Time
	healed  time.Time // no fault is met by a request that is sent later
	disarm  func()
	made    []attempt
	records map[string]*trail // by turn
	changes []breakerChange
}

// attempt is a call as its caller saw it.
type attempt struct {
	skill, user, turn string
	err               error
	spell             int64 // in which it ended
}

// trail is what the ledger has of a call.
type trail struct {
	decision        onRecord
	skill, user     string
	held, decisions int
	outcomes        []string
}

// load starts the callers; what it returns ends them.
func (d *drill) load(t *testing.T) (stop func()) {
	d.began = time.Now()
	ctx, cancel := context.WithCancel(t.Context())
	var kinds []string
	for _, e := range skills.Effects() {
		kinds = append(kinds, "self."+string(e), "others."+string(e))
	}
	var wg sync.WaitGroup
	for i := range drillCallers {
		user := []string{"ann", "bob", "cho", "dan"}[i%4]
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				a := attempt{skill: kinds[(i+n)%len(kinds)], user: user, turn: fmt.Sprintf("d%d-%d", i, n)}
				_, a.err = d.call(context.Background(), a.skill, a.user, a.turn, canary+a.turn)
				a.spell = d.spell.Load()
				d.mu.Lock()
				d.made = append(d.made, a)
				d.mu.Unlock()
			}
		})
	}
	end := func() { cancel(); wg.Wait() }
	t.Cleanup(end) // where the drill ends early
	return end
}

// next begins a spell and waits until it has shown what it does. That takes as long as the
// machine needs for the calls.
func (d *drill) next(t *testing.T, i int) {
	s, was := spells[i], d.gather(t)
	d.starts = append(d.starts, time.Now())
	before := d.disarm
	d.disarm = nil
	if s.fault != "" {
		d.disarm = d.server.FaultWhen(func(r scripted.Received) bool {
			if s.fault == scripted.Hang { // no other request can be late
				d.way.OnArrival(r.Header)
			}
			return true
		}, s.fault)
	}
	d.spell.Store(int64(i))
	if before != nil { // only now: between two faults nothing is answered
		before()
		d.healed = time.Now()
	}
	grew := func(f families, name string, labels ...string) float64 {
		return max(f.value(name, labels...), 0) - max(was.value(name, labels...), 0)
	}
	await(func() bool {
		list, err := d.reg.Gather()
		if err != nil {
			return false
		}
		f := byName(list)
		if s.fault == "" {
			return f.value("vedette_review_breaker_state", "state", "closed") == 1 && grew(f, "vedette_reviews_total", "failure",
				"none") >= drillSpell && (i > 0 || d.isShared())
		}
		return grew(f, "vedette_model_requests_total", "result", string(s.kind), "sent", "true") >= 3 &&
			grew(f, "vedette_review_breaker_changes_total", "to", "open") >= 3 &&
			grew(f, "vedette_reviews_total", "failure", string(review.BreakerOpen)) >= drillSpell
	})
}

// isShared reports whether no user has made more than a third of the calls. A limit that the
// server names says nothing against it where most of its requests were one user's.
func (d *drill) isShared() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	made := map[string]int{}
	for _, a := range d.made {
		made[a.user]++
	}
	return 3*slices.Max(slices.Collect(maps.Values(made))) <= len(d.made)
}

// read reads ledger and log.
func (d *drill) read(t *testing.T) {
	d.records = map[string]*trail{}
	calls := map[string]*trail{}
	for _, r := range d.all(t) {
		if r.Kind == sentinel.RecordOutcome {
			require.Contains(t, calls, r.Call, "an outcome without a decision")
			calls[r.Call].outcomes = append(calls[r.Call].outcomes, r.Outcome)
			continue
		}
		var b onRecord
		require.NoError(t, json.Unmarshal(r.Body, &b))
		if d.records[b.Turn] == nil {
			d.records[b.Turn] = &trail{skill: r.Skill, user: r.User}
		}
		tr := d.records[b.Turn]
		calls[r.Call] = tr
		if r.Kind == sentinel.RecordHeld {
			tr.held++
			continue
		}
		require.Equal(t, sentinel.RecordDecision, r.Kind)
		tr.decision = b
		tr.decisions++
	}
	d.changes = breakerChanges(t, d.log.String())
}

// all is the whole ledger, page by page.
func (d *drill) all(t *testing.T) (out []ledger.Record) {
	q := ledger.Query{Limit: 1000}
	for {
		page, err := d.Parts().Ledger.List(t.Context(), q)
		require.NoError(t, err)
		if len(page) == 0 {
			return out
		}
		out = append(out, page...)
		q.AfterIndex = &page[len(page)-1].Index
	}
}

// breakerChange is one as the log tells it.
type breakerChange struct {
	at       time.Time
	from, to string
}

var changeLine = regexp.MustCompile(`time=(\S+) level=WARN msg="the review's breaker changed" model=judge from=(\S+) to=(\S+)`)

func breakerChanges(t *testing.T, log string) (out []breakerChange) {
	for _, m := range changeLine.FindAllStringSubmatch(log, -1) {
		at, err := time.Parse(time.RFC3339Nano, m[1])
		require.NoError(t, err)
		out = append(out, breakerChange{at, m[2], m[3]})
	}
	return out
}

// checkCalls holds what each caller saw, and what the ledger has of it, against
// the table.
func (d *drill) checkCalls(t *testing.T) {
	require.Len(t, d.records, len(d.made), "one call, one decision")
	reads := 0
	for _, a := range d.made {
		tr := d.records[a.turn]
		require.NotNil(t, tr, a.turn)
		g := ofReview(tr.decision.Gates)
		want := d.o.due(a.skill, review.Failure(g.Meta["failure"]))
		require.Equal(t, []string{a.skill, a.user, want.ends, want.word}, []string{tr.skill, tr.user, tr.decision.Outcome, tr.decision.Code})
		require.Equal(t, []any{"judged", want.cell, want.code, want.reason, want.degraded},
			[]any{g.State, g.Outcome, g.Code, g.Reason, g.Degraded}, a.turn)
		one := map[bool]int{true: 1}
		require.Equal(t, []any{1, one[want.asks], want.runs, want.degraded},
			[]any{tr.decisions, tr.held, tr.decision.Started, tr.decision.Degraded}, "%s %+v", a.turn, tr)
		require.Equal(t, one[want.runs], d.ran[canary+a.turn], "effects of what was allowed, and of nothing else")
		if !want.runs {
			require.Empty(t, tr.outcomes)
			var r *skills.Refusal
			require.ErrorAs(t, a.err, &r)
			require.Equal(t, []string{want.gate, want.word}, []string{r.Gate, r.Code})
			continue
		}
		require.NoError(t, a.err)
		require.Equal(t, []string{sentinel.StatusOK}, tr.outcomes, "what was allowed has its outcome")
		if a.skill == "self.read" && want.degraded {
			reads++
		}
	}
	require.Positive(t, reads, "reads went on, marked")
}

// checkBreaker looks at the timeline: it opens in the first bad spell, is tried
// and stays open in each, and closes in the last one alone.
func (d *drill) checkBreaker(t *testing.T) {
	require.NotEmpty(t, d.changes)
	state, since, ended, probes, failed := "closed", d.began, d.began, 0, map[int]int{}
	for i, c := range d.changes {
		require.Equal(t, state, c.from, "change %d", i)
		switch c.from + " " + c.to {
		case "closed open":
			require.Zero(t, i, "it opens once")
			require.Equal(t, 1, d.spellAt(c.at))
			ended = d.way.failedFirst(t, drillFailures)
		case "open half-open":
			require.GreaterOrEqual(t, c.at.Sub(ended), drillOpen, "open for its time")
			probes++
		case "half-open open":
			failed[d.spellAt(c.at)]++
			ended = d.endOfTry(t, since, c.at)
		case "half-open closed":
			require.Equal(t, len(d.changes)-1, i, "it closes once")
			require.Equal(t, len(spells)-1, d.spellAt(c.at))
		default:
			require.Fail(t, "no change that there is", "%+v", c)
		}
		state, since = c.to, c.at
	}
	require.Equal(t, "closed", state)
	for i, s := range spells[1 : len(spells)-1] {
		require.Positive(t, failed[i+1], "tries that failed while %s: %v", s.what, failed)
	}
	sent := 0 // of the requests that came to nothing; a user's own timeouts open no breaker, however many there are
	for _, tr := range d.records {
		if g := ofReview(tr.decision.Gates); g.Meta["failure"] != "" && g.Meta["failure"] != string(review.LoneTimeout) {
			n, err := strconv.Atoi(g.Meta["attempts"])
			require.NoError(t, err)
			sent += n
		}
	}
	require.LessOrEqual(t, sent, probes+2*drillCallers, "while it is open one request each time is let through")
}

// endOfTry is when the request that a half-open breaker let through came back to it. The
// request lies between the two lines of the log, each of which may be later than what it tells.
func (d *drill) endOfTry(t *testing.T, halfOpen, open time.Time) time.Time {
	ended := open
	tries := 0
	for _, e := range d.way.listed() {
		if e.began.Before(halfOpen) || e.ended.After(open) {
			continue
		}
		tries++
		require.False(t, e.began.After(d.healed), "a model that is well again failed")
		if e.ended.Before(ended) {
			ended = e.ended
		}
	}
	require.Positive(t, tries, "a breaker that tries sends a request")
	return ended
}

// exchanges are the model's requests on their way, and when each began and had its answer.
// Their time runs where the model says nothing, and nowhere else.
type exchanges struct {
	arrival.Timekeeper
	mu   sync.Mutex
	list []exchange
}

// exchange is one request; the log tells milliseconds, and so does it.
type exchange struct {
	began, ended time.Time
	failed       bool // there was no answer
}

// RoundTrip sends a request.
func (x *exchanges) RoundTrip(r *http.Request) (*http.Response, error) {
	began := time.Now()
	res, err := x.Timekeeper.RoundTrip(r)
	ended := time.Now()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.list = append(x.list, exchange{began.Truncate(time.Millisecond), ended.Truncate(time.Millisecond), err != nil})
	return res, err
}

// failedFirst is when so many requests had failed, the first of all.
func (x *exchanges) failedFirst(t *testing.T, n int) time.Time {
	var ends []time.Time
	for _, e := range x.listed() {
		if e.failed {
			ends = append(ends, e.ended)
		}
	}
	require.GreaterOrEqual(t, len(ends), n)
	slices.SortFunc(ends, time.Time.Compare)
	return ends[n-1]
}

func (x *exchanges) listed() []exchange {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.list)
}

// spellAt is the spell of a moment; the log tells milliseconds.
func (d *drill) spellAt(at time.Time) int {
	i := 0
	for i+1 < len(d.starts) && !at.Before(d.starts[i+1].Truncate(time.Millisecond)) {
		i++
	}
	return i
}

// checkMetrics holds a scrape against the ledger and the log.
func (d *drill) checkMetrics(t *testing.T) {
	f, text := scrape(t, d.rig)
	want := map[string]float64{}
	for _, tr := range d.records {
		g := ofReview(tr.decision.Gates)
		failure := g.Meta["failure"]
		if failure == "" {
			failure = "none"
		}
		want[fmt.Sprintf("reviews_total effect=%s failure=%s mode=enforce outcome=%s", tr.decision.Effect, failure, g.Outcome)]++
		want[fmt.Sprintf("calls_total effect=%s outcome=%s outward=%t skill=%s", tr.decision.Effect, tr.decision.Outcome, tr.decision.Outward,
			tr.skill)]++
		if tr.decision.Degraded {
			want["degraded_decisions_total effect="+tr.decision.Effect]++
		}
		for _, o := range tr.outcomes {
			want[fmt.Sprintf("skill_runs_total code=none skill=%s status=%s", tr.skill, o)]++
		}
	}
	for _, c := range d.changes {
		want["review_breaker_changes_total model=judge to="+c.to]++
	}
	got := map[string]float64{}
	for name, v := range f.series() {
		switch family, _, _ := strings.Cut(name, " "); family {
		case "reviews_total", "calls_total", "degraded_decisions_total", "skill_runs_total", "review_breaker_changes_total":
			got[name] = v
		}
	}
	require.Equal(t, want, got)
	f.want(t, text, "review_breaker_state model=judge state=closed 1", "review_breaker_state model=judge state=open 0",
		"record_failures_total -1",
		"supervision_events_total child=model -1", "supervision_events_total event=child_restarted -1", "approvals_held 0")
}
