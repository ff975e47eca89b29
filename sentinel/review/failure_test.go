package review_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/skills"
)

// failing is one way to get a failure: what the server says, how often it is
// asked about other calls before, and what is special about the call.
type failing struct {
	kind        review.Failure
	unavailable bool
	reply       string // YAML of a scripted reply; empty is a port where no server listens
	before      int
	args        string
	sent        string // requests for the call itself
	options     review.Options
	alone       bool // no other user meets it
}

func failures() []failing {
	return []failing{
		{kind: review.Connect, unavailable: true, sent: "1"},
		{kind: review.Timeout, unavailable: true, reply: `{hang: true}`, before: 1, sent: "1"},
		{kind: review.RateLimited, unavailable: true, reply: `{status: 429}`, sent: "1"},
		{kind: review.Quota, unavailable: true,
			reply: `{status: 429, body: '{"error":{"type":"insufficient_quota","code":"insufficient_quota"}}'}`, sent: "1"},
		{kind: review.Server, unavailable: true, reply: `{status: 503}`, sent: "1"},
		{kind: review.BreakerOpen, unavailable: true, reply: `{status: 500}`, before: 5, sent: "0"},
		{kind: review.Refusal, reply: `{refusal: "I can't help with that"}`, sent: "1"},
		{kind: review.ContentFilter, reply: `{content: '` + approves + `', finish_reason: content_filter}`, sent: "1"},
		{kind: review.ContentFilter, reply: `{status: 400, body: '{"error":{"code":"content_filter","message":"x"}}'}`, sent: "1"},
		{kind: review.Length, reply: `{content: '` + approves + `', finish_reason: length}`, sent: "1"},
		{kind: review.Empty, reply: `{content: ""}`, sent: "1"},
		{kind: review.Empty, reply: `{content: "\n "}`, sent: "1"},
		{kind: review.NotJSON, reply: `{content: "I approve."}`, sent: "2"},
		{kind: review.NotJSON, reply: `{status: 200, body: "<html>approve</html>", content_type: text/html}`, sent: "2"},
		{kind: review.BadShape, reply: `{content: '["approve"]'}`, sent: "2"},
		{kind: review.Contradiction, reply: `{content: '{"decision":"reject","should_run":0.9,"reason":"x"}'}`, sent: "2",
			options: review.Options{Graded: true}},
		{kind: review.Fields, reply: `{content: '{"decision":"approve"}'}`, sent: "2"},
		{kind: review.Fields, reply: `{content: '{"Decision":"approve","reason":"x"}'}`, sent: "2"},
		{kind: review.Value, reply: `{content: '{"decision":"APPROVE","reason":"x"}'}`, sent: "2"},
		{kind: review.TwoObjects, reply: `{content: '` + rejects + approves + `'}`, sent: "2"},
		{kind: review.Fenced, reply: "{content: \"```json\\n{\\\"decision\\\":\\\"approve\\\",\\\"reason\\\":\\\"x\\\"}\\n```\"}", sent: "2"},
		{kind: review.Prose, reply: `{content: 'Sure: ` + approves + `'}`, sent: "2"},
		{kind: review.Auth, reply: `{status: 401}`, sent: "1"},
		{kind: review.Auth, reply: `{status: 403}`, sent: "1"},
		{kind: review.BadRequest, reply: `{status: 400}`, sent: "1"},
		{kind: review.TooLong, reply: `{status: 400, body: '{"error":{"code":"context_length_exceeded"}}'}`, sent: "1"},
		{kind: review.TooLong, reply: `{content: '` + approves + `'}`, args: `{"` + strings.Repeat("k", 300) + `":1}`, sent: "0"},
		{kind: review.LoneTimeout, reply: `{hang: true}`, sent: "1", alone: true},
		{kind: review.LoneConnect, reply: `{fault: reset}`, sent: "1", alone: true},
		{kind: review.LoneServer, reply: `{status: 503}`, sent: "1", alone: true},
		{kind: review.LoneRateLimited, reply: `{status: 429}`, sent: "1", alone: true},
		{kind: review.LoneQuota, reply: `{status: 429, body: '{"error":{"type":"insufficient_quota","code":"insufficient_quota"}}'}`, sent: "1",
			alone: true},
		{kind: review.Busy, reply: `{content: '` + approves + `'}`, before: 1, sent: "0",
			options: review.Options{Terms: map[string]review.Terms{"fast": {RequestsPerMinute: 1}}}},
		{kind: review.Budget, reply: `{content: '` + approves + `'}`, sent: "0", options: review.Options{Purse: broke{}}},
	}
}

