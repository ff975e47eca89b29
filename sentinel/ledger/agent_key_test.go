package ledger

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/store"
)

// agentSecret is what the keys of agents are derived from here.
var agentSecret = [32]byte{9}

func newAgentKey(t testing.TB, agent string, generation int64) *AgentKey {
	t.Helper()
	k, err := NewAgentKey(agent, agentSecret, generation)
	require.NoError(t, err)
	return k
}

// appendAs appends a record that a key signs, once change has had its way with what was signed.
func appendAs(t testing.TB, st *store.Store, l *Ledger, k *AgentKey, id, agent string, change func(*Entry)) {
	t.Helper()
	e := entry(0)
	e.ID, e.Agent, e.Body = id, k.agent, []byte(`{"v":1,"n":5}`)
	require.NoError(t, l.SignAs(k, &e))
	e.Agent = agent
	if change != nil {
		change(&e)
	}
	require.NoError(t, st.Submit(t.Context(), func(tx *store.Tx) error {
		_, err := l.AppendTx(tx, e)
		return err
	}))
}

func rotateAgent(t testing.TB, st *store.Store, l *Ledger, from, to *AgentKey) {
	t.Helper()
	require.NoError(t, st.Submit(t.Context(), func(tx *store.Tx) error { return l.RotateAgentKeyTx(tx, from, to, "ann") }))
}

// Records of agents verify offline through a rotation of the ledger's key and of an agent's. Whoever holds the ledger's file
// and its key, and not the agent's, can put no record under the agent's name; an agent can't for another; a key that
// was replaced, and one that nothing certifies, count no more.
func TestAgentsSign(t *testing.T) {
	signers := [2]*Signer{newSigner(t), newSigner(t)}
	path := filepath.Join(t.TempDir(), "ledger.db")
	st := openStore(t, path)
	l, err := Open(t.Context(), st, signers[0], Options{})
	require.NoError(t, err)
	first, second, other := newAgentKey(t, "mail", 0), newAgentKey(t, "mail", 1), newAgentKey(t, "files", 0)
	appendAs(t, st, l, first, "a0", "mail", nil)
	appendAs(t, st, l, other, "a1", "files", nil)
	require.NoError(t, l.RotateKey(t.Context(), signers[1], "ann")) // record 2
	appendAs(t, st, l, first, "a3", "mail", nil)
	rotateAgent(t, st, l, first, second) // record 4
	appendAs(t, st, l, second, "a5", "mail", nil)
	appendGroups(t, st, l, 6, 1) // unsigned
	verify := func() (Report, error) {
		t.Helper()
		require.NoError(t, st.Checkpoint(t.Context()))
		return Verify(t.Context(), path, VerifyOptions{PublicKey: signers[0].PublicKey(), Agents: true})
	}
	report, err := verify()
	require.NoError(t, err)
	require.EqualValues(t, 4, report.AgentSigned)

	stranger, err := NewAgentKey("mail", [32]byte{1}, 0)
	require.NoError(t, err)
	certifiedBy := func(by *Signer, k *AgentKey) func(*Entry) {
		return func(e *Entry) {
			s, _ := splitSigned(e.Body)
			sig, err := by.signer.Sign(certText("mail", k.public))
			require.NoError(t, err)
			e.Body = bytes.Replace(e.Body, s.cert, []byte(encodeAgent(sig)), 1)
		}
	}
	unseen := newAgentKey(t, "mail", 7)
	appendAs(t, st, l, first, "b0", "mail", nil)                                                      // 7: replaced
	appendAs(t, st, l, other, "b1", "mail", nil)                                                      // 8: another agent's
	appendAs(t, st, l, second, "b2", "mail", func(e *Entry) { e.Skill = "files.delete" })             // 9
	appendAs(t, st, l, stranger, "b3", "mail", certifiedBy(newSigner(t), stranger))                   // 10
	appendAs(t, st, l, second, "b4", "mail", func(e *Entry) { e.Body[5] = '2' })                      // 11
	appendAs(t, st, l, unseen, "b5", "mail", certifiedBy(signers[0], unseen))                         // 12: by a key that was rotated away
	appendAs(t, st, l, second, "b6", "mail", func(e *Entry) { e.Body = append(e.Body[:12:12], '}') }) // 13: unsigned
	report, err = verify()
	require.ErrorIs(t, err, ErrTampered)
	var at []int64
	for _, p := range report.Problems {
		require.Equal(t, BadAgent, p.Kind, p)
		at = append(at, p.From)
	}
	require.Equal(t, []int64{7, 8, 9, 10, 11, 12}, at)
	report, err = Verify(t.Context(), path, VerifyOptions{PublicKey: signers[0].PublicKey()})
	require.NoError(t, err, "only where it is asked for")
	require.Zero(t, report.AgentSigned)
	require.NoError(t, st.Close())
}

