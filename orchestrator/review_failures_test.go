package orchestrator

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/llm/scripted"
	"github.com/vedette-dev/vedette/internal/arrival"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/skills"
)

// fall is how a review comes to a failure: what the model's server does, and
// what else is out of the ordinary.
type fall struct {
	kind  review.Failure // empty: the model judges
	fault scripted.Fault
	reply rule       // of the server, in place of an approval
	model string     // more of the model's settings
	more  string     // more of the review's settings
	way   *exchanges // of the model's requests; nil is the house's own
	// down: no server listens. long: the call fits no question. full: the model's one place is
	// another user's, whose question doesn't come back.
	down, long, full bool
	// before is of how many other users a call has just been reviewed.
	before int
	// asked is how often the model is asked about one call, and away that no such
	// request leaves.
	asked int
	away  bool
}

// many is a breaker that these few calls don't open, and which forgets no failure of another
// user while they are made.
const many = ", breaker: {failures: 1000, window: " + ample + "}"

// ample is time that no test needs, however slow the machine is.
const ample = "24h"

// falls are a row for each failure there is, and one without. Each meets every
// effect, inward and outward, under every table: no combination is left out.
func falls() []fall {
	const hangs = ", timeout: 100ms" // from the arrival of a request that hangs
	return []fall{
		{kind: "", asked: 1},
		{kind: review.Connect, down: true, asked: 1},
		{kind: review.Connect, fault: scripted.ResetMidBody, before: 1, asked: 1},
		{kind: review.Timeout, fault: scripted.Hang, before: 1, asked: 1, model: hangs},
		{kind: review.RateLimited, reply: rule{"status": 429}, before: 1, asked: 1},
		{kind: review.Quota, fault: scripted.QuotaSpent, before: 1, asked: 1},
		{kind: review.Server, fault: scripted.ServerError, before: 1, asked: 1},
		{kind: review.BreakerOpen, fault: scripted.ServerError, before: 2, asked: 1, away: true,
			more: ", breaker: {failures: 1, window: " + ample + ", open_for: " + ample + "}"},
		{kind: review.Refusal, fault: scripted.Refusal, asked: 1},
		{kind: review.ContentFilter, fault: scripted.ContentFilter, asked: 1},
		{kind: review.Length, fault: scripted.Length, asked: 1},
		{kind: review.Empty, fault: scripted.Empty, asked: 1},
		{kind: review.NotJSON, fault: scripted.NotJSON, asked: 2},
		{kind: review.BadShape, fault: scripted.OtherBody, asked: 2},
		{kind: review.Fields, fault: scripted.ExtraField, asked: 2},
		{kind: review.Value, fault: scripted.WrongValue, asked: 2},
		{kind: review.TwoObjects, fault: scripted.TwoObjects, asked: 2},
		{kind: review.Prose, fault: scripted.Prose, asked: 2},
		{kind: review.Contradiction, reply: takes(7, 3, `{"decision":"approve","should_run":0.1,"reason":"`+canary+`"}`), asked: 2,
			more: ", answer: graded"},
		{kind: review.Fenced, fault: scripted.Fence, asked: 2},
		{kind: review.Auth, fault: scripted.Unauthorized, asked: 1},
		{kind: review.BadRequest, fault: scripted.Echo, asked: 1},
		{kind: review.TooLong, fault: scripted.ContextLength, asked: 1},
		{kind: review.TooLong, long: true},
		{kind: review.LoneTimeout, fault: scripted.Hang, asked: 1, model: hangs, more: ", breaker: {failures: 1000, window: 100ms}"},
		{kind: review.LoneConnect, fault: scripted.ResetMidBody, asked: 1},
		{kind: review.LoneServer, fault: scripted.ServerError, asked: 1},
		{kind: review.LoneQuota, fault: scripted.QuotaSpent, asked: 1},
		{kind: review.LoneRateLimited, reply: rule{"status": 429}, asked: 1},
		{kind: review.Busy, full: true, asked: 1, away: true, more: ", concurrency: 1, timeout: 100ms"},
		{kind: review.Budget, before: 1, asked: 1, away: true, more: ", budget: {day: {calls: 1}}"},
	}
}

// office is a configuration of what follows from a failure, and a person who
// answers all that is asked with one word.
type office struct {
	name, config string
	yes          bool
	cells        map[string]columns
}

// columns are what follows for one kind of call where the model is unavailable
// and where the call is unjudgeable: the outcome and the row that it is from.
type columns struct{ unavailable, unjudgeable string }

