package label_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/label"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/sentinel/store/keys"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house is a database with labels.
type house struct {
	t    *testing.T
	file string
	st   *store.Store
	lg   *ledger.Ledger
	jr   *journal.Journal
	all  *label.Labels
}

func open(t *testing.T) *house {
	t.Helper()
	h := &house{t: t, file: filepath.Join(t.TempDir(), "v.db")}
	k, err := keys.LoadOrCreate(filepath.Join(filepath.Dir(h.file), "keys"))
	require.NoError(t, err)
	h.st, err = store.Open(t.Context(), store.Options{Path: h.file})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.st.Close()) })
	signer, err := ledger.NewSigner(k.Ledger())
	require.NoError(t, err)
	h.lg, err = ledger.Open(t.Context(), h.st, signer, ledger.Options{})
	require.NoError(t, err)
	h.jr, err = journal.Open(t.Context(), h.st, journal.SingleKey(k.Journal()), journal.Options{})
	require.NoError(t, err)
	h.all, err = label.Open(t.Context(), label.Options{Store: h.st, Ledger: h.lg, Journal: h.jr})
	require.NoError(t, err)
	return h
}

// record adds records.
func (h *house) record(list ...ledger.Entry) {
	h.t.Helper()
	require.NoError(h.t, h.st.Submit(h.t.Context(), func(tx *store.Tx) error {
		for _, e := range list {
			if _, err := h.lg.AppendTx(tx, e); err != nil {
				return err
			}
		}
		return nil
	}))
}

// decided is the record of a decision about a call of ann's.
func decided(id, skill, outcome string) ledger.Entry {
	return ledger.Entry{ID: id, Time: time.Unix(1_760_000_000, 0), Kind: sentinel.RecordDecision, Call: "c-" + id, Decision: "d-" + id,
		Conversation: "talk", User: "ann", Skill: skill, Outcome: outcome, Gate: "guard", Code: "guard.path", Body: []byte(`{"v":1}`)}
}

// asked is the record of a decision about which a person was asked.
func asked(id, outcome string) ledger.Entry {
	e := decided(id, "mail.send", outcome)
	e.Body = []byte(`{"v":1,"asked_at":"2026-11-23T10:00:00Z"}`)
	return e
}

func (h *house) put(s label.Said) label.Label {
	h.t.Helper()
	out, err := h.all.Put(h.t.Context(), s)
	require.NoError(h.t, err)
	return out
}

func (h *house) list(f label.Filter) []label.Label {
	h.t.Helper()
	out, err := h.all.List(h.t.Context(), f)
	require.NoError(h.t, err)
	return out
}

// records returns the records of labels.
func (h *house) records() []ledger.Record {
	h.t.Helper()
	out, err := h.lg.List(h.t.Context(), ledger.Query{Kind: label.RecordLabelled})
	require.NoError(h.t, err)
	return out
}

// What a reviewer says stands until they say something else, and each word is a record with codes alone.
func TestPut(t *testing.T) {
	h := open(t)
	h.record(decided("deny1", "mail.send", "deny"), asked("ask1", "allow"))
	first := h.put(label.Said{Of: "deny1", Word: label.Wrong, Should: "allow", Note: "CANARY-note\nher boss", By: "bob", Via: "web"})
	require.Equal(t, []string{"deny1", "d-deny1", "c-deny1", "deny", "guard.path", "mail.send"},
		[]string{first.Record, first.Decision, first.Call, first.Decided, first.Code, first.Skill})
	require.Equal(t, "allow", first.Wanted())
	for _, of := range []string{"d-deny1", "c-deny1", "deny", first.ID} { // its decision, its call, its beginning, a record of its call
		require.Equal(t, "deny1", h.put(label.Said{Of: of, Word: label.Unsure, By: "of " + of}).Record, of)
	}
	second := h.put(label.Said{Of: "deny1", Word: label.Right, By: "bob"})
	same := h.put(label.Said{Of: "deny1", Word: label.Right, By: "bob", Via: "api"})
	require.Equal(t, second.ID, same.ID, "the same word again changes nothing")
	standing := h.list(label.Filter{Record: "deny1", By: "bob"})
	require.Len(t, standing, 1)
	require.Equal(t, label.Right, standing[0].Word)
	history := h.list(label.Filter{Record: "deny1", By: "bob", All: true})
	require.Len(t, history, 2)
	require.True(t, history[1].Replaced)
	require.Equal(t, "CANARY-note\nher boss", history[1].Note)
	require.Equal(t, "ask", h.put(label.Said{Of: "ask1", Word: label.Wrong, Should: "allow", By: "bob"}).Decided, "a person was asked")

	list := h.records()
	require.Len(t, list, 7)
	require.Equal(t, "label.wrong", list[0].Code)
	require.Equal(t, first.ID, list[0].ID)
	require.JSONEq(t, `{"v":1,"record":"deny1","word":"wrong","decided":"deny","should":"allow","by":"bob","via":"web","note":true}`,
		string(list[0].Body))
	require.True(t, first.IsOnRecord(&list[0]))
	changed := first
	changed.Should = "ask"
	require.False(t, changed.IsOnRecord(&list[0]))
	require.False(t, first.IsOnRecord(&list[1]))
	for _, name := range []string{h.file, h.file + "-wal"} {
		raw, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NotContains(t, string(raw), "CANARY-note")
	}
}

