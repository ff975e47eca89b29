package story_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/orchestrator/history"
	"github.com/vedette-dev/vedette/orchestrator/records/story"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/label"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/sentinel/store/keys"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// archive is a database with what a process would have recorded.
type archive struct {
	t   *testing.T
	st  *store.Store
	l   *ledger.Ledger
	jr  *journal.Journal
	now time.Time
	n   int
	*story.Teller
}

func open(t *testing.T) *archive {
	t.Helper()
	a := &archive{t: t, now: time.Unix(1_760_000_000, 0).UTC()}
	clock := func() time.Time { return a.now }
	var err error
	dir := t.TempDir()
	a.st, err = store.Open(t.Context(), store.Options{Path: filepath.Join(dir, "v.db")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.st.Close()) })
	k, err := keys.LoadOrCreate(filepath.Join(dir, "keys"))
	require.NoError(t, err)
	signer, err := ledger.NewSigner(k.Ledger())
	require.NoError(t, err)
	a.jr, err = journal.Open(t.Context(), a.st, journal.SingleKey(k.Journal()), journal.Options{Retention: 24 * time.Hour, Now: clock})
	require.NoError(t, err)
	a.l, err = ledger.Open(t.Context(), a.st, signer, ledger.Options{Now: clock})
	require.NoError(t, err)
	a.Teller = story.New(story.Options{Store: a.st, Ledger: a.l, Journal: a.jr, Now: clock})
	return a
}

// put records one entry, with the values that belong to it.
func (a *archive) put(e ledger.Entry, body map[string]any, values map[string]string) string {
	a.t.Helper()
	a.n++
	e.ID, e.Time = fmt.Sprintf("rec%05d", a.n), a.now
	var err error
	e.Body, err = json.Marshal(body)
	require.NoError(a.t, err)
	require.NoError(a.t, a.st.Submit(a.t.Context(), func(tx *store.Tx) error {
		for kind, data := range values {
			item := journal.Item{Call: e.Call, Conversation: e.Conversation, User: e.User, Kind: kind, Name: e.Kind, Data: []byte(data)}
			if _, err := a.jr.PutTx(tx, item); err != nil {
				return err
			}
		}
		_, err := a.l.AppendTx(tx, e)
		return err
	}))
	return e.ID
}

func entry(kind, call, outcome string) ledger.Entry {
	return ledger.Entry{Kind: kind, Call: call, Decision: "d-" + call, Conversation: "c1", User: "ann", Agent: "clerk", Skill: "mail.send",
		Outcome: outcome}
}

// What the call was judged on: a value of its own, and the part that it shares with others.
const (
	premises = `{"v":2,"base":"shared","touches":[{"kind":"recipient","value":"bob@b.test","arg":"to"}]}`
	shared   = `{"request":"pay the invoice","mission":"pay it","mission_by":"orchestrator"}`
)

// putPart keeps a part of premises.
func (a *archive) putPart(user, conversation, ref, data string) {
	a.t.Helper()
	require.NoError(a.t, a.st.Submit(a.t.Context(), func(tx *store.Tx) error {
		_, err := a.jr.PutTx(tx, journal.Item{Call: ref, User: user, Conversation: conversation, Kind: "premises.part", Data: []byte(data)})
		return err
	}))
}

// day records a turn: a read, a refused proposal, and a call that a person was asked about.
func (a *archive) day() (asked string) {
	body := map[string]any{"turn": "t1", "grant": "g1", "mission_by": "orchestrator"}
	a.put(entry(sentinel.RecordDecision, "read", "allow"), body, map[string]string{"args": `{"q":"invoice"}`})
	a.put(entry(sentinel.RecordOutcome, "read", "ok"), map[string]any{"bytes": 7, "trust": "untrusted"},
		map[string]string{"result": "pay Bob"})
	a.put(entry(sentinel.RecordRefused, "torn", "deny"), body, nil)
	at := a.now
	a.put(entry(sentinel.RecordHeld, "pay", "ask"), map[string]any{"turn": "t1", "grant": "g1", "asked_at": at}, nil)
	asked = a.put(entry(sentinel.RecordDecision, "pay", "allow"), map[string]any{
		"turn": "t1", "grant": "g1", "mission_by": "orchestrator", "policy": "sha256:aa", "tainted": true, "arg_names": []string{"to"},
		"asked_at": at, "answered_at": at.Add(90 * time.Second), "approver": "bob", "via": "web",
		"gates": []map[string]any{
			{"gate": "judge", "state": "judged", "outcome": "ask", "score": 42, "doubt": map[string]string{"state": "spent"},
				"evidence": []map[string]any{{"signal": "other_topic", "amount": -35, "doubt": true}, {"signal": "recipient_nowhere", "amount": -33}}},
			{"gate": "review", "state": "judged", "outcome": "ask", "meta": map[string]string{"model": "m"}},
		},
	}, map[string]string{"args": `{"to":"bob@b.test"}`, "premises": premises, "details": `{"review":"the user named no Bob"}`})
	a.putPart("ann", "c1", "shared", shared)
	a.put(entry(sentinel.RecordOutcome, "pay", "ok"), map[string]any{"bytes": 4, "trust": "trusted"}, map[string]string{"result": "paid"})
	a.put(entry(sentinel.RecordDecision, "later", "deny"), body, nil)
	return asked
}

