package warrant

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Header is the HTTP request header that carries the token.
const Header = "Vedette-Warrant"

// MaxToken is the longest token in bytes that is written or read.
const MaxToken = 4096

const (
	algorithm = "EdDSA"
	tokenType = "vedette-warrant+jwt"
	// callerType is the type of a token that names a user. A receiver from before
	// there was one refuses it whole.
	callerType = "vedette-warrant.caller+jwt"
)

// encoding is strict: the receiver compares tokens byte for byte with what the signer would
// have written. So the trailing bits that lenient base64 ignores must be refused too.
var encoding = base64.RawURLEncoding.Strict()

// Claims is what a token says. Every field is required except Target, User and
// Conversation.
type Claims struct {
	// Audience names the receiver, as it names itself in VerifyOptions.Audience.
	Audience string
	// ID is the token's own id, random or a Warrant's ID. It is used once.
	ID string
	// Digest is the digest of the call that was allowed.
	Digest string
	// Skill is the skill's name.
	Skill string
	// CallID is the call's id: what to use as idempotency key.
	CallID string
	// Body is the BodyDigest of the request's body.
	Body string
	// Target is the TargetDigest of the request's method and target. If empty,
	// the token doesn't bind them. Set it wherever arguments travel in the path
	// or the query, above all for GET.
	Target string
	// User is the id of the user for whom the call runs, and Conversation that of
	// the conversation. Both are set or none, each at most 256 bytes. They come
	// from the program that embeds Vedette, never from a model.
	User, Conversation string
	// IssuedAt and Expires bound the time of use. Tokens hold whole seconds:
	// IssuedAt is rounded down and Expires up.
	IssuedAt, Expires time.Time
}

// BodyDigest returns the SHA-256 of a request's body in hex, for Claims.Body.
// A request without a body has the digest of nothing.
func BodyDigest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// TargetDigest returns the SHA-256 of method and request target in hex, for
// Claims.Target. The target is path and query as they are sent: for a client,
// req.URL.RequestURI().
func TargetDigest(method, target string) string {
	return BodyDigest([]byte(method + " " + target))
}

// HTTPSigner signs tokens for requests that leave the process. It is safe for
// concurrent use; the zero value and nil sign nothing. Printing one shows no key.
type HTTPSigner struct {
	keyID string
	sign  func([]byte) []byte // a closure, so that no printing reaches the key
}

// NewHTTPSigner returns a signer with an Ed25519 key. keyID, 1 to 128 bytes, is
// what receivers with several keys find the public key by. ErrOptions: the key
// has not the right size, or there is no keyID.
func NewHTTPSigner(key ed25519.PrivateKey, keyID string) (*HTTPSigner, error) {
	if len(key) != ed25519.PrivateKeySize {
		return nil, fmt.Errorf("%w: an Ed25519 private key has %d bytes, not %d", ErrOptions, ed25519.PrivateKeySize, len(key))
	}
	if err := checkClaimText("key id", keyID, 128); err != nil {
		return nil, err
	}
	key = bytes.Clone(key)
	return &HTTPSigner{keyID: keyID, sign: func(m []byte) []byte { return ed25519.Sign(key, m) }}, nil
}

// Token returns c signed, to be sent as the value of Header. ErrOptions: a claim
// is missing, too long, not valid UTF-8 or makes the token longer than MaxToken,
// or Expires is not after IssuedAt.
func (s *HTTPSigner) Token(c Claims) (string, error) {
	if s == nil || s.sign == nil {
		return "", fmt.Errorf("%w: an HTTPSigner is made by NewHTTPSigner", ErrOptions)
	}
	if err := c.checkClaims(); err != nil {
		return "", err
	}
	head, err := json.Marshal(header{Alg: algorithm, Kid: s.keyID, Typ: c.tokenType()})
	if err != nil {
		return "", err
	}
	payload, err := json.Marshal(c.toPayload())
	if err != nil {
		return "", err
	}
	signed := encoding.EncodeToString(head) + "." + encoding.EncodeToString(payload)
	token := signed + "." + encoding.EncodeToString(s.sign([]byte(signed)))
	if len(token) > MaxToken {
		return "", fmt.Errorf("%w: the token would have %d bytes; shorten the audience or the skill's name", ErrOptions, len(token))
	}
	return token, nil
}

// header is the JOSE header. The fields' order is the order on the wire.
type header struct {
	Alg string `json:"alg"`
	Kid string `json:"kid"`
	Typ string `json:"typ"`
}

// payload is Claims on the wire.
type payload struct {
	Aud    string `json:"aud"`
	Jti    string `json:"jti"`
	Digest string `json:"digest"`
	Skill  string `json:"skill"`
	Call   string `json:"call"`
	Body   string `json:"body"`
	Target string `json:"target,omitempty"`
	Sub    string `json:"sub,omitempty"`
	Cid    string `json:"cid,omitempty"`
	Iat    int64  `json:"iat"`
	Exp    int64  `json:"exp"`
}

// tokenType is the type of the token that says c.
func (c Claims) tokenType() string {
	if c.User != "" {
		return callerType
	}
	return tokenType
}

