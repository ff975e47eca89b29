package ledger

import (
	"context"
	"database/sql"
	"errors"

	"golang.org/x/mod/sumdb/tlog"
)

// hashStream reads the stored hashes of the tree in their order.
type hashStream struct {
	rows   *sql.Rows
	buf    []byte
	index  int64 // of the next hash
	broken bool  // a row is missing or not where it must be: nothing follows
}

func newHashStream(ctx context.Context, tx *sql.Tx) (*hashStream, error) {
	rows, err := tx.QueryContext(ctx, `SELECT first, hashes FROM ledger_hashes ORDER BY first`)
	if err != nil {
		return nil, err
	}
	return &hashStream{rows: rows}, nil
}

// next returns the next hash and its index. Where nothing usable is stored, it
// is the zero hash, which is no record's.
func (s *hashStream) next() (tlog.Hash, int64, error) {
	at := s.index
	s.index++
	if len(s.buf) == 0 && !s.broken {
		if !s.rows.Next() {
			s.broken = true
			return tlog.Hash{}, at, s.rows.Err()
		}
		var first int64
		if err := s.rows.Scan(&first, &s.buf); err != nil || first != at || len(s.buf) == 0 || len(s.buf)%tlog.HashSize != 0 {
			s.broken, s.buf = true, nil
		}
	}
	if s.broken {
		return tlog.Hash{}, at, nil
	}
	h := tlog.Hash(s.buf[:tlog.HashSize])
	s.buf = s.buf[tlog.HashSize:]
	return h, at, nil
}

// hasMore reports whether there is more than was asked for.
func (s *hashStream) hasMore() (bool, error) {
	if len(s.buf) > 0 || s.broken {
		return len(s.buf) > 0, nil
	}
	more := s.rows.Next()
	return more, s.rows.Err()
}

func (s *hashStream) close() { _ = s.rows.Close() }

// headStream reads the stored heads by size.
type headStream struct {
	rows    *sql.Rows
	newest  int64 // largest size stored, 0 if none
	size    int64 // of the head in note; 0 before the first
	note    []byte
	ended   bool
	count   int64  // heads given out
	origin  string // of the first head, whose signature is not checked
	skipped bool   // a head had a size that no group ended with
}

func newHeadStream(ctx context.Context, tx *sql.Tx) (*headStream, error) {
	s := &headStream{}
	if err := tx.QueryRowContext(ctx, `SELECT ifnull(max(size), 0) FROM ledger_heads`).Scan(&s.newest); err != nil {
		return nil, err
	}
	var first []byte
	err := tx.QueryRowContext(ctx, `SELECT note FROM ledger_heads ORDER BY size LIMIT 1`).Scan(&first)
	if h, perr := PeekHead(first); err == nil && perr == nil {
		s.origin = h.Origin
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	s.rows, err = tx.QueryContext(ctx, `SELECT size, note FROM ledger_heads ORDER BY size`)
	return s, err
}

// findHeadOfSize returns the head of exactly this size, if there is one. Sizes must be
// asked for in rising order, from 1 on without a gap.
func (s *headStream) findHeadOfSize(size int64) ([]byte, bool, error) {
	for !s.ended && s.size < size {
		if !s.rows.Next() {
			s.ended = true
			return nil, false, s.rows.Err()
		}
		if err := s.rows.Scan(&s.size, &s.note); err != nil {
			return nil, false, err
		}
		s.skipped = s.skipped || s.size < size
	}
	if s.ended || s.size != size {
		return nil, false, nil
	}
	s.count++
	return s.note, true, nil
}

func (s *headStream) close() { _ = s.rows.Close() }
