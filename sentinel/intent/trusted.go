package intent

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/vedette-dev/vedette/internal/ids"
	"github.com/vedette-dev/vedette/internal/plainjson"
)

// Errors of Open and Redeem. Nothing may be done by the intent after any of them.
var (
	// ErrForm: it is no signed intent, or not in canonical form.
	ErrForm = errors.New("this is no signed intent")
	// ErrAltered: its content isn't what was hashed.
	ErrAltered = errors.New("the intent was altered")
	// ErrSignature: another key signed it, or none.
	ErrSignature = errors.New("the intent is signed by no key that is trusted here")
	// ErrExpired: its time is over, or has not come.
	ErrExpired = errors.New("the intent has expired")
	// ErrAudience: it is meant for another receiver.
	ErrAudience = errors.New("the intent is meant for another receiver")
	// ErrSpent: it was used before.
	ErrSpent = errors.New("the intent was used before")
	// ErrOutside: it names what this vocabulary doesn't have.
	ErrOutside = errors.New("the intent names what is not known here")
)

// Claims are what is signed with an intent.
type Claims struct {
	// Request is the id of the request that it was made of.
	Request string
	// User is on whose behalf; Session is which conversation.
	User, Session string
	// Audience names the receiver; a Verifier of another one refuses it.
	Audience string
	// Policy is the digest of the configuration under which it was made.
	Policy string
	// Expires is when it ends. Issued is when it was made; if zero, now.
	Issued, Expires time.Time
}

// Trusted is an intent that a person or the rules let through, with its proof. Verifier alone makes one. The zero
// Trusted has no action.
type Trusted struct {
	Intent
	id     string
	claims Claims
	hash   string
	key    string
	token  []byte
}

// ID names the intent: decisions that follow from it name it too.
func (t Trusted) ID() string { return t.id }

// Request is the id of the request that it was made of.
func (t Trusted) Request() string { return t.claims.Request }

// User is on whose behalf it may be acted.
func (t Trusted) User() string { return t.claims.User }

// Session is the user's conversation.
func (t Trusted) Session() string { return t.claims.Session }

// Issued is when it was signed.
func (t Trusted) Issued() time.Time { return t.claims.Issued }

// Expires is when it ends.
func (t Trusted) Expires() time.Time { return t.claims.Expires }

// Policy is the digest of the configuration under which it was made.
func (t Trusted) Policy() string { return t.claims.Policy }

// ContentHash is the SHA-256 of what was signed, in hexadecimal.
func (t Trusted) ContentHash() string { return t.hash }

// Key is the id of the key that signed it.
func (t Trusted) Key() string { return t.key }

// Token is the signed intent as JSON, for a receiver. It holds values.
func (t Trusted) Token() []byte { return append([]byte(nil), t.token...) }

// signedTag begins what is signed, so that it is a signature of nothing else.
const signedTag = "vedette/intent/v1\n"

// content is what is hashed and signed, in canonical form.
type content struct {
	Action      string                `json:"action"`
	Audience    string                `json:"audience,omitempty"`
	Constraints *canonicalConstraints `json:"constraints,omitempty"`
	ContentRefs []string              `json:"content_refs,omitempty"`
	Expertise   []string              `json:"expertise,omitempty"`
	Expires     int64                 `json:"expires"` // seconds since 1970, as timestamp is
	ID          string                `json:"id"`
	Policy      string                `json:"policy,omitempty"`
	RequestID   string                `json:"request_id"`
	SessionID   string                `json:"session_id"`
	Timestamp   int64                 `json:"timestamp"`
	TopicID     string                `json:"topic_id,omitempty"`
	UserID      string                `json:"user_id"`
	V           int                   `json:"v"`
}

// signed is a signed intent as it travels.
type signed struct {
	content
	ContentHash string `json:"content_hash"`
	KeyID       string `json:"key_id"`
	Signature   string `json:"signature"`
}

// encode returns the canonical form of what is signed.
func (c content) encode() []byte {
	b, _ := plainjson.Marshal(c) // plain data
	return b
}

// KeyID is the id of a public key: the beginning of its SHA-256.
func KeyID(public ed25519.PublicKey) string {
	sum := sha256.Sum256(public)
	return hex.EncodeToString(sum[:8])
}

