package intent_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/intent"
)

// spentSet is a Spender that forgets nothing.
type spentSet map[string]bool

func (s spentSet) Spend(_ context.Context, id string, _ time.Time) error {
	if s[id] {
		return intent.ErrSpent
	}
	s[id] = true
	return nil
}

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// desk signs and verifies with one key at noon.
type desk struct {
	public   ed25519.PublicKey
	signer   *intent.Signer
	verifier *intent.Verifier
	now      time.Time
}

func newDesk(t testing.TB) *desk {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	d := &desk{public: public, now: noon}
	clock := func() time.Time { return d.now }
	d.signer, err = intent.NewSigner(private, clock)
	require.NoError(t, err)
	d.verifier, err = intent.NewVerifier(intent.VerifierOptions{
		Keys: []ed25519.PublicKey{public}, Vocabulary: newVocabulary(t), Audience: "here", Now: clock,
	})
	require.NoError(t, err)
	return d
}

func claims() intent.Claims {
	return intent.Claims{Request: "r1", User: "ann", Session: "s1", Audience: "here", Policy: "sha256:p", Expires: noon.Add(5 * time.Minute)}
}

func (d *desk) seal(t testing.TB) []byte {
	t.Helper()
	token, err := d.signer.Seal(build(t, newVocabulary(t), whole), claims())
	require.NoError(t, err)
	return token
}

func TestTrustedOnce(t *testing.T) {
	d, spent := newDesk(t), spentSet{}
	token := d.seal(t)
	opened, err := d.verifier.Open(token)
	require.NoError(t, err)
	got, err := d.verifier.Redeem(t.Context(), token, spent)
	require.NoError(t, err)
	require.Equal(t, opened, got)
	require.Equal(t, "find_experts", got.Action().String())
	require.Equal(t, "supply_chain_risk_analysis", got.Topic().String())
	require.Equal(t, []string{"ann", "s1", "r1", "sha256:p"}, []string{got.User(), got.Session(), got.Request(), got.Policy()})
	require.Len(t, got.ID(), 36)
	require.Equal(t, intent.KeyID(d.public), got.Key())
	require.Equal(t, noon, got.Issued())
	require.Len(t, got.ContentHash(), 64)
	require.Equal(t, token, got.Token())
	_, err = d.verifier.Redeem(t.Context(), token, spent)
	require.ErrorIs(t, err, intent.ErrSpent, "replayed")
	broken := errors.New("no store")
	_, err = d.verifier.Redeem(t.Context(), d.seal(t), failing{broken})
	require.ErrorIs(t, err, broken, "what can't be remembered isn't used")
}

type failing struct{ err error }

func (f failing) Spend(context.Context, string, time.Time) error { return f.err }

// Every single field of a signed intent is covered: a change of any is found.
func TestTrustedAltered(t *testing.T) {
	d := newDesk(t)
	token := d.seal(t)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(token, &fields))
	require.Len(t, fields, 17)
	for name, was := range fields {
		changed := map[string]any{}
		for k, v := range fields {
			changed[k] = v
		}
		switch v := was.(type) {
		case string:
			changed[name] = strings.ToUpper(v) + "x"
		case float64:
			changed[name] = v + 1
		case []any:
			changed[name] = append([]any{"law"}, v...)
		case map[string]any:
			changed[name] = map[string]any{"max_results": 9}
		}
		raw, err := json.Marshal(changed)
		require.NoError(t, err)
		_, err = d.verifier.Open(raw)
		require.Error(t, err, name)
		delete(changed, name)
		raw, err = json.Marshal(changed)
		require.NoError(t, err)
		_, err = d.verifier.Open(raw)
		require.Error(t, err, "without %s", name)
	}
	_, err := d.verifier.Open([]byte(strings.Replace(string(token), `"ann"`, `"bob"`, 1)))
	require.ErrorIs(t, err, intent.ErrAltered)
	_, err = d.verifier.Open([]byte(strings.Replace(string(token), `"signature":"`, `"signature":"A`, 1)))
	require.ErrorIs(t, err, intent.ErrSignature)
	for _, form := range []string{"", "{}", "[]", "null", string(token) + "{}", strings.Replace(string(token), `{"action"`,
		`{"x":1,"action"`, 1),
		strings.Replace(string(token), `{"action"`, `{"action":"pay","action"`, 1), strings.Repeat(" ", 40<<10) + string(token)} {
		_, err := d.verifier.Open([]byte(form))
		require.ErrorIs(t, err, intent.ErrForm)
	}
}