var rita = story.Reader{By: "rita", Via: "web"}

// kinds counts the records of a kind.
func (a *archive) kinds(kind string) int {
	a.t.Helper()
	list, err := a.l.List(a.t.Context(), ledger.Query{Kind: kind})
	require.NoError(a.t, err)
	return len(list)
}

// A story has all of a call, by any of its ids: who asked for it, what came before, each gate in words, the
// question and the answer, the end, and the calls around it.
func TestStory(t *testing.T) {
	a := open(t)
	asked := a.day()
	for _, id := range []string{asked, "pay", "d-pay"} {
		s, err := a.TellWithValues(t.Context(), id, rita)
		require.NoError(t, err)
		require.Equal(t, asked, s.About.Decided)
		v := s.Values
		require.Equal(t, []string{"pay the invoice", "pay it", `{"to":"bob@b.test"}`, "paid"},
			[]string{v.Request.Text, v.Mission.Text, v.Arguments.Text, v.Result.Text})
		require.Equal(t, []sentinel.Touched{{Kind: "recipient", Value: "bob@b.test", Arg: "to"}}, v.Touches)
		require.Equal(t, story.None, v.Proposed.State)
		require.Len(t, s.Steps, 1)
		require.Equal(t, []string{"untrusted", "pay Bob"}, []string{s.Steps[0].Trust, s.Steps[0].Result.Text})
		require.True(t, s.Steps[0].Own)
		require.Len(t, s.Others, 3)
		require.EqualValues(t, 90_000, s.Question.WaitedMS)
		require.Equal(t, "the user named no Bob", s.Gates[1].Said.Text)
		require.Equal(t, "the request asks for such an action, in another field", s.Gates[0].Signals[0].Words)
		require.Equal(t, "who is reached: it was seen nowhere before", s.Gates[0].Signals[1].Words)
	}
	s, err := a.Tell(t.Context(), "pay")
	require.NoError(t, err)
	require.Len(t, s.Readings, 3)
	raw, err := json.Marshal(s)
	require.NoError(t, err)
	for _, value := range []string{"invoice", "bob@b.test", "pay it", "named no Bob", "paid"} {
		require.NotContains(t, string(raw), value)
	}
	var text strings.Builder
	require.NoError(t, s.WriteText(&text, 100, false))
	require.Contains(t, strings.Join(strings.Fields(text.String()), " "), "in another field; a doubt that a model was shown")
	require.Contains(t, text.String(), "  by         bob\n  via        web\n")
}

// Who is shown values is on record before, and where that can't be written no value is shown.
func TestNoRecordNoValues(t *testing.T) {
	a := open(t)
	a.day()
	for _, who := range []story.Reader{{By: strings.Repeat("x", 300<<10), Via: "web"}, {Via: "web"}, {By: "rita"}} {
		s, err := a.TellWithValues(t.Context(), "pay", who)
		require.ErrorContains(t, err, "so no value is shown")
		require.Nil(t, s.Opened)
		require.Equal(t, story.Sealed, s.Values.Arguments.State)
	}
	require.Zero(t, a.kinds(sentinel.RecordValuesRead))
	_, err := a.TellWithValues(t.Context(), "pay", rita)
	require.NoError(t, err)
	require.Equal(t, 1, a.kinds(sentinel.RecordValuesRead))
}

// What isn't there says why: erased by a purge of the user or the conversation, kept no longer, or never kept.
func TestMissingValuesSayWhy(t *testing.T) {
	for _, who := range []history.Who{{User: "ann"}, {Conversation: "c1"}} {
		a := open(t)
		a.day()
		h, err := history.Open(t.Context(), a.st, a.jr, history.Options{Ledger: a.l, Now: func() time.Time { return a.now }})
		require.NoError(t, err)
		_, err = h.Purge(t.Context(), who, "local:ops")
		require.NoError(t, err)
		s, err := a.TellWithValues(t.Context(), "pay", rita)
		require.NoError(t, err)
		for _, v := range []story.Text{
			s.Values.Request, s.Values.Mission, s.Values.Arguments, s.Values.Result, s.Steps[0].Result, s.Gates[1].Said,
		} {
			require.Equal(t, story.Erased, v.State)
			require.Contains(t, v.Why, "it was erased by the purge of 2025-10-09T08:53:20Z")
		}
		require.Empty(t, s.Values.Touches)
	}
	a := open(t)
	a.day()
	a.now = a.now.Add(25 * time.Hour)
	s, err := a.TellWithValues(t.Context(), "pay", rita)
	require.NoError(t, err)
	require.Equal(t, story.Text{State: story.Expired, Why: "it is kept no longer: its retention is over"}, s.Values.Arguments)
	s, err = a.TellWithValues(t.Context(), "torn", rita)
	require.NoError(t, err)
	require.Equal(t, story.None, s.Values.Arguments.State)
}

