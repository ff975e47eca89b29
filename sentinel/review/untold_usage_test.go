package review_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/skills"
)

// A server that tells of no usage is paid all the same. So is one that answers by a call of a
// function or with nothing.
func TestAnswersOfAnyFormArePaid(t *testing.T) {
	for name, tc := range map[string]struct {
		way string
		h   handler
	}{
		"tool": {llm.ViaTool, func(w http.ResponseWriter, _ *http.Request, _ int) { callBack(w, "sentinel_decision", approves) }},
		"empty": {"", func(w http.ResponseWriter, _ *http.Request, _ int) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":""}}]}`))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			k := &clerk{}
			g, err := review.New(review.Options{Purse: k,
				Models: []*llm.Client{client(t, llm.Config{BaseURL: serve(t, tc.h).URL, Schemaless: tc.way})}})
			require.NoError(t, err)
			check(t, g, call(t, proposal{skill: "self.read"}))
			require.Equal(t, int64(1), k.slips[0].spent.Calls)
			require.Greater(t, k.slips[0].spent.Tokens, int64(300))
			require.Less(t, k.slips[0].spent.Tokens, k.slips[0].held.Tokens)
		})
	}
}

// unsettled is a purse that can hold and not count.
type unsettled struct{}

func (unsettled) Hold(context.Context, review.Spending) (review.Room, error) {
	return review.Room{OK: true}, nil
}
func (unsettled) Spend(context.Context, review.Spending) error {
	return errors.New("the store is full")
}

// What can't be counted after is told, once, and judged all the same.
func TestUnsettled(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
	var log bytes.Buffer
	g := gate(t, review.Options{Purse: unsettled{}, Log: slog.New(slog.NewTextHandler(&log, nil))}, s.URL)
	for range 3 {
		require.Equal(t, sentinel.Allow, check(t, g, call(t, proposal{skill: "self.modify"})).Outcome)
	}
	require.Equal(t, 1, strings.Count(log.String(), "what was held for it stays"))
}

// A usage of less than nothing is none to the observer and to the budget.
func TestUsageIsNeverNegative(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":%q}}],`+
			`"usage":{"prompt_tokens":-7,"completion_tokens":-3,"total_tokens":-10}}`, approves)
	})
	seen := &watch{}
	v := check(t, gate(t, review.Options{Observer: seen,
		Terms: map[string]review.Terms{"fast": {Price: review.Price{Input: 1_000_000, Output: 1_000_000}}}}, s.URL),
		call(t, proposal{skill: "self.read"}))
	require.Equal(t, []string{"0", "0"}, []string{v.Meta["tokens_in"], v.Meta["tokens_out"]})
	require.NotContains(t, v.Meta, "cost")
	require.Zero(t, seen.requests[0].TokensIn)
	require.Zero(t, seen.requests[0].TokensOut)
	require.Zero(t, seen.requests[0].Cost)
}

// A rejection without the second opinion that it should have had, is asked
// about again.
func TestRejectionWithoutSecondOpinionIsNotKept(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, rejects) })
	strong := serve(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n == 1 {
			say(w, "")
			return
		}
		say(w, rejects)
	})
	o := keeping(nil)
	var log bytes.Buffer
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	o.Escalate.To = []*llm.Client{client(t, llm.Config{Name: "strong", BaseURL: strong.URL})}
	g := gate(t, o, s.URL)
	c := call(t, proposal{skill: "self.read"})
	require.Equal(t, "empty", check(t, g, c).Meta["second_failure"])
	require.Contains(t, log.String(), `msg="a rejection stands without a second opinion" failure=empty model=strong skill=self.read`)
	require.Empty(t, check(t, g, c).Meta["from"])
	require.Equal(t, "cache", check(t, g, c).Meta["from"])
	require.Len(t, s.requests(), 2)
}

// Advice for a missing judgement is for a call that did not run and about which no person is
// asked. The chain's way is told where there was one. The chain's way is told where there was
// one.
func TestAdviceAndWay(t *testing.T) {
	down := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(http.StatusInternalServerError) })
	for outcome, advised := range map[sentinel.Outcome]bool{sentinel.Allow: false, sentinel.Ask: false, sentinel.Defer: true,
		sentinel.Deny: true} {
		o := review.Options{Unavailable: sentinel.OutageTable{"read": outcome}}
		v := check(t, gate(t, o, down.URL), call(t, proposal{skill: "self.read"}))
		require.Equal(t, outcome, v.Outcome)
		require.Equal(t, advised, v.WhatYouCanDo != "", outcome)
		require.Equal(t, outcome == sentinel.Defer, v.RetryAfter > 0, outcome)
		require.NotContains(t, v.Meta, "failover", "there is one model")
		require.Equal(t, "fast", v.Meta["model"])
		v = check(t, gate(t, o, down.URL, down.URL), call(t, proposal{skill: "self.read"}))
		require.Equal(t, "fast=server primary=server", v.Meta["failover"])
	}
}

// What a call touches is told once, however often it stands there. The rest of a long list is
// counted.
func TestTouchesAreToldOnce(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
	g := gate(t, review.Options{}, s.URL)
	spec := skills.Spec{Name: "any.do", Effect: skills.Modify, Reaches: skills.Self, Parameters: json.RawMessage(
		`{"type":"object","properties":{"to":{"type":"array","items":{"type":"string","x-target":true}}}}`)}
	told := func(to ...string) []string {
		check(t, g, callOf(t, spec, map[string]any{"to": to}, sentinel.GrantOptions{}))
		_, user := lastMessages(t, s)
		return hear(t, user).Touches
	}
	require.Equal(t, []string{"target a@b.test", "target c@d.test"}, told("a@b.test", "c@d.test", "a@b.test"))
	var many []string
	for i := range 13 {
		many = append(many, fmt.Sprintf("kim%d@b.test", i))
	}
	require.Len(t, told(many[:12]...), 12)
	list := told(many...)
	require.Len(t, list, 13)
	require.Equal(t, "and 1 more", list[12])
}