// What makes no sense is refused and leaves nothing.
func TestRefusals(t *testing.T) {
	h := open(t)
	h.record(decided("deny1", "mail.send", "deny"), decided("deny2", "mail.send", "deny"),
		ledger.Entry{ID: "paused", Time: time.Unix(1_760_000_000, 0), Kind: "paused"})
	for name, c := range map[string]struct {
		said label.Said
		is   error
	}{
		"no word":         {label.Said{Of: "deny1", By: "bob"}, label.ErrLabel},
		"another word":    {label.Said{Of: "deny1", Word: "maybe", By: "bob"}, label.ErrLabel},
		"wrong alone":     {label.Said{Of: "deny1", Word: label.Wrong, By: "bob"}, label.ErrLabel},
		"what it was":     {label.Said{Of: "deny1", Word: label.Wrong, Should: "deny", By: "bob"}, label.ErrLabel},
		"not now":         {label.Said{Of: "deny1", Word: label.Wrong, Should: "defer", By: "bob"}, label.ErrLabel},
		"right, but":      {label.Said{Of: "deny1", Word: label.Right, Should: "allow", By: "bob"}, label.ErrLabel},
		"a long note":     {label.Said{Of: "deny1", Word: label.Right, Note: strings.Repeat("x", label.MaxNote+1), By: "bob"}, label.ErrLabel},
		"a note of bytes": {label.Said{Of: "deny1", Word: label.Right, Note: "\xff", By: "bob"}, label.ErrLabel},
		"no reviewer":     {label.Said{Of: "deny1", Word: label.Right}, label.ErrLabel},
		"two lines":       {label.Said{Of: "deny1", Word: label.Right, By: "bob\neve"}, label.ErrLabel},
		"no decision":     {label.Said{Of: "nothing", Word: label.Right, By: "bob"}, label.ErrUnknown},
		"an empty id":     {label.Said{Word: label.Right, By: "bob"}, label.ErrUnknown},
		"a hostile id":    {label.Said{Of: "' OR 1=1 --\x1b", Word: label.Right, By: "bob"}, label.ErrUnknown},
		"another record":  {label.Said{Of: "paused", Word: label.Right, By: "bob"}, label.ErrUnknown},
		"several":         {label.Said{Of: "deny", Word: label.Right, By: "bob"}, label.ErrAmbiguous},
	} {
		_, err := h.all.Put(t.Context(), c.said)
		require.ErrorIs(t, err, c.is, name)
	}
	require.Empty(t, h.records())
	require.Empty(t, h.list(label.Filter{All: true}))
}

// A second reviewer sees what the first said once they have said something themselves; records too.
func TestBlindReviewers(t *testing.T) {
	h := open(t)
	h.record(decided("deny1", "mail.send", "deny"), decided("deny2", "mail.send", "deny"))
	h.put(label.Said{Of: "deny1", Word: label.Right, By: "bob"})
	h.put(label.Said{Of: "deny2", Word: label.Right, By: "bob"})
	require.Empty(t, h.list(label.Filter{Viewer: "ann"}))
	require.Len(t, h.list(label.Filter{Viewer: "bob"}), 2)
	require.Len(t, h.list(label.Filter{}), 2)
	seen, err := h.all.Conceal(t.Context(), "ann", h.records())
	require.NoError(t, err)
	require.Empty(t, seen)

	h.put(label.Said{Of: "deny1", Word: label.Wrong, Should: "ask", By: "ann"})
	require.Len(t, h.list(label.Filter{Viewer: "ann"}), 2)
	require.Empty(t, h.list(label.Filter{Viewer: "ann", Record: "deny2"}))
	seen, err = h.all.Conceal(t.Context(), "ann", h.records())
	require.NoError(t, err)
	require.Len(t, seen, 2)
	page := h.list(label.Filter{Limit: 2})
	require.Len(t, page, 2)
	require.Len(t, h.list(label.Filter{After: page[1].ID}), 1)
}

