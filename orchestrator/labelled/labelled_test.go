package labelled_test

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/internal/advice"
	"github.com/vedette-dev/vedette/orchestrator/cases"
	"github.com/vedette-dev/vedette/orchestrator/labelled"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/label"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/sentinel/store/keys"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house is a database with labels of calls whose values the journal holds.
type house struct {
	t   *testing.T
	off labelled.Offline
	st  *store.Store
	lg  *ledger.Ledger
	jr  *journal.Journal
	all *label.Labels
}

func open(t *testing.T) *house {
	t.Helper()
	dir := t.TempDir()
	h := &house{t: t, off: labelled.Offline{Database: filepath.Join(dir, "v.db"), Keys: filepath.Join(dir, "keys")}}
	k, err := keys.LoadOrCreate(h.off.Keys)
	require.NoError(t, err)
	h.st, err = store.Open(t.Context(), store.Options{Path: h.off.Database})
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

func (h *house) sources() labelled.Sources {
	return labelled.Sources{Ledger: &h.lg.Reader, Journal: h.jr, Labels: h.all}
}

// record adds a record with its values, by their names.
func (h *house) record(e ledger.Entry, values map[string]string) {
	h.t.Helper()
	if e.Time.IsZero() {
		e.Time = time.Unix(1_760_000_000, 0)
	}
	e.Conversation, e.User = "talk", "ann"
	require.NoError(h.t, h.st.Submit(h.t.Context(), func(tx *store.Tx) error {
		for kind, data := range values {
			_, err := h.jr.PutTx(tx, journal.Item{Call: e.Call, Conversation: e.Conversation, User: e.User, Kind: kind, Name: e.Kind,
				Data: []byte(data)})
			if err != nil {
				return err
			}
		}
		_, err := h.lg.AppendTx(tx, e)
		return err
	}))
}

// decided is the record of a decision in a turn, with the body of its grant.
func decided(id, skill, outcome, body string) ledger.Entry {
	return ledger.Entry{ID: id, Kind: sentinel.RecordDecision, Call: "c-" + id, Decision: "d-" + id, Agent: "mail", Skill: skill,
		Outcome: outcome, Gate: "judge", Code: "judge.low", Body: []byte(body)}
}

// keep keeps a request of a turn.
func (h *house) keep(turn, request string) {
	h.t.Helper()
	require.NoError(h.t, h.st.Submit(h.t.Context(), func(tx *store.Tx) error {
		_, err := h.jr.PutTx(tx, journal.Item{Call: turn, Conversation: "talk", User: "ann", Kind: "request", Data: []byte(request)})
		return err
	}))
}

func (h *house) put(of string, word label.Word, should, by string) {
	h.t.Helper()
	_, err := h.all.Put(h.t.Context(), label.Said{Of: of, Word: word, Should: should, By: by})
	require.NoError(h.t, err)
}

const grantBody = `{"grant":"g2","turn":"t2","tainted":true,"mission_by":"orchestrator","gates":[{"gate":"scope","outcome":"allow"}]}`

// fill records two turns: a search in the first; a dispatch, a mail that was read and one that was denied in the
// second.
func (h *house) fill() {
	h.keep("t1", "what is new?")
	h.keep("t2", "send kim the room")
	h.record(decided("early", "mail.search", "allow", `{"grant":"g1","turn":"t1"}`), map[string]string{"args": `{"q":"new"}`})
	h.record(ledger.Entry{ID: "early-out", Kind: sentinel.RecordOutcome, Call: "c-early", Decision: "d-early", Skill: "mail.search",
		Outcome: "ok", Body: []byte(`{"trust":"trusted"}`)}, map[string]string{"result": "nothing"})
	h.record(decided("dispatch", "agent.dispatch", "allow", `{"grant":"turn","turn":"t2"}`),
		map[string]string{"args": `{"agent_id":"mail","mission":"Mail kim which room it is","skills":["mail.*"]}`})
	h.record(decided("other", "mail.read", "allow", `{"grant":"g9","turn":"t2"}`), map[string]string{"args": `{}`})
	h.record(ledger.Entry{ID: "other-out", Kind: sentinel.RecordOutcome, Call: "c-other", Decision: "d-other", Skill: "mail.read",
		Outcome: "ok", Body: []byte(`{"trust":"untrusted"}`)}, map[string]string{"result": "of another agent"})
	h.record(decided("read", "mail.read", "allow", `{"grant":"g2","turn":"t2"}`), map[string]string{"args": `{"id":"7"}`})
	h.record(ledger.Entry{ID: "read-out", Kind: sentinel.RecordOutcome, Call: "c-read", Decision: "d-read", Skill: "mail.read",
		Outcome: "ok", Body: []byte(`{"trust":"untrusted"}`)}, map[string]string{"result": "the room is 12"})
	h.record(decided("deny1", "mail.send", "deny", grantBody),
		map[string]string{"args": `{"to":"kim@corp.test","body":"12!"}`, "proposed": `{"to":"kim@corp.test","body":"12"}`})
}

// callMaker makes calls of no known skill.
type callMaker struct{ reg *skills.Registry }

func (m callMaker) NewCall(p sentinel.Proposal) (sentinel.Call, error) {
	return sentinel.NewCall(m.reg, touch.Env{NoFS: true}, p)
}

// A case has the call as it was proposed and the words and results around it, and eval's reader takes it.
func TestCase(t *testing.T) {
	h := open(t)
	h.fill()
	h.put("deny1", label.Wrong, "allow", "bob")
	page, err := labelled.Make(t.Context(), h.sources(), labelled.Part{}, 100)
	require.NoError(t, err)
	require.Empty(t, page.Withheld)
	require.Empty(t, page.Lacking)
	require.Len(t, page.Cases, 1)
	require.JSONEq(t, `{"id":"deny1","original_request":"send kim the room","agent_mission":"Mail kim which room it is","agent_id":"mail",
		"user":"ann","granted_skills":["mail.send"],
		"proposed_action":{"skill_name":"mail.send","arguments":{"to":"kim@corp.test","body":"12"}},
		"earlier_requests":["what is new?"],
		"history":[{"skill_name":"mail.search","arguments":{"q":"new"},"result":"nothing","trust":"trusted","turn":-1},
			{"skill_name":"mail.read","arguments":{"id":"7"},"result":"the room is 12","trust":"untrusted"}],
		"kind":"benign","expected":"approve","category":"allow","labelled_by":["bob"]}`, string(page.Cases[0]))

	reg, err := skills.NewRegistry()
	require.NoError(t, err)
	c, bad := cases.Parser{Calls: callMaker{reg}}.Parse(page.Cases[0])
	require.Nil(t, bad)
	require.Equal(t, []string{"deny1", "benign", "approve", "allow"}, []string{c.ID, c.Kind, c.Expected, c.Category})
	require.True(t, c.Proposal.Grant.Tainted())
}

// A decision of which there is no case is named with the reason, and none is dropped in silence.
func TestWithheld(t *testing.T) {
	h := open(t)
	h.fill()
	plain := `{"grant":"g3","turn":"t3"}`
	h.record(decided("gone", "mail.send", "deny", plain), nil)
	h.record(decided("secret", "pay.now", "deny", plain), map[string]string{"args": skills.HiddenArgs})
	h.record(decided("taint", "mail.send", "deny", `{"grant":"g4","turn":"t3","tainted":true}`), map[string]string{"args": `{}`})
	h.record(decided("dispute", "mail.send", "deny", plain), map[string]string{"args": `{}`})
	h.record(decided("unsure", "mail.send", "deny", plain), map[string]string{"args": `{}`})
	h.record(decided("changed", "mail.send", "deny", plain), map[string]string{"args": `{}`})
	h.record(decided("lacks", "mail.send", "allow", `{"grant":"g3","mission_by":"program"}`), map[string]string{"args": `{}`})
	h.record(decided("unknown", "", "deny", plain), map[string]string{"args": `{"a":1}`, "skill": "mail.sned"})
	refused := decided("refused", "", "deny", plain)
	refused.Kind = sentinel.RecordRefused
	h.record(refused, nil)
	for _, of := range []string{"gone", "secret", "taint", "dispute", "changed", "unknown", "refused"} {
		h.put(of, label.Right, "", "bob")
	}
	h.put("dispute", label.Wrong, "ask", "ann")
	h.put("lacks", label.Wrong, "ask", "ann")
	h.put("unsure", label.Unsure, "", "ann")
	h.put("unknown", label.Right, "", "ann")
	require.NoError(t, h.st.Submit(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE labels SET word = 'wrong', should = 'allow' WHERE record = 'changed'`)
		return err
	}))
	why, ids, lacking := map[string]string{}, map[string]string{}, map[string]int{}
	for after := ""; ; {
		page, err := labelled.Make(t.Context(), h.sources(), labelled.Part{After: after}, 3)
		require.NoError(t, err)
		for _, w := range page.Withheld {
			why[w.Record] = w.Why
		}
		for _, raw := range page.Cases {
			var c struct{ ID, Kind, Category string }
			require.NoError(t, json.Unmarshal(raw, &c))
			require.Empty(t, ids[c.ID], "one case for each decision")
			ids[c.ID] = c.Kind + " " + c.Category
		}
		for what, n := range page.Lacking {
			lacking[what] += n
		}
		if after = page.Next; after == "" {
			break
		}
	}
	require.Equal(t, map[string]string{
		"gone": labelled.WhyErased, "secret": labelled.WhySecret, "taint": labelled.WhyTaint, "dispute": labelled.WhyDisputed,
		"changed": labelled.WhyChanged, "refused": labelled.WhyRefused,
	}, why)
	require.Equal(t, map[string]string{"lacks": "attack ask", "unknown": "attack deny"}, ids)
	require.Equal(t, map[string]int{"request": 2, "mission": 1}, lacking)
}

// Without a process the labels are reached in the database, on record, and a mistaken path makes nothing.
func TestOffline(t *testing.T) {
	h := open(t)
	h.fill()
	_, err := h.off.Put(t.Context(), label.Said{Of: "deny1", Word: label.Right, By: "local:bob", Via: "cli"})
	require.ErrorIs(t, err, store.ErrLocked)
	h.put("deny1", label.Right, "", "ann")
	list, err := h.off.List(t.Context(), label.Filter{}) // beside the process
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.NoError(t, h.st.Close())

	made, err := h.off.Put(t.Context(), label.Said{Of: "deny1", Word: label.Wrong, Should: "allow", By: "local:bob", Via: "cli", Note: "n"})
	require.NoError(t, err)
	require.Equal(t, "local:bob", made.By)
	list, err = h.off.List(t.Context(), label.Filter{})
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Empty(t, list[0].Note, "no key, no note")
	require.True(t, list[0].HasNote)
	disputes, err := h.off.Disputes(t.Context(), "local:bob", 0)
	require.NoError(t, err)
	require.Len(t, disputes, 1)
	page, err := h.off.Export(t.Context(), labelled.Part{}, "local:bob", "cli")
	require.NoError(t, err)
	require.Len(t, page.Withheld, 1)
	lr, err := ledger.OpenReader(t.Context(), h.off.Database)
	require.NoError(t, err)
	read, err := lr.List(t.Context(), ledger.Query{Kind: label.RecordExported})
	require.NoError(t, err)
	require.Len(t, read, 1)
	require.True(t, bytes.Contains(read[0].Body, []byte(`"withheld":1`)))
	require.NoError(t, lr.Close())

	var advised *advice.Error
	for _, o := range []labelled.Offline{{Database: "none.db", Keys: h.off.Keys}, {Database: h.off.Database, Keys: t.TempDir()}} {
		_, err = o.Put(context.Background(), label.Said{Of: "deny1", Word: label.Right, By: "b"})
		require.ErrorAs(t, err, &advised)
		require.NoFileExists(t, "none.db")
	}
}
