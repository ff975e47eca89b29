package review_test

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/skills"
)

// keeping are options with a cache whose clock the test turns.
func keeping(now func() time.Time) review.Options {
	return review.Options{CacheTTL: time.Minute, CacheSize: 100, Now: now}
}

// Only rejections, and approvals of what reads or creates inward, are used
// again; what followed from no judgement never is.
func TestWhatIsKept(t *testing.T) {
	for _, tc := range []struct {
		skill, content string
		asked          int // requests for two checks
	}{
		{"self.read", approves, 1},
		{"self.create", approves, 1},
		{"others.create", approves, 2},
		{"self.modify", approves, 2},
		{"self.irreversible", approves, 2},
		{"self.costs_money", approves, 2},
		{"others.read", approves, 1},
		{"self.read", rejects, 1},
		{"self.modify", rejects, 1},
		{"others.irreversible", rejects, 1},
		{"self.read", "no JSON", 4}, // each with a repair
	} {
		t.Run(tc.skill+" "+tc.content, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, tc.content) })
			g := gate(t, keeping(nil), s.URL)
			c := call(t, proposal{skill: tc.skill})
			first, second := check(t, g, c), check(t, g, c)
			require.Len(t, s.requests(), tc.asked)
			require.Equal(t, first.Outcome, second.Outcome)
			require.Equal(t, first.Code, second.Code)
			require.Equal(t, first.Detail, second.Detail)
			require.Empty(t, first.Meta["from"])
			if tc.asked == 1 {
				require.Equal(t, "cache", second.Meta["from"])
				require.Equal(t, "0", second.Meta["attempts"])
				require.Equal(t, "0", second.Meta["tokens_in"])
				require.Equal(t, first.Meta["model"], second.Meta["model"])
			}
		})
	}
}

// Whatever a judgement may depend on, another of it asks again.
func TestAnotherSituationAsksAgain(t *testing.T) {
	step := func(result string, trust skills.Trust) sentinel.Trace {
		return sentinel.NewTrace(sentinel.Step{Skill: "self.read", Args: "{}", Result: result, Trust: trust})
	}
	base := proposal{skill: "self.read", trace: step("a", skills.Trusted), grant: sentinel.GrantOptions{Request: ptr("something")}}
	with := func(change func(*proposal)) proposal {
		p := base
		change(&p)
		return p
	}
	for name, p := range map[string]proposal{
		"arguments":               with(func(p *proposal) { p.args = `{"note":"y"}` }),
		"skill":                   with(func(p *proposal) { p.skill = "self.create" }),
		"user":                    with(func(p *proposal) { p.grant.User = "u2" }),
		"grant":                   with(func(p *proposal) { p.grant.ID = "g2" }),
		"talk":                    with(func(p *proposal) { p.grant.Conversation = "c2" }),
		"request":                 with(func(p *proposal) { p.grant.Request = ptr("something else") }),
		"no words":                with(func(p *proposal) { p.grant.Request = nil }),
		"mission":                 with(func(p *proposal) { p.grant.Mission = "something else" }),
		"author":                  with(func(p *proposal) { p.grant.MissionBy = sentinel.ByUser }),
		"agent":                   with(func(p *proposal) { p.grant.Agent = "other" }),
		"taint":                   with(func(p *proposal) { p.grant.Tainted = true }),
		"an earlier turn's taint": with(func(p *proposal) { p.grant.Tainted, p.grant.TaintedBefore = true, true }),
		"result":                  with(func(p *proposal) { p.trace = step("b", skills.Trusted) }),
		"trust":                   with(func(p *proposal) { p.trace = step("a", skills.Untrusted) }),
		"one more":                with(func(p *proposal) { p.trace = sentinel.NewTrace(base.trace.Step(0), base.trace.Step(0)) }),
		"scope":                   with(func(p *proposal) { p.scope = []string{"self.*"} }),
		"a refusal":               with(func(p *proposal) { p.trace = p.trace.WithRefusal(sentinel.PastRefusal{Skill: "self.read"}) }),
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
			g := gate(t, keeping(nil), s.URL)
			check(t, g, call(t, base))
			require.Equal(t, "cache", check(t, g, call(t, base)).Meta["from"])
			require.Empty(t, check(t, g, call(t, p)).Meta["from"])
			require.Len(t, s.requests(), 2)
		})
	}
}

