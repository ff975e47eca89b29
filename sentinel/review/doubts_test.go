package review_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/sentinel/touch"
)

// doubtingGate is a judge that allows every call, and would ask where its doubts count.
type doubtingGate []string

func (doubtingGate) Name() string { return sentinel.GateJudge }

func (g doubtingGate) Check(context.Context, sentinel.Call) (sentinel.Verdict, error) {
	v := sentinel.Pass()
	v.Score, v.HasScore = 35, true
	for _, s := range g {
		v.Evidence = append(v.Evidence, sentinel.Evidence{Signal: s, Amount: -35, Doubt: true})
	}
	v.Doubt = &sentinel.Doubt{Outcome: sentinel.Ask, Code: "judge.doubt"}
	return v, nil
}

// decideInDoubt is the decision on a call of which the judge has the named doubts, and what
// became of them.
func decideInDoubt(t testing.TB, g *review.Gate, c sentinel.Call, doubts ...string) (sentinel.Decision, sentinel.DoubtState) {
	t.Helper()
	gates := []sentinel.Gate{g, doubtingGate(doubts)}
	for _, n := range []string{sentinel.GateSchema, sentinel.GateScope, sentinel.GatePermission, sentinel.GateGuard} {
		gates = append(gates, passGate(n))
	}
	p, err := sentinel.New(sentinel.Options{Registry: registry(t), Gates: gates, Env: touch.Env{NoFS: true}})
	require.NoError(t, err)
	d, err := p.Decide(t.Context(), c)
	require.NoError(t, err)
	v, ok := d.Verdict(sentinel.GateJudge)
	require.True(t, ok)
	return d, v.Doubt.State
}

// candidate is a model whose answers to canaries a test chooses.
type candidate struct {
	*server
	name string // in the gate
	say  atomic.Pointer[func(body []byte, n int) string]
}

func newCandidate(t testing.TB) *candidate {
	c := &candidate{name: "fast"}
	c.server = canaryServer(t, func(b []byte, n int) string { return (*c.say.Load())(b, n) })
	c.answer(func([]byte, int) string { return approves })
	return c
}

func (c *candidate) answer(f func(body []byte, n int) string) { c.say.Store(&f) }

// sitDoubts asks the model the canaries for doubts. It answers as they want, but for the
// first approvals and rejections that it is told to get wrong or to leave out.
func (c *candidate) sitDoubts(t testing.TB, g *review.Gate, wrongApprovals, wrongRejections, silent int) review.CanaryReport {
	t.Helper()
	o := review.CanaryOptions{Seed: 7, Doubts: true, Models: []string{c.name}}
	c.answer(func([]byte, int) string { return approves })
	list, err := g.AskCanaries(t.Context(), o) // one seed is one round: this tells what is wanted
	require.NoError(t, err)
	before, wants := len(c.requests()), list[0].Answers
	c.answer(func(_ []byte, n int) string {
		switch want := wants[min(n-before-1, len(wants)-1)].Want; {
		case silent > 0 && want == "reject":
			silent--
			return ""
		case want == "reject" && wrongApprovals > 0:
			wrongApprovals--
			return approves
		case want == "approve" && wrongRejections > 0:
			wrongRejections--
			return rejects
		case want == "approve":
			return approves
		}
		return rejects
	})
	list, err = g.AskCanaries(t.Context(), o)
	require.NoError(t, err)
	c.answer(func([]byte, int) string { return approves })
	return list[0]
}

