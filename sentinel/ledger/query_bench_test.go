package ledger_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// benchBegan is when the first record of a filled ledger was written; each is two seconds later than the
// one before.
var benchBegan = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// filledEntry is the n-th record: of 5,000 users with 20 conversations each, 60 skills, a denial in 50.
func filledEntry(n int) ledger.Entry {
	user := n * 7919 % 5000
	e := ledger.Entry{
		ID: fmt.Sprintf("r-%09d", n), Time: benchBegan.Add(time.Duration(n) * 2 * time.Second), Kind: "decision",
		Call: fmt.Sprintf("c-%09d", n/2), Decision: fmt.Sprintf("d-%09d", n/2), User: fmt.Sprintf("user-%d", user),
		Conversation: fmt.Sprintf("conv-%d-%d", user, n/5000%20), Agent: "email_agent", Skill: fmt.Sprintf("skill.s%d", n*31%60),
		Outcome: "allow", Body: benchBody,
	}
	switch {
	case n%2 == 1:
		e.Kind, e.Outcome = "outcome", "ok"
	case n%100 == 0:
		e.Outcome, e.Gate, e.Code = "deny", "permission", "permission.rule"
	case n%10_002 == 0:
		e.Outcome, e.Gate, e.Code = "deny", "guard", "guard.path"
	}
	return e
}

// fillLedger writes so many records.
func fillLedger(b *testing.B, path string, records int) {
	b.Helper()
	st, led, _ := benchStack(b, path)
	const group = 5000
	for from := 0; from < records; from += group {
		require.NoError(b, st.Submit(b.Context(), func(tx *store.Tx) error {
			for n := from; n < min(from+group, records); n++ {
				if _, err := led.AppendTx(tx, filledEntry(n)); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	require.NoError(b, st.Close())
}

// BenchmarkNewest measures the newest 50 records by each filter, beside a bare select of the newest 50.
// VEDETTE_BENCH_RECORDS says how many there are.
func BenchmarkNewest(b *testing.B) {
	records := 100_000
	if n, err := strconv.Atoi(os.Getenv("VEDETTE_BENCH_RECORDS")); err == nil {
		records = n
	}
	path := filepath.Join(b.TempDir(), "ledger.db")
	began := time.Now()
	fillLedger(b, path, records)
	b.Logf("%d records in %v", records, time.Since(began).Round(time.Second))
	r, err := ledger.OpenReader(b.Context(), path)
	require.NoError(b, err)
	defer func() { require.NoError(b, r.Close()) }()
	newest := filledEntry(records - 1).Time
	for _, f := range []struct {
		name  string
		query func(i int) ledger.Query
	}{
		{"bare", func(int) ledger.Query { return ledger.Query{} }},
		{"user", func(i int) ledger.Query { return ledger.Query{User: fmt.Sprintf("user-%d", i*13%5000)} }},
		{"conversation", func(i int) ledger.Query {
			return ledger.Query{Conversation: fmt.Sprintf("conv-%d-%d", i*13%5000, i%20)}
		}},
		{"call", func(i int) ledger.Query { return ledger.Query{Call: fmt.Sprintf("c-%09d", i*379%(records/2))} }},
		{"decision", func(i int) ledger.Query { return ledger.Query{Decision: fmt.Sprintf("d-%09d", i*379%(records/2))} }},
		{"since 24h", func(int) ledger.Query { return ledger.Query{Since: newest.Add(-24 * time.Hour)} }},
		{"since 24h, guard", func(int) ledger.Query { return ledger.Query{Since: newest.Add(-24 * time.Hour), Gate: "guard"} }},
		{"until, deny", func(int) ledger.Query { return ledger.Query{Until: benchBegan.Add(24 * time.Hour), Outcome: "deny"} }},
		{"outcome deny", func(int) ledger.Query { return ledger.Query{Outcome: "deny"} }},
		{"gate guard", func(int) ledger.Query { return ledger.Query{Gate: "guard"} }},
		{"skill", func(i int) ledger.Query { return ledger.Query{Skill: fmt.Sprintf("skill.s%d", i%60)} }},
		{"skill, none", func(int) ledger.Query { return ledger.Query{Skill: "skill.none"} }},
		{"user, deny", func(i int) ledger.Query {
			return ledger.Query{User: fmt.Sprintf("user-%d", i*13%5000), Outcome: "deny"}
		}},
	} {
		b.Run(f.name, func(b *testing.B) {
			var took []time.Duration
			for i := 0; b.Loop(); i++ {
				q := f.query(i)
				q.Newest, q.Limit = true, 50
				began := time.Now()
				_, err := r.List(b.Context(), q)
				took = append(took, time.Since(began))
				require.NoError(b, err)
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}
