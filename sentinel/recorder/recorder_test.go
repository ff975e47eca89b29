package recorder_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/recorder"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/sentinel/store/keys"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house is a database with a recorder and a clock that a test moves.
type house struct {
	*recorder.Recorder
	t      *testing.T
	store  *store.Store
	ledger *ledger.Ledger
	agents *ledger.Identities
	secret [32]byte // of the agents
	path   string
	j      *journal.Journal
	at     time.Time
	told   []string // what was observed: the kind, and the error where there was one
}

func newHouse(t *testing.T, retention time.Duration) *house {
	t.Helper()
	dir := t.TempDir()
	k, err := keys.LoadOrCreate(filepath.Join(dir, "keys"))
	require.NoError(t, err)
	path := filepath.Join(dir, "v.db")
	s, err := store.Open(t.Context(), store.Options{Path: path})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	signer, err := ledger.NewSigner(k.Ledger())
	require.NoError(t, err)
	h := &house{t: t, store: s, path: path, at: time.Now()}
	now := func() time.Time { return h.at }
	h.ledger, err = ledger.Open(t.Context(), s, signer, ledger.Options{Now: now})
	require.NoError(t, err)
	j, err := journal.Open(t.Context(), s, journal.SingleKey(k.Journal()), journal.Options{Retention: retention, Now: now})
	require.NoError(t, err)
	h.secret, err = k.LoadAgents()
	require.NoError(t, err)
	h.j = j
	h.agents, err = ledger.NewIdentities(t.Context(), s, h.ledger, h.secret)
	require.NoError(t, err)
	h.Recorder = recorder.New(recorder.Options{
		Store: s, Ledger: h.ledger, Journal: j, Retention: retention, Now: now, Identities: h.agents,
		Observe: func(kind string, _ time.Duration, err error) {
			if err != nil {
				kind += ": " + err.Error()
			}
			h.told = append(h.told, kind)
		},
	})
	return h
}

// countSpent counts the spent warrants that are remembered.
func (h *house) countSpent() (n int) {
	h.t.Helper()
	require.NoError(h.t, h.store.Reader().QueryRow(h.t.Context(), "SELECT count(*) FROM store_spent").Scan(&n))
	return n
}

func newRecord(kind, id string) sentinel.Record {
	return sentinel.Record{
		Kind: kind, ID: id, At: time.Now(), CallID: "c", DecisionID: "d", User: "ann", Conversation: "c1", Agent: "a", Skill: "notes.add",
		Outcome: "allow", Body: []byte(`{"v":1}`),
	}
}

// A record, its values and its spent warrant are written together or not at all: what
// makes one of them fail leaves nothing of the others. (Invariant 1.)
func TestRecordIsOneTransaction(t *testing.T) {
	h := newHouse(t, time.Hour)
	rec := newRecord(sentinel.RecordDecision, "first")
	rec.Spend, rec.SpendExpires = "w1", h.at.Add(time.Minute)
	rec.Values = []sentinel.Value{{Name: "args", Data: []byte(`{"text":"milk"}`)}}
	require.NoError(t, h.Record(t.Context(), rec))
	require.Equal(t, 1, h.countSpent())
	changed := errors.New("changed since approval")
	for name, c := range map[string]struct {
		mend func(*sentinel.Record)
		want error
	}{
		"the warrant was spent": {func(r *sentinel.Record) { r.Spend = "w1" }, store.ErrSpent},
		"the check fails":       {func(r *sentinel.Record) { r.Check = func() error { return changed } }, changed},
		"the record is there":   {func(r *sentinel.Record) { r.ID = "first" }, ledger.ErrDuplicate},
	} {
		t.Run(name, func(t *testing.T) {
			again := rec
			again.ID, again.Spend = "again", "w2"
			c.mend(&again)
			require.ErrorIs(t, h.Record(t.Context(), again), c.want)
			past, err := h.Past(t.Context(), "c")
			require.NoError(t, err)
			require.Len(t, past, 1)
			require.Len(t, past[0].Values, 1)
			require.Equal(t, 1, h.countSpent())
		})
	}
	require.Equal(t, sentinel.RecordDecision, h.told[0])
	require.Len(t, h.told, 4, "each record is observed, also one that failed")
}

