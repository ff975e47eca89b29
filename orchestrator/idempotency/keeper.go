package idempotency

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/store"
)

const (
	// MaxKey is the greatest length of a key in characters.
	MaxKey = 255
	// Lifetime is how long an answer is kept where Options don't say.
	Lifetime = 24 * time.Hour

	kindAnswer = "api.answer"
	forgetStep = 50 // rows that one request forgets at most
)

// The errors of a Keeper.
var (
	// ErrForm refuses a key that is empty, too long or not of visible ASCII characters.
	ErrForm = fmt.Errorf("an idempotency key is 1 to %d visible ASCII characters", MaxKey)
	// ErrInFlight says that the first request under the key is at work.
	ErrInFlight = errors.New("the request with this idempotency key is still at work; try again")
	// ErrOther says that the key was used for another request.
	ErrOther = errors.New("the idempotency key was used for another request; take a new key")
	// ErrGone says that the request was answered and the answer was erased.
	ErrGone = errors.New("the request with this idempotency key was answered, and its answer was erased; take a new key")
)

var schema = []string{`CREATE TABLE idempotency_answers (
	id      TEXT PRIMARY KEY NOT NULL,
	print   TEXT NOT NULL,
	sealed  INTEGER NOT NULL,
	expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_expires ON idempotency_answers (expires);`}

const (
	sqlFind = `SELECT print, sealed FROM idempotency_answers WHERE id = ? AND expires > ?`
	sqlPut  = `INSERT INTO idempotency_answers (id, print, sealed, expires) VALUES (?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET print = excluded.print, sealed = excluded.sealed, expires = excluded.expires`
	sqlForget = `DELETE FROM idempotency_answers WHERE id IN (SELECT id FROM idempotency_answers WHERE expires <= ? LIMIT ?)`
)

