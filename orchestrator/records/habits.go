package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/internal/advice"
	"github.com/vedette-dev/vedette/internal/ids"
	"github.com/vedette-dev/vedette/sentinel/habit"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/sentinel/store/keys"
)

// RevokeOptions say which habits are revoked, and who revokes them. With ID it is one habit;
// else all of a User's. ID is that of a Summary, or how it begins.
type RevokeOptions struct {
	User, ID string
	By       string
}

// Revoked is how many habits were revoked, and how many approvals were erased with them.
type Revoked struct {
	Habits    int `json:"habits"`
	Approvals int `json:"approvals"`
}

// Habits lists what the journal keeps of approvals, of one user or of all. It needs the
// database for itself. What it returns are values: don't log them.
func (s Source) Habits(ctx context.Context, user string) (list []habit.Summary, err error) {
	h, err := s.openHabits(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.st.Close()) }()
	list, _, err = h.readHabits(ctx, user)
	return list, err
}

// RevokeHabits erases the approvals that make habits, so that people are asked again. The
// ledger gets a record of each habit, without its skill and its recipients, in the same
// transaction. An ID that several habits begin with, or none, is an *advice.Error.
func (s Source) RevokeHabits(ctx context.Context, o RevokeOptions) (r Revoked, err error) {
	h, err := s.openHabits(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, h.st.Close()) }()
	list, numbers, err := h.readHabits(ctx, o.User)
	if err != nil {
		return r, err
	}
	if o.ID != "" {
		if list, err = chooseHabit(list, o.ID); err != nil {
			return r, err
		}
	}
	err = h.st.Submit(ctx, func(tx *store.Tx) error {
		r = Revoked{}
		for i := range list {
			n, err := h.revokeHabit(tx, &list[i], numbers[habitPlace{list[i].User, list[i].Ref()}], o.By)
			if err != nil {
				return err
			}
			r.Habits, r.Approvals = r.Habits+1, r.Approvals+n
		}
		return nil
	})
	if err != nil || r.Habits == 0 {
		return r, err
	}
	if err = h.jr.Cut(ctx); errors.Is(err, journal.ErrPending) {
		err = &advice.Error{
			Err:  fmt.Errorf("%d approvals were erased, but old pages of the file still hold them: %w", r.Approvals, err),
			Todo: "stop the programs that read the database, and start and stop the server once",
		}
	}
	return r, err
}

// chooseHabit returns the one habit whose ID begins so.
func chooseHabit(list []habit.Summary, id string) ([]habit.Summary, error) {
	var found []habit.Summary
	for i := range list {
		if strings.HasPrefix(list[i].ID, id) {
			found = append(found, list[i])
		}
	}
	switch len(found) {
	case 0:
		return nil, &advice.Error{Err: fmt.Errorf("no habit has the id %q", id), Todo: "vedette habits list shows the ids"}
	case 1:
		return found, nil
	}
	return nil, &advice.Error{
		Err:  fmt.Errorf("%d habits have an id that starts with %q", len(found), id),
		Todo: "give more of the id, or its user with --user U; vedette habits list shows both",
	}
}

// habitPlace is where the approvals of one habit are kept.
type habitPlace struct{ user, ref string }

// habitStore is the open database with what habits need of it.
type habitStore struct {
	st *store.Store
	jr *journal.Journal
	l  *ledger.Ledger
}

// readHabits reads the approvals of one user or of all, with the numbers of their values.
func (h *habitStore) readHabits(ctx context.Context, user string) ([]habit.Summary, map[habitPlace][]int64, error) {
	var rows []habit.Row
	numbers := map[habitPlace][]int64{}
	for q := (journal.Query{User: user, Kind: habit.RowKind, Newest: true, Limit: pageSize}); ; {
		page, err := h.jr.Find(ctx, q)
		if err != nil {
			return nil, nil, err
		}
		for i := range page {
			v := &page[i]
			p := habitPlace{v.User, v.Call}
			rows, numbers[p] = append(rows, habit.Row{User: v.User, Ref: v.Call, Data: v.Data}), append(numbers[p], v.ID)
			q.Before = v.ID
		}
		if len(page) == 0 { // those that have expired are the oldest, and left out
			return habit.Summarize(rows, time.Now()), numbers, nil
		}
	}
}

// revokedBody is what the ledger holds of a habit that was revoked.
type revokedBody struct {
	V         int    `json:"v"`
	By        string `json:"by"`
	Habit     string `json:"habit"` // its reference, a keyed digest
	Approvals int    `json:"approvals"`
}

func (h *habitStore) revokeHabit(tx *store.Tx, s *habit.Summary, numbers []int64, by string) (int, error) {
	n, err := h.jr.EraseValuesTx(tx, numbers...)
	if err != nil {
		return 0, err
	}
	body, err := json.Marshal(revokedBody{1, by, s.Ref(), n})
	if err != nil {
		return 0, err
	}
	_, err = h.l.AppendTx(tx, ledger.Entry{ID: ids.New(), Time: time.Now(), Kind: habit.RecordRevoked, User: s.User, Body: body})
	return n, err
}

// openHabits opens the database, its journal and its ledger. No keys are made: who lists
// habits of a folder without keys has named another folder.
func (s Source) openHabits(ctx context.Context) (_ *habitStore, err error) {
	if err := s.CheckDatabase(); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(s.Keys, "journal.key")); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.New("there is no journal.key")
		}
		return nil, &advice.Error{
			Err:  fmt.Errorf("the key folder %s can't be used: %w", s.Keys, advice.CauseOf(err)),
			Todo: "name the key folder in keys.dir of the configuration",
		}
	}
	k, err := keys.LoadOrCreate(s.Keys)
	if err != nil {
		return nil, err
	}
	st, err := store.Open(ctx, store.Options{Path: s.Database, Driver: s.Driver})
	if errors.Is(err, store.ErrLocked) {
		return nil, &advice.Error{
			Err:  fmt.Errorf("%s is in use: another process writes to it", s.Database),
			Todo: "stop the server that uses it; habits are listed and revoked while it is stopped",
		}
	}
	if err != nil {
		return nil, s.AdviseOn(err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, st.Close())
		}
	}()
	l, err := ledger.OpenWith(ctx, st, k, ledger.Options{})
	if err != nil {
		return nil, err
	}
	jr, err := journal.Open(ctx, st, journal.SingleKey(k.Journal()), journal.Options{})
	if err != nil {
		return nil, err
	}
	return &habitStore{st, jr, l}, nil
}