// The id of an allowed call is kept from being allowed again for a week, and for
// longer where what a restart reads is kept for longer.
func TestOnceForAsLongAsValuesAreKept(t *testing.T) {
	const day = 24 * time.Hour
	for retention, want := range map[time.Duration]time.Duration{time.Hour: 7 * day, 168 * time.Hour: 7 * day, 720 * time.Hour: 30 * day} {
		t.Run(retention.String(), func(t *testing.T) {
			h := newHouse(t, retention)
			rec := func(id string) error {
				return h.Record(t.Context(), sentinel.Record{
					Kind: sentinel.RecordDecision, ID: id, At: h.at, CallID: "c", DecisionID: id, Once: "c", OnceFor: 7 * day,
				})
			}
			require.NoError(t, rec("first"))
			h.at = h.at.Add(want - time.Minute)
			_, err := h.store.PruneSpent(t.Context(), h.at)
			require.NoError(t, err)
			require.ErrorIs(t, rec("second"), store.ErrSpent)
			h.at = h.at.Add(2 * time.Minute)
			_, err = h.store.PruneSpent(t.Context(), h.at)
			require.NoError(t, err)
			require.Zero(t, h.countSpent(), "and not for ever")
		})
	}
}

// Past gives a value to the newest record of its kind, and leaves out what is another
// user's under the same call id.
func TestPastHasItsValues(t *testing.T) {
	h := newHouse(t, time.Hour)
	put := func(kind, id, user, value string) {
		rec := newRecord(kind, id)
		rec.User, rec.Values = user, []sentinel.Value{{Name: "result", Data: []byte(value)}}
		require.NoError(t, h.Record(t.Context(), rec))
	}
	put(sentinel.RecordDecision, "1", "ann", "decided")
	put(sentinel.RecordOutcome, "2", "ann", "first")
	put(sentinel.RecordOutcome, "3", "ann", "second")
	put(sentinel.RecordOutcome, "4", "eve", "hers")
	past, err := h.Past(t.Context(), "c")
	require.NoError(t, err)
	require.Len(t, past, 4)
	var got []string
	for _, r := range past {
		line := r.ID
		for _, v := range r.Values {
			line += " " + string(v.Data)
		}
		got = append(got, line)
	}
	require.Equal(t, []string{"1 decided", "2", "3", "4 first second"}, got)
	past, err = h.Past(t.Context(), "another")
	require.NoError(t, err)
	require.Empty(t, past)
}

// Newest pages backwards through one user's conversation.
func TestNewestPages(t *testing.T) {
	h := newHouse(t, time.Hour)
	for _, id := range []string{"1", "2", "3"} {
		rec := newRecord(sentinel.RecordRefused, id)
		rec.CallID = "c-" + id
		require.NoError(t, h.Record(t.Context(), rec))
	}
	other := newRecord(sentinel.RecordRefused, "4")
	other.User = "eve"
	require.NoError(t, h.Record(t.Context(), other))
	first, err := h.Newest(t.Context(), "c1", "ann", nil, 2)
	require.NoError(t, err)
	require.Equal(t, []string{"c-3", "c-2"}, []string{first[0].Call, first[1].Call})
	require.Equal(t, []string{"refused", "notes.add"}, []string{first[0].Kind, first[0].Skill})
	require.Contains(t, string(first[0].Body), `{"v":1,"agent_key":"`)
	rest, err := h.Newest(t.Context(), "c1", "ann", &first[1].Index, 2)
	require.NoError(t, err)
	require.Len(t, rest, 1)
	require.Equal(t, "c-1", rest[0].Call)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = h.Newest(ctx, "c1", "ann", nil, 2)
	require.ErrorIs(t, err, context.Canceled)
}
