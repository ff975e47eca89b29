package access

import (
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/store"
)

var schema = []string{`CREATE TABLE access_tokens (
	id   TEXT NOT NULL PRIMARY KEY,
	hash BLOB NOT NULL UNIQUE,
	seal BLOB NOT NULL,
	row  TEXT NOT NULL
) STRICT, WITHOUT ROWID`}

const (
	sqlRows = `SELECT id, hash, seal, row FROM access_tokens ORDER BY id`
	sqlPut  = `INSERT INTO access_tokens (id, hash, seal, row) VALUES (?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET seal = excluded.seal, row = excluded.row`
)

// row is a token as the database has it.
type row struct {
	id         string
	hash, seal []byte
	text       string
}

// errSeal is a row that somebody without the key wrote.
var errSeal = errors.New("the seal doesn't fit")

// sealRow returns the row of an entry.
func (t *Tokens) sealRow(e *entry) (row, error) {
	text, err := json.Marshal(e.token)
	if err != nil {
		return row{}, err
	}
	seal := t.mac("vedette/token/row/v1", e.hash[:], text)
	return row{e.token.ID, slices.Clone(e.hash[:]), seal[:], string(text)}, nil
}

// openRow returns the entry of a row. The error is errSeal, or that of a row of another form.
func (t *Tokens) openRow(r row) (*entry, error) {
	seal := t.mac("vedette/token/row/v1", r.hash, []byte(r.text))
	if !hmac.Equal(seal[:], r.seal) {
		return nil, errSeal
	}
	e := &entry{ended: make(chan struct{})}
	if err := json.Unmarshal([]byte(r.text), &e.token); err != nil {
		return nil, err
	}
	if copy(e.hash[:], r.hash) != len(e.hash) || e.token.ID != r.id {
		return nil, errSeal
	}
	if !e.token.Revoked.IsZero() {
		close(e.ended)
	}
	return e, nil
}

// readRows reads all rows.
func readRows(ctx context.Context, r *store.Reader) (out []row, err error) {
	rows, err := r.Query(ctx, sqlRows)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var one row
		if err := rows.Scan(&one.id, &one.hash, &one.seal, &one.text); err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, rows.Err()
}

// ListStored returns the tokens of a database, the oldest first, for readers that have no key.
// It can't tell a row that somebody changed. A database that never had a token has none.
func ListStored(ctx context.Context, r *store.Reader) ([]Token, error) {
	var tables int
	err := r.QueryRow(ctx, `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'access_tokens'`).Scan(&tables)
	if err != nil || tables == 0 {
		return nil, err
	}
	rows, err := readRows(ctx, r)
	if err != nil {
		return nil, err
	}
	out := make([]Token, 0, len(rows))
	for _, one := range rows {
		var t Token
		if err := json.Unmarshal([]byte(one.text), &t); err != nil {
			return nil, errors.New("the row of token " + strings.ToValidUTF8(one.id, "?") + " is no token")
		}
		out = append(out, t)
	}
	return out, nil
}
