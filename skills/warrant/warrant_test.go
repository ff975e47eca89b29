package warrant

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

const digest = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"

type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func newClock() *clock { return &clock{time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)} }

func pairOf(t *testing.T, o Options) (*Signer, *Verifier) {
	t.Helper()
	s, v, err := NewPair(o)
	require.NoError(t, err)
	return s, v
}

func issue(t *testing.T, s *Signer) Warrant {
	t.Helper()
	w, err := s.Issue(digest)
	require.NoError(t, err)
	return w
}

// A warrant works for its call, once.
func TestRedeemOnce(t *testing.T) {
	c := newClock()
	s, v := pairOf(t, Options{Now: c.Now})
	w := issue(t, s)
	require.Len(t, w.ID(), 32)
	require.Equal(t, digest, w.Digest())
	require.Equal(t, c.now.Add(time.Minute), w.Expires())
	require.ErrorIs(t, v.Redeem(w, "sha256:00"), ErrWrongCall)
	require.ErrorIs(t, v.Redeem(w, ""), ErrWrongCall)
	require.NoError(t, v.Redeem(w, digest), "a wrong attempt doesn't use it up")
	require.ErrorIs(t, v.Redeem(w, digest), ErrSpent)
	other := issue(t, s)
	require.NotEqual(t, w.ID(), other.ID())
	require.NoError(t, v.Redeem(other, digest), "each warrant counts for itself")
}

// Nothing that Issue of the same pair did not make is accepted, and no field can be changed.
func TestRedeemInvalid(t *testing.T) {
	s, v := pairOf(t, Options{})
	foreign, _ := pairOf(t, Options{})
	w := issue(t, s)
	spoil := func(f func(*Warrant)) Warrant {
		bad := w
		f(&bad)
		return bad
	}
	for name, bad := range map[string]Warrant{
		"zero":          {},
		"zero but id":   {id: w.id, digest: digest, expires: w.expires},
		"another pair":  issue(t, foreign),
		"mac":           spoil(func(w *Warrant) { bent := w.mac(); bent[31] ^= 1; w.mac = func() [32]byte { return bent } }),
		"empty mac":     spoil(func(w *Warrant) { w.mac = func() [32]byte { return [32]byte{} } }),
		"no mac":        spoil(func(w *Warrant) { w.mac = nil }),
		"id":            spoil(func(w *Warrant) { w.id[0] ^= 1 }),
		"digest":        spoil(func(w *Warrant) { w.digest += "0" }),
		"expiry":        spoil(func(w *Warrant) { w.expires = w.expires.Add(time.Nanosecond) }),
		"time of issue": spoil(func(w *Warrant) { w.issued = w.issued.Add(-time.Nanosecond) }),
	} {
		require.ErrorIs(t, v.Redeem(bad, bad.digest), ErrInvalid, name)
	}
	for _, none := range []*Verifier{nil, {}} {
		require.ErrorIs(t, none.Redeem(w, digest), ErrInvalid)
		require.ErrorIs(t, none.Redeem(Warrant{}, ""), ErrInvalid)
	}
	require.NoError(t, v.Redeem(w, digest))
}

// A warrant is good up to, and not including, its expiry.
func TestRedeemExpired(t *testing.T) {
	c := newClock()
	s, v := pairOf(t, Options{TTL: 10 * time.Second, Now: c.Now})
	early, late := issue(t, s), issue(t, s)
	c.now = c.now.Add(10*time.Second - 1)
	require.NoError(t, v.Redeem(early, digest))
	c.now = c.now.Add(1)
	require.ErrorIs(t, v.Redeem(late, digest), ErrExpired)
	require.ErrorIs(t, v.Redeem(early, digest), ErrExpired)
	require.ErrorIs(t, v.Redeem(late, "sha256:00"), ErrWrongCall)
}

// By the process's own clock as well.
func TestRedeemExpiredByDefaultClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, v := pairOf(t, Options{})
		w := issue(t, s)
		time.Sleep(time.Minute) // Fake time: the bubble's clock jumps.
		require.ErrorIs(t, v.Redeem(w, digest), ErrExpired)
	})
}

// Setting the clock back revives no expired warrant and unspends no spent one. An id that was
// already forgotten makes no difference.
func TestClockSetBack(t *testing.T) {
	c := newClock()
	s, v := pairOf(t, Options{Now: c.Now})
	start := c.now
	spent, unspent := issue(t, s), issue(t, s)
	require.NoError(t, v.Redeem(spent, digest))
	for range 5 {
		c.now = c.now.Add(time.Minute)
		require.NoError(t, v.Redeem(issue(t, s), digest))
	}
	c.now = start
	require.ErrorIs(t, v.Redeem(spent, digest), ErrExpired)
	require.ErrorIs(t, v.Redeem(unspent, digest), ErrExpired)
	// Issued under a clock that was set back, it lives its TTL from the latest reading on.
	w := issue(t, s)
	require.Equal(t, start.Add(6*time.Minute), w.Expires())
	require.NoError(t, v.Redeem(w, digest))
	require.ErrorIs(t, v.Redeem(w, digest), ErrSpent)
}

