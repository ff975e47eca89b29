package query

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/vedette-dev/vedette/sentinel/ledger"
)

var queryNow = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// queriedRecord is a denial with everything that a query can ask for.
func queriedRecord() *ledger.Record {
	r := &ledger.Record{}
	r.ID, r.Kind, r.Call, r.Decision, r.Conversation = "01", "decision", "c1", "d1", "talk"
	r.User, r.Agent, r.Skill, r.Outcome, r.Gate, r.Code = "ann", "mail_agent", "email.send", "deny", "guard", "guard.path"
	r.Time = queryNow.Add(-time.Hour)
	r.Body = []byte(`{"effect":"irreversible","tainted":true,"outward":true,"approver":"carol","via":"web","policy":"sha256:p",
		"turn":"t1","mission_by":"orchestrator","reason":"Over the Budget","asked_at":"2026-11-23T10:00:00Z","gates":[
		{"gate":"judge","evidence":[{"signal":"other_topic","doubt":true},{"signal":"unrelated"}]},
		{"gate":"guard","code":"guard.path","reason":"a core path"}]}`)
	return r
}

func TestQueryMatches(t *testing.T) {
	for query, want := range map[string]bool{
		"":                                    true,
		"   ":                                 true,
		"outcome:deny gate:guard":             true,
		"outcome:deny gate:judge":             false,
		"outcome:allow,deny":                  true,
		"-outcome:deny":                       false,
		"-outcome:allow":                      true,
		"skill:email.*":                       true,
		"skill:*.send":                        true,
		"skill:*mail*end":                     true,
		"skill:e*e*x*":                        false,
		"skill:email.send*send":               false, // the pieces don't overlap
		`skill:"email.*"`:                     false, // a quoted star is a star
		"user:ann since:24h":                  true,
		"since:30m":                           false,
		"since:7d until:2026-11-24":           true,
		"until:2026-11-23":                    false,
		"effect:irreversible":                 true,
		"effect:irr*":                         true,
		"effect:read,create":                  false,
		"tainted:yes outward:yes degraded:no": true,
		"tainted:no":                          false,
		"asked:yes by:carol via:web":          true,
		"-by:carol":                           false,
		`by:""`:                               false,
		"doubt:other_topic":                   true,
		"doubt:unrelated":                     false, // it is a signal, and no doubt
		"signal:unrelated":                    true,
		"-doubt:other_*":                      false,
		"mission_by:orchestrator policy:sha256:p": true,
		"turn:t1 call:c1 decision:d1 id:01":       true,
		"conversation:talk kind:decision":         true,
		"budget":                                  true,
		`"OVER the"`:                              true,
		"guard.path":                              true,
		"core":                                    true,
		"email":                                   false, // texts are looked for in reasons and codes
		"-budget":                                 false,
		"nothing,budget":                          true,
		"agent:mail_agent -skill:calendar.* -budgie": true,
	} {
		q, err := Parse(query, queryNow)
		require.NoError(t, err, query)
		r := queriedRecord()
		require.Equal(t, want, q.Matches(r), query)
		if want {
			require.True(t, isChosen(t, q, r), "the columns leave out a match of %s", query)
		}
	}
}

// few is a reader whose columns have a few values.
type few map[string][]string

func (few) List(context.Context, ledger.Query) ([]ledger.Record, error) { return nil, nil }

func (f few) Values(_ context.Context, column string, most int) ([]string, bool, error) {
	return f[column], len(f[column]) <= most, nil
}

var fewValues = few{"skill": {"calendar.list", "email.read", "email.send", ""}, "agent": {"mail_agent", ""}, "code": {"guard.path", ""},
	"gate": {"guard", "permission", ""}}

// isChosen reports whether what a query asks the ledger for chooses a record.
func isChosen(t require.TestingT, of Query, r *ledger.Record) bool {
	var q ledger.Query
	_, err := of.narrow(context.Background(), fewValues, &q)
	require.NoError(t, err)
	has := map[string]string{"id": r.ID, "kind": r.Kind, "call": r.Call, "decision": r.Decision, "conversation": r.Conversation,
		"user": r.User, "agent": r.Agent, "skill": r.Skill, "outcome": r.Outcome, "gate": r.Gate, "code": r.Code}
	for _, c := range q.Columns {
		if !slices.Contains(c.OneOf, has[c.Name]) {
			return false
		}
	}
	return !r.Time.Before(q.Since) && (q.Until.IsZero() || r.Time.Before(q.Until))
}

// Columns, times and patterns over few values are asked of the ledger; all else is left to Matches.
func TestNarrow(t *testing.T) {
	for query, want := range map[string]string{
		"outcome:deny,ask gate:guard": "[{outcome [deny ask]} {gate [guard]}] true",
		"skill:email.*":               "[{skill [email.read email.send]}] true",
		"skill:e*,none":               "[{skill [email.read email.send none]}] true",
		"skill:*":                     "[{skill [calendar.list email.read email.send ]}] true",
		"gate:per*":                   "[{gate [permission]}] true",
		"user:a*":                     "[] false",
		"user:ann tainted:yes":        "[{user [ann]}] false",
		"user:ann -skill:email.send":  "[{user [ann]}] false",
		"budget":                      "[] false",
		"since:24h":                   "[] true",
		"user:ann user:bob":           "[{user [ann]} {user [bob]}] true",
	} {
		q, err := Parse(query, queryNow)
		require.NoError(t, err)
		var into ledger.Query
		exact, err := q.narrow(t.Context(), fewValues, &into)
		require.NoError(t, err)
		require.Equal(t, want, fmt.Sprint(into.Columns, " ", exact), query)
	}
	many := few{}
	for n := range 501 {
		many["skill"] = append(many["skill"], fmt.Sprintf("s%d", n))
	}
	q, err := Parse("skill:s1*", queryNow)
	require.NoError(t, err)
	var into ledger.Query
	exact, err := q.narrow(t.Context(), many, &into)
	require.NoError(t, err)
	require.False(t, exact)
	require.Empty(t, into.Columns)
}