// A document that just fits is asked about, and one a byte longer is not.
func TestDocumentThatJustFits(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
	g := gate(t, review.Options{}, s.URL)
	ask := func(size int) sentinel.Verdict {
		parts := map[string]string{"a": strings.Repeat("x", 8000), "b": strings.Repeat("x", 8000), "c": strings.Repeat("x", 8000),
			"e": strings.Repeat("x", 2000), "d": strings.Repeat("x", size)}
		raw, err := json.Marshal(parts)
		require.NoError(t, err)
		return check(t, g, call(t, proposal{skill: "self.modify", args: string(raw)}))
	}
	ask(1)
	_, user := lastMessages(t, s)
	room := 32<<10 - len(user) + 1
	require.Equal(t, sentinel.Allow, ask(room).Outcome)
	_, user = lastMessages(t, s)
	require.Len(t, user, 32<<10)
	require.Equal(t, "too_long", ask(room + 1).Meta["failure"])
}

// Of two cells that are as strict the effect's own is named, of two that aren't
// the stricter.
func TestReasonNamesTheCell(t *testing.T) {
	down := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(http.StatusInternalServerError) })
	for _, tc := range []struct {
		effect, outward sentinel.Outcome
		row             string
	}{{sentinel.Ask, sentinel.Ask, "modify"}, {sentinel.Ask, sentinel.Deny, "outward"}, {sentinel.Deny, sentinel.Ask, "modify"},
		{sentinel.Deny, sentinel.Deny, "modify"}} {
		o := review.Options{Unavailable: sentinel.OutageTable{"modify": tc.effect, sentinel.OutwardRow: tc.outward}}
		v := check(t, gate(t, o, down.URL), call(t, proposal{skill: "others.modify"}))
		require.Contains(t, v.Reason, "sentinel.unavailable."+tc.row+" is "+min(tc.effect, tc.outward).String())
	}
}

// The way along the stronger chain is not taken for that along the first.
func TestWaysAreToldApart(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
	down := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(http.StatusInternalServerError) })
	o := review.Options{Escalate: review.Escalate{To: []*llm.Client{
		client(t, llm.Config{Name: "strong", BaseURL: down.URL}), client(t, llm.Config{Name: "stronger", BaseURL: down.URL})}}}
	v := check(t, gate(t, o, s.URL), call(t, proposal{skill: "self.irreversible"}))
	require.NotContains(t, v.Meta, "failover")
	require.Equal(t, "strong=server stronger=server", v.Meta["second_failover"])
	require.Equal(t, "fast", v.Meta["model"])
}

// Bounds of the options are within them.
func TestBoundsAreAllowed(t *testing.T) {
	m := client(t, llm.Config{BaseURL: "http://127.0.0.1:1/v1"})
	for _, o := range []review.Options{{RejectBelow: 100}, {Trace: 20}, {Concurrency: 1_000_000}, {Retries: 5},
		{Breaker: review.Breaker{Failures: 1_000_000}},
		{Prompt: strings.Repeat("x", 16<<10)}} {
		o.Models = []*llm.Client{m}
		_, err := review.New(o)
		require.NoError(t, err, "%+v", o)
	}
	for _, o := range []review.Options{{RejectBelow: 101}, {Trace: 21}, {Concurrency: 1_000_001}, {Retries: 6},
		{Breaker: review.Breaker{Failures: 1_000_001}},
		{Prompt: strings.Repeat("x", 16<<10+1)}} {
		o.Models = []*llm.Client{m}
		_, err := review.New(o)
		require.Error(t, err, "%+v", o)
	}
}

// Every fault of the options is at a place and says what is wrong.
func TestFaultsSayWhatIsWrong(t *testing.T) {
	m := client(t, llm.Config{BaseURL: "http://127.0.0.1:1/v1"})
	for _, o := range []review.Options{
		{Models: []*llm.Client{m, nil, m}, Mode: "warn", Timeout: -1, RejectBelow: 101, Trace: -1},
		{Unavailable: sentinel.OutageTable{"modify": 9, "write": sentinel.Ask}, Breaker: review.Breaker{Failures: -1, Window: -1, OpenFor: -1}},
		{Models: []*llm.Client{m}, Modes: review.Modes{Effect: map[skills.Effect]review.Mode{"write": review.Off, skills.Read: "of"},
			Skill: map[string]review.Mode{"a.b": "x"}}},
		{Models: []*llm.Client{m}, Escalate: review.Escalate{To: []*llm.Client{nil, m}, Rejected: []skills.Effect{"write"}}},
		{Models: []*llm.Client{m}, Concurrency: -1}, {Models: []*llm.Client{m}, Retries: 6},
	} {
		_, err := review.New(o)
		found := 0
		var walk func(error)
		walk = func(err error) {
			if many, ok := err.(interface{ Unwrap() []error }); ok {
				for _, e := range many.Unwrap() {
					walk(e)
				}
				return
			}
			var at *skills.PathError
			require.ErrorAs(t, err, &at)
			require.NotEmpty(t, at.Path)
			require.NotEmpty(t, at.Msg, at.Path)
			found++
		}
		walk(err)
		require.Positive(t, found)
	}
}
