package policies

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// The bounds of what is kept.
const (
	// MaxText is the size in bytes from which on a policy's text is not kept.
	MaxText = 8 << 20
	// MaxPolicies is how many policies are kept. Those that came in force last are.
	MaxPolicies = 1000
	// maxPrompts is how many prompts of one policy are kept: each version of the program may have another.
	maxPrompts = 8
)

// Errors of Find and Verify.
var (
	ErrUnknown   = errors.New("no policy is kept with this digest")
	ErrAmbiguous = errors.New("several policies have a digest that begins so")
	ErrChanged   = errors.New("what is kept is not what the digest stands for: it was changed in the database")
	ErrTooLarge  = errors.New("the policy was too large to be kept; its digest alone is")
)

var schema = []string{`CREATE TABLE policies (
	digest  TEXT PRIMARY KEY NOT NULL,
	first   INTEGER NOT NULL,
	last    INTEGER NOT NULL,
	rest    BLOB NOT NULL,
	size    INTEGER NOT NULL,
	text    BLOB NOT NULL,
	prompts BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX policies_last ON policies (last);`}

const (
	sqlPrompts = `SELECT prompts FROM policies WHERE digest = ?`
	sqlKeep    = `INSERT INTO policies (digest, first, last, rest, size, text, prompts) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (digest) DO UPDATE SET last = max(last, excluded.last), rest = excluded.rest, size = excluded.size, text = excluded.text,
prompts = excluded.prompts`
	sqlForget = `DELETE FROM policies WHERE digest IN (SELECT digest FROM policies ORDER BY last DESC, digest LIMIT -1 OFFSET ?)`
	sqlItems  = `SELECT digest, first, last, size FROM policies ORDER BY last DESC, digest`
	sqlShow   = `SELECT first, last, rest, size, text, prompts FROM policies WHERE digest = ?`
	sqlTable  = `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'policies'`
)

// Prompt is what a model of the review is told before each call.
type Prompt struct {
	Model   string `json:"model"`
	Version string `json:"version"`
	Program string `json:"program"`
	SHA256  string `json:"sha256"`
	Text    string `json:"text"`
}

// InForce is a policy that comes in force.
type InForce struct {
	Text config.PolicyText
	// Prompts are those of the review's models; none where no model reviews.
	Prompts []Prompt
	// Program is the version of the program.
	Program string
	At      time.Time
}

// Item is a policy in a list.
type Item struct {
	Digest string `json:"digest"`
	// First and Last are when it came in force for the first and for the last time.
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	// Bytes is the size of its text.
	Bytes int `json:"bytes"`
}

// Policy is what a digest stands for.
type Policy struct {
	Item
	// Text is the configuration as far as it decides, with its skills; empty where it was too large.
	Text    json.RawMessage `json:"policy,omitempty"`
	Prompts []Prompt        `json:"prompts"`

	rest [sha256.Size]byte
}

// Prepare makes the table where it is missing.
func Prepare(ctx context.Context, st *store.Store) error { return st.Migrate(ctx, "policies", schema) }

// KeepTx keeps a policy that comes in force with the submission of tx. A policy that is kept already
// gets the time, and prompts that are new.
func KeepTx(tx *store.Tx, p InForce) error {
	digest := p.Text.Digest()
	prompts, err := readPrompts(tx, digest)
	if err != nil {
		return err
	}
	list, err := json.Marshal(addPrompts(prompts, p))
	if err != nil {
		return err
	}
	text := p.Text.Text
	if len(text) > MaxText {
		text = nil
	}
	at := p.At.UnixMilli()
	_, err = tx.Exec(sqlKeep, digest, at, at, p.Text.Rest[:], int64(len(p.Text.Text)), pack(text), pack(list))
	if err != nil {
		return fmt.Errorf("keep the policy: %w", err)
	}
	_, err = tx.Exec(sqlForget, int64(MaxPolicies))
	return err
}

// readPrompts reads the prompts that are kept of a policy. What can't be read is replaced.
func readPrompts(tx *store.Tx, digest string) (list []Prompt, err error) {
	var packed []byte
	known, err := tx.QueryRow([]any{&packed}, sqlPrompts, digest)
	if err != nil || !known {
		return nil, err
	}
	if b, err := unpack(packed); err != nil || json.Unmarshal(b, &list) != nil {
		return nil, nil //nolint:nilerr // the prompts in force take its place
	}
	return list, nil
}

// addPrompts adds the prompts in force to those that are kept, the newest last.
func addPrompts(list []Prompt, p InForce) []Prompt {
	known := map[string]bool{}
	for _, old := range list {
		known[old.Model+"\n"+old.SHA256] = true
	}
	for _, one := range p.Prompts {
		sum := sha256.Sum256([]byte(one.Text))
		one.SHA256, one.Program = hex.EncodeToString(sum[:]), p.Program
		if !known[one.Model+"\n"+one.SHA256] {
			list = append(list, one)
		}
	}
	if list == nil {
		return []Prompt{}
	}
	return list[max(0, len(list)-max(maxPrompts, len(p.Prompts))):]
}