// expected is the table of outcomes without a judgement, written out by hand.
var expected = map[string]struct{ unavailable, unjudgeable sentinel.Outcome }{
	"self.read": {sentinel.Allow, sentinel.Ask}, "others.read": {sentinel.Ask, sentinel.Ask},
	"self.create": {sentinel.Allow, sentinel.Ask}, "others.create": {sentinel.Ask, sentinel.Ask},
	"self.modify": {sentinel.Ask, sentinel.Ask}, "others.modify": {sentinel.Ask, sentinel.Ask},
	"self.irreversible": {sentinel.Ask, sentinel.Ask}, "others.irreversible": {sentinel.Ask, sentinel.Ask},
	"self.costs_money": {sentinel.Ask, sentinel.Ask}, "others.costs_money": {sentinel.Ask, sentinel.Ask},
}

// Every failure of every effect, inward and outward, has the outcome, code and mark of the
// table. None passes for a judgement.
func TestFailureTable(t *testing.T) {
	seen := map[review.Failure]bool{}
	for i, f := range failures() {
		seen[f.kind] = true
		url := closedPort(t)
		if f.reply != "" {
			url = play(t, "rules: [{reply: "+f.reply+"}]").BaseURL()
		}
		for skill, want := range expected {
			t.Run(fmt.Sprintf("%d_%s/%s", i, f.kind, skill), func(t *testing.T) {
				c, witness := failureCall(t, skill, f.args), users(t, call(t, proposal{skill: "self.read"}), "bob")[0]
				if f.hangs() {
					meetTimeout(t, f, c, witness, want.unavailable, want.unjudgeable)
					return
				}
				f.meet(t, quiet(t, f.options, url), c, witness, want.unavailable, want.unjudgeable)
			})
		}
	}
	for _, f := range review.Failures() {
		require.True(t, seen[f], "no way to get %s", f)
	}
}

func (f failing) hangs() bool { return strings.Contains(f.reply, "hang") }

// meet has the gate fail over the witness's call as often as the row says, and then
// over the call itself.
func (f failing) meet(t *testing.T, g *review.Gate, c, witness sentinel.Call, unavailable, unjudgeable sentinel.Outcome) {
	if !f.alone {
		g.MetElsewhere()
	}
	for range f.before {
		check(t, g, witness)
	}
	checkFailure(t, check(t, g, c), f, unavailable, unjudgeable)
}

// meetTimeout meets a server that hangs by a clock of its own: on a busy machine a
// request with a short deadline may never be sent.
func meetTimeout(t *testing.T, f failing, c, witness sentinel.Call, unavailable, unjudgeable sentinel.Outcome) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("fast", hanging)
		f.meet(t, w.quiet(f.options, "fast"), c, witness, unavailable, unjudgeable)
	})
}

func failureCall(t *testing.T, skill, args string) sentinel.Call {
	outward := strings.HasPrefix(skill, "others.")
	if outward && args == "" {
		args = `{"url":"https://elsewhere.example/x"}`
	} else if outward {
		args = `{"url":"https://elsewhere.example/x",` + args[1:]
	}
	c := call(t, proposal{skill: skill, args: args})
	require.Equal(t, outward, c.Outward())
	return c
}

func checkFailure(t *testing.T, v sentinel.Verdict, f failing, unavailable, unjudgeable sentinel.Outcome) {
	outcome, code := unjudgeable, review.CodeUnjudgeable
	if f.unavailable {
		outcome, code = unavailable, review.CodeUnavailable
	}
	degraded := f.unavailable && unavailable == sentinel.Allow
	if degraded {
		code = review.CodeDegraded
	}
	require.Equal(t, f.unavailable, f.kind.Unavailable())
	require.Equal(t, sentinel.Judged, v.State)
	require.Equal(t, outcome, v.Outcome)
	require.Equal(t, code, v.Code)
	require.Equal(t, degraded, v.Degraded)
	require.Equal(t, string(f.kind), v.Meta["failure"])
	require.Equal(t, f.sent, v.Meta["attempts"])
	require.Equal(t, review.PromptVersion, v.Meta["prompt"])
	require.Empty(t, v.Detail)
	require.Contains(t, v.Reason, string(f.kind))
}

