package approval

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/vedette-dev/vedette/sentinel/store"
)

// Get returns one approval by its whole id, as it is at that moment. Like List it needs no key and
// no writer. The error wraps ErrUnknown, or is the store's.
func Get(ctx context.Context, r *store.Reader, id string, now time.Time) (Item, error) {
	tables := 0
	if err := r.QueryRow(ctx, sqlHasTable).Scan(&tables); err != nil {
		return Item{}, fmt.Errorf("read the approval: %w", err)
	}
	if tables == 0 {
		return Item{}, fmt.Errorf("%w: %q", ErrUnknown, id)
	}
	i, err := scanItem(r.QueryRow(ctx, sqlGet, id))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return Item{}, fmt.Errorf("%w: %q", ErrUnknown, id)
	case err != nil:
		return Item{}, fmt.Errorf("read the approval: %w", err)
	}
	return i.showAt(now), nil
}