func TestTrustedRefused(t *testing.T) {
	d, other := newDesk(t), newDesk(t)
	_, err := d.verifier.Open(other.seal(t))
	require.ErrorIs(t, err, intent.ErrSignature, "signed by another")
	token := d.seal(t)
	d.now = noon.Add(5 * time.Minute)
	_, err = d.verifier.Open(token)
	require.ErrorIs(t, err, intent.ErrExpired)
	d.now = noon.Add(-2 * time.Minute)
	_, err = d.verifier.Open(token)
	require.ErrorIs(t, err, intent.ErrExpired, "it is of the future")
	d.now = noon
	c := claims()
	c.Audience = "there"
	elsewhere, err := d.signer.Seal(build(t, newVocabulary(t), whole), c)
	require.NoError(t, err)
	_, err = d.verifier.Open(elsewhere)
	require.ErrorIs(t, err, intent.ErrAudience)
	narrow, err := intent.NewVocabulary(intent.VocabularyOptions{Actions: map[string]intent.Risk{"pay": intent.High}})
	require.NoError(t, err)
	v, err := intent.NewVerifier(intent.VerifierOptions{Keys: []ed25519.PublicKey{d.public}, Vocabulary: narrow, Audience: "here",
		Now: func() time.Time { return noon }})
	require.NoError(t, err)
	_, err = v.Open(token)
	require.ErrorIs(t, err, intent.ErrOutside, "the receiver can't do it")
	_, err = intent.NewVerifier(intent.VerifierOptions{Vocabulary: narrow})
	require.Error(t, err)
	_, err = intent.NewSigner(nil, nil)
	require.Error(t, err)
}

func TestSealRefuses(t *testing.T) {
	d, i := newDesk(t), build(t, newVocabulary(t), whole)
	for name, change := range map[string]func(*intent.Claims){
		"no user": func(c *intent.Claims) { c.User = "" }, "no session": func(c *intent.Claims) { c.Session = "" },
		"no request":   func(c *intent.Claims) { c.Request = "" },
		"a long user":  func(c *intent.Claims) { c.User = strings.Repeat("a", 300) },
		"two lines":    func(c *intent.Claims) { c.User = "ann\nbob" },
		"no text":      func(c *intent.Claims) { c.User = "ann\xff" },
		"never valid":  func(c *intent.Claims) { c.Expires = noon },
		"without time": func(c *intent.Claims) { c.Expires = time.Time{} },
	} {
		c := claims()
		change(&c)
		_, err := d.signer.Seal(i, c)
		require.Error(t, err, name)
	}
	_, err := d.signer.Seal(intent.Intent{}, claims())
	require.Error(t, err)
}

func FuzzOpen(f *testing.F) {
	d := newDesk(f)
	f.Add(d.seal(f))
	f.Add([]byte(`{"v":1}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := d.verifier.Open(raw)
		if err != nil {
			require.True(t, got.IsZero() && got.ID() == "")
		}
	})
}

func BenchmarkSealAndOpen(b *testing.B) {
	d, i := newDesk(b), build(b, newVocabulary(b), whole)
	b.Run("seal", func(b *testing.B) {
		for b.Loop() {
			_, _ = d.signer.Seal(i, claims())
		}
	})
	token := d.seal(b)
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			_, _ = d.verifier.Open(token)
		}
	})
}