// The same call asks again where evidence of its recipient has changed: another trust of one of
// two results, or a field that its subject writes.
func TestOtherEvidenceAsksAgain(t *testing.T) {
	book := func(trust skills.Trust, subject ...string) proposal {
		first := sentinel.Step{Skill: "self.read", Args: "{}", Result: "nothing new", Trust: skills.Trusted}
		second := sentinel.Step{Skill: "self.read", Args: "{}", Result: `{"name":"Eva","about":"eva@quay.test"}`, Trust: trust,
			StrangerFields: subject}
		return proposal{skill: "others.irreversible", args: `{"to":"eva@quay.test"}`, trace: sentinel.NewTrace(first, second),
			grant: sentinel.GrantOptions{Request: ptr("Write to Eva")}}
	}
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, rejects) })
	g := gate(t, keeping(nil), s.URL)
	from := func(p proposal) string { return check(t, g, call(t, p)).Meta["from"] }
	require.Empty(t, from(book(skills.Trusted)))
	require.Equal(t, "cache", from(book(skills.Trusted)))
	require.Empty(t, from(book(skills.Untrusted)))
	require.Empty(t, from(book(skills.Trusted, "about")))
	require.Equal(t, "cache", from(book(skills.Trusted, "about")))
	asked := documents(t, s.requests())
	require.Len(t, asked, 3)
	for i, trust := range []string{"trusted", "stranger", "stranger"} {
		require.Contains(t, must(json.Marshal(asked[i]["evidence"])), `"trust":"`+trust+`"`)
	}
}

// A judgement is forgotten after its time, and the longest unused where there
// is no room.
func TestKeptForATime(t *testing.T) {
	now := time.Unix(0, 0)
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, rejects) })
	o := keeping(func() time.Time { return now })
	o.CacheSize = 2
	g := gate(t, o, s.URL)
	from := func(note string) string {
		return check(t, g, call(t, proposal{skill: "self.read", args: `{"note":"` + note + `"}`})).Meta["from"]
	}
	require.Empty(t, from("a"))
	now = now.Add(time.Minute - 1)
	require.Equal(t, "cache", from("a"))
	now = now.Add(1)
	require.Empty(t, from("a"))
	require.Empty(t, from("b"))
	require.Equal(t, "cache", from("a"))
	require.Empty(t, from("c")) // b goes
	require.Equal(t, "cache", from("a"))
	require.Empty(t, from("b"))
}

// While a model of the chain is out of use nothing is kept, and nothing that
// was kept is given.
func TestNothingKeptWhileDegraded(t *testing.T) {
	ok := true
	var mu sync.Mutex
	first := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		mu.Lock()
		defer mu.Unlock()
		if ok {
			say(w, approves)
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
	})
	second := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
	o := keeping(nil)
	o.Breaker = review.Breaker{Failures: 1, OpenFor: time.Hour}
	g := gate(t, o, first.URL, second.URL)
	c, other := call(t, proposal{skill: "self.read"}), call(t, proposal{skill: "self.read", args: `{"note":"other"}`})
	check(t, g, c)
	require.Equal(t, "cache", check(t, g, c).Meta["from"])
	mu.Lock()
	ok = false
	mu.Unlock()
	require.Equal(t, "fast=server", check(t, g, other).Meta["failover"])
	require.Equal(t, "fast=breaker_open", check(t, g, other).Meta["failover"])
	require.Equal(t, "fast=breaker_open", check(t, g, c).Meta["failover"], "what was kept before is not given")
	require.Len(t, second.requests(), 3)
}

