package pause

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vedette-dev/vedette/sentinel/store"
)

// Stored returns the pauses that a database holds, for callers that have no Switch.
// A database that never had any pause has none.
func Stored(ctx context.Context, r *store.Reader) (list []Pause, err error) {
	var tables int
	err = r.QueryRow(ctx, `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'pause_targets'`).Scan(&tables)
	if err != nil || tables == 0 {
		return nil, err
	}
	rows, err := r.Query(ctx, sqlList)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var scope, name string
		var p Pause
		var since int64
		if err := rows.Scan(&scope, &name, &p.By, &since); err != nil {
			return nil, fmt.Errorf("read the pauses: %w", err)
		}
		p.Target, p.Since = target(scope, name), time.UnixMilli(since)
		list = append(list, p)
	}
	return list, rows.Err()
}