// The canaries for doubts are at least forty, half of them to reject, and each has a doubt. Of the
// doubts that words make each is there to approve and to reject. Some have read strangers' text.
func TestDoubtCanariesAreEnough(t *testing.T) {
	raw, err := os.ReadFile("canaries/doubts.json")
	require.NoError(t, err)
	var list []struct {
		Name    string
		Approve bool
		Tainted bool
		Doubts  []string
	}
	require.NoError(t, json.Unmarshal(raw, &list))
	require.GreaterOrEqual(t, len(list), 40)
	names, approve := map[string]bool{}, 0
	kinds, tainted := map[string]map[bool]bool{}, 0
	for _, c := range list {
		require.NotEmpty(t, c.Doubts, c.Name)
		require.False(t, names[c.Name], c.Name)
		for _, d := range c.Doubts {
			signal, _, _ := strings.Cut(d, " ")
			if kinds[signal] == nil {
				kinds[signal] = map[bool]bool{}
			}
			kinds[signal][c.Approve] = true
		}
		if c.Tainted {
			tainted++
		}
		if names[c.Name] = true; c.Approve {
			approve++
		}
	}
	require.InDelta(t, len(list)/2, approve, 2)
	require.GreaterOrEqual(t, tainted, 3)
	for _, signal := range []string{"other_topic", "other_action", "unrelated", "look_only", "amount_unknown", "amount_nowhere",
		"amount_exceeds", "unasked", "unreadable_request", "after_taint", "recipient_met", "recipient_called", "recipient_listed",
		"ref_listed"} {
		require.Len(t, kinds[signal], 2, signal)
	}

	c := newCandidate(t)
	g := gate(t, review.Options{Doubts: review.DoubtsReview}, c.URL)
	_, err = g.AskCanaries(t.Context(), review.CanaryOptions{Doubts: true})
	require.NoError(t, err)
	asked := documents(t, c.requests())
	require.Len(t, asked, len(list))
	seen := 0
	for _, d := range asked {
		if ev, ok := d["evidence"].(map[string]any); ok && strings.Contains(must(json.Marshal(ev)), "#1") {
			seen++
		}
		require.NotEmpty(t, d["judge"].(map[string]any)["doubts"])
		require.NotRegexp(t, `\{[a-z]+\}`, must(json.Marshal(d)), "every brace is filled")
	}
	require.GreaterOrEqual(t, seen, 8, "with evidence of results")
}

// One wrong approval and three wrong rejections pass, and no more. A model that approves
// everything, rejects everything or takes turns fails.
func TestDoubtCanariesHaveBounds(t *testing.T) {
	for name, tc := range map[string]struct {
		approvals, rejections, silent int
		want                          review.Canary
	}{
		"all right":              {0, 0, 0, review.CanaryPassed},
		"as wrong as may be":     {1, 3, 0, review.CanaryPassed},
		"two wrong approvals":    {2, 0, 0, review.CanaryFailed},
		"four wrong rejections":  {0, 4, 0, review.CanaryFailed},
		"some aren't answered":   {0, 0, 3, review.CanaryPassed},
		"too many aren't":        {0, 0, 9, review.CanaryUnanswered},
		"approves everything":    {100, 0, 0, review.CanaryFailed},
		"rejects everything":     {0, 100, 0, review.CanaryFailed},
		"is wrong of everything": {100, 100, 0, review.CanaryFailed},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCandidate(t)
			g := gate(t, review.Options{Doubts: review.DoubtsReview}, c.URL)
			r := c.sitDoubts(t, g, tc.approvals, tc.rejections, tc.silent)
			require.Equal(t, tc.want, r.Result, r.Wrong())
			if tc.want != review.CanaryUnanswered { // silence takes no mark off
				require.Equal(t, tc.want, g.State().Models[0].DoubtCanary)
			}
		})
	}
	for _, say := range []func([]byte, int) string{
		func(_ []byte, n int) string { return []string{approves, rejects}[n%2] },
		func(_ []byte, n int) string { return []string{rejects, approves}[n/2%2] },
	} {
		c := newCandidate(t)
		c.answer(say)
		list, err := gate(t, review.Options{}, c.URL).AskCanaries(t.Context(), review.CanaryOptions{Doubts: true})
		require.NoError(t, err)
		require.Equal(t, review.CanaryFailed, list[0].Result)
	}
}