// Callers with the same question at a time ask once; where the one who asks
// gives up, another asks.
func TestIdenticalCallsAreJudgedOnce(t *testing.T) {
	arrived, release := make(chan struct{}, 8), make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		arrived <- struct{}{}
		select {
		case <-release:
			say(w, approves)
		case <-r.Context().Done():
		}
	})
	g := gate(t, review.Options{}, s.URL)
	c := call(t, proposal{skill: "self.irreversible"})
	leader, cancel := context.WithCancel(t.Context())
	defer cancel()
	gaveUp := make(chan error, 1)
	go func() {
		_, err := g.Check(leader, c)
		gaveUp <- err
	}()
	<-arrived
	verdicts := make(chan sentinel.Verdict, 4)
	for range 4 {
		go func() {
			v, err := g.Check(t.Context(), c)
			if err != nil {
				v.Code = err.Error()
			}
			verdicts <- v
		}()
	}
	cancel()
	require.Error(t, <-gaveUp)
	<-arrived
	close(release)
	shared := 0
	for range 4 {
		v := <-verdicts
		require.Equal(t, sentinel.Allow, v.Outcome, v.Code)
		if v.Meta["from"] == "shared" {
			shared++
			require.Equal(t, "0", v.Meta["attempts"])
		}
	}
	require.LessOrEqual(t, len(s.requests()), 5-shared)
}

// Where calls are measured each is asked about by itself.
func TestApart(t *testing.T) {
	arrived, release := make(chan struct{}, 2), make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		arrived <- struct{}{}
		<-release
		say(w, approves)
	})
	g, c := gate(t, review.Options{Measure: review.Measure{Apart: true}}, s.URL), call(t, proposal{skill: "self.read"})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { _, _ = g.Check(t.Context(), c) })
	}
	<-arrived
	<-arrived // the second while the first is asked
	close(release)
	wg.Wait()
	require.Len(t, s.requests(), 2)
}

// A judgement made ahead is used for the same question, once and within its time. The call
// that uses it pays for it.
func TestForesee(t *testing.T) {
	now := time.Unix(0, 0)
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
	g := gate(t, review.Options{Now: func() time.Time { return now }}, s.URL)
	c := call(t, proposal{skill: "self.irreversible"})
	g.Prejudge(t.Context(), c)
	require.Len(t, s.requests(), 1)
	v := check(t, g, c)
	require.Equal(t, "ahead", v.Meta["from"])
	require.Equal(t, "1", v.Meta["attempts"])
	require.Equal(t, "7", v.Meta["tokens_in"])
	require.Len(t, s.requests(), 1)
	require.Empty(t, check(t, g, c).Meta["from"], "once")

	g.Prejudge(t.Context(), c)
	tainted := call(t, proposal{skill: "self.irreversible", grant: sentinel.GrantOptions{Tainted: true}})
	require.Empty(t, check(t, g, tainted).Meta["from"], "another question")
	now = now.Add(time.Minute)
	require.Empty(t, check(t, g, c).Meta["from"], "its time is over")
}

// What could not be judged ahead is asked again in its turn.
func TestPrejudgedFailureIsAskedAgain(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n == 1 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		say(w, approves)
	})
	g := gate(t, review.Options{}, s.URL)
	c := call(t, proposal{skill: "self.irreversible"})
	g.Prejudge(t.Context(), c)
	require.Equal(t, sentinel.Allow, check(t, g, c).Outcome)
	require.Len(t, s.requests(), 2)
}

// No model is asked ahead where a judgement would not count.
func TestForeseeOnlyWhereItCounts(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
	c := call(t, proposal{skill: "self.irreversible"})
	for _, m := range []review.Mode{review.Off, review.ShadowMode} {
		gate(t, review.Options{Mode: m}, s.URL).Prejudge(t.Context(), c)
	}
	gate(t, review.Options{}, s.URL).Prejudge(t.Context(), sentinel.Call{})
	require.Empty(t, s.requests())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	gate(t, review.Options{}, s.URL).Prejudge(ctx, c)
	require.Empty(t, s.requests())
}