// A record that was proved names its agent's key, without the database.
func TestAgentSignerOfAProof(t *testing.T) {
	signer := newSigner(t)
	st := openStore(t, filepath.Join(t.TempDir(), "ledger.db"))
	defer func() { require.NoError(t, st.Close()) }()
	l, err := Open(t.Context(), st, signer, Options{})
	require.NoError(t, err)
	k := newAgentKey(t, "mail", 0)
	appendAs(t, st, l, k, "a0", "mail", nil)
	appendGroups(t, st, l, 1, 1)
	ring, err := NewKeyring(signer.PublicKey(), nil)
	require.NoError(t, err)
	p, err := l.Prove(t.Context(), 0)
	require.NoError(t, err)
	rec, err := ParseLeaf(p.Leaf)
	require.NoError(t, err)
	key, signed, err := ring.AgentSigner(rec)
	require.NoError(t, err)
	require.Equal(t, []any{k.PublicKey(), true}, []any{key, signed})
	rec.Agent = "files"
	_, signed, err = ring.AgentSigner(rec)
	require.ErrorIs(t, err, ErrProof)
	require.True(t, signed)
	rec.Agent, rec.User = "mail", "bob"
	_, _, err = ring.AgentSigner(rec)
	require.ErrorIs(t, err, ErrProof)
	p, err = l.Prove(t.Context(), 1)
	require.NoError(t, err)
	rec, err = ParseLeaf(p.Leaf)
	require.NoError(t, err)
	_, signed, err = ring.AgentSigner(rec)
	require.NoError(t, err)
	require.False(t, signed)
}

func TestAgentKeyRefuses(t *testing.T) {
	signer := newSigner(t)
	st := openStore(t, filepath.Join(t.TempDir(), "ledger.db"))
	defer func() { require.NoError(t, st.Close()) }()
	l, err := Open(t.Context(), st, signer, Options{})
	require.NoError(t, err)
	k := newAgentKey(t, "mail", 0)
	require.NotContains(t, k.PublicKey(), encodeAgent(k.private))
	for _, agent := range []string{"", "two\nlines", string(make([]byte, MaxKey+1))} {
		_, err := NewAgentKey(agent, agentSecret, 0)
		require.ErrorIs(t, err, ErrEntry)
	}
	for _, body := range []string{"", "{}", `[1,2,3,4]`, `"text that is long"`} {
		e := entry(0)
		e.Agent, e.Body = "mail", []byte(body)
		require.ErrorIs(t, l.SignAs(k, &e), ErrEntry, body)
	}
	e := entry(0)
	e.Agent, e.Body = "files", []byte(`{"v":1}`)
	require.ErrorIs(t, l.SignAs(k, &e), ErrEntry)
	require.NoError(t, st.Submit(t.Context(), func(tx *store.Tx) error {
		require.Error(t, l.RotateAgentKeyTx(tx, k, k, "ann"))
		require.Error(t, l.RotateAgentKeyTx(tx, k, newAgentKey(t, "files", 1), "ann"))
		_, err := l.AppendTx(tx, Entry{ID: "x", Time: entry(0).Time, Kind: KindAgentKey})
		require.ErrorIs(t, err, ErrEntry, "nothing else writes such a record")
		return nil
	}))
}

// No bytes in the place of a signed body make the check fail in another way than by a finding.
func FuzzSplitSigned(f *testing.F) {
	f.Add([]byte(`{"v":1}`))
	f.Add([]byte(keyPart + certPart + sigPart + signedEnd))
	f.Fuzz(func(t *testing.T, body []byte) {
		s, ok := splitSigned(body)
		if !ok {
			return
		}
		again := append(append(append([]byte(nil), s.plain[:len(s.plain)-1]...), keyPart...), s.key...)
		again = append(append(append(again, certPart...), s.cert...), sigPart...)
		require.Equal(t, string(body), string(append(append(again, s.sig...), signedEnd...)))
		require.False(t, s.isBy(Record{Entry: Entry{Agent: "mail"}}))
	})
}