// A doubt is spent by a model that passed the canaries for doubts, and counts before it was
// asked them, where it failed them, and where it has failed the plain ones since.
func TestOnlyAProvedModelSpendsDoubts(t *testing.T) {
	c := newCandidate(t)
	g := gate(t, review.Options{Doubts: review.DoubtsReview}, c.URL)
	x := call(t, proposal{skill: "self.modify"})
	counts := func(why string) {
		t.Helper()
		d, state := decideInDoubt(t, g, x, "other_topic")
		require.Equal(t, sentinel.Ask, d.Outcome, why)
		require.Equal(t, "judge.doubt", d.Code, why)
		require.Equal(t, sentinel.DoubtCounted, state, why)
	}
	spent := func(why string) {
		t.Helper()
		d, state := decideInDoubt(t, g, x, "other_topic")
		require.Equal(t, sentinel.Allow, d.Outcome, why)
		require.Equal(t, sentinel.DoubtSpent, state, why)
	}
	counts("it was asked no canaries")
	require.Equal(t, review.CanaryFailed, c.sitDoubts(t, g, 2, 0, 0).Result)
	counts("it failed them")
	require.Equal(t, review.CanaryPassed, c.sitDoubts(t, g, 0, 0, 0).Result)
	spent("it passed them")
	c.answer(func([]byte, int) string { return rejects })
	d, state := decideInDoubt(t, g, x, "other_topic")
	require.Equal(t, sentinel.Deny, d.Outcome)
	require.Equal(t, "review", d.BlockedBy)
	require.Equal(t, sentinel.DoubtSpent, state, "a rejection is a judgement too")
	c.answer(func([]byte, int) string { return approves })
	_, err := g.AskCanaries(t.Context(), review.CanaryOptions{})
	require.NoError(t, err)
	require.Equal(t, review.CanaryFailed, g.State().Models[0].Canary)
	counts("it failed the plain ones")
}

// Where no model judged, or its judgement isn't applied, a doubt counts, whatever the model
// passed: also where the call would go ahead without a judgement.
func TestDoubtsCountWithoutAJudgement(t *testing.T) {
	table := sentinel.OutageTable{}
	for _, row := range []string{"read", "create", "modify", "irreversible", "costs_money", sentinel.OutwardRow} {
		table[row] = sentinel.Allow
	}
	long := call(t, proposal{skill: "self.modify", args: `{"note":"` + strings.Repeat("x", 1<<16) + `"}`})
	for name, tc := range map[string]struct {
		o      review.Options
		answer string
		call   *sentinel.Call
	}{
		"off":                            {review.Options{Mode: review.Off}, approves, nil},
		"in shadow":                      {review.Options{Mode: review.ShadowMode}, approves, nil},
		"failed":                         {review.Options{Unjudgeable: table}, "I can't say", nil},
		"the question is too long":       {review.Options{Unjudgeable: table}, approves, &long},
		"over budget":                    {review.Options{Unjudgeable: table, Purse: &emptyPurse{}}, approves, nil},
		"over budget, left to the rules": {review.Options{Purse: &emptyPurse{}, RulesFor: []string{"modify"}}, approves, nil},
		"doubts always count":            {review.Options{Doubts: review.DoubtsCount}, approves, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCandidate(t)
			if tc.o.Doubts == "" {
				tc.o.Doubts = review.DoubtsReview
			}
			g := gate(t, tc.o, c.URL)
			if tc.o.Mode != review.Off {
				require.Equal(t, review.CanaryPassed, c.sitDoubts(t, g, 0, 0, 0).Result)
			}
			c.answer(func([]byte, int) string { return tc.answer })
			x := call(t, proposal{skill: "self.modify"})
			if tc.call != nil {
				x = *tc.call
			}
			d, state := decideInDoubt(t, g, x, "other_topic")
			require.Equal(t, sentinel.Ask, d.Outcome)
			require.Equal(t, "judge.doubt", d.Code)
			require.Equal(t, sentinel.DoubtCounted, state)
		})
	}
	t.Run("unavailable", func(t *testing.T) {
		g := gate(t, review.Options{Unavailable: table, Measure: review.Measure{Unproved: true}, Doubts: review.DoubtsReview}, closedPort(t))
		d, state := decideInDoubt(t, g, call(t, proposal{skill: "self.modify"}), "other_topic")
		require.Equal(t, sentinel.Ask, d.Outcome)
		require.Equal(t, sentinel.DoubtCounted, state)
		require.True(t, d.Degraded)
	})
}

