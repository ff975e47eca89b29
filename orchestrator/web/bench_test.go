package web_test

import (
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/ledger/ledgertest"
)

// BenchmarkFirstView measures how long a person waits on the loopback for the first view of each page of the log, with
// as many records as VEDETTE_BENCH_RECORDS says (20,000 without it).
func BenchmarkFirstView(b *testing.B) {
	h := open(b, changes{})
	records := 20_000
	if n, err := strconv.Atoi(os.Getenv("VEDETTE_BENCH_RECORDS")); err == nil {
		records = n
	}
	var batch []ledger.Entry
	for n := range records {
		e := ledgertest.Entry(n)
		e.Time = time.Now().Add(-time.Duration(records-n) * 600 * time.Millisecond) // a million within a week
		if batch = append(batch, e); len(batch) == 1000 || n == records-1 {
			h.record(batch...)
			batch = batch[:0]
		}
	}
	v := h.signIn("rita")
	for _, tc := range []struct{ name, path string }{
		{"log", "/log"}, {"user", "/log?q=user:" + ledgertest.User(7)}, {"rare", "/log?q=gate:guard"},
		{"charts", "/log/charts?range=7d"}, {"review", "/review"}, {"decision", "/log/" + ledgertest.RecordID(records/2)},
	} {
		b.Run(tc.name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				p := v.get(tc.path)
				took = append(took, time.Since(began))
				require.Equal(b, 200, p.StatusCode)
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
			b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "most-ms")
		})
	}
}
