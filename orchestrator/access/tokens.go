package access

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/internal/ids"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// The kinds of record that tokens leave in the ledger.
const (
	RecordCreated = "token_created"
	RecordRevoked = "token_revoked"
)

// TokenOptions are the parts of Tokens. Ledger must be that of Store.
type TokenOptions struct {
	Store  *store.Store
	Ledger *ledger.Ledger
	// Key seals rows and secrets. It must be the same after a restart.
	Key [32]byte
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Log is told of rows that are not what their seals say; nil discards.
	Log *slog.Logger
}

// Tokens are the tokens of one store. It is safe for concurrent use.
type Tokens struct {
	o TokenOptions

	writing sync.Mutex // held while a change is written down, so that names stay apart
	mu      sync.RWMutex
	byHash  map[[32]byte]*entry
	byID    map[string]*entry
}

// entry is a token of the store. ended is closed when it is revoked.
type entry struct {
	token Token
	hash  [32]byte
	ended chan struct{}
}

// OpenTokens reads the tokens of a store. A row whose seal doesn't fit lets no caller in, and
// the log says so.
func OpenTokens(ctx context.Context, o TokenOptions) (*Tokens, error) {
	if o.Store == nil || o.Ledger == nil {
		return nil, errors.New("tokens need a store and its ledger")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	t := &Tokens{o: o, byHash: map[[32]byte]*entry{}, byID: map[string]*entry{}}
	if err := o.Store.Migrate(ctx, "tokens", schema); err != nil {
		return nil, err
	}
	rows, err := readRows(ctx, o.Store.Reader())
	if err != nil {
		return nil, fmt.Errorf("read the tokens: %w", err)
	}
	for _, r := range rows {
		e, err := t.openRow(r)
		if err != nil {
			o.Log.Error("a token's row is not what its seal says, and lets no caller in; look who writes to the database", "token", r.id)
			continue
		}
		t.keep(e)
	}
	return t, nil
}

// keep puts an entry where requests find it.
func (t *Tokens) keep(e *entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.byID[e.token.ID] = e
	if e.token.Revoked.IsZero() {
		t.byHash[e.hash] = e
	}
}

// Create makes a token, on record in the name of by. The secret is in the answer and nowhere
// else. The errors wrap ErrToken where the token can't be made; nothing has changed then.
func (t *Tokens) Create(ctx context.Context, w Wanted, by string) (Made, error) {
	now := t.o.Now().UTC().Truncate(time.Millisecond)
	w.Expires = w.Expires.UTC().Truncate(time.Millisecond)
	if err := w.check(now); err != nil {
		return Made{}, err
	}
	if !isPlainName(by) {
		return Made{}, fmt.Errorf("%w: who makes it must be said in one line of at most 128 bytes", ErrToken)
	}
	t.writing.Lock()
	defer t.writing.Unlock()
	if err := t.checkRoom(w.Name, now); err != nil {
		return Made{}, err
	}
	secret := newSecret()
	e := &entry{token: Token{ID: ids.New(), Wanted: w, Created: now, CreatedBy: by}, hash: t.hashSecret(secret), ended: make(chan struct{})}
	err := t.write(ctx, e, RecordCreated, by, now)
	if err != nil {
		return Made{}, err
	}
	t.keep(e)
	return Made{e.token, secret}, nil
}

// checkRoom refuses a name that a valid token has, and more tokens than there may be.
func (t *Tokens) checkRoom(name string, now time.Time) error {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if len(t.byID) >= maxTokens {
		return fmt.Errorf("%w: there are %d already", ErrToken, maxTokens)
	}
	for _, e := range t.byHash {
		if e.token.Name == name && e.token.State(now) == "valid" {
			return fmt.Errorf("%w: a valid token has the name %s; revoke it, or choose another name", ErrToken, name)
		}
	}
	return nil
}

// Revoke ends a token, by its id or the beginning of it. Once it returns nil the token lets no
// caller in, and requests under way with it have ended. The errors are ErrNotFound and
// ErrRevoked, with the token, and those of the store: the token counts then as before.
func (t *Tokens) Revoke(ctx context.Context, begin, by string) (Token, error) {
	if !isPlainName(by) {
		return Token{}, fmt.Errorf("%w: who revokes it must be said in one line of at most 128 bytes", ErrToken)
	}
	t.writing.Lock()
	defer t.writing.Unlock()
	old, err := t.find(begin)
	if err != nil {
		return Token{}, err
	}
	if !old.token.Revoked.IsZero() {
		return old.token, ErrRevoked
	}
	e := &entry{token: old.token, hash: old.hash, ended: old.ended}
	e.token.Revoked, e.token.RevokedBy = t.o.Now().UTC().Truncate(time.Millisecond), by
	if err := t.write(ctx, e, RecordRevoked, by, e.token.Revoked); err != nil {
		return Token{}, err
	}
	t.mu.Lock()
	t.byID[e.token.ID] = e
	delete(t.byHash, e.hash)
	t.mu.Unlock()
	close(e.ended)
	return e.token, nil
}

// find returns the token whose id begins so.
func (t *Tokens) find(begin string) (*entry, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if e, ok := t.byID[begin]; ok {
		return e, nil
	}
	var found *entry
	for id, e := range t.byID {
		switch {
		case begin == "" || !strings.HasPrefix(id, begin):
		case found != nil:
			return nil, fmt.Errorf("%w: several ids begin so; give more of it", ErrNotFound)
		default:
			found = e
		}
	}
	if found == nil {
		return nil, ErrNotFound
	}
	return found, nil
}

// List returns all tokens, the oldest first.
func (t *Tokens) List() []Token {
	t.mu.RLock()
	out := make([]Token, 0, len(t.byID))
	for _, e := range t.byID {
		out = append(out, e.token)
	}
	t.mu.RUnlock()
	slices.SortFunc(out, func(a, b Token) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// Authenticate returns who calls with the secret. The error is ErrUnauthenticated, the same for
// each reason.
func (t *Tokens) Authenticate(secret string) (Principal, error) {
	p, _, err := t.admit(secret)
	return p, err
}

// admit is Authenticate with a channel that is closed when the token is revoked.
func (t *Tokens) admit(secret string) (Principal, <-chan struct{}, error) {
	if !IsSecret(secret) {
		return Principal{}, nil, ErrUnauthenticated
	}
	hash := t.hashSecret(secret)
	t.mu.RLock()
	e := t.byHash[hash]
	t.mu.RUnlock()
	// The map was asked for an HMAC under a key that callers don't have, so its time says nothing
	// about a secret. The comparison is one in constant time all the same.
	if e == nil || !hmac.Equal(e.hash[:], hash[:]) || e.token.State(t.o.Now()) != "valid" {
		return Principal{}, nil, ErrUnauthenticated
	}
	p, err := e.token.principal()
	if err != nil {
		return Principal{}, nil, ErrUnauthenticated
	}
	return p, e.ended, nil
}

// Alive reports whether the token of a principal's id is still valid. It is for what outlives a
// request: held calls, sessions, streams. Of an id that is no token's it says no.
func (t *Tokens) Alive(principal string) bool {
	id, ok := strings.CutPrefix(principal, "token:")
	t.mu.RLock()
	defer t.mu.RUnlock()
	e := t.byID[id]
	return ok && e != nil && e.token.State(t.o.Now()) == "valid"
}

// Ended reports whether the principal of that id is a token of ours that was revoked or has expired. Of other
// principals, such as an issuer's, it says no.
func (t *Tokens) Ended(principal string) bool {
	id, ok := strings.CutPrefix(principal, "token:")
	t.mu.RLock()
	defer t.mu.RUnlock()
	e := t.byID[id]
	return ok && e != nil && e.token.State(t.o.Now()) != "valid"
}

// Known returns the id of the token whose secret it is, valid or not, for the log. It is empty
// where there is none.
func (t *Tokens) Known(secret string) string {
	if !IsSecret(secret) {
		return ""
	}
	hash := t.hashSecret(secret)
	t.mu.RLock()
	defer t.mu.RUnlock()
	if e := t.byHash[hash]; e != nil {
		return e.token.ID
	}
	return ""
}

// write puts the row and its record into one transaction.
func (t *Tokens) write(ctx context.Context, e *entry, kind, by string, at time.Time) error {
	row, err := t.sealRow(e)
	if err != nil {
		return err
	}
	body, err := json.Marshal(struct {
		V       int       `json:"v"`
		By      string    `json:"by"`
		Token   string    `json:"token"`
		Name    string    `json:"name"`
		Scopes  []Scope   `json:"scopes"`
		Skills  []string  `json:"skills,omitempty"`
		Group   string    `json:"group,omitempty"`
		Turns   string    `json:"user_turns,omitempty"`
		Expires time.Time `json:"expires,omitzero"`
	}{1, by, e.token.ID, e.token.Name, e.token.Scopes, e.token.Skills, e.token.Group, e.token.UserTurns, e.token.Expires})
	if err != nil {
		return err
	}
	err = t.o.Store.Submit(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(sqlPut, row.id, row.hash, row.seal, row.text); err != nil {
			return err
		}
		_, err := t.o.Ledger.AppendTx(tx, ledger.Entry{ID: ids.New(), Time: at, Kind: kind, User: e.token.User, Body: body})
		return err
	})
	if err != nil {
		return fmt.Errorf("the token can't be written down: %w", err)
	}
	return nil
}

// hashSecret is what the database keeps of a secret.
func (t *Tokens) hashSecret(secret string) [32]byte {
	return t.mac("vedette/token/secret/v1", []byte(secret))
}

// mac is an HMAC of parts under the key, for one purpose.
func (t *Tokens) mac(purpose string, parts ...[]byte) (out [32]byte) {
	m := hmac.New(sha256.New, t.o.Key[:])
	for _, p := range append([][]byte{[]byte(purpose)}, parts...) {
		_, _ = fmt.Fprintf(m, "%d:", len(p)) // parts join in one way alone
		_, _ = m.Write(p)
	}
	m.Sum(out[:0])
	return out
}
