package records_test

import (
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/records"
	"github.com/vedette-dev/vedette/sentinel/ledger/ledgertest"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// BenchmarkVerify verifies one ledger fast, in full and deep, and beside it reads and hashes its rows and does
// nothing else: what a single goroutine can reach. rss-MB is what the process has in memory at the end. See
// ledgertest.Open for how many records there are.
func BenchmarkVerify(b *testing.B) {
	l := ledgertest.Open(b)
	n, src := l.Records, records.Source{Database: l.Path, PublicKey: l.PublicKey}
	verify := func(o records.VerifyOptions) func(context.Context) error {
		return func(ctx context.Context) error {
			v, err := src.Verify(ctx, o)
			if err == nil {
				err = v.Err()
			}
			return err
		}
	}
	for _, c := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"bare", func(ctx context.Context) error { return readAndHash(ctx, src.Database) }}, {"fast", verify(records.VerifyOptions{Fast: true})},
		{"full", verify(records.VerifyOptions{})}, {"deep", verify(records.VerifyOptions{Deep: true})},
		{"agents", verify(records.VerifyOptions{Fast: true, Agents: true})},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, c.run(b.Context()))
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "records/s")
			b.ReportMetric(residentMB(), "rss-MB")
		})
	}
	b.Run("proof", func(b *testing.B) {
		i := 0
		for b.Loop() {
			i = (i + 7919) % n
			_, err := records.Prove(b.Context(), src, ledgertest.RecordID(i))
			require.NoError(b, err)
		}
	})
}

// readAndHash reads all rows in one goroutine and hashes what they hold.
func readAndHash(ctx context.Context, path string) error {
	r, err := store.OpenReader(ctx, path)
	if err != nil {
		return err
	}
	var leaf []byte
	err = r.Scan(ctx, "SELECT * FROM ledger_records ORDER BY idx", func(row []driver.Value) error {
		leaf = leaf[:0]
		for _, v := range row {
			switch v := v.(type) {
			case string:
				leaf = append(leaf, v...)
			case []byte:
				leaf = append(leaf, v...)
			}
		}
		sum := sha256.Sum256(leaf)
		runtime.KeepAlive(sum)
		return nil
	})
	if cerr := r.Close(); err == nil {
		err = cerr
	}
	return err
}

// residentMB is how much memory the process has, 0 where the system doesn't tell.
func residentMB() float64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	pages, err := strconv.ParseFloat(strings.Fields(string(b))[1], 64)
	if err != nil {
		return 0
	}
	return pages * float64(os.Getpagesize()) / (1 << 20)
}
