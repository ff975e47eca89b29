package records_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/labelled"
	"github.com/vedette-dev/vedette/orchestrator/records"
	"github.com/vedette-dev/vedette/orchestrator/records/query"
	"github.com/vedette-dev/vedette/sentinel/label"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/sentinel/store/keys"
)

// appendRecords adds records to a database, as the process does that decides.
func appendRecords(t *testing.T, s records.Source, list ...ledger.Entry) {
	t.Helper()
	k, err := keys.LoadOrCreate(s.Keys)
	require.NoError(t, err)
	st, err := store.Open(t.Context(), store.Options{Path: s.Database})
	require.NoError(t, err)
	defer func() { require.NoError(t, st.Close()) }()
	signer, err := ledger.NewSigner(k.Ledger())
	require.NoError(t, err)
	l, err := ledger.Open(t.Context(), st, signer, ledger.Options{})
	require.NoError(t, err)
	require.NoError(t, st.Submit(t.Context(), func(tx *store.Tx) error {
		for _, e := range list {
			if _, err := l.AppendTx(tx, e); err != nil {
				return err
			}
		}
		return nil
	}))
}

func denial(id, user string) ledger.Entry {
	return ledger.Entry{ID: id, Time: time.Now(), Kind: "decision", Call: "c-" + id, Decision: "d-" + id, User: user, Outcome: "deny",
		Gate: "guard", Code: "guard.path"}
}

// Follow shows the newest records first in their order, and then each that is written, once.
func TestFollow(t *testing.T) {
	s := recordCalls(t, 5)
	seen := make(chan string, 100)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	chosen := records.ListOptions{Query: ask(t, "user:ann"), Limit: 2}
	go func() {
		ended <- records.Follow(ctx, s, records.FollowOptions{Chosen: chosen, Every: time.Millisecond}, func(p records.Page) error {
			for _, r := range p {
				seen <- r.ID
			}
			return nil
		})
	}()
	require.Equal(t, []string{"id00003", "id00004"}, []string{<-seen, <-seen})
	appendRecords(t, s, denial("new1", "ann"), denial("new2", "bob"), denial("new3", "ann"))
	appendRecords(t, s, denial("new4", "ann"))
	require.Equal(t, []string{"new1", "new3", "new4"}, []string{<-seen, <-seen, <-seen})
	cancel()
	require.NoError(t, <-ended)
	require.Empty(t, seen)

	broken := errors.New("the terminal is gone")
	err := records.Follow(t.Context(), s, records.FollowOptions{Chosen: records.ListOptions{Limit: 1}},
		func(records.Page) error { return broken })
	require.ErrorIs(t, err, broken)
}

// counted is a decision with everything that is counted.
func counted(id string) ledger.Entry {
	e := denial(id, "ann")
	e.Skill, e.Agent, e.Time = "=cmd()", "mail", time.Date(2026, 11, 23, 10, 30, 0, 0, time.UTC)
	e.Body = []byte(`{"effect":"read","tainted":true,"degraded":true,
		"asked_at":"2026-11-23T10:00:00Z","elapsed_us":1000,"reason":"a\nb","gates":[
		{"gate":"judge","score":95,"evidence":[{"signal":"b"},{"signal":"a","doubt":true},{"signal":"b"}]},
		{"gate":"review","elapsed_us":2000,"meta":{"tokens_in":"30","tokens_out":"-4"}}]}`)
	return e
}

func TestCount(t *testing.T) {
	s := recordCalls(t, 3)
	appendRecords(t, s, counted("x1"), counted("x2"))
	got, err := records.Count(t.Context(), s, ask(t, "gate:guard agent:mail"))
	require.NoError(t, err)
	require.Equal(t, []int64{2, 2, 2, 2, 2, 60, 0}, []int64{
		got.Records, got.Decisions, got.Asked, got.Degraded, got.Tainted, got.TokensIn, got.TokensOut})
	require.Equal(t, &query.OutcomeCounts{Deny: 2}, got.By["hour"]["2026-11-23T10Z"])
	require.Equal(t, &query.OutcomeCounts{Deny: 2}, got.By["effect"]["read"])
	require.Equal(t, [10]int64{9: 2}, got.Scores)
	require.Equal(t, []int64{2, 1000, 1000, 1000}, []int64{got.Checks.Count, got.Checks.P50, got.Checks.P99, got.Checks.Most})
	require.EqualValues(t, 2, got.Reviews.Count)
	var text bytes.Buffer
	require.NoError(t, got.WriteText(&text, false))
	require.Contains(t, text.String(), "p50 1ms, p99 1ms, at most 1ms")
	require.Contains(t, text.String(), "by hour")

	all, err := records.Count(t.Context(), s, query.Query{})
	require.NoError(t, err)
	require.EqualValues(t, 5, all.Records)
	none, err := records.Count(t.Context(), s, ask(t, "user:zoe"))
	require.NoError(t, err)
	require.Zero(t, none.Records)
	require.NoError(t, none.WriteText(&text, false))
}

