package ledger_test

import (
	"database/sql"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/ledger/ledgertest"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// listIndexes lists the indexes of the records that can be taken away.
func listIndexes(b *testing.B, path string) []string {
	b.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	require.NoError(b, err)
	defer func() { require.NoError(b, db.Close()) }()
	rows, err := db.Query(`SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'ledger_records' AND sql IS NOT NULL`)
	require.NoError(b, err)
	defer func() { require.NoError(b, rows.Close()) }()
	var out []string
	for rows.Next() {
		var name string
		require.NoError(b, rows.Scan(&name))
		out = append(out, name)
	}
	require.NoError(b, rows.Err())
	return out
}

// thinned is a ledger without one of its indexes.
type thinned struct {
	without string
	st      *store.Store
	led     *ledger.Ledger
	n       int
	took    []time.Duration
}

// appendGroup appends one group and notes how long a record took.
func (l *thinned) appendGroup(b *testing.B) {
	b.Helper()
	began := time.Now()
	require.NoError(b, l.st.Submit(b.Context(), func(tx *store.Tx) error {
		for range ledgertest.Group {
			if _, err := l.led.AppendTx(tx, ledgertest.Entry(l.n)); err != nil {
				return err
			}
			l.n++
		}
		return nil
	}))
	l.took = append(l.took, time.Since(began)/ledgertest.Group)
}

// BenchmarkIndexes measures what each index costs: records are appended in turn to ledgers that lack one index
// each, in groups of 64. µs/record is the median; bytes/record is what the whole index takes.
func BenchmarkIndexes(b *testing.B) {
	dir := b.TempDir()
	path := filepath.Join(dir, "all.db")
	all := &thinned{without: "none"}
	all.st, all.led, _ = benchStack(b, path)
	ledgers := []*thinned{all}
	for _, name := range listIndexes(b, path) {
		l := &thinned{without: name}
		l.st, l.led, _ = benchStack(b, filepath.Join(dir, name+".db"))
		require.NoError(b, l.st.Submit(b.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec("DROP INDEX " + name)
			return err
		}))
		ledgers = append(ledgers, l)
	}
	for i := 0; i < b.N; i++ {
		for _, l := range ledgers {
			l.appendGroup(b)
		}
		if i%50 == 0 {
			runtime.GC()
		}
	}
	for _, l := range ledgers {
		slices.Sort(l.took)
		b.ReportMetric(float64(l.took[len(l.took)/2].Nanoseconds())/1000, "µs-without-"+l.without)
	}
	rows, err := all.st.Reader().Query(b.Context(), `SELECT name, sum(pgsize) FROM dbstat
WHERE name LIKE 'ledger%' OR name LIKE 'sqlite_auto%' GROUP BY name`)
	require.NoError(b, err)
	for rows.Next() {
		var name string
		var bytes float64
		require.NoError(b, rows.Scan(&name, &bytes))
		b.ReportMetric(bytes/float64(all.n), "B/record-"+name)
	}
	require.NoError(b, rows.Err())
	require.NoError(b, rows.Close()) //nolint:sqlclosecheck // the ledgers are closed next
	for _, l := range ledgers {
		require.NoError(b, l.st.Close())
	}
}