// A body that can't be read has nothing in it, and its record is found by its columns.
func TestQueryOfAForeignBody(t *testing.T) {
	r := queriedRecord()
	r.Body = []byte(`{"effect":7}`)
	for query, want := range map[string]bool{"outcome:deny": true, "effect:read": false, "tainted:no": true, `effect:""`: true,
		"-doubt:x": true} {
		q, err := Parse(query, queryNow)
		require.NoError(t, err)
		require.Equal(t, want, q.Matches(r), query)
	}
}

func TestQueryMistakes(t *testing.T) {
	for query, want := range map[string]string{
		"gaet:guard":                    `query, character 1: unknown key "gaet"; did you mean "gate"?`,
		"user:ann  Outcom:x":            `query, character 11: unknown key "Outcom"; did you mean "outcome"?`,
		"zzzzzz:1":                      "query, character 1: unknown key \"zzzzzz\"; the keys are agent, ",
		"outcome:dney":                  `query, character 9: outcome is never "dney"; did you mean "deny"?`,
		"outcome:deny,alow":             `query, character 14: outcome is never "alow"; did you mean "allow"?`,
		"tainted:maybe":                 `query, character 9: tainted is never "maybe"; say yes, no`,
		"gate:":                         "query, character 6: a value is missing",
		"user:ann,":                     "query, character 10: a value is missing",
		"since:soon":                    "query, character 7: since needs one time",
		"-since:1h":                     "query, character 8: since needs one time",
		"since:1h,2h":                   "query, character 10: since needs one time",
		"since:-3h":                     "query, character 7: since needs one time",
		`user:"ann`:                     "query, character 6: the double quote isn't closed",
		`user:"ann"x`:                   "query, character 11: a space or a comma must follow",
		`us"er`:                         "query, character 1: a double quote stands inside a word",
		"ÄÖ user:ann gat:x":             "query, character 13: unknown key",
		"\xff":                          "query, character 1: the query must be UTF-8",
		strings.Repeat("x", MaxBytes+1): "at most 4096 bytes",
		strings.Repeat("x ", 65):        "more than 64 terms",
	} {
		_, err := Parse(query, queryNow)
		require.ErrorContains(t, err, want, query)
		var mistake *Error
		require.ErrorAs(t, err, &mistake)
	}
}

// Whatever is asked, a term and its opposite share no record and leave none out; and what the columns
// leave out, the query leaves out too.
func TestQueryHalves(t *testing.T) {
	terms := []string{"user:ann", "user:bob", "skill:e*", "outcome:deny,ask", "gate:judge", "tainted:yes", "doubt:other_topic", "budget",
		`by:""`, "effect:re*", "code:guard.path", "kind:held", "conversation:talk,x"}
	rapid.Check(t, func(t *rapid.T) {
		r := queriedRecord()
		r.User = rapid.SampledFrom([]string{"ann", "bob", ""}).Draw(t, "user")
		r.Outcome = rapid.SampledFrom([]string{"deny", "ask", "allow"}).Draw(t, "outcome")
		if rapid.Bool().Draw(t, "bare") {
			r.Body = nil
		}
		one := rapid.SampledFrom(terms).Draw(t, "term")
		rest := strings.Join(rapid.SliceOfN(rapid.SampledFrom(terms), 0, 3).Draw(t, "rest"), " ")
		yes, err := Parse(one+" "+rest, queryNow)
		require.NoError(t, err)
		no, err := Parse("-"+one+" "+rest, queryNow)
		require.NoError(t, err)
		both, err := Parse(rest, queryNow)
		require.NoError(t, err)
		require.Equal(t, both.Matches(r), yes.Matches(r) != no.Matches(r))
		if yes.Matches(r) {
			require.True(t, isChosen(t, yes, r))
		}
	})
}

// A term that is made of a value chooses exactly the records with the value.
func TestTerm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value, other := rapid.String().Draw(t, "value"), rapid.String().Draw(t, "other")
		q, err := Parse(Term("user", value), queryNow)
		require.NoError(t, err)
		r := queriedRecord()
		for _, r.User = range []string{value, other} {
			require.Equal(t, r.User == value, q.Matches(r))
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"outcome:deny gate:guard skill:email.* since:24h", `-by:"ann b",x "over budget"`,
		"until:2026-11-23", `"\x00" a:b`, "-", "--", ":", `""`} {
		f.Add(s)
	}
	r := queriedRecord()
	f.Fuzz(func(t *testing.T, s string) {
		q, err := Parse(s, queryNow)
		if err != nil {
			var mistake *Error
			require.ErrorAs(t, err, &mistake)
			require.Positive(t, mistake.Column)
			require.LessOrEqual(t, mistake.Column, len(s)+1)
			return
		}
		if q.Matches(r) {
			require.True(t, isChosen(t, q, r))
		}
	})
}