// Signer signs intents with one key. It is safe for concurrent use.
type Signer struct {
	key ed25519.PrivateKey
	id  string
	now func() time.Time
}

// NewSigner returns the signer of a key. A nil now is time.Now. The error says that it is no key.
func NewSigner(key ed25519.PrivateKey, now func() time.Time) (*Signer, error) {
	if len(key) != ed25519.PrivateKeySize {
		return nil, errors.New("the key that signs intents is no Ed25519 key")
	}
	if now == nil {
		now = time.Now
	}
	public, _ := key.Public().(ed25519.PublicKey)
	return &Signer{key, KeyID(public), now}, nil
}

// maxClaim bounds each text of the claims in bytes.
const maxClaim = 256

// Seal signs an intent and returns it as JSON. The error says which claim is missing, too long or no line of text, or
// that the intent has no action or would never be valid.
func (s *Signer) Seal(i Intent, c Claims) ([]byte, error) {
	if c.Issued.IsZero() {
		c.Issued = s.now()
	}
	if i.IsZero() {
		return nil, errors.New("an intent without an action can't be signed")
	}
	for _, f := range []struct {
		name, text string
		needed     bool
	}{{"request", c.Request, true}, {"user", c.User, true}, {"session", c.Session, true}, {"audience", c.Audience, false},
		{"policy", c.Policy, false}} {
		if f.text == "" && f.needed || len(f.text) > maxClaim || !isLine(f.text) {
			return nil, fmt.Errorf("an intent can't be signed: its %s is missing, longer than %d bytes or no line of text", f.name, maxClaim)
		}
	}
	if c.Expires.Unix() <= c.Issued.Unix() {
		return nil, errors.New("an intent can't be signed: it expires before it was issued")
	}
	one := i.canonical()
	body := content{
		Action: one.Action, Constraints: one.Constraints, ContentRefs: one.ContentRefs, Expertise: one.Expertise, TopicID: one.TopicID,
		Audience: c.Audience, Expires: c.Expires.Unix(), ID: ids.New(), Policy: c.Policy, RequestID: c.Request, SessionID: c.Session,
		Timestamp: c.Issued.Unix(), UserID: c.User, V: 1,
	}
	raw := body.encode()
	sum := sha256.Sum256(raw)
	return plainjson.Marshal(signed{
		content: body, ContentHash: hex.EncodeToString(sum[:]), KeyID: s.id,
		Signature: base64.RawURLEncoding.EncodeToString(ed25519.Sign(s.key, append([]byte(signedTag), raw...))),
	})
}