func TestExport(t *testing.T) {
	s := recordCalls(t, 2)
	appendRecords(t, s, counted("x1"))
	var out bytes.Buffer
	n, err := export(t, s, query.Query{}, query.FormatJSONL, &out)
	require.NoError(t, err)
	require.EqualValues(t, 3, n)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 3)
	for i, line := range lines {
		var r records.Record
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		require.EqualValues(t, i, r.Index)
	}

	out.Reset()
	n, err = export(t, s, ask(t, "agent:mail"), query.FormatCSV, &out)
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	table, err := csv.NewReader(&out).ReadAll()
	require.NoError(t, err)
	require.Len(t, table, 2)
	row := map[string]string{}
	for i, name := range table[0] {
		row[name] = table[1][i]
	}
	require.Equal(t, "'=cmd()", row["skill"], "a spreadsheet must not compute it")
	require.Equal(t, []string{"a b", "a", "0.95", "1000", "true"}, []string{
		row["signals"], row["doubts"], row["judge_score"], row["elapsed_us"], row["tainted"]})
	require.NotContains(t, row["reason"], "\n")

	_, err = query.NewWriter("xml", &out)
	require.ErrorContains(t, err, "say jsonl or csv")
}

func export(t *testing.T, s records.Source, q query.Query, format string, w io.Writer) (int64, error) {
	t.Helper()
	out, err := query.NewWriter(format, w)
	require.NoError(t, err)
	return records.Export(t.Context(), s, q, out)
}

// Labels say how many denials and asks were false alarms, over those that were labelled.
func TestCountLabels(t *testing.T) {
	s := recordCalls(t, 1)
	asked := denial("ask1", "ann")
	asked.Outcome, asked.Body = "allow", []byte(`{"asked_at":"2026-11-23T10:00:00Z"}`)
	allowed := denial("allow1", "ann")
	allowed.Outcome = "allow"
	appendRecords(t, s, denial("deny1", "ann"), denial("deny2", "ann"), denial("deny3", "ann"), denial("deny4", "ann"), asked, allowed)
	off := labelled.Offline{Database: s.Database, Keys: s.Keys}
	for _, said := range []label.Said{
		{Of: "deny1", Word: label.Right, By: "bob"}, {Of: "deny2", Word: label.Wrong, Should: "allow", By: "bob"},
		{Of: "deny2", Word: label.Wrong, Should: "ask", By: "ann"}, {Of: "deny3", Word: label.Wrong, Should: "ask", By: "bob"},
		{Of: "deny3", Word: label.Right, By: "ann"}, {Of: "deny4", Word: label.Unsure, By: "bob"},
		{Of: "ask1", Word: label.Wrong, Should: "allow", By: "bob"}, {Of: "allow1", Word: label.Wrong, Should: "deny", By: "bob"},
	} {
		_, err := off.Put(t.Context(), said)
		require.NoError(t, err)
	}
	got, err := records.Count(t.Context(), s, ask(t, ""))
	require.NoError(t, err)
	require.Equal(t, map[string]*query.LabelCounts{
		"deny":  {Labelled: 2, Right: 1, TooStrict: 1, Disputed: 1, Unsure: 1},
		"ask":   {Labelled: 1, TooStrict: 1},
		"allow": {Labelled: 1, TooLax: 1},
	}, got.Labels)
	var text bytes.Buffer
	require.NoError(t, got.WriteText(&text, false))
	require.Regexp(t, `(?m)^  deny +2 +1 +1 +0 +1 +1 +50% of 2$`, text.String())
	none, err := records.Count(t.Context(), s, ask(t, "outcome:deny gate:scope"))
	require.NoError(t, err)
	require.Empty(t, none.Labels)
	said := records.ListOptions{Query: ask(t, "kind:labelled"), Limit: 100}
	listed, _, err := s.List(t.Context(), said, func(records.Page) error { return nil })
	require.NoError(t, err)
	require.Equal(t, 8, listed)
}