// However redeemed ids age, one that has not expired is never forgotten. The set holds no more
// than two TTLs' worth.
func TestSpentSetIsExactAndBounded(t *testing.T) {
	c := newClock()
	s, v := pairOf(t, Options{TTL: 10 * time.Second, Now: c.Now})
	var redeemed []Warrant
	for range 300 {
		w := issue(t, s)
		c.now = c.now.Add(700 * time.Millisecond)
		require.NoError(t, v.Redeem(w, digest))
		redeemed = append(redeemed, w)
		for _, old := range redeemed[max(0, len(redeemed)-30):] {
			want := ErrSpent
			if !c.now.Before(old.expires) {
				want = ErrExpired
			}
			require.ErrorIs(t, v.Redeem(old, digest), want)
		}
		require.LessOrEqual(t, len(v.pair.recent)+len(v.pair.older), 30)
	}
}

// Of many that redeem one warrant at once, one succeeds and all others are told why.
func TestRedeemConcurrently(t *testing.T) {
	s, v := pairOf(t, Options{})
	for range 20 {
		w := issue(t, s)
		results := make(chan error, 100)
		start := make(chan struct{})
		var wg sync.WaitGroup
		for range cap(results) {
			wg.Go(func() {
				<-start
				results <- v.Redeem(w, digest)
			})
		}
		close(start)
		wg.Wait()
		close(results)
		ok := 0
		for err := range results {
			if err == nil {
				ok++
				continue
			}
			require.ErrorIs(t, err, ErrSpent)
		}
		require.Equal(t, 1, ok)
	}
}

// No way of printing shows the MAC or the key, and nothing printed comes back as valid.
func TestPrintingLeaksNothing(t *testing.T) {
	type holder struct {
		w  Warrant
		s  *Signer
		v  *Verifier
		sv Signer // by value, one pointer less away from the key
		vv Verifier
	}
	// A key that the test knows, so that it can look for it.
	key := bytes.Repeat([]byte{0xa7, 0x5e}, 16)
	s, v, err := newSignerPair(bytes.Clone(key), Options{})
	require.NoError(t, err)
	w := issue(t, s)
	h, mac := holder{w, s, v, *s, *v}, w.mac()
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&out, verb, w)
		fmt.Fprintf(&out, verb, &w)
		fmt.Fprintf(&out, verb, []any{h, &h, s, v, *s, *v})
	}
	slog.New(slog.NewTextHandler(&out, nil)).Info("m", "w", w, "h", h)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("m", "w", w, "s", s)
	raw, err := json.Marshal(map[string]any{"w": w, "h": h, "s": s, "v": v})
	require.NoError(t, err)
	out.Write(raw)
	printed := out.String()
	require.Contains(t, printed, w.ID())
	for name, secret := range map[string][]byte{"mac": mac[:], "key": key} {
		dec := strings.Trim(fmt.Sprintf("%d", secret[:8]), "[]")
		goSyntax := strings.Trim(strings.TrimPrefix(fmt.Sprintf("%#v", secret[:8]), "[]byte"), "{}")
		for _, form := range []string{string(secret[:8]), hex.EncodeToString(secret[:8]), strings.ToUpper(hex.EncodeToString(secret[:8])), dec,
			goSyntax} {
			require.NotContains(t, printed, form, name)
		}
	}
	require.Equal(t, "warrant(none)", fmt.Sprint(Warrant{}))

	raw, err = json.Marshal(w)
	require.NoError(t, err)
	var back Warrant
	require.NoError(t, json.Unmarshal(raw, &back)) //nolint:staticcheck // that nothing comes back is the point
	require.ErrorIs(t, v.Redeem(back, digest), ErrInvalid)
	require.ErrorIs(t, v.Redeem(back, ""), ErrInvalid)
}

// What can't be a sound set-up is refused at once.
func TestOptions(t *testing.T) {
	for _, ttl := range []time.Duration{-1, time.Hour + 1} {
		_, _, err := NewPair(Options{TTL: ttl})
		require.ErrorIs(t, err, ErrOptions)
	}
	s, _ := pairOf(t, Options{})
	for _, bad := range []string{"", strings.Repeat("x", 257)} {
		w, err := s.Issue(bad)
		require.ErrorIs(t, err, ErrOptions)
		require.Equal(t, Warrant{}, w)
	}
	for _, none := range []*Signer{nil, {}} {
		_, err := none.Issue(digest)
		require.ErrorIs(t, err, ErrOptions)
	}
}

func BenchmarkIssueRedeem(b *testing.B) {
	s, v, err := NewPair(Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		w, err := s.Issue(digest)
		if err != nil {
			b.Fatal(err)
		}
		if err := v.Redeem(w, digest); err != nil {
			b.Fatal(err)
		}
	}
}