// Each cell is configuration, and of an outward call the stricter of the two
// cells holds, whichever it is.
func TestTableIsConfiguration(t *testing.T) {
	down := play(t, "rules: [{reply: {status: 500}}]").BaseURL()
	odd := play(t, "rules: [{reply: {refusal: no}}]").BaseURL()
	column := sentinel.OutageTable{"read": sentinel.Deny, "create": sentinel.Defer, "modify": sentinel.Allow, "costs_money": sentinel.Allow,
		"outward": sentinel.Defer}
	for _, tc := range []struct {
		skill, row string
		want       sentinel.Outcome
	}{
		{"self.read", "read", sentinel.Deny},
		{"others.read", "read", sentinel.Deny},
		{"self.create", "create", sentinel.Defer},
		{"self.modify", "modify", sentinel.Allow},
		{"others.modify", "outward", sentinel.Defer},
		{"self.irreversible", "irreversible", sentinel.Ask}, // left out: the default
		{"others.irreversible", "outward", sentinel.Defer},
		{"self.costs_money", "costs_money", sentinel.Allow},
	} {
		t.Run(tc.skill, func(t *testing.T) {
			v := check(t, gate(t, review.Options{Unavailable: column}, down), failureCall(t, tc.skill, ""))
			require.Equal(t, tc.want, v.Outcome)
			require.Equal(t, "no judgement (server): sentinel.unavailable."+tc.row+" is "+tc.want.String(), v.Reason)
			require.Equal(t, tc.want == sentinel.Allow, v.Degraded)
			require.Equal(t, tc.want == sentinel.Defer, v.RetryAfter == review.DefaultOpenFor)

			// An allow in the second column is no judgement either: it is marked.
			v = check(t, gate(t, review.Options{Unjudgeable: column}, odd), failureCall(t, tc.skill, ""))
			require.Equal(t, tc.want, v.Outcome)
			require.Equal(t, review.CodeUnjudgeable, v.Code)
			require.Equal(t, tc.want == sentinel.Allow, v.Degraded)
		})
	}
	require.Len(t, column, 5, "a caller's table is not written to")
}

// A call that is deferred is told how long the server asked to wait.
func TestDeferTakesTheServersWait(t *testing.T) {
	url := play(t, `rules: [{reply: {status: 429, headers: {Retry-After: "7"}}}]`).BaseURL()
	g := gate(t, review.Options{Unavailable: sentinel.OutageTable{"modify": sentinel.Defer}}, url, closedPort(t))
	v := check(t, g, call(t, proposal{skill: "self.modify"}))
	require.Equal(t, sentinel.Defer, v.Outcome)
	require.Equal(t, 7*time.Second, v.RetryAfter)
}

// The next model is asked when one fails in either way; the record says so.
func TestChain(t *testing.T) {
	good := play(t, `rules: [{reply: {content: '`+approves+`'}}]`)
	down := play(t, "rules: [{reply: {status: 500}}]").BaseURL()
	odd := play(t, "rules: [{reply: {refusal: no}}]").BaseURL()
	c := call(t, proposal{skill: "self.modify"})
	for url, failover := range map[string]string{down: "fast=server", odd: "fast=refusal", closedPort(t): "fast=connect"} {
		v := check(t, gate(t, review.Options{}, url, good.BaseURL()), c)
		require.Equal(t, sentinel.Allow, v.Outcome)
		require.False(t, v.Degraded)
		require.Equal(t, "primary", v.Meta["model"])
		require.Equal(t, failover, v.Meta["failover"])
		require.Equal(t, "2", v.Meta["attempts"])
	}
	before := len(good.Requests())
	v := check(t, gate(t, review.Options{}, good.BaseURL(), down), c)
	require.Equal(t, "fast", v.Meta["model"])
	require.NotContains(t, v.Meta, "failover")
	require.Len(t, good.Requests(), before+1)
}

