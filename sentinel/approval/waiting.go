package approval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/sentinel/store"
)

// waitingRows are the questions that wait for an answer, as the database has them: a list of ten thousand costs a
// tenth of what reading their rows does. The inbox is the one writer of these rows. Each row that it writes is
// read again for the next list, so the copy says nothing that isn't on disk. It is read whole where many have changed.
type waitingRows struct {
	reading sync.Mutex // held by who reads the database

	mu     sync.Mutex
	loaded bool
	rows   []*Item             // in the order of comparePlaces; neither the slice nor an Item is ever changed
	staged map[string]struct{} // written in transactions that have not been seen on disk
	stale  map[string]struct{} // written since they were read
}

// mostStale is from how many changed rows on all are read again.
const mostStale = 1000

// comparePlaces orders questions as they were put.
func comparePlaces(a, b *Item) int {
	return cmp.Or(a.Asked.Compare(b.Asked), strings.Compare(a.ID, b.ID))
}

// mark notes that a transaction writes the row of an id. Until the transaction is seen on disk the row is read for
// each list, since nothing says yet which of both it is.
func (w *waitingRows) mark(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.staged == nil {
		w.staged, w.stale = map[string]struct{}{}, map[string]struct{}{}
	}
	w.staged[id] = struct{}{}
}

// onCommit takes what was written for on disk.
func (w *waitingRows) onCommit() {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.Copy(w.stale, w.staged)
	clear(w.staged)
}

// read returns the questions that wait, expired ones with them. The slice is not to be changed.
func (w *waitingRows) read(ctx context.Context, r *store.Reader) ([]*Item, error) {
	w.reading.Lock()
	defer w.reading.Unlock()
	w.mu.Lock()
	ids := slices.Concat(slices.Collect(maps.Keys(w.stale)), slices.Collect(maps.Keys(w.staged)))
	rows, whole := w.rows, !w.loaded || len(ids) > mostStale
	clear(w.stale)
	w.mu.Unlock()
	var err error
	switch {
	case whole:
		rows, err = queryWaiting(ctx, r)
	case len(ids) > 0:
		rows, err = readAgain(ctx, r, rows, ids)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		for _, id := range ids {
			w.stale[id] = struct{}{}
		}
		return nil, err
	}
	w.rows, w.loaded = rows, true
	return rows, nil
}

// queryWaiting reads all questions that wait.
func queryWaiting(ctx context.Context, r *store.Reader) ([]*Item, error) {
	var packed string
	if err := r.QueryRow(ctx, sqlPacked+" WHERE state = 'pending'"+sqlPackedEnd, -1).Scan(&packed); err != nil || packed == "" {
		return nil, err
	}
	list, err := parseList(packed)
	if err != nil {
		return nil, err
	}
	out := make([]*Item, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out, nil
}

// readAgain reads some rows, and returns the list with them as they are now.
func readAgain(ctx context.Context, r *store.Reader, rows []*Item, ids []string) ([]*Item, error) {
	fresh, gone := make([]*Item, 0, len(ids)), map[string]bool{}
	for _, id := range ids {
		if gone[id] {
			continue
		}
		gone[id] = true
		row, err := getItem(ctx, r, id)
		switch {
		case errors.Is(err, ErrUnknown): // purged, or never written
		case err != nil:
			return nil, err
		case row.State == StatePending:
			fresh = append(fresh, &row)
		}
	}
	out := make([]*Item, 0, len(rows)+len(fresh))
	for _, row := range rows {
		if !gone[row.ID] {
			out = append(out, row)
		}
	}
	out = append(out, fresh...)
	if !slices.IsSortedFunc(out, comparePlaces) {
		slices.SortFunc(out, comparePlaces)
	}
	return out, nil
}

// list is List of the questions that wait.
func (w *waitingRows) list(ctx context.Context, r *store.Reader, f Filter, now time.Time) ([]Item, error) {
	rows, err := w.read(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("read the approvals: %w", err)
	}
	from := 0
	if f.After != "" {
		last, err := getItem(ctx, r, f.After)
		if errors.Is(err, ErrUnknown) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		at, found := slices.BinarySearchFunc(rows, &last, comparePlaces)
		if from = at; found {
			from++
		}
	}
	limit := f.limit()
	out := make([]Item, 0, min(limit, len(rows)-from))
	for _, row := range rows[from:] {
		if len(out) == limit {
			break
		}
		if f.chooses(row) && now.Before(row.Expires) {
			out = append(out, *row)
		}
	}
	numberAmong(out, rows, now)
	return out, nil
}

// numberAmong says of each listed call which of its turn's waiting calls it is.
func numberAmong(list []Item, rows []*Item, now time.Time) {
	type place struct{ items []*Item }
	batches := make(map[batchKey]*place, len(list))
	for i := range list {
		k := batchKey{list[i].Conversation, list[i].Turn}
		if batches[k] == nil {
			batches[k] = &place{}
		}
		batches[k].items = append(batches[k].items, &list[i])
	}
	sizes := make(map[*place]int, len(batches))
	for _, row := range rows {
		p := batches[batchKey{row.Conversation, row.Turn}]
		if p == nil || !now.Before(row.Expires) {
			continue
		}
		sizes[p]++
		if len(p.items) > 0 && p.items[0].ID == row.ID { // both are in one order
			p.items[0].Place = sizes[p]
			p.items = p.items[1:]
		}
	}
	for i := range list {
		list[i].Of = sizes[batches[batchKey{list[i].Conversation, list[i].Turn}]]
	}
}
