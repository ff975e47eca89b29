package label

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// Why a decision stands in the queue.
const (
	WhyDenied   = "denied"    // all of them
	WhyAsked    = "asked"     // a person was asked: all of them
	WhyNewSkill = "new_skill" // one of the skill's first calls
	WhySampled  = "sampled"   // one of a hundred that were allowed
)

// Whys returns the reasons to stand in the queue.
func Whys() []string { return []string{WhyDenied, WhyAsked, WhyNewSkill, WhySampled} }

const (
	// firstCalls is how many calls of a skill are all in the queue.
	firstCalls = 20
	// oneOf is how many allowed calls stand behind one in the queue.
	oneOf = 100
	// fillPage is how many records are looked at in one transaction; fillPages and queuePages are how many pages Fill
	// and Queue look at.
	fillPage   = 1000
	fillPages  = 20
	queuePages = 3
)

const (
	sqlScanned    = `SELECT ifnull(max(idx), -1) FROM label_scanned`
	sqlScan       = `INSERT INTO label_scanned (one, idx) VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET idx = excluded.idx`
	sqlEnqueue    = `INSERT INTO label_queue (idx, record, why) VALUES (?, ?, ?) ON CONFLICT (idx) DO NOTHING`
	sqlCalls      = `SELECT calls FROM label_skills WHERE skill = ?`
	sqlCountCalls = `INSERT INTO label_skills (skill, calls) VALUES (?, ?) ON CONFLICT (skill) DO UPDATE SET calls = excluded.calls`
	sqlNext       = `SELECT idx, record, why FROM label_queue WHERE idx < ? AND (? = '' OR why = ?)
AND NOT EXISTS (SELECT 1 FROM labels WHERE labels.record = label_queue.record AND labels.reviewer = ? AND labels.standing = 1)
ORDER BY idx DESC LIMIT ?`
	sqlCountLeft = `SELECT count(*) FROM (SELECT 1 FROM label_queue WHERE NOT EXISTS (SELECT 1 FROM labels
WHERE labels.record = label_queue.record AND labels.reviewer = ? AND labels.standing = 1) LIMIT 1000)`
)

// isSampled reports whether an allowed call is one of those that reviewers look at, by a hash of its decision's id:
// the same for all reviewers, at any time.
func isSampled(decision string) bool {
	sum := sha256.Sum256([]byte("vedette/label/sample\n" + decision))
	return binary.BigEndian.Uint64(sum[:8])%oneOf == 0
}

// whyLooked says why a decision stands in the queue, empty for one that doesn't. calls is how many calls of its
// skill were decided before.
func whyLooked(r *ledger.Record, calls int) string {
	decided := DecidedOf(r)
	switch {
	case decided == ask:
		return WhyAsked
	case decided == sentinel.Deny.String():
		return WhyDenied
	case r.Skill != "" && calls < firstCalls:
		return WhyNewSkill
	case decided == sentinel.Allow.String() && isSampled(r.Decision):
		return WhySampled
	}
	return ""
}

// Fill looks through what was recorded since it last did, 20,000 records at most, and puts into the queue what
// reviewers look at. more says that there is something left. The error is the store's.
func (l *Labels) Fill(ctx context.Context) (more bool, err error) { return l.fillFrom(ctx, fillPages) }

// fillFrom looks through so many pages at most, from where it came to.
func (l *Labels) fillFrom(ctx context.Context, pages int) (more bool, err error) {
	l.filling.Lock()
	defer l.filling.Unlock()
	last := int64(-1)
	if err := l.o.Store.Reader().QueryRow(ctx, sqlScanned).Scan(&last); err != nil {
		return false, fmt.Errorf("read the queue: %w", err)
	}
	for range pages {
		page, err := l.o.Ledger.List(ctx, ledger.Query{AfterIndex: &last, Limit: fillPage})
		if err != nil || len(page) == 0 {
			return false, err
		}
		if err := l.o.Store.Submit(ctx, func(tx *store.Tx) error { return enqueueTx(tx, page) }); err != nil {
			return false, err
		}
		if len(page) < fillPage {
			return false, nil
		}
		last = page[len(page)-1].Index
	}
	return true, nil
}

// enqueueTx puts the decisions of a page into the queue that reviewers look at.
func enqueueTx(tx *store.Tx, page []ledger.Record) error {
	counted := map[string]int{}
	for i := range page {
		r := &page[i]
		if !isDecision(r) {
			continue
		}
		if _, known := counted[r.Skill]; !known {
			n := 0
			if _, err := tx.QueryRow([]any{&n}, sqlCalls, r.Skill); err != nil {
				return err
			}
			counted[r.Skill] = n
		}
		if why := whyLooked(r, counted[r.Skill]); why != "" {
			if _, err := tx.Exec(sqlEnqueue, r.Index, r.ID, why); err != nil {
				return err
			}
		}
		counted[r.Skill]++
	}
	for skill, n := range counted {
		if _, err := tx.Exec(sqlCountCalls, skill, n); err != nil {
			return err
		}
	}
	_, err := tx.Exec(sqlScan, page[len(page)-1].Index)
	return err
}

// QueueFilter chooses decisions that a reviewer has said nothing of.
type QueueFilter struct {
	Reviewer string
	// Why, if set, is the one reason for which they stand there.
	Why string
	// Before, if not nil, is the place of the last decision of the page before.
	Before *int64
	// Limit is how many are returned at most: 1 to 1,000, and 100 if zero.
	Limit int
}

// Queued is a decision that waits for a reviewer.
type Queued struct {
	Record ledger.Record `json:"record"`
	Why    string        `json:"why"`
}

// Queue returns decisions that wait for a reviewer's word, the newest first. Of a ledger that was just opened it may
// not have all yet: Fill looks through the rest.
func (l *Labels) Queue(ctx context.Context, f QueueFilter) ([]Queued, error) {
	if _, err := l.fillFrom(ctx, queuePages); err != nil {
		return nil, err
	}
	before := int64(1) << 62
	if f.Before != nil {
		before = *f.Before
	}
	if f.Limit <= 0 {
		f.Limit = defaultListed
	}
	rows, err := l.o.Store.Reader().Query(ctx, sqlNext, before, f.Why, f.Why, f.Reviewer, min(f.Limit, maxListed))
	if err != nil {
		return nil, fmt.Errorf("read the queue: %w", err)
	}
	out, err := scanQueued(rows)
	if err != nil {
		return nil, err
	}
	for i := range out {
		if out[i].Record, err = l.o.Ledger.Get(ctx, out[i].Record.ID); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// scanQueued reads the columns of sqlNext.
func scanQueued(rows *sql.Rows) (out []Queued, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var q Queued
		if err := rows.Scan(&q.Record.Index, &q.Record.ID, &q.Why); err != nil {
			return nil, err
		}
		out = append(out, q)
	}
	return out, rows.Err()
}

// CountLeft returns how many decisions wait for a reviewer's word, 1,000 at most.
func (l *Labels) CountLeft(ctx context.Context, reviewer string) (n int, err error) {
	if _, err := l.fillFrom(ctx, queuePages); err != nil {
		return 0, err
	}
	err = l.o.Store.Reader().QueryRow(ctx, sqlCountLeft, reviewer).Scan(&n)
	return n, err
}
