package ledger_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/ledger/ledgertest"
)

// BenchmarkNewest measures the newest 50 records by each filter, beside a bare select of the newest 50. See
// ledgertest.Open for how many records there are.
func BenchmarkNewest(b *testing.B) {
	l := ledgertest.Open(b)
	r, err := ledger.OpenReader(b.Context(), l.Path)
	require.NoError(b, err)
	defer func() { require.NoError(b, r.Close()) }()
	newest := ledgertest.Entry(l.Records - 1).Time
	at := func(i int) int { return i * 7919 % l.Records }
	day := newest.Add(-24 * time.Hour)
	for _, f := range []struct {
		name  string
		query func(i int) ledger.Query
	}{
		{"bare", func(int) ledger.Query { return ledger.Query{} }},
		{"id", func(i int) ledger.Query { return ledger.Query{ID: ledgertest.RecordID(at(i))} }},
		{"user", func(i int) ledger.Query { return ledger.Query{User: ledgertest.User(at(i))} }},
		{"conversation", func(i int) ledger.Query { return ledger.Query{Conversation: ledgertest.ConversationID(at(i))} }},
		{"call", func(i int) ledger.Query { return ledger.Query{Call: ledgertest.CallID(at(i))} }},
		{"decision", func(i int) ledger.Query { return ledger.Query{Decision: ledgertest.DecisionID(at(i))} }},
		{"skill", func(i int) ledger.Query { return ledger.Query{Skill: ledgertest.Entry(at(i)).Skill} }},
		{"skill, rare", func(int) ledger.Query { return ledger.Query{Skill: "skill.rare"} }},
		{"skill, none", func(int) ledger.Query { return ledger.Query{Skill: "skill.none"} }},
		{"agent, rare", func(int) ledger.Query { return ledger.Query{Agent: "rare_agent"} }},
		{"outcome allow", func(int) ledger.Query { return ledger.Query{Outcome: "allow"} }},
		{"outcome deny", func(int) ledger.Query { return ledger.Query{Outcome: "deny"} }},
		{"outcome ask, none", func(int) ledger.Query { return ledger.Query{Outcome: "ask"} }},
		{"gate guard", func(int) ledger.Query { return ledger.Query{Gate: "guard"} }},
		{"code", func(int) ledger.Query { return ledger.Query{Code: ledgertest.Entry(18).Code} }},
		{"kind, none", func(int) ledger.Query { return ledger.Query{Kind: "held"} }},
		{"three gates", func(int) ledger.Query {
			return ledger.Query{Columns: []ledger.Column{{Name: "gate", OneOf: []string{"guard", "scope", "permission"}}}}
		}},
		{"since 24h", func(int) ledger.Query { return ledger.Query{Since: day} }},
		{"since 24h, guard", func(int) ledger.Query { return ledger.Query{Since: day, Gate: "guard"} }},
		{"until, deny", func(int) ledger.Query {
			return ledger.Query{Until: ledgertest.Began.Add(24 * time.Hour), Outcome: "deny"}
		}},
		{"user, deny", func(i int) ledger.Query { return ledger.Query{User: ledgertest.User(at(i)), Outcome: "deny"} }},
		{"skill, guard", func(i int) ledger.Query { return ledger.Query{Skill: ledgertest.Entry(at(i)).Skill, Gate: "guard"} }},
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
