package pause

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// begin puts a pause in force and writes it down. s.mu is held.
func (s *Switch) begin(ctx context.Context, p Pause) (Pause, error) {
	list := *s.inUse.Load()
	t := p.Target
	if i := slices.IndexFunc(list, func(q Pause) bool { return q.Target == t }); i >= 0 {
		p = list[i] // written again, since that may be what failed
	} else {
		if len(list) >= maxPauses && !t.All {
			return Pause{}, ErrFull
		}
		list = append(slices.Clone(list), p)
		s.inUse.Store(&list)
		s.changes++
	}
	err := s.st.Submit(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(sqlPut, t.Scope(), t.name(), p.By, p.Since.UnixMilli())
		if err != nil || n == 0 {
			return err
		}
		return s.record(tx, RecordPaused, p.Target, p.By, p.Since)
	})
	if err != nil {
		return p, fmt.Errorf("%w: %w", ErrNotWritten, err)
	}
	return p, nil
}

// end lifts a pause once that is written down. s.mu is held.
func (s *Switch) end(ctx context.Context, t Target, by string) error {
	err := s.st.Submit(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(sqlDelete, t.Scope(), t.name()); err != nil {
			return err
		}
		return s.record(tx, RecordLifted, t, by, s.now())
	})
	if err != nil {
		return fmt.Errorf("the pause stays, since its end could not be written down: %w", err)
	}
	list := slices.DeleteFunc(slices.Clone(*s.inUse.Load()), func(q Pause) bool { return q.Target == t })
	s.inUse.Store(&list)
	s.changes++
	return nil
}

// record leaves in the ledger who paused or lifted what.
func (s *Switch) record(tx *store.Tx, kind string, t Target, by string, at time.Time) error {
	body, err := json.Marshal(struct {
		V  int    `json:"v"`
		By string `json:"by"`
		Target
	}{1, by, t})
	if err != nil {
		return err
	}
	_, err = s.lg.AppendTx(tx, ledger.Entry{
		ID: uuid.Must(uuid.NewV7()).String(), Time: at, Kind: kind, User: t.User, Skill: t.Skill, Code: t.Scope(), Body: body,
	})
	return err
}