// Reviewers disagree where they hold different outcomes to be right. Those who can't tell do not count.
func TestDisputes(t *testing.T) {
	h := open(t)
	h.record(decided("a111", "mail.send", "deny"), decided("b222", "mail.send", "deny"), asked("c333", "allow"))
	for _, s := range []label.Said{
		{Of: "a111", Word: label.Right, By: "bob", Note: "a stranger's"}, {Of: "a111", Word: label.Wrong, Should: "allow", By: "ann"},
		{Of: "b222", Word: label.Right, By: "bob"}, {Of: "b222", Word: label.Unsure, By: "ann"},
		{Of: "c333", Word: label.Wrong, Should: "allow", By: "bob"}, {Of: "c333", Word: label.Wrong, Should: "deny", By: "ann"},
		{Of: "c333", Word: label.Unsure, By: "carol"},
	} {
		h.put(s)
	}
	all, err := h.all.Disputes(t.Context(), "", 0)
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, []string{"c333", "a111"}, []string{all[0].Record, all[1].Record})
	require.Len(t, all[0].Labels, 3)
	require.Equal(t, "a stranger's", all[1].Labels[0].Note)
	own, err := h.all.Disputes(t.Context(), "carol", 0)
	require.NoError(t, err)
	require.Len(t, own, 1, "the other one carol has not looked at")

	opinions, err := label.ReadOpinions(t.Context(), h.st.Reader())
	require.NoError(t, err)
	require.Equal(t, map[string]label.Opinion{
		"a111": {Decided: "deny", Class: label.ClassDisputed}, "b222": {Decided: "deny", Class: label.ClassRight},
		"c333": {Decided: "ask", Class: label.ClassDisputed},
	}, opinions)
	h.put(label.Said{Of: "c333", Word: label.Wrong, Should: "allow", By: "ann"})
	h.put(label.Said{Of: "a111", Word: label.Unsure, By: "ann"})
	opinions, err = label.ReadOpinions(t.Context(), h.st.Reader())
	require.NoError(t, err)
	require.Equal(t, label.ClassTooStrict, opinions["c333"].Class)
	require.Equal(t, label.ClassRight, opinions["a111"].Class)
}

// A purge of the call's user erases the note. What was said stays, and so does its record.
func TestPurgeErasesNotes(t *testing.T) {
	h := open(t)
	h.record(decided("deny1", "mail.send", "deny"))
	h.put(label.Said{Of: "deny1", Word: label.Right, Note: "CANARY", By: "bob"})
	n, err := h.jr.EraseUser(t.Context(), "ann")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	list := h.list(label.Filter{})
	require.Len(t, list, 1)
	require.Empty(t, list[0].Note)
	require.True(t, list[0].HasNote)
	require.Len(t, h.records(), 1)
}

// Two who speak at once, and one person in two windows, leave one standing label each.
func TestTwoAtOnce(t *testing.T) {
	h := open(t)
	h.record(decided("deny1", "mail.send", "deny"))
	const both = 20
	ended := make(chan error, both)
	for i := range both {
		go func() {
			_, err := h.all.Put(t.Context(), label.Said{Of: "deny1", Word: label.Wrong, Should: []string{"allow", "ask"}[i/2%2],
				By: []string{"bob", "ann"}[i%2]})
			ended <- err
		}()
	}
	for range both {
		require.NoError(t, <-ended)
	}
	require.Len(t, h.list(label.Filter{}), 2)
	require.Len(t, h.records(), len(h.list(label.Filter{All: true})))
}