func (c Claims) toPayload() payload {
	exp := c.Expires.Unix()
	if c.Expires.Nanosecond() > 0 {
		exp++
	}
	return payload{
		Aud: c.Audience, Jti: c.ID, Digest: c.Digest, Skill: c.Skill, Call: c.CallID,
		Body: c.Body, Target: c.Target, Sub: c.User, Cid: c.Conversation, Iat: c.IssuedAt.Unix(), Exp: exp,
	}
}

func (p payload) toClaims() Claims {
	return Claims{
		Audience: p.Aud, ID: p.Jti, Digest: p.Digest, Skill: p.Skill, CallID: p.Call,
		Body: p.Body, Target: p.Target, User: p.Sub, Conversation: p.Cid,
		IssuedAt: time.Unix(p.Iat, 0).UTC(), Expires: time.Unix(p.Exp, 0).UTC(),
	}
}

func (c Claims) checkClaims() error {
	for _, f := range []struct {
		name, value string
		most        int
	}{
		{"audience", c.Audience, 512}, {"id", c.ID, 128}, {"digest", c.Digest, maxDigest},
		{"skill", c.Skill, 256}, {"call id", c.CallID, 128},
	} {
		if err := checkClaimText(f.name, f.value, f.most); err != nil {
			return err
		}
	}
	if err := c.checkCaller(); err != nil {
		return err
	}
	if !isHexDigest(c.Body) {
		return fmt.Errorf("%w: body must be a BodyDigest", ErrOptions)
	}
	if c.Target != "" && !isHexDigest(c.Target) {
		return fmt.Errorf("%w: target must be a TargetDigest or empty", ErrOptions)
	}
	const farFuture = 1 << 40 // Seconds; beyond it, arithmetic with time.Time may wrap.
	if c.IssuedAt.Unix() <= 0 || !c.Expires.After(c.IssuedAt) || c.Expires.Unix() >= farFuture {
		return fmt.Errorf("%w: a token needs an issue time and a later expiry", ErrOptions)
	}
	return nil
}

// maxCaller is the longest id of a user or a conversation in bytes.
const maxCaller = 256

func (c Claims) checkCaller() error {
	if c.User == "" && c.Conversation == "" {
		return nil
	}
	if err := checkClaimText("user", c.User, maxCaller); err != nil {
		return err
	}
	return checkClaimText("conversation", c.Conversation, maxCaller)
}

func checkClaimText(name, s string, most int) error {
	if s == "" || len(s) > most || !utf8.ValidString(s) {
		return fmt.Errorf("%w: %s must have 1 to %d bytes of valid UTF-8", ErrOptions, name, most)
	}
	return nil
}

func isHexDigest(s string) bool {
	if len(s) != 2*sha256.Size {
		return false
	}
	return strings.Trim(s, "0123456789abcdef") == ""
}

// parseToken checks everything about a token that can be checked without a
// clock. Nothing in the payload is looked at before the signature is right. All
// its errors are ErrInvalid.
func parseToken(token string, keyOf func(kid string) ed25519.PublicKey) (Claims, error) {
	if len(token) > MaxToken {
		return Claims{}, invalidError("longer than 4 KiB")
	}
	signed, sig64, ok1 := cutAtLast(token)
	head64, payload64, ok2 := strings.Cut(signed, ".")
	if !ok1 || !ok2 {
		return Claims{}, invalidError("not three parts")
	}
	var h header
	if !decodeExactly(head64, &h) || h.Alg != algorithm || h.Typ != tokenType && h.Typ != callerType {
		return Claims{}, invalidError("the header is not ours")
	}
	key := keyOf(h.Kid)
	if len(key) != ed25519.PublicKeySize {
		return Claims{}, invalidError("unknown key id")
	}
	sig, err := encoding.DecodeString(sig64)
	if err != nil || hasNewline(sig64) || !ed25519.Verify(key, []byte(signed), sig) {
		return Claims{}, invalidError("wrong signature")
	}
	var p payload
	if !decodeExactly(payload64, &p) {
		return Claims{}, invalidError("the claims are not ours")
	}
	c := p.toClaims()
	if c.checkClaims() != nil || c.tokenType() != h.Typ {
		return Claims{}, invalidError("a claim is missing or out of bounds")
	}
	return c, nil
}

func invalidError(why string) error { return fmt.Errorf("%w: %s", ErrInvalid, why) }

func cutAtLast(s string) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, '.')
	if i < 0 {
		return "", "", false
	}
	return s[:i], s[i+1:], true
}

// hasNewline looks for what encoding/base64 skips even when it is strict.
func hasNewline(s string) bool { return strings.ContainsAny(s, "\r\n") }

// decodeExactly reads part into v and says whether writing v again gives the
// same bytes. That refuses in one step whatever makes two readers see different
// things in one text: repeated keys, keys in another case, unknown keys,
// spacing, numbers like 1e9, missing fields.
func decodeExactly[T any](part string, v *T) bool {
	raw, err := encoding.DecodeString(part)
	if err != nil || hasNewline(part) || json.Unmarshal(raw, v) != nil {
		return false
	}
	again, err := json.Marshal(v)
	return err == nil && bytes.Equal(raw, again)
}
