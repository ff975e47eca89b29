package ledger_test

import (
	"context"
	"crypto/rand"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/mod/sumdb/note"
	"modernc.org/sqlite"

	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
)

const benchCallers = 64

var benchBody = []byte(fmt.Sprintf(`{"digest":"sha256:%064d","gates":[%s]}`, 7, benchGates()))

func benchGates() string {
	s := ""
	for i, g := range []string{"limits", "schema", "scope", "permission", "guard", "judge", "review"} {
		if i > 0 {
			s += ","
		}
		s += fmt.Sprintf(`{"gate":%q,"outcome":"allow","code":"","score":null,"elapsed_us":%d}`, g, i*3)
	}
	return s
}

func benchEntry() ledger.Entry {
	return ledger.Entry{
		ID: uuid.Must(uuid.NewV7()).String(), Time: time.Now(), Kind: "decision", Call: uuid.NewString(),
		Conversation: "conv-0042", User: "user-17", Agent: "email_agent", Skill: "email.send", Outcome: "allow",
		Body: benchBody,
	}
}

// benchStack opens store, ledger and journal on a new file.
func benchStack(b *testing.B, path string) (*store.Store, *ledger.Ledger, *journal.Journal) {
	b.Helper()
	st, err := store.Open(b.Context(), store.Options{Path: path})
	if err != nil {
		b.Fatal(err)
	}
	skey, _, err := note.GenerateKey(rand.Reader, "bench")
	if err != nil {
		b.Fatal(err)
	}
	signer, err := ledger.NewSigner(skey)
	if err != nil {
		b.Fatal(err)
	}
	led, err := ledger.Open(b.Context(), st, signer, ledger.Options{})
	if err != nil {
		b.Fatal(err)
	}
	jr, err := journal.Open(b.Context(), st, journal.SingleKey([32]byte{1}), journal.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return st, led, jr
}

// round runs n operations on 64 callers and returns how long it took and the
// latency of each.
func round(b *testing.B, n int, op func() error) (time.Duration, []time.Duration) {
	b.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	errs := make(chan error, benchCallers)
	lat := make([]time.Duration, n)
	start := time.Now()
	for range benchCallers {
		wg.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= int64(n) {
					return
				}
				t := time.Now()
				if err := op(); err != nil {
					errs <- err
					return
				}
				lat[i] = time.Since(t)
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	select {
	case err := <-errs:
		b.Fatal(err)
	default:
	}
	return took, lat
}

// benchDecision returns what makes one decision durable, and a record as it is signed.
func benchDecision(b *testing.B, st *store.Store, led *ledger.Ledger, jr *journal.Journal) (decide func() error, signed ledger.Entry) {
	b.Helper()
	signed = benchEntry()
	agent, err := ledger.NewAgentKey(signed.Agent, [32]byte{1}, 0)
	if err == nil {
		err = led.SignAs(agent, &signed)
	}
	if err != nil {
		b.Fatal(err)
	}
	value := make([]byte, 200)
	return func() error {
		e, warrant := benchEntry(), uuid.NewString()
		if err := led.SignAs(agent, &e); err != nil {
			return err
		}
		return st.Submit(context.Background(), func(tx *store.Tx) error {
			if _, err := led.AppendTx(tx, e); err != nil {
				return err
			}
			if _, err := jr.PutTx(tx, journal.Item{Call: e.Call, Conversation: e.Conversation, User: e.User, Kind: "arguments",
				Data: value}); err != nil {
				return err
			}
			return store.Spend(tx, warrant, e.Time.Add(time.Minute))
		})
	}, signed
}

// BenchmarkPaced begins a decision each millisecond, whether those before have ended or not, and measures each from when
// it was to begin.
func BenchmarkPaced(b *testing.B) {
	st, led, jr := benchStack(b, filepath.Join(b.TempDir(), "full.db"))
	defer func() { _ = st.Close() }()
	decision, _ := benchDecision(b, st, led, jr)
	lat := make([]time.Duration, b.N)
	errs := make([]error, b.N)
	var wg sync.WaitGroup
	b.ResetTimer()
	began := time.Now()
	for i := range b.N {
		at := began.Add(time.Duration(i) * time.Millisecond)
		time.Sleep(time.Until(at))
		wg.Go(func() {
			errs[i] = decision()
			lat[i] = time.Since(at)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		b.Fatal(err)
	}
	slices.Sort(lat)
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "decisions/s")
	b.ReportMetric(float64(lat[len(lat)/2].Microseconds()), "p50-us")
	b.ReportMetric(float64(lat[len(lat)*99/100].Microseconds()), "p99-us")
}

// BenchmarkDecision measures one durable decision by 64 callers. A decision is a
// ledger record that its agent's key signs, a journal value of 200 bytes and a spent warrant in one
// submission. It takes turns with bare INSERTs of the same rows and bytes into the
// same schema. %ofbare is its throughput in percent of theirs.
func BenchmarkDecision(b *testing.B) {
	dir := b.TempDir()
	st, led, jr := benchStack(b, filepath.Join(dir, "full.db"))
	defer func() { _ = st.Close() }()
	bare := newBareWriter(b, filepath.Join(dir, "bare.db"))
	defer bare.close()

	decision, signed := benchDecision(b, st, led, jr)
	bare.body = signed.Body
	const size = 4096
	round(b, size, decision) // both caches warm
	round(b, size, bare.insert)
	var full, base time.Duration
	var lat []time.Duration
	b.ResetTimer()
	for done := 0; done < b.N; done += size {
		n := min(size, b.N-done)
		bareFirst := done/size%2 == 1 // neither always pays for the other's garbage
		if bareFirst {
			base += bareRound(b, n, bare)
		}
		d, l := round(b, n, decision)
		full, lat = full+d, append(lat, l...)
		if !bareFirst {
			base += bareRound(b, n, bare)
		}
	}
	slices.Sort(lat)
	b.ReportMetric(100*base.Seconds()/full.Seconds(), "%ofbare")
	b.ReportMetric(float64(b.N)/full.Seconds(), "decisions/s")
	b.ReportMetric(float64(b.N)/base.Seconds(), "bare/s")
	var rows, groups float64
	err := st.Reader().QueryRow(b.Context(), `SELECT (SELECT count(*) FROM ledger_records), (SELECT count(*) FROM ledger_heads)`).Scan(&rows,
		&groups)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(rows/groups, "group")
	b.ReportMetric(float64(bare.idx)/float64(bare.groups), "baregroup")
	b.ReportMetric(float64(lat[len(lat)/2].Microseconds()), "p50-us")
	b.ReportMetric(float64(lat[len(lat)*99/100].Microseconds()), "p99-us")
}

// bareRound is a round of bare INSERTs that does not count for ns/op.
func bareRound(b *testing.B, n int, bare *bareWriter) time.Duration {
	b.Helper()
	b.StopTimer()
	defer b.StartTimer()
	runtime.GC()
	d, _ := round(b, n, bare.insert)
	runtime.GC()
	return d
}

// bareWriter inserts rows in groups and does nothing else: no savepoint, hash,
// signature, seal or check.
type bareWriter struct {
	b    *testing.B
	conn driver.Conn
	in   chan *bareRow
	done chan struct{}
	body []byte // of each record: as long as a signed one

	record, hashes, head, key, value, spent, begin, commit driver.Stmt
	idx, first                                             int64
	groups                                                 int64
	args                                                   [16]driver.NamedValue
}

type bareRow struct {
	e       ledger.Entry
	warrant string
	done    chan error
}

func newBareWriter(b *testing.B, path string) *bareWriter {
	b.Helper()
	st, _, _ := benchStack(b, path) // the same tables
	if err := st.Close(); err != nil {
		b.Fatal(err)
	}
	q := url.Values{"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(ON)", "secure_delete(ON)",
		"temp_store(MEMORY)"}}
	connector, err := sqlite.NewConnector("file:" + path + "?" + q.Encode())
	if err != nil {
		b.Fatal(err)
	}
	w := &bareWriter{b: b, in: make(chan *bareRow, 256), done: make(chan struct{})}
	if w.conn, err = connector.Connect(b.Context()); err != nil {
		b.Fatal(err)
	}
	for into, query := range map[*driver.Stmt]string{
		&w.begin: "BEGIN IMMEDIATE", &w.commit: "COMMIT",
		&w.record: `INSERT INTO ledger_records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		&w.hashes: `INSERT INTO ledger_hashes VALUES (?, ?)`, &w.head: `INSERT INTO ledger_heads VALUES (?, ?)`,
		&w.key: `INSERT INTO journal_keys VALUES (?, ?)`, &w.value: `INSERT INTO journal_values VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		&w.spent: `INSERT INTO store_spent VALUES (?, ?)`,
	} {
		if *into, err = w.conn.Prepare(query); err != nil {
			b.Fatal(err)
		}
	}
	go w.loop()
	return w
}

func (w *bareWriter) insert() error {
	r := &bareRow{e: benchEntry(), warrant: uuid.NewString(), done: make(chan error, 1)}
	r.e.Body = w.body
	w.in <- r
	return <-r.done
}

func (w *bareWriter) close() {
	close(w.in)
	<-w.done
	for _, s := range []driver.Stmt{w.record, w.hashes, w.head, w.key, w.value, w.spent, w.begin, w.commit} {
		_ = s.Close()
	}
	if err := w.conn.Close(); err != nil {
		w.b.Error(err)
	}
}

func (w *bareWriter) loop() {
	defer close(w.done)
	batch := make([]*bareRow, 0, 256)
	for r := range w.in {
		batch = append(batch[:0], r)
		yielded := false
	fill:
		for len(batch) < cap(batch) {
			select {
			case r, ok := <-w.in:
				if !ok {
					break fill
				}
				batch = append(batch, r)
			default:
				if yielded {
					break fill
				}
				yielded = true // as the store's writer does
				runtime.Gosched()
			}
		}
		err := w.group(batch)
		for _, r := range batch {
			r.done <- err
		}
	}
}

// exec makes no garbage of its own: the bare writer is to be as fast as can be.
func (w *bareWriter) exec(s driver.Stmt, args ...driver.Value) error {
	nv := w.args[:len(args)]
	for i, a := range args {
		nv[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
	}
	c, ok := s.(driver.StmtExecContext)
	if !ok {
		return errors.New("no context")
	}
	_, err := c.ExecContext(context.Background(), nv)
	return err
}

var (
	bareHashes  = make([]byte, 64*512)
	bareHead    = make([]byte, 220)
	bareWrapped = make([]byte, 64)
	bareSealed  = make([]byte, 216)
)

func (w *bareWriter) group(batch []*bareRow) error {
	if err := w.exec(w.begin); err != nil {
		return err
	}
	for _, r := range batch {
		e, ms := r.e, r.e.Time.UnixMilli()
		err := errors.Join(
			w.exec(w.record, w.idx, e.ID, e.Time.UnixNano(), e.Kind, e.Call, e.Decision, e.Conversation, e.User, e.Agent,
				e.Skill, e.Outcome, e.Gate, e.Code, []byte(e.Body)),
			w.exec(w.key, w.idx+1, bareWrapped),
			w.exec(w.value, w.idx+1, ms, ms+604800000, e.Call, e.Conversation, e.User, "arguments", "", bareSealed),
			w.exec(w.spent, r.warrant, e.Time.Unix()),
		)
		if err != nil {
			return err
		}
		w.idx++
	}
	w.groups++
	n := 2 * len(batch)
	err := errors.Join(w.exec(w.hashes, w.first, bareHashes[:n*32]), w.exec(w.head, w.idx, bareHead), w.exec(w.commit))
	w.first += int64(n)
	return err
}
