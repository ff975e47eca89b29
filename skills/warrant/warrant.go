package warrant

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"log/slog"
	"sync"
	"time"
)

// Errors of Redeem; VerifyHTTP uses ErrInvalid, ErrExpired and ErrSpent as well.
// After any of them, don't run the call.
var (
	// ErrInvalid means that it is no warrant of this pair: the zero value, or
	// issued by another process or before a restart. For a token: not one that
	// the holder of the key has signed.
	ErrInvalid = errors.New("warrant: not a valid warrant")
	// ErrWrongCall means that the warrant is for another call.
	ErrWrongCall = errors.New("warrant: issued for another call")
	// ErrExpired means that the time to use it has passed.
	ErrExpired = errors.New("warrant: expired")
	// ErrSpent means that it has been used.
	ErrSpent = errors.New("warrant: already used")
	// ErrOptions means that something was set up or called wrongly.
	ErrOptions = errors.New("warrant: wrong options")
)

const (
	defaultTTL = time.Minute
	// maxTTL bounds how many redeemed ids are kept, and how long a stolen
	// warrant is of use.
	maxTTL    = time.Hour
	maxDigest = 256
)

// Warrant proves that one call was allowed. Only Signer.Issue makes a valid
// one; the zero value is refused. It can be copied and printed: neither fmt, log
// nor JSON shows what makes it valid, and nothing reads it back in.
type Warrant struct {
	id              [16]byte
	digest          string
	issued, expires time.Time
	// mac is a closure, which fmt can't see into. A Warrant in an unexported field of something
	// printed is printed without its methods, and of everything else fmt prints what is in it,
	// with some verbs also behind pointers.
	mac func() [sha256.Size]byte
}

// ID returns the warrant's id, 32 lower-case hex digits; "" for the zero Warrant.
func (w Warrant) ID() string {
	if w.mac == nil {
		return ""
	}
	return hex.EncodeToString(w.id[:])
}

// Digest returns the digest of the call that the warrant is for.
func (w Warrant) Digest() string { return w.digest }

// Expires returns the time from which on the warrant is refused.
func (w Warrant) Expires() time.Time { return w.expires }

// String returns the warrant's id and expiry.
func (w Warrant) String() string {
	if w.mac == nil {
		return "warrant(none)"
	}
	return "warrant(" + w.ID() + " until " + w.expires.UTC().Format(time.RFC3339) + ")"
}

// Format implements fmt.Formatter: every verb prints what String returns.
func (w Warrant) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, w.String()) }

// LogValue implements slog.LogValuer with id, digest and expiry.
func (w Warrant) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("id", w.ID()), slog.String("digest", w.digest), slog.Time("expires", w.expires))
}

// MarshalJSON writes id, digest and expiry. There is no way back: a Warrant
// that was written and read again is not valid.
func (w Warrant) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ID      string    `json:"id"`
		Digest  string    `json:"digest"`
		Expires time.Time `json:"expires"`
	}{w.ID(), w.digest, w.expires})
}

// Options configures NewPair.
type Options struct {
	// TTL is how long a warrant can be redeemed after its issue. If zero, 60 s;
	// at most one hour. It covers the way from the decision to the executor,
	// not the time that a person takes to approve: issue after that.
	TTL time.Duration
	// Now is the clock. If nil, time.Now.
	Now func() time.Time
}

// NewPair returns a Signer and the one Verifier that accepts its warrants. The
// key between them is random and never leaves them. ErrOptions: the TTL is
// negative or over an hour.
func NewPair(o Options) (*Signer, *Verifier, error) {
	key := make([]byte, sha256.Size)
	if _, err := rand.Read(key); err != nil {
		return nil, nil, fmt.Errorf("make a key: %w", err)
	}
	return newSignerPair(key, o)
}