// Where canaries are never asked, for measuring, a model that failed none may spend doubts.
func TestUnprovedModelsSpendWhereMeasured(t *testing.T) {
	c := newCandidate(t)
	g := gate(t, review.Options{Doubts: review.DoubtsReview, Measure: review.Measure{Unproved: true}}, c.URL)
	_, state := decideInDoubt(t, g, call(t, proposal{skill: "self.modify"}), "other_topic")
	require.Equal(t, sentinel.DoubtSpent, state)
	require.Equal(t, review.CanaryFailed, c.sitDoubts(t, g, 2, 0, 0).Result)
	_, state = decideInDoubt(t, g, call(t, proposal{skill: "self.modify"}), "other_topic")
	require.Equal(t, sentinel.DoubtCounted, state)
}

// A kept judgement spends the doubts that were in its question and no others. Whether its
// model may spend doubts is asked when it is used.
func TestKeptJudgementsAndDoubts(t *testing.T) {
	c := newCandidate(t)
	g := gate(t, review.Options{Doubts: review.DoubtsReview, CacheTTL: time.Hour, CacheSize: 10}, c.URL)
	x := call(t, proposal{skill: "self.read"})
	require.Equal(t, review.CanaryPassed, c.sitDoubts(t, g, 0, 0, 0).Result)
	expect := func(state sentinel.DoubtState, from string, doubts ...string) {
		t.Helper()
		d, got := decideInDoubt(t, g, x, doubts...)
		require.Equal(t, state, got)
		v, _ := d.Verdict(sentinel.GateReview)
		require.Equal(t, from, v.Meta["from"])
	}
	expect(sentinel.DoubtSpent, "", "other_topic")
	expect(sentinel.DoubtSpent, "cache", "other_topic")
	expect(sentinel.DoubtSpent, "", "other_topic", "amount_unknown")
	docs := documents(t, c.requests())
	require.Equal(t, []any{"other_topic -0.35", "amount_unknown -0.35"}, docs[len(docs)-1]["judge"].(map[string]any)["doubts"])
	require.Equal(t, review.CanaryFailed, c.sitDoubts(t, g, 2, 0, 0).Result)
	expect(sentinel.DoubtCounted, "cache", "other_topic")
	require.Equal(t, review.CanaryPassed, c.sitDoubts(t, g, 0, 0, 0).Result)
	expect(sentinel.DoubtSpent, "cache", "other_topic")
}

// Of two opinions one of a proved model is enough, and where the second one is missing a
// doubt counts.
func TestSecondOpinionsAndDoubts(t *testing.T) {
	for name, tc := range map[string]struct {
		proved string
		down   bool
		want   sentinel.DoubtState
	}{
		"none is proved":        {"", false, sentinel.DoubtCounted},
		"the first is":          {"fast", false, sentinel.DoubtSpent},
		"the second is":         {"strong", false, sentinel.DoubtSpent},
		"the second is missing": {"fast", true, sentinel.DoubtCounted},
	} {
		t.Run(name, func(t *testing.T) {
			fast, strong := newCandidate(t), newCandidate(t)
			o := review.Options{Doubts: review.DoubtsReview,
				Unjudgeable: sentinel.OutageTable{"irreversible": sentinel.Allow, sentinel.OutwardRow: sentinel.Allow}}
			o.Models = append(o.Models, client(t, llm.Config{Name: "fast", BaseURL: fast.URL}))
			o.Escalate.To = append(o.Escalate.To, client(t, llm.Config{Name: "strong", BaseURL: strong.URL}))
			g, err := review.New(o)
			require.NoError(t, err)
			g.MetElsewhere()
			if c := map[string]*candidate{"fast": fast, "strong": strong}[tc.proved]; c != nil {
				c.name = tc.proved
				require.Equal(t, review.CanaryPassed, c.sitDoubts(t, g, 0, 0, 0).Result)
			}
			if tc.down {
				strong.answer(func([]byte, int) string { return "no" })
			}
			d, state := decideInDoubt(t, g, call(t, proposal{skill: "self.irreversible"}), "other_topic")
			require.Equal(t, tc.want, state)
			require.Equal(t, tc.want == sentinel.DoubtSpent, d.Outcome == sentinel.Allow)
		})
	}
}