// When all models fail, one being down makes nothing of another's spoiled
// answer, in whatever order they stand.
func TestChainTakesTheStrictestCell(t *testing.T) {
	down := play(t, "rules: [{reply: {status: 500}}]").BaseURL()
	odd := play(t, "rules: [{reply: {refusal: no}}]").BaseURL()
	read := call(t, proposal{skill: "self.read"})
	for _, urls := range [][]string{{down, odd}, {odd, down}, {down, odd, down}} {
		v := check(t, gate(t, review.Options{}, urls...), read)
		require.Equal(t, sentinel.Ask, v.Outcome)
		require.Equal(t, review.CodeUnjudgeable, v.Code)
		require.Equal(t, "refusal", v.Meta["failure"])
		require.False(t, v.Degraded)

		strict := review.Options{Unavailable: sentinel.OutageTable{"read": sentinel.Deny}}
		v = check(t, gate(t, strict, urls...), read)
		require.Equal(t, sentinel.Deny, v.Outcome)
		require.Equal(t, review.CodeUnavailable, v.Code)
		require.Equal(t, "server", v.Meta["failure"])
	}
	// Of equal cells the record shows what may have been provoked.
	for _, urls := range [][]string{{down, odd}, {odd, down}} {
		v := check(t, gate(t, review.Options{}, urls...), call(t, proposal{skill: "self.modify"}))
		require.Equal(t, review.CodeUnjudgeable, v.Code)
		require.Equal(t, "refusal", v.Meta["failure"])
	}
	v := check(t, gate(t, review.Options{}, down, closedPort(t)), read)
	require.Equal(t, review.CodeDegraded, v.Code)
	require.Equal(t, "fast=server primary=connect", v.Meta["failover"])
}

// An unusable answer is asked for once more, and only once. The user message is the same, and
// the model's own words are left out.
func TestRepair(t *testing.T) {
	const canary = "CANARY-OF-THE-MODEL"
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n == 1 {
			say(w, "Well, "+canary+" "+approves)
			return
		}
		say(w, rejects)
	})
	v := check(t, gate(t, review.Options{}, s.URL), call(t, proposal{skill: "self.read"}))
	require.Equal(t, sentinel.Deny, v.Outcome)
	require.Equal(t, review.CodeRejected, v.Code)
	require.Equal(t, "2", v.Meta["attempts"])
	require.Equal(t, "14", v.Meta["tokens_in"])
	require.Equal(t, "6", v.Meta["tokens_out"])
	reqs := s.requests()
	require.Len(t, reqs, 2)
	first, second := decode(t, reqs[0]), decode(t, reqs[1])
	require.Equal(t, first.Messages[1], second.Messages[1])
	require.True(t, strings.HasPrefix(second.Messages[0].Content, first.Messages[0].Content))
	require.Greater(t, len(second.Messages[0].Content), len(first.Messages[0].Content))
	require.Len(t, second.Messages, 2)
	require.NotContains(t, string(reqs[1]), canary)
}

// When asking again finds the model down, the call stays unjudgeable: an
// attacker who spoils the first answer can't turn it into an outage.
func TestRepairThatFindsTheModelDown(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n%2 == 1 {
			say(w, "prose "+approves)
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	v := check(t, gate(t, review.Options{}, s.URL), call(t, proposal{skill: "self.read"}))
	require.Equal(t, sentinel.Ask, v.Outcome)
	require.Equal(t, "prose", v.Meta["failure"])
	require.Equal(t, "2", v.Meta["attempts"])
}

// A rejection and an approval carry the model's reason where it is sealed, and
// fixed words where it is recorded.
func TestJudgements(t *testing.T) {
	for content, want := range map[string]sentinel.Verdict{
		`{"decision":"approve","reason":"fits\nthe\u2028 request"}`: {Outcome: sentinel.Allow, Detail: "fits the request"},
		`{"reason":"mails eve@evil.example","decision":"reject"}`: {
			Outcome: sentinel.Deny, Code: review.CodeRejected, Reason: "the sentinel rejected the call", Detail: "mails eve@evil.example"},
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, content) })
		for _, e := range skills.Effects() {
			v := check(t, gate(t, review.Options{}, s.URL), call(t, proposal{skill: "self." + string(e)}))
			require.Equal(t, map[string]string{"model": "fast", "prompt": review.PromptVersion, "attempts": "1", "tokens_in": "7",
				"tokens_out": "3"}, v.Meta)
			require.Len(t, v.Question, 32)
			v.Meta, v.Question, want.Gate, want.State = nil, "", sentinel.GateReview, sentinel.Judged
			require.Equal(t, want, v)
		}
	}
}
