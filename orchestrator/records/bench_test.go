package records_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql/driver"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/note"

	"github.com/vedette-dev/vedette/orchestrator/records"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// benchRecords is how many records the ledger of the benchmark has: VEDETTE_BENCH_RECORDS, or 100,000.
func benchRecords(b *testing.B) int {
	b.Helper()
	n, err := strconv.Atoi(os.Getenv("VEDETTE_BENCH_RECORDS"))
	if err != nil {
		return 100_000
	}
	return n
}

// benchLedger makes a closed ledger of decisions like real ones, in groups of 64.
func benchLedger(b *testing.B, n int) records.Source {
	b.Helper()
	dir := b.TempDir()
	src := records.Source{Database: filepath.Join(dir, "v.db"), PublicKey: filepath.Join(dir, "ledger.pub")}
	skey, vkey, err := note.GenerateKey(rand.Reader, "bench")
	require.NoError(b, err)
	require.NoError(b, os.WriteFile(src.PublicKey, []byte(vkey), 0o600))
	signer, err := ledger.NewSigner(skey)
	require.NoError(b, err)
	st, err := store.Open(b.Context(), store.Options{Path: src.Database})
	require.NoError(b, err)
	l, err := ledger.Open(b.Context(), st, signer, ledger.Options{})
	require.NoError(b, err)
	var gates []string
	for i, g := range []string{"limits", "schema", "scope", "permission", "guard", "judge", "review"} {
		gates = append(gates, fmt.Sprintf(`{"gate":%q,"outcome":"allow","code":"","score":null,"elapsed_us":%d}`, g, i*3))
	}
	for from := 0; from < n; from += 64 {
		require.NoError(b, st.Submit(b.Context(), func(tx *store.Tx) error {
			for i := from; i < min(n, from+64); i++ {
				id := fmt.Sprintf("%08d-0000-7000-8000-000000000000", i)
				body := fmt.Sprintf(`{"v":1,"decision":"d-%s","call":"c-%s","grant":"g-17","digest":"sha256:%064d","outcome":"allow","gates":[%s]}`,
					id, id, i, strings.Join(gates, ","))
				_, err := l.AppendTx(tx, ledger.Entry{
					ID: id, Time: time.Unix(1_780_000_000, int64(i)*1e6), Kind: "decision", Call: "c-" + id, Decision: "d-" + id,
					Conversation: fmt.Sprintf("conv-%04d", i%5000), User: fmt.Sprintf("user-%d", i%200), Agent: "email_agent", Skill: "email.send",
					Outcome: "allow", Body: []byte(body),
				})
				if err != nil {
					return err
				}
			}
			return nil
		}))
	}
	require.NoError(b, st.Checkpoint(b.Context()))
	require.NoError(b, st.Close())
	return src
}

// BenchmarkVerify verifies one ledger fast, in full and deep, and beside it reads and hashes its rows and does
// nothing else: what a single goroutine can reach. rss-MB is what the process has in memory at the end.
func BenchmarkVerify(b *testing.B) {
	n := benchRecords(b)
	src := benchLedger(b, n)
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
			_, err := records.Prove(b.Context(), src, fmt.Sprintf("%08d-0000-7000-8000-000000000000", i))
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