// offices are the two columns of the table for every effect, inward and
// outward, written out by hand: as they are by default, where a person says no,
// and as somebody else wants them, where one says yes.
func offices() []office {
	return []office{
		{name: "default", cells: map[string]columns{
			"self.read": {"allow read", "ask read"}, "others.read": {"ask outward", "ask read"},
			"self.create": {"allow create", "ask create"}, "others.create": {"ask outward", "ask create"},
			"self.modify": {"ask modify", "ask modify"}, "others.modify": {"ask modify", "ask modify"},
			"self.irreversible": {"ask irreversible", "ask irreversible"}, "others.irreversible": {"ask irreversible", "ask irreversible"},
			"self.costs_money": {"ask costs_money", "ask costs_money"}, "others.costs_money": {"ask costs_money", "ask costs_money"},
		}},
		{name: "other", yes: true, config: `,
  unavailable: {read: deny, create: defer, modify: allow, irreversible: ask, costs_money: deny, outward: defer},
  unjudgeable: {read: allow, create: deny, modify: defer, irreversible: ask, costs_money: allow, outward: ask}`, cells: map[string]columns{
			"self.read": {"deny read", "allow read"}, "others.read": {"deny read", "ask outward"},
			"self.create": {"defer create", "deny create"}, "others.create": {"defer create", "deny create"},
			"self.modify": {"allow modify", "defer modify"}, "others.modify": {"defer outward", "defer modify"},
			"self.irreversible": {"ask irreversible", "ask irreversible"}, "others.irreversible": {"defer outward", "ask irreversible"},
			"self.costs_money": {"deny costs_money", "allow costs_money"}, "others.costs_money": {"deny costs_money", "ask outward"},
		}},
	}
}

// Every failure of the review, of every effect, inward and outward, by the table
// of default and by another, through the whole checkpoint: what the agent saw,
// whether the skill ran, what is on record, whom was asked, what the log says,
// and what the metrics count.
func TestFailuresThroughTheCheckpoint(t *testing.T) {
	rows := map[review.Failure]bool{}
	for _, f := range falls() {
		rows[f.kind] = true
	}
	for _, kind := range review.Failures() {
		require.True(t, rows[kind], "no row comes to the failure %s", kind)
	}
	for _, o := range offices() {
		for _, e := range skills.Effects() {
			for _, to := range []string{"self.", "others."} {
				require.Contains(t, o.cells, to+string(e), o.name)
			}
		}
		for _, day := range days() {
			t.Run(o.name+"/"+day[0].name(), func(t *testing.T) {
				t.Parallel()
				h := build(t, o, day[0])
				for _, f := range day {
					t.Run(f.name(), func(t *testing.T) { h.pass(t, f) })
				}
			})
		}
	}
}

// days are the falls that one house can live through after each other: those
// that want the same settings, and have nothing before them.
func days() [][]fall {
	var out [][]fall
	for _, f := range falls() {
		i := slices.IndexFunc(out, func(d []fall) bool {
			o := d[0]
			return f.before+o.before == 0 && !f.down && !o.down && f.model == o.model && f.more == o.more && f.reply == nil && o.reply == nil
		})
		if i < 0 {
			out = append(out, nil)
			i = len(out) - 1
		}
		out[i] = append(out[i], f)
	}
	return out
}

func (f fall) name() string {
	return strings.Trim(fmt.Sprintf("%s %s", cmp.Or(f.kind, "judged"), f.fault), " ")
}

// house is an orchestrator whose review has a bad day.
type house struct {
	*rig
	o office
	f fall

	mu    sync.Mutex
	ran   map[string]int // skills, and notes, by how often they had an effect
	held  []string       // skills of the calls that the person was asked about
	turn  int
	way   *exchanges       // of the model's requests
	place *arrival.Carrier // their way where one of them takes the model's only place
	reg   *prometheus.Registry
	last  families // what it held last
}

// canary is in every value of a call and in all that the model says: no one but
// the skill may see it again.
const canary = "cAnArY"

func build(t *testing.T, o office, f fall) *house {
	h := &house{o: o, ran: map[string]int{}, reg: prometheus.NewRegistry()}
	reply := f.reply
	if reply == nil {
		reply = takes(7, 3, `{"decision":"approve","reason":"`+canary+`"}`)
	}
	more := f.more
	if !strings.Contains(more, "breaker:") {
		more += many
	}
	if !strings.Contains(more, "canaries:") {
		more += ", canaries: {every: 0s}"
	}
	if !strings.Contains(more, "timeout:") {
		more += ", timeout: 10m"
	}
	ro := options{models: "}\n  judge: {model: judge, base_url: \"$URL\"" + f.model, reviewers: "judge"}
	way := h.takeWay(f)
	ro.tune.transport = func(string) http.RoundTripper { return way }
	t.Cleanup((&http.Client{Transport: way}).CloseIdleConnections)
	ro.config = scraped + "sentinel: {retries: 0, cache_ttl: 0s" + more + o.config + "}\n"
	ro.Approver, ro.Metrics = approver(h.person), h.reg
	for skill := range o.cells {
		ro.Skills = append(ro.Skills, h.skill(t, skill))
	}
	h.rig = start(t, ro, []rule{{"when": rule{"schema": "sentinel_decision"}, "reply": reply}})
	return h
}