func newSignerPair(key []byte, o Options) (*Signer, *Verifier, error) {
	if o.TTL == 0 {
		o.TTL = defaultTTL
	}
	if o.TTL < 0 || o.TTL > maxTTL {
		return nil, nil, fmt.Errorf("%w: the TTL must be between 0 and %v", ErrOptions, maxTTL)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	p := &pair{ttl: o.TTL, now: o.Now, recent: map[[16]byte]struct{}{}}
	p.newMAC = func() hash.Hash { return hmac.New(sha256.New, key) }
	p.latest = o.Now()
	p.turned = p.latest
	return &Signer{p}, &Verifier{p}, nil
}

// Signer issues warrants. It is safe for concurrent use; the zero value and nil
// issue none.
type Signer struct{ pair *pair }

// Verifier redeems the warrants of its Signer. It is safe for concurrent use;
// the zero value and nil refuse every warrant.
type Verifier struct{ pair *pair }

// pair is what both share. The clock is shared too, and never goes back: an id
// that was forgotten because it had expired must not become young again.
type pair struct {
	newMAC func() hash.Hash // holds the key, out of sight of fmt
	ttl    time.Duration
	now    func() time.Time

	mu     sync.Mutex
	latest time.Time
	// Redeemed ids, in two generations. A generation is kept for at least one
	// TTL after its last id went in, and by then every id in it has expired.
	recent, older map[[16]byte]struct{}
	turned        time.Time // when recent was begun
}

// Issue returns a warrant for the call with this digest, valid from now for the pair's TTL.
// The digest has 1 to 256 bytes. Issue only what is allowed and recorded.
func (s *Signer) Issue(digest string) (Warrant, error) {
	if s == nil || s.pair == nil {
		return Warrant{}, fmt.Errorf("%w: a Signer is made by NewPair", ErrOptions)
	}
	if digest == "" || len(digest) > maxDigest {
		return Warrant{}, fmt.Errorf("%w: a digest has 1 to %d bytes, not %d", ErrOptions, maxDigest, len(digest))
	}
	s.pair.mu.Lock()
	now := s.pair.readClock()
	s.pair.mu.Unlock()
	w := Warrant{digest: digest, issued: now, expires: now.Add(s.pair.ttl)}
	if _, err := rand.Read(w.id[:]); err != nil {
		return Warrant{}, fmt.Errorf("make an id: %w", err)
	}
	mac := s.pair.sumWarrant(w)
	w.mac = func() [sha256.Size]byte { return mac }
	return w, nil
}

// Redeem returns nil if w allows the call with this digest, and only the first
// time. Otherwise it returns, in this order of precedence, ErrInvalid,
// ErrWrongCall, ErrExpired or ErrSpent, and w is as good as before.
func (v *Verifier) Redeem(w Warrant, digest string) error {
	if v == nil || v.pair == nil || w.mac == nil {
		return ErrInvalid
	}
	p := v.pair
	got, want := w.mac(), p.sumWarrant(w)
	if !hmac.Equal(got[:], want[:]) {
		return ErrInvalid
	}
	if !hmac.Equal([]byte(w.digest), []byte(digest)) {
		return ErrWrongCall
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.readClock()
	if !now.Before(w.expires) {
		return ErrExpired
	}
	p.turnGeneration(now)
	_, isRecent := p.recent[w.id]
	_, isOlder := p.older[w.id]
	if isRecent || isOlder {
		return ErrSpent
	}
	p.recent[w.id] = struct{}{}
	return nil
}

// sumWarrant authenticates all fields of w. Those before the digest have fixed
// lengths, so no two warrants give the same bytes.
func (p *pair) sumWarrant(w Warrant) [sha256.Size]byte {
	h := p.newMAC()
	buf := make([]byte, 0, 64+maxDigest)
	buf = append(buf, "vedette warrant 1\x00"...)
	buf = append(buf, w.id[:]...)
	buf = binary.BigEndian.AppendUint64(buf, uint64(w.issued.UnixNano()))
	buf = binary.BigEndian.AppendUint64(buf, uint64(w.expires.UnixNano()))
	buf = append(buf, w.digest...)
	h.Write(buf)
	return [sha256.Size]byte(h.Sum(nil))
}

// readClock reads the clock, which stands still where it would go back.
func (p *pair) readClock() time.Time {
	if now := p.now(); now.After(p.latest) {
		p.latest = now
	}
	return p.latest
}

func (p *pair) turnGeneration(now time.Time) {
	if now.Sub(p.turned) < p.ttl {
		return
	}
	p.older, p.recent, p.turned = p.recent, map[[16]byte]struct{}{}, now
}
