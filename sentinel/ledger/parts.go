package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/sentinel/store"
)

// A ledger is one database file, or several of which each goes on from the one before. Places count through all of
// them. Each file has a tree, an origin and a key of its own.

// part is one file of the ledger.
type part struct {
	r *store.Reader
	// base is the place of its first record.
	base int64
}

// listParts lists the files that are there, the newest first.
func (r *Reader) listParts(ctx context.Context) ([]part, error) {
	files, err := r.r.Files(ctx)
	if err != nil {
		return nil, fmt.Errorf("files of the ledger: %w", err)
	}
	out := make([]part, len(files))
	for i, f := range files {
		out[i].r = f
		if err := f.QueryRow(ctx, sqlFirst).Scan(&out[i].base); err != nil {
			return nil, fmt.Errorf("read ledger: %w", err)
		}
	}
	return out, nil
}

// partOf returns the file that a place is in.
func (r *Reader) partOf(ctx context.Context, index int64) (part, error) {
	list, err := r.listParts(ctx)
	if err != nil {
		return part{}, err
	}
	for _, p := range list {
		if index >= p.base {
			return p, nil
		}
	}
	return part{}, ErrNotFound
}

// partSigned returns the file whose heads have an origin.
func (r *Reader) partSigned(ctx context.Context, origin string) (part, error) {
	list, err := r.listParts(ctx)
	if err != nil {
		return part{}, err
	}
	for _, p := range list {
		signed, err := p.newestHead(ctx)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return part{}, err
		}
		if h, err := PeekHead(signed); err == nil && h.Origin == origin {
			return p, nil
		}
	}
	return part{}, ErrNotFound
}

// newestHead returns the newest head of the file, whose signature is not checked. ErrNotFound: there is none.
func (p part) newestHead(ctx context.Context) ([]byte, error) {
	var signed []byte
	err := p.r.QueryRow(ctx, sqlNewestHead).Scan(&signed)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("%w: ledger is empty", ErrNotFound)
	}
	return signed, err
}