// takeWay is the way of the model's requests. Time ends none but those that hang, once they
// have arrived, and the one that takes the model's only place not even then.
func (h *house) takeWay(f fall) http.RoundTripper {
	next := llm.NewHTTPClient().Transport
	if f.full {
		h.place = &arrival.Carrier{Next: next}
		return h.place
	}
	if h.way = f.way; h.way == nil {
		h.way = &exchanges{Timekeeper: arrival.Timekeeper{Next: next}}
	}
	return h.way
}

// pass lets the model fall and makes a call of each kind.
func (h *house) pass(t *testing.T, f fall) {
	h.f = f
	switch {
	case f.down:
		h.server.Down() // for good: its port may be another's by now
	case f.full:
		give := h.takePlace(t)
		defer give()
	case f.fault != "":
		stop := h.server.FaultWhen(func(r scripted.Received) bool {
			if f.fault == scripted.Hang { // no other request can be late
				h.way.OnArrival(r.Header)
			}
			return true
		}, f.fault)
		defer stop()
	}
	for _, user := range []string{"bob", "cho"}[:f.before] {
		_, _ = h.invoke(t, "self.read", user)
	}
	h.last = h.gather(t)
	for _, skill := range slices.Sorted(maps.Keys(h.o.cells)) {
		t.Run(skill, func(t *testing.T) { h.look(t, skill) })
	}
	served, text := scrape(t, h.rig)
	require.Equal(t, h.last.series(), served.series(), "what is served is what was gathered")
	require.NotContains(t, text, canary)
	require.NotContains(t, text, "elsewhere")
}

// takePlace has another user's question take the model's only place, until it is given back.
func (h *house) takePlace(t *testing.T) (give func()) {
	came, gone := make(chan http.Header, 1), make(chan struct{})
	var taken atomic.Bool
	stop := h.server.FaultWhen(func(r scripted.Received) bool {
		if !taken.Swap(true) {
			came <- r.Header
		}
		return true
	}, scripted.Hang)
	go func() {
		defer close(gone)
		for n := 0; !taken.Load(); n++ { // a call's time may be over before its question leaves
			_, _ = h.call(context.WithoutCancel(t.Context()), "self.read", "bob", fmt.Sprintf("place%d", n), "short")
		}
	}()
	request := <-came
	return func() {
		stop()
		h.place.OnArrival(request)
		<-gone
	}
}

// person answers for the office.
func (h *house) person(_ context.Context, c sentinel.Call) (sentinel.Verdict, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held = append(h.held, c.Name())
	if h.o.yes {
		return sentinel.Pass(), nil
	}
	return no, nil
}

// skill makes a Go skill that is named after whom it reaches and its effect.
func (h *house) skill(t *testing.T, name string) *skills.GoSkill {
	to, effect, _ := strings.Cut(name, ".")
	type in struct {
		Note string `json:"note"`
		URL  string `json:"url"`
	}
	g, err := skills.Func(skills.Spec{
		Name: name, Description: "For tests.", Effect: skills.Effect(effect), Reaches: skills.Reach(to), Output: skills.Trusted,
		Timeout:    skills.MaxTimeout,
		Parameters: json.RawMessage(`{"type":"object","properties":{"note":{"type":"string"},"url":{"type":"string","x-url":true}}}`),
	}, func(_ context.Context, i in) (string, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if strings.Contains(i.Note, canary) {
			h.ran[name]++
			h.ran[i.Note]++
		}
		return "done", nil
	})
	require.NoError(t, err)
	return g
}

// invoke makes one call, of a turn of its own.
func (h *house) invoke(t *testing.T, skill, user string) (skills.Result, error) {
	h.turn++
	note := canary
	if h.f.long {
		note = strings.Repeat(canary, 2000) // beyond what one field of a question holds
	}
	return h.call(t.Context(), skill, user, fmt.Sprintf("t%d", h.turn), note)
}

// call makes one call of a turn.
func (h *house) call(ctx context.Context, skill, user, turn, note string) (skills.Result, error) {
	scope, err := skills.NewScope("self.*", "others.*")
	if err != nil {
		return skills.Result{}, err
	}
	request := "do it"
	g, err := sentinel.NewGrant(sentinel.GrantOptions{
		ID: "g" + turn, User: user, Conversation: "c" + turn, Turn: turn, Agent: "helper",
		Mission: "do what was asked", MissionBy: sentinel.ByOrchestrator, Scope: scope, Request: &request,
	})
	if err != nil {
		return skills.Result{}, err
	}
	args := map[string]string{"note": note}
	if strings.HasPrefix(skill, "others.") {
		args["url"] = "https://elsewhere.example/" + canary
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return skills.Result{}, err
	}
	return h.Parts().Checkpoint.Desk(g).Invoke(ctx, skill, raw)
}
