package sink_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/orchestrator/sink"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// records are a ledger in memory.
type records struct {
	mu   sync.Mutex
	list []ledger.Record
	err  error
}

func (r *records) List(_ context.Context, q ledger.Query) ([]ledger.Record, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return nil, r.err
	}
	if q.Newest {
		return r.list[max(0, len(r.list)-q.Limit):], nil
	}
	from := int(*q.AfterIndex) + 1
	return r.list[min(from, len(r.list)):min(from+q.Limit, len(r.list))], nil
}

// add appends records of these times.
func (r *records) add(times ...time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, at := range times {
		n := int64(len(r.list))
		r.list = append(r.list, ledger.Record{Index: n, Entry: ledger.Entry{ID: fmt.Sprintf("r-%d", n), Time: at, Kind: "decision",
			User: "ann", Body: json.RawMessage(`{"outcome":"deny"}`)}})
	}
}

var november = time.Date(2026, 11, 30, 23, 59, 59, 0, time.UTC)

func open(t *testing.T, dir string, r *records, log *slog.Logger) *sink.Sink {
	t.Helper()
	s, err := sink.Open(sink.Options{Folder: dir, Ledger: r, Log: log})
	require.NoError(t, err)
	return s
}

// indexes are those of all lines of all files, in the files' order.
func indexes(t *testing.T, dir string) (out []int64) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			var rec ledger.Record
			require.NoError(t, json.Unmarshal([]byte(line), &rec), "%q", line)
			out = append(out, rec.Index)
		}
	}
	return out
}

func upTo(n int64) (out []int64) {
	for i := range n {
		out = append(out, i)
	}
	return out
}

// Each record is a line of its month's file, which no other may read.
func TestFileAMonth(t *testing.T) {
	dir, r := filepath.Join(t.TempDir(), "log"), &records{}
	r.add(november, november.Add(time.Minute), november.Add(time.Hour))
	s := open(t, dir, r, nil)
	require.NoError(t, s.CatchUp(t.Context()))
	require.NoError(t, s.CatchUp(t.Context()))
	for name, lines := range map[string]int{"2026-11.jsonl": 1, "2026-12.jsonl": 2} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, lines, strings.Count(string(text), "\n"))
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode())
	}
	text, err := os.ReadFile(filepath.Join(dir, "2026-11.jsonl"))
	require.NoError(t, err)
	require.JSONEq(t, `{"index":0,"id":"r-0","time":"2026-11-30T23:59:59Z","kind":"decision","user":"ann","body":{"outcome":"deny"}}`,
		string(text))
}

// A process that ended anywhere, also in the midst of a line or of two files, leaves nothing out and
// writes nothing twice. So does a clock that went back.
func TestCrashAnywhere(t *testing.T) {
	r := &records{}
	for i := range 300 {
		r.add(november.Add(time.Duration(i/25%3-1) * time.Hour)) // and back
	}
	whole := t.TempDir()
	require.NoError(t, os.Chmod(whole, 0o700))
	require.NoError(t, open(t, whole, r, nil).CatchUp(t.Context()))
	want := upTo(300)
	require.ElementsMatch(t, want, indexes(t, whole))
	for cut := range 20 {
		dir := t.TempDir()
		require.NoError(t, os.Chmod(dir, 0o700))
		first := &records{list: r.list[:cut*15]}
		require.NoError(t, open(t, dir, first, nil).CatchUp(t.Context()))
		half := cut % 2 * 17
		if half > 0 {
			name := filepath.Join(dir, "2026-11.jsonl")
			f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
			require.NoError(t, err)
			_, err = f.WriteString(`{"index":9999,"id":"half of a line`[:half])
			require.NoError(t, errors.Join(err, f.Close()))
		}
		require.NoError(t, open(t, dir, r, nil).CatchUp(t.Context()))
		require.ElementsMatch(t, want, indexes(t, dir), "cut after %d", cut*15)
	}
}

// While the files can't be written the operator is told once, records are counted, and each follows.
func TestFolderGone(t *testing.T) {
	dir, r := filepath.Join(t.TempDir(), "log"), &records{}
	var told bytes.Buffer
	s := open(t, dir, r, slog.New(slog.NewTextHandler(&told, nil)))
	r.add(november, november)
	require.NoError(t, s.CatchUp(t.Context()))
	require.NoError(t, os.Rename(dir, dir+".away"))
	r.add(november, november, november)
	require.Error(t, s.CatchUp(t.Context()))
	require.Error(t, s.CatchUp(t.Context()))
	require.Equal(t, sink.Stats{Behind: 3, Failures: 2}, s.Stats())
	require.Equal(t, 1, strings.Count(told.String(), "records can't be written"))
	require.NoError(t, os.Rename(dir+".away", dir))
	require.NoError(t, s.CatchUp(t.Context()))
	require.Equal(t, int64(0), s.Stats().Behind)
	require.Contains(t, told.String(), "has every record again")
	require.Equal(t, upTo(5), indexes(t, dir))
}

// Files of another ledger, or of a newer copy, are left alone.
func TestOtherLedger(t *testing.T) {
	dir, r := filepath.Join(t.TempDir(), "log"), &records{}
	r.add(november, november, november)
	require.NoError(t, open(t, dir, r, nil).CatchUp(t.Context()))
	older := &records{list: r.list[:2]}
	require.ErrorIs(t, open(t, dir, older, nil).CatchUp(t.Context()), sink.ErrOtherLedger)
	other := &records{}
	other.add(november, november, november)
	other.list[2].ID = "another"
	require.ErrorIs(t, open(t, dir, other, nil).CatchUp(t.Context()), sink.ErrOtherLedger)
	require.Equal(t, upTo(3), indexes(t, dir))

	name := filepath.Join(dir, "2027-01.jsonl")
	require.NoError(t, os.WriteFile(name, []byte("no record\n"), 0o600))
	require.ErrorContains(t, open(t, dir, r, nil).CatchUp(t.Context()), "2027-01.jsonl is no record")
	require.NoError(t, os.Remove(name))
	require.NoError(t, os.Symlink("/dev/null", filepath.Join(dir, "2027-02.jsonl")))
	r.add(november.AddDate(0, 2, 10))
	require.ErrorContains(t, open(t, dir, r, nil).CatchUp(t.Context()), "is no file")
}

// A folder that others can read is refused at the start, and so is one that can't be made.
func TestFolderIsPrivate(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755)) //nolint:gosec // that is what is tested
	_, err := sink.Open(sink.Options{Folder: dir, Ledger: &records{}})
	require.ErrorContains(t, err, "chmod 700")
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = sink.Open(sink.Options{Folder: file, Ledger: &records{}})
	require.ErrorContains(t, err, "can't be made")
}

// Run writes what comes, and goes on after the ledger was away.
func TestRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	synctest.Test(t, func(t *testing.T) {
		r := &records{}
		r.add(november)
		s := open(t, dir, r, nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		synctest.Wait()
		require.Equal(t, upTo(1), indexes(t, dir))
		r.mu.Lock()
		r.err = errors.New("away")
		r.mu.Unlock()
		time.Sleep(3 * time.Second)
		r.mu.Lock()
		r.err = nil
		r.mu.Unlock()
		r.add(november, november)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Equal(t, upTo(3), indexes(t, dir))
		cancel()
		require.NoError(t, <-done)
	})
}