func (p part) readRecords(ctx context.Context, tail string, args ...any) (_ []Record, err error) {
	rows, err := p.r.Query(ctx, "SELECT "+sqlColumns+" FROM ledger_records"+tail, args...)
	if err != nil {
		return nil, fmt.Errorf("read ledger: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out := []Record{}
	for rows.Next() {
		var rec Record
		if err := scanRecord(rows, &rec); err != nil {
			return nil, err
		}
		out = append(out, rec)
	}
	return out, rows.Err()
}

// list returns the records of the file that match.
func (p part) list(ctx context.Context, q Query) (out []Record, err error) {
	err = p.r.Snapshot(ctx, func(tx *sql.Tx) error {
		plan, err := planQuery(ctx, tx, q)
		if err != nil {
			return err
		}
		out, err = plan.read(ctx, tx)
		return err
	})
	return out, err
}

// listWithout is list for a query with Without, of a file that newer ones follow: these may have what is not to be.
func (p part) listWithout(ctx context.Context, q Query, newer []part) (out []Record, err error) {
	want := q.Limit
	for {
		page, err := p.list(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range page {
			gone, err := isFollowed(ctx, &page[i], q.Without, newer)
			if err != nil {
				return nil, err
			}
			if !gone && len(out) < want {
				out = append(out, page[i])
			}
		}
		if len(page) < q.Limit || len(out) == want {
			return out, nil
		}
		q.AfterIndex = &page[len(page)-1].Index
	}
}

// isFollowed reports whether newer files have a record of a kind for a record's decision.
func isFollowed(ctx context.Context, rec *Record, kind string, newer []part) (bool, error) {
	for _, p := range newer {
		found, err := p.list(ctx, Query{Call: rec.Call, Decision: rec.Decision, Kind: kind, Limit: 1})
		if err != nil || len(found) > 0 {
			return len(found) > 0, err
		}
	}
	return false, nil
}

// listThrough returns the records that match, out of all files.
func listThrough(ctx context.Context, parts []part, q Query) ([]Record, error) {
	out, limit := []Record{}, q.Limit
	for i := range parts {
		n := i
		if !q.Newest {
			n = len(parts) - 1 - i
		}
		q.Limit = limit - len(out)
		var found []Record
		var err error
		if q.Without != "" && n > 0 {
			found, err = parts[n].listWithout(ctx, q, parts[:n])
		} else {
			found, err = parts[n].list(ctx, q)
		}
		if err != nil {
			return nil, err
		}
		if out = append(out, found...); len(out) == limit {
			break
		}
	}
	return out, nil
}

// KindContinued is the kind of the first record of a file that goes on from another, and KindClosed that of the last
// record of a file that another goes on from. The ledger alone writes them.
const (
	KindContinued = "ledger_continued"
	KindClosed    = "ledger_closed"
)

// Before is a file of the ledger that a later one goes on from, as that says.
type Before struct {
	// Number is that of the file, from 1 on. From is the place of its first record.
	Number int   `json:"number"`
	From   int64 `json:"from"`
	// Head covers all its records but the one that closes it, and Key signed it.
	Head string `json:"head"`
	Key  string `json:"key"`
}

// continuedBody is the body of a record of KindContinued.
type continuedBody struct {
	V  int    `json:"v"`
	By string `json:"by,omitempty"`
	// Key is the public key that the file begins with. The last key of the file before signs the head over this record too.
	Key string `json:"key"`
	// Before are the files before this one, the oldest first.
	Before []Before `json:"before"`
}

// last is the file right before this one.
func (b continuedBody) last() Before { return b.Before[len(b.Before)-1] }

// closedBody is the body of a record of KindClosed.
type closedBody struct {
	V      int    `json:"v"`
	By     string `json:"by,omitempty"`
	Number int    `json:"number"` // of the file that goes on
	Key    string `json:"key"`    // its first public key, which names its origin
}

// readContinued reads the first record of a file: what it goes on from. ok is false where it doesn't fit.
func readContinued(rec *Record) (b continuedBody, ok bool) {
	if rec.Kind != KindContinued || json.Unmarshal(rec.Body, &b) != nil || len(b.Before) == 0 {
		return b, false
	}
	for i, f := range b.Before {
		h, err := PeekHead([]byte(f.Head))
		next := rec.Index
		if i+1 < len(b.Before) {
			next = b.Before[i+1].From
		}
		if err != nil || f.Number != i+1 || f.From+h.Size+1 != next || i == 0 && f.From != 0 {
			return b, false
		}
	}
	return b, true
}

// Archive is a file of the ledger that another goes on from.
type Archive struct {
	Before
	// Records is how many it has, without the one that closes it.
	Records int64  `json:"records"`
	Origin  string `json:"origin"`
	// Path is where it lies; empty where it isn't there.
	Path string `json:"path,omitempty"`
}

// Archives lists the files that the newest goes on from, the oldest first. Nothing of it is verified.
func (r *Reader) Archives(ctx context.Context) ([]Archive, error) {
	parts, err := r.listParts(ctx)
	if err != nil || parts[0].base == 0 {
		return nil, err
	}
	first, err := parts[0].readRecords(ctx, " WHERE idx = ?", parts[0].base)
	if err != nil {
		return nil, err
	}
	b, ok := continuedBody{}, false
	if len(first) == 1 {
		b, ok = readContinued(&first[0])
	}
	if !ok {
		return nil, fmt.Errorf("%w: the newest file does not say what it goes on from", ErrTampered)
	}
	out := make([]Archive, len(b.Before))
	for i, f := range b.Before {
		h, _ := PeekHead([]byte(f.Head)) // readContinued has read it
		out[i] = Archive{Before: f, Records: h.Size, Origin: h.Origin}
		at := slices.IndexFunc(parts, func(p part) bool { return p.r.File().Number == f.Number })
		if at > 0 {
			out[i].Path = parts[at].r.File().Path
		}
	}
	return out, nil
}

// FileBegan returns the time of the first record of the file in use; zero where there is none.
func (r *Reader) FileBegan(ctx context.Context) (time.Time, error) {
	var ns int64
	err := r.r.QueryRow(ctx, `SELECT ifnull((SELECT time FROM ledger_records ORDER BY idx LIMIT 1), 0)`).Scan(&ns)
	if err != nil || ns == 0 {
		return time.Time{}, err
	}
	return time.Unix(0, ns).UTC(), nil
}
