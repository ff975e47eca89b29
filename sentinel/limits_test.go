package sentinel_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// away makes the bench's limiter one that can't be asked, under a table.
func away(table sentinel.OutageTable) func(*sentinel.Options, *bench) {
	return func(o *sentinel.Options, b *bench) {
		b.lim.verdict, b.lim.err = sentinel.Verdict{}, fmt.Errorf("reserve a slot: %w", sentinel.ErrLimitsAway)
		o.LimitsAway = table
	}
}

func ofEffect(e skills.Effect, reaches skills.Reach) skills.Spec {
	return skills.Spec{
		Name: "test.do", Effect: e, Reaches: reaches,
		Parameters: json.RawMessage(`{"type":"object","properties":{"to":{"type":"string","x-target":true},"url":{"type":"string",` +
			`"x-url":true}}}`),
	}
}

// While nobody can be asked who counts, each effect goes its own way: by
// default reads and inward creations run, marked, and nothing else does.
func TestLimitsAwayByEffect(t *testing.T) {
	for _, tc := range []struct {
		effect  skills.Effect
		reaches skills.Reach
		args    string
		runs    bool
	}{
		{skills.Read, skills.Self, `{}`, true},
		{skills.Read, skills.Self, `{"url":"https://evil.example/x"}`, false}, // outward by an unknown host
		{skills.Create, skills.Self, `{}`, true},
		{skills.Create, skills.Others, `{}`, false},
		{skills.Create, skills.Self, `{"to":"bob@evil.example"}`, false}, // outward by a target nobody named
		{skills.Modify, skills.Self, `{}`, false},
		{skills.Irreversible, skills.Self, `{}`, false},
		{skills.CostsMoney, skills.Self, `{}`, false},
	} {
		t.Run(fmt.Sprint(tc.effect, tc.reaches, tc.args), func(t *testing.T) {
			b := newBenchFor(t, ofEffect(tc.effect, tc.reaches), away(sentinel.DefaultLimitsAway()))
			_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", json.RawMessage(tc.args))
			var body struct {
				Degraded bool
				Code     string
				Gates    []struct {
					Gate, State, Outcome, Code, Reason string
					Degraded                           bool
				}
			}
			require.NoError(t, json.Unmarshal(b.rec.records[0].Body, &body))
			require.Equal(t, "limits", body.Gates[0].Gate)
			require.Contains(t, body.Gates[0].Reason, "limits.store.when_away")
			require.Equal(t, tc.runs, body.Degraded)
			require.Equal(t, tc.runs, body.Gates[0].Degraded)
			if tc.runs {
				require.NoError(t, err)
				require.Len(t, b.runs(), 1)
				require.Equal(t, sentinel.CodeLimitsDegraded, body.Gates[0].Code)
				require.Equal(t, []bool{true}, b.lim.reported)
				return
			}
			require.Empty(t, b.runs())
			r := refusalOf(t, err)
			require.Equal(t, sentinel.CodeLimitsAway, r.Code)
			require.Equal(t, skills.KindDeny, r.Kind, "no budget is spent")
			require.NotEmpty(t, r.WhatYouCanDo)
			require.Equal(t, 1, b.lim.released)
		})
	}
}

// Every cell is configuration; a row that is missing, and no table, deny.
func TestLimitsAwayTable(t *testing.T) {
	read := ofEffect(skills.Read, skills.Self)
	for _, tc := range []struct {
		table sentinel.OutageTable
		args  string
		kind  string
	}{
		{nil, `{}`, skills.KindDeny},
		{sentinel.OutageTable{"create": sentinel.Allow, "outward": sentinel.Allow}, `{}`, skills.KindDeny},
		{sentinel.OutageTable{"read": sentinel.Allow}, `{}`, ""},
		{sentinel.OutageTable{"read": sentinel.Allow}, `{"url":"https://evil.example"}`, skills.KindDeny},
		{sentinel.OutageTable{"read": sentinel.Allow, "outward": sentinel.Allow}, `{"url":"https://evil.example"}`, ""},
		{sentinel.OutageTable{"read": sentinel.Defer, "outward": sentinel.Allow}, `{"url":"https://evil.example"}`, skills.KindDefer},
		{sentinel.OutageTable{"read": sentinel.Ask}, `{}`, skills.KindAskDenied},
		{sentinel.OutageTable{"read": 200}, `{}`, ""}, // no outcome is wider than allow
	} {
		b := newBenchFor(t, read, away(tc.table))
		_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", json.RawMessage(tc.args))
		if tc.kind == "" {
			require.NoError(t, err, tc)
			continue
		}
		r := refusalOf(t, err)
		require.Equal(t, tc.kind, r.Kind, tc)
		require.Equal(t, tc.kind == skills.KindDefer, r.RetryAfter > 0)
		require.Empty(t, b.runs())
	}
}

// A person can be asked in the counter's place, and their yes lets it run.
func TestLimitsAwayAsks(t *testing.T) {
	asked := 0
	b := newBenchFor(t, ofEffect(skills.Modify, skills.Self), func(o *sentinel.Options, b *bench) {
		away(sentinel.OutageTable{"modify": sentinel.Ask})(o, b)
		o.Approver = approver(func(_ context.Context, _ sentinel.Call, d sentinel.Decision) (sentinel.Verdict, error) {
			asked++
			require.Equal(t, sentinel.CodeLimitsAway, d.Code)
			return sentinel.Pass(), nil
		})
	})
	_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", json.RawMessage(`{}`))
	require.NoError(t, err)
	require.Equal(t, 1, asked)
	require.Len(t, b.runs(), 1)
}

// Going on uncounted lifts nothing that another gate says, an unknown skill
// stays denied, a malformed proposal is told what is wrong with it, and any
// other error of the limiter denies whatever the table says.
func TestLimitsAwayLiftsNothing(t *testing.T) {
	all := sentinel.OutageTable{
		"read": sentinel.Allow, "create": sentinel.Allow, "modify": sentinel.Allow,
		"irreversible": sentinel.Allow, "costs_money": sentinel.Allow, "outward": sentinel.Allow, "": sentinel.Deny,
	}
	book := &strings.Builder{}
	with := func(o *sentinel.Options, b *bench) {
		away(all)(o, b)
		o.Log = slog.New(slog.NewTextHandler(book, nil))
	}
	b := newBench(t, with, says("guard", outcome(sentinel.Deny, "guard.x")))
	_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", json.RawMessage(`{"to":"CANARY"}`))
	require.Equal(t, "guard.x", refusalOf(t, err).Code)
	require.Contains(t, book.String(), "LIMITS DEGRADED")
	require.NotContains(t, book.String(), "CANARY")

	b = newBench(t, with)
	_, err = b.Desk(grant(t)).Invoke(t.Context(), "test.unknown", json.RawMessage(`{}`))
	require.Error(t, err)
	_, err = b.Desk(grant(t)).Invoke(t.Context(), "test.do", json.RawMessage(`{"to":1,"to":2}`))
	require.Equal(t, skills.KindInvalid, refusalOf(t, err).Kind)
	require.NotEqual(t, sentinel.CodeLimitsAway, refusalOf(t, err).Code)
	require.Empty(t, b.runs())

	b = newBench(t, func(o *sentinel.Options, b *bench) {
		with(o, b)
		b.lim.err = errors.New("wrong password")
	})
	_, err = b.Desk(grant(t)).Invoke(t.Context(), "test.do", json.RawMessage(`{}`))
	require.Equal(t, "limits.error", refusalOf(t, err).Code)
}