// The queue has all denials, all asks, the first calls of a skill and one in a hundred of the others, until the
// reviewer has said something of them.
func TestQueue(t *testing.T) {
	h := open(t)
	const allowed = 2000
	list := []ledger.Entry{decided("deny1", "mail.send", "deny"), asked("ask1", "allow"), asked("ask2", "deny"),
		{ID: "refused1", Time: time.Unix(1_760_000_000, 0), Kind: sentinel.RecordRefused, Outcome: "deny", Decision: "d-refused1"},
		{ID: "outcome1", Time: time.Unix(1_760_000_000, 0), Kind: sentinel.RecordOutcome, Outcome: "failed"}, decided("defer1", "", "defer")}
	for i := range allowed {
		list = append(list, decided(fmt.Sprintf("ok%06d", i), "note.read", "allow"))
	}
	h.record(list...)
	for more := true; more; {
		var err error
		more, err = h.all.Fill(t.Context())
		require.NoError(t, err)
	}
	queue := func(f label.QueueFilter) []label.Queued {
		t.Helper()
		out, err := h.all.Queue(t.Context(), f)
		require.NoError(t, err)
		return out
	}
	count := map[string]int{}
	all := queue(label.QueueFilter{Reviewer: "bob", Limit: 1000})
	for _, q := range all {
		count[q.Why]++
	}
	require.Equal(t, 2, count[label.WhyDenied])
	require.Equal(t, 2, count[label.WhyAsked])
	require.Equal(t, 20, count[label.WhyNewSkill])
	require.InDelta(t, allowed/100, count[label.WhySampled], 15)
	require.Equal(t, "deny1", all[len(all)-1].Record.ID, "the newest first")
	require.Equal(t, "mail.send", all[len(all)-1].Record.Skill)
	require.JSONEq(t, `{"v":1}`, string(all[len(all)-1].Record.Body))

	left, err := h.all.CountLeft(t.Context(), "bob")
	require.NoError(t, err)
	require.Len(t, all, left)
	h.put(label.Said{Of: "deny1", Word: label.Right, By: "bob"})
	require.Len(t, queue(label.QueueFilter{Reviewer: "bob", Limit: 1000}), left-1)
	require.Len(t, queue(label.QueueFilter{Reviewer: "ann", Limit: 1000}), left, "another reviewer looks at it too")
	denied := queue(label.QueueFilter{Reviewer: "ann", Why: label.WhyDenied, Limit: 1})
	require.Equal(t, "refused1", denied[0].Record.ID)
	before := denied[0].Record.Index
	require.Equal(t, "deny1", queue(label.QueueFilter{Reviewer: "ann", Why: label.WhyDenied, Before: &before})[0].Record.ID)

	h.record(decided("deny2", "mail.send", "deny"))
	require.Equal(t, "deny2", queue(label.QueueFilter{Reviewer: "bob", Limit: 1})[0].Record.ID, "what is new comes without a Fill")
	again, err := label.Open(t.Context(), label.Options{Store: h.st, Ledger: h.lg, Journal: h.jr})
	require.NoError(t, err)
	more, err := again.Fill(t.Context())
	require.NoError(t, err)
	require.False(t, more, "it goes on where it was")
	require.Len(t, queue(label.QueueFilter{Reviewer: "bob", Limit: 1000}), left)
}

// A database that never had a label has none.
func TestNoTable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "v.db")
	st, err := store.Open(t.Context(), store.Options{Path: file})
	require.NoError(t, err)
	defer func() { require.NoError(t, st.Close()) }()
	require.NoError(t, st.Migrate(t.Context(), "other", []string{`CREATE TABLE other (id INTEGER) STRICT`}))
	list, err := label.List(t.Context(), st.Reader(), label.Filter{})
	require.NoError(t, err)
	require.Empty(t, list)
	disputes, err := label.ListDisputes(t.Context(), st.Reader(), "", 0)
	require.NoError(t, err)
	require.Empty(t, disputes)
	opinions, err := label.ReadOpinions(t.Context(), st.Reader())
	require.NoError(t, err)
	require.Empty(t, opinions)
	_, err = label.Open(t.Context(), label.Options{Store: st})
	require.ErrorContains(t, err, "labels need")
}

// An export is on record with numbers and names.
func TestRecordExport(t *testing.T) {
	h := open(t)
	require.NoError(t, h.all.RecordExport(t.Context(), "bob", "cli", 3, 1))
	list, err := h.lg.List(t.Context(), ledger.Query{Kind: label.RecordExported})
	require.NoError(t, err)
	require.Len(t, list, 1)
	var body map[string]any
	require.NoError(t, json.Unmarshal(list[0].Body, &body))
	require.Equal(t, map[string]any{"v": 1.0, "by": "bob", "via": "cli", "cases": 3.0, "withheld": 1.0}, body)
}