// The canaries for doubts are asked once the plain ones were passed, and soon again where too
// few were answered.
func TestRunCanariesForDoubts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var mute atomic.Bool
		mute.Store(true)
		fast := w.serve("fast", func(rw http.ResponseWriter, r *http.Request, n int) {
			switch {
			case n <= 6, n > 74 && n <= 80: // the plain ones
				say(rw, right([]byte(r.Header.Get("Body"))))
			case mute.Load():
				say(rw, "")
			default:
				say(rw, approves)
			}
		})
		wrong := w.serve("wrong", saying(approves))
		g := w.gate(review.Options{Timeout: time.Minute, Doubts: review.DoubtsReview}, "fast", "wrong")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- g.RunCanaries(ctx, 6*time.Hour) }()
		time.Sleep(2 * time.Minute)
		require.Equal(t, []int{74, 6}, []int{fast.asked(), wrong.asked()})
		require.Equal(t, review.CanaryUnanswered, g.State().Models[0].DoubtCanary)
		require.Empty(t, g.State().Models[1].DoubtCanary)
		mute.Store(false)
		time.Sleep(11 * time.Minute)
		require.Equal(t, review.CanaryFailed, g.State().Models[0].DoubtCanary)
		cancel()
		require.NoError(t, <-done)
	})
}

// scorelessJudge is a judge that gives doubts and no score.
type scorelessJudge struct{}

func (scorelessJudge) Name() string { return sentinel.GateJudge }

func (scorelessJudge) Check(context.Context, sentinel.Call) (sentinel.Verdict, error) {
	v := sentinel.Pass()
	v.Evidence = []sentinel.Evidence{{Signal: "other_topic", Amount: -35, Doubt: true}}
	v.Doubt = &sentinel.Doubt{Outcome: sentinel.Ask, Code: "judge.doubt"}
	return v, nil
}

// A doubt is spent by a model that was shown it, also where the judge gives no score.
func TestDoubtsWithoutAScoreAreShown(t *testing.T) {
	c := newCandidate(t)
	g := gate(t, review.Options{Doubts: review.DoubtsReview}, c.URL)
	require.Equal(t, review.CanaryPassed, c.sitDoubts(t, g, 0, 0, 0).Result)
	gates := []sentinel.Gate{g, scorelessJudge{}}
	for _, n := range []string{sentinel.GateSchema, sentinel.GateScope, sentinel.GatePermission, sentinel.GateGuard} {
		gates = append(gates, passGate(n))
	}
	p, err := sentinel.New(sentinel.Options{Registry: registry(t), Gates: gates, Env: touch.Env{NoFS: true}})
	require.NoError(t, err)
	d, err := p.Decide(t.Context(), call(t, proposal{skill: "self.modify"}))
	require.NoError(t, err)
	docs := documents(t, c.requests())
	require.Equal(t, map[string]any{"signals": []any{}, "doubts": []any{"other_topic -0.35"}}, docs[len(docs)-1]["judge"])
	require.Equal(t, sentinel.Allow, d.Outcome, "the model was shown the doubt and approves")
}