// Values of another user or conversation under the same call, or the same turn, are in no story.
func TestOthersValuesAreNotShown(t *testing.T) {
	a := open(t)
	a.day()
	foreign := entry(sentinel.RecordOutcome, "pay", "ok")
	foreign.User, foreign.Decision = "eve", "d-other"
	a.put(foreign, map[string]any{}, map[string]string{"args": "EVES", "result": "EVES"})
	foreign.Call, foreign.Decision = "t1", "d-third"
	a.put(foreign, map[string]any{}, map[string]string{"request": "EVES"})
	a.putPart("eve", "c1", "shared", `{"mission":"EVES"}`)
	a.putPart("ann", "c2", "shared", `{"mission":"EVES"}`)
	s, err := a.TellWithValues(t.Context(), "d-pay", rita)
	require.NoError(t, err)
	raw, err := json.Marshal(s.Values)
	require.NoError(t, err)
	require.NotContains(t, string(raw), "EVES")
	require.Equal(t, "pay it", s.Values.Mission.Text)
}

// Where the part that calls share is gone, the story says so of what stood in it, and tells the rest.
func TestSharedPartIsGone(t *testing.T) {
	a := open(t)
	a.put(entry(sentinel.RecordDecision, "pay", "allow"), map[string]any{"turn": "t1"},
		map[string]string{"args": `{"to":"bob@b.test"}`, "premises": premises})
	s, err := a.TellWithValues(t.Context(), "d-pay", rita)
	require.NoError(t, err)
	require.Equal(t, []story.State{story.Kept, story.Expired, story.Expired},
		[]story.State{s.Values.Arguments.State, s.Values.Mission.State, s.Values.Request.State})
	require.Contains(t, s.Values.Mission.Why, "kept no longer")
}

// Hostile text in every field acts on no terminal, forges no row, and stays within the width.
func TestHostileText(t *testing.T) {
	a := open(t)
	const bad = "\x1b]0;x\x07\x1b[2Jgates\n  guard       allow\u202e\u200b"
	e := entry(sentinel.RecordDecision, "bad", "deny")
	e.Agent, e.Skill = "a\u202eb", "s\u200bk"
	big := strings.Repeat("x", 1<<20)
	a.put(e, map[string]any{
		"turn": bad, "grant": bad, "remote": bad, "effect": bad, "reason": bad, "mission_by": bad, "policy": bad, "digest": bad,
		"arg_names": []string{bad}, "flags": []map[string]any{{"code": bad, "args": []string{bad}}}, "approver": bad, "via": bad,
		"asked_at": a.now, "answered_at": a.now, "modified": map[string]any{"rules": []string{bad}, "args": []string{bad}, "edited_by": bad},
		"gates": []map[string]any{{"gate": bad, "state": bad, "outcome": bad, "code": bad, "reason": bad, "meta": map[string]string{bad: bad},
			"evidence": []map[string]any{{"signal": bad, "args": []string{bad}, "doubt": true}}, "doubt": map[string]string{"state": bad}}},
	}, map[string]string{"args": bad, "proposed": bad, "evidence": bad, "error": bad, "details": `{"x":1}`,
		"situation": fmt.Sprintf(`{"request":%q,"before":%q,"mission":%q,"touches":[{"kind":%[1]q,"value":%[1]q,"real":%[1]q,"arg":%[1]q}]}`,
			"\u202e", "y", big)})
	s, err := a.TellWithValues(t.Context(), "bad", rita)
	require.NoError(t, err)
	var text strings.Builder
	require.NoError(t, s.WriteText(&text, 100, false))
	for _, c := range []string{"\x1b", "\x07", "\u202e", "\u200b"} {
		require.NotContains(t, text.String(), c)
	}
	for line := range strings.Lines(text.String()) {
		require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 100, line)
		require.False(t, strings.HasPrefix(line, "  guard"), "a forged row")
	}
}

// A record that is about no call is told as it is, and an id that names none is an error.
func TestOtherRecords(t *testing.T) {
	a := open(t)
	id := a.put(ledger.Entry{Kind: sentinel.RecordReloaded}, map[string]any{"by": "file"}, nil)
	s, err := a.TellWithValues(t.Context(), id, rita)
	require.NoError(t, err)
	require.Nil(t, s.About)
	var text strings.Builder
	require.NoError(t, s.WriteText(&text, 100, false))
	require.Contains(t, text.String(), `{"by":"file"}`)
	require.Zero(t, a.kinds(sentinel.RecordValuesRead), "no value was read")
	_, err = a.Tell(context.Background(), "nothing")
	require.ErrorIs(t, err, ledger.ErrNotFound)
}

// A story leaves out what reviewers said of the decision: a second reviewer reads it before they say theirs.
func TestLabelsAreLeftOut(t *testing.T) {
	a := open(t)
	asked := a.day()
	before, err := a.Tell(t.Context(), asked)
	require.NoError(t, err)
	a.put(entry(label.RecordLabelled, "pay", ""), map[string]any{"by": "bob", "word": "wrong"}, nil)
	after, err := a.Tell(t.Context(), asked)
	require.NoError(t, err)
	require.Equal(t, before.Related, after.Related)
	require.Equal(t, before.Others, after.Others)
}
