package ledger

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"sync/atomic"
)

// KindAgentKey is the kind of the record that another key signs for an agent from then on.
const KindAgentKey = "agent_key_rotated"

// agentRecord begins the ids of such records.
const agentRecord = "agent-key-"

// Tags start what is signed, so that its bytes mean nothing else anywhere.
const (
	agentTag = "vedette/ledger/agent/v1\n"
	certTag  = "vedette/ledger/agent-key/v1\n"
)

// AgentKey is the Ed25519 key of one agent, which signs the agent's records. It holds a private key: do not print it.
// It is safe for concurrent use.
type AgentKey struct {
	agent   string
	private ed25519.PrivateKey
	public  string
	cert    atomic.Pointer[agentCert] // the newest
}

// agentCert says that the ledger's key vouches for an agent's.
type agentCert struct {
	by   *Signer
	text string
}

// NewAgentKey derives the key of an agent from a secret. Each generation is another key. The agent's name has 1 to
// MaxKey bytes.
func NewAgentKey(agent string, secret [32]byte, generation int64) (*AgentKey, error) {
	if agent == "" || len(agent) > MaxKey || !isSingleLineText(agent) || generation < 0 {
		return nil, fmt.Errorf("%w: an agent's name needs 1 to %d bytes of plain text", ErrEntry, MaxKey)
	}
	seed, err := hkdf.Key(sha256.New, secret[:], nil, certTag+strconv.FormatInt(generation, 10)+"\n"+agent, ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("derive the key of an agent: %w", err)
	}
	k := &AgentKey{agent: agent, private: ed25519.NewKeyFromSeed(seed)}
	public, _ := k.private.Public().(ed25519.PublicKey)
	k.public = encodeAgent(public)
	return k, nil
}

// PublicKey is the public half, in base64url.
func (k *AgentKey) PublicKey() string { return k.public }

// Format writes nothing but the public key, whatever the verb.
func (k *AgentKey) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(k.public)) }

func encodeAgent(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func decodeAgent(s []byte) ([]byte, bool) {
	b, err := base64.RawURLEncoding.Strict().AppendDecode(nil, s)
	return b, err == nil
}

// certText is what the ledger's key signs to certify an agent's.
func certText(agent, public string) []byte { return []byte(certTag + public + "\n" + agent + "\n") }

// certify returns the certificate of the key by the ledger's.
func (k *AgentKey) certify(by *Signer) (string, error) {
	if c := k.cert.Load(); c != nil && c.by == by {
		return c.text, nil
	}
	sig, err := by.signer.Sign(certText(k.agent, k.public))
	if err != nil {
		return "", fmt.Errorf("certify the key of an agent: %w", err)
	}
	c := &agentCert{by, encodeAgent(sig)}
	k.cert.Store(c)
	return c.text, nil
}

// A signed body ends with the agent's key, its certificate and the signature, in this form and these lengths.
const (
	keyPart, certPart, sigPart = `,"agent_key":"`, `","agent_cert":"`, `","agent_sig":"`
	signedEnd                  = `"}`
	keyLength, sigLength       = 43, 86 // in base64url
	signedLength               = len(keyPart) + keyLength + len(certPart) + sigLength + len(sigPart) + sigLength + len(signedEnd)
)

// agentText is what an agent's key signs: the leaf without the place, which the ledger gives and its tree covers.
func agentText(b []byte, r *Record) []byte {
	leaf := appendLeaf(nil, &Record{Entry: r.Entry})
	return append(append(b, agentTag...), leaf[len(leafTag)+8:]...)
}

// signedBody is a body that an agent's key has signed.
type signedBody struct {
	plain          []byte
	key, cert, sig []byte // as they are written
}

// splitSigned takes the signature off a body. ok is false where there is none.
func splitSigned(body []byte) (s signedBody, ok bool) {
	at := len(body) - signedLength
	if at < 1 {
		return s, false
	}
	rest := body[at:]
	for _, part := range []struct {
		begin  string
		length int
		into   *[]byte
	}{{keyPart, keyLength, &s.key}, {certPart, sigLength, &s.cert}, {sigPart, sigLength, &s.sig}} {
		if string(rest[:len(part.begin)]) != part.begin {
			return s, false
		}
		rest = rest[len(part.begin):]
		*part.into, rest = rest[:part.length], rest[part.length:]
	}
	s.plain = append(append(make([]byte, 0, at+1), body[:at]...), '}')
	return s, string(rest) == signedEnd
}

// AgentSigner returns the public key that signed a record for its agent. signed is false where none did. The error is
// ErrProof where the signature doesn't hold, or no key of the ring certifies it.
func (k *Keyring) AgentSigner(r Record) (key string, signed bool, err error) {
	s, signed := splitSigned(r.Body)
	if !signed {
		return "", false, nil
	}
	certified := false
	for _, span := range k.spans {
		certified = certified || span.certifies(r.Agent, s)
	}
	if !certified {
		return "", true, fmt.Errorf("%w: no key of the ledger certifies the key of agent %q", ErrProof, r.Agent)
	}
	if !s.isBy(r) {
		return "", true, fmt.Errorf("%w: it is not what agent %q signed", ErrProof, r.Agent)
	}
	return string(s.key), true, nil
}

// certifies reports whether the span's key certifies the one in a body.
func (s keySpan) certifies(agent string, b signedBody) bool {
	sig, ok := decodeAgent(b.cert)
	return ok && s.verifier.Verify(certText(agent, string(b.key)), sig)
}

// isBy reports whether the key in a body signed its record.
func (s signedBody) isBy(r Record) bool {
	public, ok := decodeAgent(s.key)
	sig, ok2 := decodeAgent(s.sig)
	r.Body = s.plain
	return ok && ok2 && ed25519.Verify(public, agentText(nil, &r), sig)
}

// agentBody is what a record says of a key that another one goes on for.
type agentBody struct {
	V    int    `json:"v"`
	From string `json:"from"`
	To   string `json:"to"`
	By   string `json:"by"`
}
