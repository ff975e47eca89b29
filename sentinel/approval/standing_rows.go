package approval

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/vedette-dev/vedette/sentinel/store"
)

const (
	sqlStandingColumns = `id, user, skill, skill_digest, rule, approval, by, via, made, expires, uses, used, revoked_by, revoked_at, sealed`
	sqlPutStanding     = `INSERT INTO approval_standing (id, matches, user, skill, skill_digest, rule, approval, by, via, made, expires, uses,
used, revoked_by, revoked_at, sealed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, '', 0, ?)`
	sqlStandingFor = `SELECT ` + sqlStandingColumns + ` FROM approval_standing
WHERE matches = ? AND revoked_at = 0 AND used < uses AND expires > ? ORDER BY expires, id`
	sqlStandingUse  = `UPDATE approval_standing SET used = used + 1 WHERE id = ? AND revoked_at = 0 AND used < uses AND expires > ?`
	sqlPutUse       = `INSERT INTO approval_standing_uses (decision, standing, at) VALUES (?, ?, ?)`
	sqlRevoke       = `UPDATE approval_standing SET revoked_by = ?, revoked_at = ? WHERE id = ?`
	sqlFindStanding = `SELECT ` + sqlStandingColumns + ` FROM approval_standing WHERE id = ? OR ? AND substr(id, 1, ?) = ? LIMIT 2`
	sqlHasStanding  = `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'approval_standing'`

	sqlForgetUses     = `DELETE FROM approval_standing_uses WHERE standing IN (SELECT id FROM approval_standing WHERE user = ?)`
	sqlForgetStanding = `DELETE FROM approval_standing WHERE user = ?`
	sqlPruneUses      = `DELETE FROM approval_standing_uses WHERE standing IN (SELECT id FROM approval_standing WHERE expires < ?)`
	sqlPruneStanding  = `DELETE FROM approval_standing WHERE expires < ?`
)

// maxStandingListed is how many standing approvals one list has at most.
const maxStandingListed = 1000

// storedStanding is a standing approval with the number of what is sealed of it.
type storedStanding struct {
	Standing
	sealed int64
}

// scanStanding reads the columns of sqlStandingColumns.
func scanStanding(r scanner) (s storedStanding, err error) {
	var made, expires, revoked int64
	err = r.Scan(&s.ID, &s.User, &s.Skill, &s.SkillDigest, &s.Rule, &s.From, &s.By, &s.Via, &made, &expires, &s.Uses, &s.Used, &s.RevokedBy,
		&revoked, &s.sealed)
	s.Made, s.Expires = time.UnixMilli(made).UTC(), time.UnixMilli(expires).UTC()
	if revoked > 0 {
		s.RevokedAt = time.UnixMilli(revoked).UTC()
	}
	return s, err
}

// scanStandings reads the rows of a query, and closes it.
func scanStandings(rows *sql.Rows) (list []storedStanding, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		s, err := scanStanding(rows)
		if err != nil {
			return nil, fmt.Errorf("read the standing approvals: %w", err)
		}
		list = append(list, s)
	}
	return list, rows.Err()
}

// showAt is the standing approval as it is at that moment.
func (s storedStanding) showAt(now time.Time) Standing {
	out := s.Standing
	switch {
	case !out.RevokedAt.IsZero():
		out.State = StandingRevoked
	case out.Used >= out.Uses:
		out.State = StandingUsedUp
	case !now.Before(out.Expires):
		out.State = StandingExpired
	default:
		out.State = StandingActive
	}
	return out
}

// ListStanding returns the standing approvals that a database holds, the oldest first, as they are
// at that moment. It needs no key and no writer.
func ListStanding(ctx context.Context, r *store.Reader, f StandingFilter, now time.Time) ([]Standing, error) {
	tables := 0
	if err := r.QueryRow(ctx, sqlHasStanding).Scan(&tables); err != nil || tables == 0 {
		return nil, err
	}
	cond, args := " WHERE id > ?", []any{f.After}
	for _, c := range []struct{ column, value string }{{"user", f.User}, {"skill", f.Skill}} {
		if c.value != "" {
			cond, args = cond+" AND "+c.column+" = ?", append(args, c.value)
		}
	}
	if !f.All {
		cond, args = cond+" AND revoked_at = 0 AND used < uses AND expires > ?", append(args, now.UnixMilli())
	}
	if f.Limit <= 0 || f.Limit > maxStandingListed {
		f.Limit = maxStandingListed
	}
	rows, err := r.Query(ctx, `SELECT `+sqlStandingColumns+` FROM approval_standing`+cond+` ORDER BY id LIMIT ?`, append(args, f.Limit)...)
	if err != nil {
		return nil, fmt.Errorf("read the standing approvals: %w", err)
	}
	list, err := scanStandings(rows)
	out := make([]Standing, len(list))
	for i, s := range list {
		out[i] = s.showAt(now)
	}
	return out, err
}

// findStandingTx reads the standing approval whose id begins with the text.
func findStandingTx(tx *store.Tx, begin string) (out storedStanding, err error) {
	rows, err := tx.Query(sqlFindStanding, begin, len(begin) >= minPrefix, len(begin), begin)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	found := 0
	for rows.Next() {
		s, err := scanStanding(rows)
		if err != nil {
			return out, err
		}
		if found++; s.ID == begin {
			return s, nil
		}
		out = s
	}
	switch {
	case rows.Err() != nil:
		return out, rows.Err()
	case found == 0:
		return out, fmt.Errorf("%w: %q", ErrUnknown, begin)
	case found > 1:
		return out, ErrAmbiguous
	}
	return out, nil
}

// forgetStandingTx deletes the standing approvals for calls of a user.
func forgetStandingTx(tx *store.Tx, user string) error {
	tables := 0
	if _, err := tx.QueryRow([]any{&tables}, sqlHasStanding); err != nil || tables == 0 {
		return err
	}
	for _, statement := range []string{sqlForgetUses, sqlForgetStanding} {
		if _, err := tx.Exec(statement, user); err != nil {
			return err
		}
	}
	return nil
}