// List returns the policies that are kept, the one that came in force last first.
func List(ctx context.Context, r *store.Reader) (out []Item, err error) {
	out = []Item{}
	var tables int
	if err := r.QueryRow(ctx, sqlTable).Scan(&tables); err != nil || tables == 0 {
		return out, err // an earlier version kept none
	}
	rows, err := r.Query(ctx, sqlItems)
	if err != nil {
		return nil, fmt.Errorf("read policies: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var i Item
		var first, last int64
		if err := rows.Scan(&i.Digest, &first, &last, &i.Bytes); err != nil {
			return nil, fmt.Errorf("read policies: %w", err)
		}
		i.First, i.Last = time.UnixMilli(first).UTC(), time.UnixMilli(last).UTC()
		out = append(out, i)
	}
	return out, rows.Err()
}

// hashPrefix begins every digest. Callers may leave it out.
const hashPrefix = "sha256:"

// Find returns the policy whose digest is, or begins with, what is given. The errors wrap ErrUnknown,
// which names near digests, and ErrAmbiguous.
func Find(ctx context.Context, r *store.Reader, begin string) (Policy, error) {
	list, err := List(ctx, r)
	if err != nil {
		return Policy{}, err
	}
	begin = hashPrefix + strings.TrimPrefix(strings.ToLower(begin), hashPrefix)
	var found []Item
	for _, i := range list {
		if strings.HasPrefix(i.Digest, begin) && begin != hashPrefix {
			found = append(found, i)
		}
	}
	switch {
	case len(found) == 0:
		return Policy{}, &UnknownError{listNear(list, begin)}
	case len(found) > 1:
		return Policy{}, fmt.Errorf("%w: %s and %s", ErrAmbiguous, shorten(found[0].Digest), shorten(found[1].Digest))
	}
	return show(ctx, r, found[0].Digest)
}

// UnknownError is an ErrUnknown with the digests that may have been meant.
type UnknownError struct{ Near []string }

// Error names them.
func (e *UnknownError) Error() string {
	if len(e.Near) == 0 {
		return ErrUnknown.Error()
	}
	return ErrUnknown.Error() + "; did you mean " + strings.Join(e.Near, " or ") + "?"
}

// Unwrap returns ErrUnknown.
func (e *UnknownError) Unwrap() error { return ErrUnknown }

const (
	// maxNear is how many digests an UnknownError names.
	maxNear = 3
	// leastShared is how many digits a near digest shares with what was asked for.
	leastShared = 3
)

// listNear returns digests that begin like what was asked for, as far as that goes.
func listNear(list []Item, begin string) (out []string) {
	for want := len(begin) - 1; want >= len(hashPrefix)+leastShared && len(out) == 0; want-- {
		for _, i := range list {
			if strings.HasPrefix(i.Digest, begin[:want]) && len(out) < maxNear {
				out = append(out, shorten(i.Digest))
			}
		}
	}
	return out
}

// shortDigits is how many digits of a digest are enough for people.
const shortDigits = 12

func shorten(digest string) string {
	return digest[:min(len(digest), len(hashPrefix)+shortDigits)]
}

func show(ctx context.Context, r *store.Reader, digest string) (Policy, error) {
	p := Policy{Item: Item{Digest: digest}}
	var first, last int64
	var rest, text, prompts []byte
	if err := r.QueryRow(ctx, sqlShow, digest).Scan(&first, &last, &rest, &p.Bytes, &text, &prompts); err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			err = ErrUnknown
		}
		return Policy{}, fmt.Errorf("read the policy: %w", err)
	}
	p.First, p.Last = time.UnixMilli(first).UTC(), time.UnixMilli(last).UTC()
	if len(rest) != len(p.rest) {
		return Policy{}, ErrChanged
	}
	copy(p.rest[:], rest)
	whole, err := unpack(text)
	if err != nil {
		return Policy{}, err
	}
	if p.Text = whole; len(whole) > 0 && !json.Valid(whole) {
		return Policy{}, ErrChanged
	}
	if whole, err = unpack(prompts); err != nil || json.Unmarshal(whole, &p.Prompts) != nil {
		return Policy{}, ErrChanged
	}
	return p, nil
}

// Verify returns ErrChanged where the digest doesn't stand for the text, or a prompt is not what its
// own digest says, and ErrTooLarge where the text was not kept.
func (p Policy) Verify() error {
	for _, one := range p.Prompts {
		if sum := sha256.Sum256([]byte(one.Text)); one.SHA256 != hex.EncodeToString(sum[:]) {
			return ErrChanged
		}
	}
	if len(p.Text) == 0 {
		return ErrTooLarge
	}
	if (config.PolicyText{Text: p.Text, Rest: p.rest}).Digest() != p.Digest {
		return ErrChanged
	}
	return nil
}

// pack compresses.
func pack(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(b)
	if err = errors.Join(err, w.Close()); err != nil { // a buffer takes everything
		return nil
	}
	return out.Bytes()
}

// unpack undoes pack. What is longer than anything that is kept was changed.
func unpack(b []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, ErrChanged
	}
	out, err := io.ReadAll(io.LimitReader(r, MaxText+1))
	if err != nil || len(out) > MaxText {
		return nil, ErrChanged
	}
	return out, nil
}