// Options are the parts of a Keeper. Store and Journal are required, and Journal must be that of Store.
type Options struct {
	Store   *store.Store
	Journal *journal.Journal
	// Key makes the digests of keys and requests. It must be the same after a restart.
	Key [32]byte
	// Lifetime is how long an answer is kept; zero is the constant of that name.
	Lifetime time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Keeper keeps answers. It is safe for concurrent use.
type Keeper struct {
	o Options

	mu   sync.Mutex
	busy map[string]bool // ids of keys whose request is at work
}

// Request is a request that names a key.
type Request struct {
	// Principal is whose key it is, Key its text.
	Principal, Key string
	// Method, Target and Body are what the key stands for. Target is the path with its query.
	Method, Target string
	Body           []byte
	// User and Conversation are under what the answer is sealed: a purge of either erases it. An empty
	// one belongs to no such purge.
	User, Conversation string
}

// Answer is what a request was answered.
type Answer struct {
	Status int               `json:"status"`
	Header map[string]string `json:"header"`
	Body   []byte            `json:"body"`
}

// Turn is one request under its key. End it.
type Turn struct {
	// Kept is the answer to the request before, nil for the first one.
	Kept *Answer

	k                  *Keeper
	id, print          string
	user, conversation string
	once               sync.Once
}

// Open makes the tables where they are missing. There can be one Keeper for each store:
// the error wraps store.ErrClaimed otherwise.
func Open(ctx context.Context, o Options) (*Keeper, error) {
	if o.Store == nil || o.Journal == nil {
		return nil, errors.New("the keeper of answers needs a store and its journal")
	}
	if o.Lifetime <= 0 {
		o.Lifetime = Lifetime
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := o.Store.Claim("idempotency"); err != nil {
		return nil, err
	}
	if err := o.Store.Migrate(ctx, "idempotency", schema); err != nil {
		o.Store.Unclaim("idempotency")
		return nil, err
	}
	return &Keeper{o: o, busy: map[string]bool{}}, nil
}

// Close gives the store's claim back, so that another Keeper can be opened. No turn may be under way.
func (k *Keeper) Close() { k.o.Store.Unclaim("idempotency") }

// CheckKey returns ErrForm for what is no key.
func CheckKey(key string) error {
	if key == "" || len(key) > MaxKey {
		return ErrForm
	}
	for i := range len(key) {
		if key[i] < 0x21 || key[i] > 0x7e {
			return ErrForm
		}
	}
	return nil
}

// Begin takes the key for a request, or finds the answer that was kept. The error is ErrForm,
// ErrInFlight, ErrOther, ErrGone, or the store's.
func (k *Keeper) Begin(ctx context.Context, r Request) (*Turn, error) {
	if err := CheckKey(r.Key); err != nil {
		return nil, err
	}
	t := &Turn{k: k, user: r.User, conversation: r.Conversation}
	t.id = k.digest("key", []byte(r.Principal), []byte(r.Key))
	t.print = k.digest("request", []byte(r.Method), []byte(r.Target), r.Body)
	if !k.takeKey(t.id) {
		return nil, ErrInFlight
	}
	kept, err := k.findAnswer(ctx, t)
	if err != nil {
		t.End()
		return nil, err
	}
	t.Kept = kept
	return t, nil
}

// takeKey reports whether no other request is at work under the key, and marks it.
func (k *Keeper) takeKey(id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.busy[id] {
		return false
	}
	k.busy[id] = true
	return true
}

// findAnswer reads the kept answer, nil where there is none.
func (k *Keeper) findAnswer(ctx context.Context, t *Turn) (*Answer, error) {
	var print string
	var sealed int64
	err := k.o.Store.Reader().QueryRow(ctx, sqlFind, t.id, k.o.Now().UnixMilli()).Scan(&print, &sealed)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil //nolint:nilnil // that there is none is the usual case
	case err != nil:
		return nil, fmt.Errorf("read the kept answer: %w", err)
	case subtle.ConstantTimeCompare([]byte(print), []byte(t.print)) != 1:
		return nil, ErrOther
	}
	v, err := k.o.Journal.Get(ctx, sealed)
	if errors.Is(err, journal.ErrErased) {
		return nil, ErrGone
	}
	if err != nil {
		return nil, fmt.Errorf("open the kept answer: %w", err)
	}
	a := &Answer{}
	if v.Kind != kindAnswer || v.Call != refOf(t.id) || json.Unmarshal(v.Data, a) != nil {
		return nil, errors.New("open the kept answer: the journal holds something else under its number")
	}
	return a, nil
}

// Keep makes the answer durable. Where it fails, the request was worked on and a second one
// under its key will be worked on too.
func (t *Turn) Keep(ctx context.Context, a Answer) error {
	data, err := json.Marshal(a)
	if err != nil {
		return err
	}
	now := t.k.o.Now()
	expires := now.Add(t.k.o.Lifetime)
	err = t.k.o.Store.Submit(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(sqlForget, now.UnixMilli(), forgetStep); err != nil {
			return err
		}
		sealed, err := t.k.o.Journal.PutTx(tx, journal.Item{
			Call: refOf(t.id), User: t.user, Conversation: t.conversation, Kind: kindAnswer, Data: data, Expires: expires,
		})
		if err != nil {
			return err
		}
		_, err = tx.Exec(sqlPut, t.id, t.print, sealed, expires.UnixMilli())
		return err
	})
	if err != nil {
		return fmt.Errorf("keep the answer: %w", err)
	}
	return nil
}

// End frees the key for the next request. A second End does nothing.
func (t *Turn) End() {
	t.once.Do(func() {
		t.k.mu.Lock()
		defer t.k.mu.Unlock()
		delete(t.k.busy, t.id)
	})
}

// refOf is the reference of an answer in the journal.
func refOf(id string) string { return "answer/" + id }

// digest is a keyed digest of parts, whose ends are unmistakable. use keeps two kinds apart.
func (k *Keeper) digest(use string, parts ...[]byte) string {
	m := hmac.New(sha256.New, k.o.Key[:])
	for _, p := range append([][]byte{[]byte("vedette/idempotency/" + use)}, parts...) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		m.Write(n[:])
		m.Write(p)
	}
	return hex.EncodeToString(m.Sum(nil))
}