// VerifierOptions are what a Verifier trusts.
type VerifierOptions struct {
	// Keys are the public keys of signers, at least one.
	Keys []ed25519.PublicKey
	// Vocabulary is what the receiver can do.
	Vocabulary *Vocabulary
	// Audience is the receiver's name; intents for another one are refused.
	Audience string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Verifier reads signed intents. It is safe for concurrent use.
type Verifier struct {
	o    VerifierOptions
	keys map[string]ed25519.PublicKey
}

// NewVerifier returns a Verifier. The error says that no key or no vocabulary is given, or that a key is none.
func NewVerifier(o VerifierOptions) (*Verifier, error) {
	if len(o.Keys) == 0 || o.Vocabulary == nil {
		return nil, errors.New("intents are verified with a public key and a vocabulary")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	v := &Verifier{o: o, keys: map[string]ed25519.PublicKey{}}
	for _, k := range o.Keys {
		if len(k) != ed25519.PublicKeySize {
			return nil, errors.New("a key that verifies intents is no Ed25519 key")
		}
		v.keys[KeyID(k)] = k
	}
	return v, nil
}

const (
	// maxToken bounds a signed intent in bytes.
	maxToken = 32 << 10
	// clockSkew is how far the signer's clock may be ahead.
	clockSkew = time.Minute
)

// Open reads a signed intent, which is not used up by it: for showing it, and for what is bound to one use otherwise.
// The errors are ErrForm, ErrAltered, ErrSignature, ErrExpired, ErrAudience and ErrOutside.
func (v *Verifier) Open(token []byte) (Trusted, error) { return v.OpenAt(token, v.o.Now()) }

// OpenAt is Open as of another moment: for one that was used then, and is only to be looked at now.
func (v *Verifier) OpenAt(token []byte, now time.Time) (Trusted, error) {
	var s signed
	if len(token) > maxToken || jsonv2.Unmarshal(token, &s, jsonv2.RejectUnknownMembers(true)) != nil || s.V != 1 {
		return Trusted{}, ErrForm
	}
	raw := s.encode()
	sum := sha256.Sum256(raw)
	if subtle.ConstantTimeCompare([]byte(hex.EncodeToString(sum[:])), []byte(s.ContentHash)) != 1 {
		return Trusted{}, ErrAltered
	}
	mark, err := base64.RawURLEncoding.DecodeString(s.Signature)
	key, known := v.keys[s.KeyID]
	if err != nil || !known || !ed25519.Verify(key, append([]byte(signedTag), raw...), mark) {
		return Trusted{}, ErrSignature
	}
	issued, expires := time.Unix(s.Timestamp, 0).UTC(), time.Unix(s.Expires, 0).UTC()
	if !now.Before(expires) || now.Add(clockSkew).Before(issued) {
		return Trusted{}, ErrExpired
	}
	if s.Audience != v.o.Audience {
		return Trusted{}, ErrAudience
	}
	built, err := v.o.Vocabulary.Build(s.draft())
	if err != nil {
		return Trusted{}, fmt.Errorf("%w: %w", ErrOutside, err)
	}
	again := content{}
	again.setIntent(built)
	if first := s.content; string(again.encode()) != string(first.onlyIntent().encode()) {
		return Trusted{}, ErrForm
	}
	return Trusted{
		Intent: built, id: s.ID, hash: s.ContentHash, key: s.KeyID, token: append([]byte(nil), token...),
		claims: Claims{Request: s.RequestID, User: s.UserID, Session: s.SessionID, Audience: s.Audience, Policy: s.Policy,
			Issued: issued, Expires: expires},
	}, nil
}

// Spender remembers which intents were used. Spend returns ErrSpent for one that was. What it returned nil for must
// be remembered until expires, over restarts.
type Spender interface {
	Spend(ctx context.Context, id string, expires time.Time) error
}

// Redeem is Open for what acts on the intent: it is used up. The error is also ErrSpent, or the Spender's.
func (v *Verifier) Redeem(ctx context.Context, token []byte, spent Spender) (Trusted, error) {
	t, err := v.Open(token)
	if err != nil {
		return Trusted{}, err
	}
	if err := spent.Spend(ctx, t.id, t.claims.Expires); err != nil {
		return Trusted{}, err
	}
	return t, nil
}

// setIntent puts an intent's fields into what is signed.
func (c *content) setIntent(i Intent) {
	one := i.canonical()
	c.Action, c.Constraints, c.ContentRefs, c.Expertise, c.TopicID = one.Action, one.Constraints, one.ContentRefs, one.Expertise, one.TopicID
}

// onlyIntent is what is signed without its claims.
func (c content) onlyIntent() content {
	return content{Action: c.Action, Constraints: c.Constraints, ContentRefs: c.ContentRefs, Expertise: c.Expertise, TopicID: c.TopicID}
}

// draft is what is signed as a draft, so that one reader holds all names against the vocabulary.
func (c content) draft() Draft {
	d := Draft{Action: c.Action, Topic: c.TopicID, Expertise: c.Expertise, References: c.ContentRefs}
	if c.Constraints == nil {
		return d
	}
	to := &d.Constraints
	if m := c.Constraints.MaxBudget; m != nil {
		to.Budget = &DraftMoney{Amount: Decimal(fmt.Sprintf("%d.%02d", m.Minor/100, m.Minor%100)), Currency: m.Currency}
	}
	if n := c.Constraints.MaxResults; n != 0 {
		to.MaxResults = decimalOf(n)
	}
	if n := c.Constraints.MaxLength; n != 0 {
		to.MaxLength = decimalOf(n)
	}
	if day := c.Constraints.Deadline; day != "" {
		to.Deadline = &day
	}
	to.Domains = c.Constraints.Domains
	for _, e := range c.Constraints.Entities {
		to.Entities = append(to.Entities, DraftEntity(e))
	}
	return d
}

func decimalOf(n int) *Decimal {
	d := Decimal(fmt.Sprint(n))
	return &d
}

// isLine reports whether a text is one line without control characters, in valid UTF-8.
func isLine(s string) bool {
	for _, r := range s {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			return false
		}
	}
	return true
}
