package records_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	_ "modernc.org/sqlite"

	"github.com/vedette-dev/vedette/internal/advice"
	"github.com/vedette-dev/vedette/orchestrator/history"
	"github.com/vedette-dev/vedette/orchestrator/records"
	"github.com/vedette-dev/vedette/orchestrator/records/query"
	"github.com/vedette-dev/vedette/orchestrator/records/shown"
	"github.com/vedette-dev/vedette/orchestrator/records/story"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/sentinel/store/keys"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// entryAt is the entry in place i of what recordCalls writes.
func entryAt(i int, body string) ledger.Entry {
	return ledger.Entry{
		ID: fmt.Sprintf("id%05d", i), Time: time.Unix(1_760_000_000+int64(i), 0).UTC(), Kind: sentinel.RecordDecision,
		Call:     fmt.Sprintf("call%d", i/2),
		Decision: fmt.Sprintf("decision%d", i), Conversation: "c1", User: "ann", Agent: "helper", Skill: "email.send", Outcome: "deny",
		Body: json.RawMessage(body),
	}
}

// recordCalls makes a database with so many records, two of each call, and with two
// values of the first call. The last record holds arguments.
func recordCalls(t *testing.T, n int) records.Source {
	t.Helper()
	dir := t.TempDir()
	s := records.Source{Database: filepath.Join(dir, "v.db"), Keys: filepath.Join(dir, "keys")}
	s.PublicKey = filepath.Join(s.Keys, "ledger.pub")
	st, err := store.Open(t.Context(), store.Options{Path: s.Database})
	require.NoError(t, err)
	k, err := keys.LoadOrCreate(s.Keys)
	require.NoError(t, err)
	signer, err := ledger.NewSigner(k.Ledger())
	require.NoError(t, err)
	l, err := ledger.Open(t.Context(), st, signer, ledger.Options{})
	require.NoError(t, err)
	jr, err := journal.Open(t.Context(), st, journal.SingleKey(k.Journal()), journal.Options{})
	require.NoError(t, err)
	_, err = history.Open(t.Context(), st, jr, history.Options{Ledger: l})
	require.NoError(t, err)
	if n > 0 {
		require.NoError(t, st.Submit(t.Context(), func(tx *store.Tx) error {
			for i := range n {
				body := `{"reason":"it reaches\u001b others","gates":[{"gate":"guard","outcome":"deny"}]}`
				if i == n-1 {
					body = `{"args":{"to":"x"}}`
				}
				if _, err := l.AppendTx(tx, entryAt(i, body)); err != nil {
					return err
				}
			}
			for kind, data := range map[string]string{"args": `{"to":"x"}`, "result": "\xff\x00"} {
				item := journal.Item{Call: "call0", Conversation: "c1", User: "ann", Kind: kind, Name: sentinel.RecordDecision, Data: []byte(data)}
				if _, err := jr.PutTx(tx, item); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	require.NoError(t, st.Close())
	return s
}

// requireAdvice makes sure that an error says what happened and what to do.
func requireAdvice(t *testing.T, err error, says, todo string) {
	t.Helper()
	var advised *advice.Error
	require.ErrorAs(t, err, &advised)
	require.ErrorContains(t, advised, says)
	require.Contains(t, advised.Todo, todo)
}

// Records come newest first, page by page, up to the limit, and the list says whether
// there may be more.
func TestListGoesByPages(t *testing.T) {
	s := recordCalls(t, 1500)
	for limit, want := range map[int]struct {
		pages []int
		more  bool
	}{1200: {[]int{1000, 200}, true}, 1500: {[]int{1000, 500}, true}, 9999: {[]int{1000, 500}, false}, 1: {[]int{1}, true}} {
		var pages []int
		next := 1499
		shown, more, err := s.List(t.Context(), records.ListOptions{Query: ask(t, "user:ann"), Limit: limit}, func(p records.Page) error {
			pages = append(pages, len(p))
			for _, r := range p {
				require.EqualValues(t, next, r.Index)
				next--
			}
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, want.pages, pages)
		require.Equal(t, want.more, more, limit)
		require.Equal(t, 1500-1-next, shown)
	}
	shown, more, err := s.List(t.Context(), records.ListOptions{Query: ask(t, "user:bob"), Limit: 5}, func(records.Page) error { return nil })
	require.NoError(t, err)
	require.Zero(t, shown)
	require.False(t, more)
	_, _, err = s.List(t.Context(), records.ListOptions{Limit: 5}, func(records.Page) error { return os.ErrClosed })
	require.ErrorIs(t, err, os.ErrClosed)
}

// A record is found by its id, the start of it, its decision or its call, with the
// others of its call; what is shown of it is escaped.
func TestFind(t *testing.T) {
	s := recordCalls(t, 4)
	for id, want := range map[string]string{"id00001": "id00001", "decision2": "id00002", "call1": "id00002"} {
		f, err := s.Find(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, want, f.Record.ID)
		require.Len(t, f.Related, 1)
		require.Equal(t, f.Record.Call, f.Related[0].Call)
	}
	_, err := s.Find(t.Context(), "id0000")
	requireAdvice(t, err, "several records start with", "give more of the id")
	_, err = s.Find(t.Context(), "nothing")
	requireAdvice(t, err, `no record, decision or call has the id "nothing"`, "vedette ledger list")

	f, err := s.Find(t.Context(), "id00000")
	require.NoError(t, err)
	var text strings.Builder
	require.NoError(t, f.WriteText(&text, false))
	require.Contains(t, text.String(), `it reaches\x1b others`)
	require.Contains(t, text.String(), "other records of this call\n")
	require.NotContains(t, text.String(), "values\n")
}

// The values of a call are opened with the key folder, on record, as text where they are text. A folder
// without keys gets none, and neither does one who reads beside a writer.
func TestStoryWithValues(t *testing.T) {
	s := recordCalls(t, 2)
	who := story.Reader{By: "local:rita", Via: "cli"}
	told, err := shown.ReadValues(t.Context(), s, "decision0", who)
	require.NoError(t, err)
	require.Equal(t, story.Text{State: story.Kept, Text: `{"to":"x"}`}, told.Values.Arguments)
	require.Equal(t, story.Text{State: story.Kept, Base64: []byte("\xff\x00"), Bytes: 2}, told.Values.Result)
	require.Equal(t, "local:rita", told.Opened.By)
	found, err := s.Find(t.Context(), told.Opened.Record)
	require.NoError(t, err)
	require.Equal(t, sentinel.RecordValuesRead, found.Record.Kind)
	require.JSONEq(t, `{"v":1,"by":"local:rita","via":"cli","record":"id00000","decision":"decision0","call":"call0"}`,
		string(found.Record.Body))

	plain, err := shown.ReadStory(t.Context(), s, "id00000")
	require.NoError(t, err)
	require.Nil(t, plain.Opened)
	require.Equal(t, story.Sealed, plain.Values.Arguments.State)
	require.Len(t, plain.Readings, 1)
	writer, err := store.Open(t.Context(), store.Options{Path: s.Database})
	require.NoError(t, err)
	_, err = shown.ReadValues(t.Context(), s, "decision0", who)
	require.ErrorIs(t, err, records.ErrInUse)
	require.NoError(t, writer.Close())
	_, err = shown.ReadValues(t.Context(), s, "nothing", who)
	requireAdvice(t, err, `has the id "nothing"`, "vedette ledger list")
	s.Keys = t.TempDir()
	_, err = shown.ReadValues(t.Context(), s, "decision0", who)
	requireAdvice(t, err, "there is no journal.key", "--keys FOLDER")
	require.NoFileExists(t, filepath.Join(s.Keys, "journal.key"), "a reader makes no keys")
}

// A ledger that holds what was signed verifies, also with its newest head, and one that
// was changed is an integrity failure that keeps its report.
func TestVerify(t *testing.T) {
	s := recordCalls(t, 3)
	head, err := s.NewestHead(t.Context())
	require.NoError(t, err)
	kept := filepath.Join(t.TempDir(), "head.txt")
	require.NoError(t, os.WriteFile(kept, head, 0o600))
	v, err := s.Verify(t.Context(), records.VerifyOptions{Heads: []string{kept}, Deep: true})
	require.NoError(t, err)
	require.NoError(t, v.Err())
	require.True(t, v.OK)
	require.EqualValues(t, 3, v.RollbackExcluded)

	db, err := sql.Open("sqlite", s.Database)
	require.NoError(t, err)
	_, err = db.Exec(`UPDATE ledger_records SET outcome = 'allow' WHERE idx = 1`)
	require.ErrorContains(t, err, "never changed")
	_, err = db.Exec(`DROP TRIGGER ledger_records_no_update; UPDATE ledger_records SET outcome = 'allow' WHERE idx = 1`)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	v, err = s.Verify(t.Context(), records.VerifyOptions{})
	require.NoError(t, err)
	require.False(t, v.OK)
	var broken *records.IntegrityError
	require.ErrorAs(t, v.Err(), &broken)
	require.Contains(t, broken.Advice(), "keep the file as it is")
	var text strings.Builder
	require.NoError(t, v.WriteText(&text))
	require.Contains(t, text.String(), "TAMPERED")
}

// A head that another key signed, or that is none, verifies nothing.
func TestForeignHead(t *testing.T) {
	s, other := recordCalls(t, 1), recordCalls(t, 1)
	head, err := other.NewestHead(t.Context())
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "head.txt")
	require.NoError(t, os.WriteFile(file, head, 0o600))
	_, err = s.Verify(t.Context(), records.VerifyOptions{Heads: []string{file}})
	requireAdvice(t, err, file, "vedette ledger head")
	s.PublicKey = other.PublicKey
	_, err = s.NewestHead(t.Context())
	require.ErrorAs(t, err, new(*records.IntegrityError))
	_, err = recordCalls(t, 0).NewestHead(t.Context())
	require.ErrorContains(t, err, "is empty: there is no head yet")
}

// What is missing is named with where to find another.
func TestMissing(t *testing.T) {
	s := records.Source{Database: filepath.Join(t.TempDir(), "gone.db"), PublicKey: "gone.pub"}
	requireAdvice(t, s.CheckDatabase(), "no such database", "--db FILE")
	_, err := s.Find(t.Context(), "x")
	requireAdvice(t, err, "no such database", "--db FILE")
	_, err = s.Verify(t.Context(), records.VerifyOptions{})
	requireAdvice(t, err, "gone.pub: no such file", "--key FILE")
}

// A purge erases a user's values, puts that on record and counts the records of the
// ledger that hold arguments; beside a writer it changes nothing.
func TestPurge(t *testing.T) {
	s := recordCalls(t, 4)
	writer, err := store.Open(t.Context(), store.Options{Path: s.Database})
	require.NoError(t, err)
	_, err = s.Purge(t.Context(), records.PurgeOptions{User: "ann", By: "bob"})
	requireAdvice(t, err, "is in use", "purge again")
	require.NoError(t, writer.Close())

	gone, err := s.Purge(t.Context(), records.PurgeOptions{User: "ann", By: "bob"})
	require.NoError(t, err)
	require.Equal(t, 2, gone.Values)
	require.Equal(t, 1, gone.InLedger)
	told, err := shown.ReadValues(t.Context(), s, "decision0", story.Reader{By: "rita", Via: "cli"})
	require.NoError(t, err)
	require.Equal(t, story.Erased, told.Values.Arguments.State)
	require.Contains(t, told.Values.Arguments.Why, "it was erased by the purge of ")
	kinds := map[string]int{}
	_, _, err = s.List(t.Context(), records.ListOptions{Limit: 100}, func(p records.Page) error {
		for _, r := range p {
			kinds[r.Kind]++
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, map[string]int{sentinel.RecordDecision: 4, sentinel.RecordPurge: 2, sentinel.RecordValuesRead: 1}, kinds)
	v, err := s.Verify(t.Context(), records.VerifyOptions{})
	require.NoError(t, err)
	require.True(t, v.OK)
}

// ask reads a query.
func ask(t *testing.T, text string) query.Query {
	t.Helper()
	q, err := query.Parse(text, time.Now())
	require.NoError(t, err)
	return q
}
