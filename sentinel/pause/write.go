package pause

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// publish puts a pause in force. One that is there already is asked for again:
// a lift that is under way leaves it, then.
func (s *Switch) publish(p Pause) (Pause, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes++
	list := *s.inUse.Load()
	if i := place(list, p.Target); i >= 0 {
		s.asked[p.Target]++
		return list[i], nil
	}
	if s.shared != nil { // later than any end of the same pause, by any process's clock
		p.Since = s.shared.after(p.Target, p.Since)
	}
	return p, s.add(p)
}

// add puts a new pause on the list. s.mu is held.
func (s *Switch) add(p Pause) error {
	list := *s.inUse.Load()
	if len(list) >= maxPauses && !p.All {
		return ErrFull
	}
	list = append(slices.Clone(list), p)
	s.inUse.Store(&list)
	return nil
}

func place(list []Pause, t Target) int {
	return slices.IndexFunc(list, func(q Pause) bool { return q.Target == t })
}

// standing returns the pause in force and how often it was asked for again.
func (s *Switch) standing(t Target) (p Pause, asked int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := *s.inUse.Load()
	i := place(list, t)
	if i < 0 {
		return Pause{}, 0, false
	}
	return list[i], s.asked[t], true
}

// background runs what may have to wait for a disk that stalls. Close awaits it.
func (s *Switch) background(ctx context.Context, f func(context.Context)) {
	ctx = context.WithoutCancel(ctx)
	s.writes.Go(func() {
		defer func() {
			if recover() != nil {
				s.log.Error("writing down a pause panicked", "stack", string(debug.Stack()))
			}
		}()
		f(ctx)
	})
}

// write makes a pause that is in force durable.
func (s *Switch) write(ctx context.Context, t Target) error {
	s.writing <- struct{}{}
	defer func() { <-s.writing }()
	p, _, ok := s.standing(t)
	if !ok {
		return nil // lifted since, which has recorded both
	}
	err := s.st.Submit(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(sqlPut, t.Scope(), t.name(), p.By, p.Since.UnixMilli())
		if err != nil || n == 0 {
			return err
		}
		return s.record(tx, RecordPaused, p.Target, p.By, p.Since)
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotWritten, err)
	}
	return nil
}

// lift ends a pause once its end is written down and told to the other processes. It
// tells them nothing if another process told this one. upTo is the end that the
// other process told; a pause that began later stays. The caller has counted the end
// in s.ending.
func (s *Switch) lift(ctx context.Context, t Target, by string, upTo time.Time) (bool, error) {
	defer s.settled(t)
	select {
	case s.writing <- struct{}{}:
	case <-ctx.Done():
		return false, fmt.Errorf("the pause stays, since its end could not be written down: %w", ctx.Err())
	}
	defer func() { <-s.writing }()
	p, asked, ok := s.standing(t)
	if !ok || !upTo.IsZero() && p.Since.After(upTo) {
		return false, nil
	}
	end := upTo
	if end.IsZero() {
		if end = s.now(); end.Before(p.Since) {
			end = p.Since
		}
		if s.shared != nil {
			if err := s.shared.over(ctx, p, by, end); err != nil {
				return false, fmt.Errorf("the pause stays, since other processes can't be told of its end: %w", err)
			}
		}
	}
	if err := s.erase(ctx, p, by); err != nil {
		return false, fmt.Errorf("the pause stays, since its end could not be written down: %w", err)
	}
	s.remove(t, asked, end)
	return true, nil
}

func (s *Switch) settled(t Target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending[t]--; s.ending[t] <= 0 {
		delete(s.ending, t)
	}
}

// erase takes the pause out of the database. Where it had not been written down
// yet, its beginning is recorded too.
func (s *Switch) erase(ctx context.Context, p Pause, by string) error {
	return s.st.Submit(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(sqlDelete, p.Scope(), p.name())
		if err == nil && n == 0 {
			err = s.record(tx, RecordPaused, p.Target, p.By, p.Since)
		}
		if err != nil {
			return err
		}
		return s.record(tx, RecordLifted, p.Target, by, s.now())
	})
}

// remove takes the pause out of force, unless it was asked for again since: then
// it is another one, that began after the end.
func (s *Switch) remove(t Target, asked int, end time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes++
	list := slices.Clone(*s.inUse.Load())
	i := place(list, t)
	if s.asked[t] != asked {
		list[i].Since = end.Add(time.Millisecond)
	} else {
		list = slices.Delete(list, i, i+1)
		delete(s.asked, t)
	}
	s.inUse.Store(&list)
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
