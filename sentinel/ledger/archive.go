package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/vedette-dev/vedette/sentinel/store"
)

// upcoming is the file that is to go on in place of the one in use.
type upcoming struct {
	signer *Signer
	by     string
	old    *Signer // of the file before it, once that has ended
	begun  *Ledger // once its first record is written
	end    Before  // how the file before it ended
}

// StepClose is the step of Archive behind those of store.Store.Succeed: the file that was in use gets its last record.
const StepClose = "close"

// ErrNothing is returned by Archive where the file in use has no records.
var ErrNothing = errors.New("the ledger has no records to archive")

// Archived is what Archive did.
type Archived struct {
	// Archive is the file that was closed, with the last of its heads that the next file's first record carries.
	Archive
	// File is the file that goes on, and Key its public key.
	File store.File `json:"file"`
	Key  string     `json:"key"`
}

// Archive has another file go on with this ledger, under a key and an origin of its own: next, whose name no other file
// of the ledger has. The file in use is closed and stays as it is. The first record of the next file carries the head with
// which it ended, and its own last record names the next key. by names who did it. See store.Store.Succeed for what
// happens to a process that is killed; a file that it left open FinishArchive closes. onStep is that of Succeed.
func (l *Ledger) Archive(ctx context.Context, next *Signer, by string, onStep func(step string)) (out Archived, err error) {
	if next == nil || next.signer.Name() == l.signer.Load().signer.Name() {
		return out, errors.New("the next ledger file needs a key with a name of its own")
	}
	from := l.store.File()
	up := &upcoming{signer: next, by: by}
	if !l.upcoming.CompareAndSwap(nil, up) {
		return out, store.ErrMoving
	}
	defer l.upcoming.Store(nil)
	to, err := l.store.Succeed(ctx, onStep)
	if err != nil {
		return out, err
	}
	h, err := PeekHead([]byte(up.end.Head))
	if err != nil {
		return out, err
	}
	if onStep != nil {
		onStep(StepClose)
	}
	out = Archived{Archive{up.end, h.Size, h.Origin, from.Path}, to, next.public}
	return out, l.closeFile(ctx, from, up.old, by)
}

// mover makes the ledger's tables in the next file of the store. Those of the old file stay there.
type mover Ledger

var _ store.Mover = (*mover)(nil)

// Owns implements store.Mover.
func (*mover) Owns(table string) bool {
	return table == "ledger_records" || table == "ledger_hashes" || table == "ledger_heads" || table == "ledger_times"
}

// Stays implements store.Mover.
func (*mover) Stays(string) bool { return true }

// CopyAhead implements store.Mover: there is nothing to copy.
func (*mover) CopyAhead(context.Context, *store.Move) error { return nil }

// Finish implements store.Mover: it writes the first record, under the first head of the next key.
func (m *mover) Finish(to *store.Move) error {
	up, newest := m.upcoming.Load(), m.newest.Load()
	switch {
	case up == nil:
		return errors.New("the ledger has no key for another file")
	case m.stale:
		return errors.New("the ledger's last group was lost: try again")
	case newest == nil || m.durable.size == 0:
		return ErrNothing
	}
	up.old = m.signer.Load()
	up.end = Before{Number: to.From.Number, From: m.base, Head: string(*newest), Key: up.old.public}
	body, err := json.Marshal(continuedBody{V: 1, By: up.by, Key: up.signer.public, Before: append(append([]Before{}, m.before...), up.end)})
	if err != nil {
		return fmt.Errorf("first record of a file: %w", err)
	}
	for _, step := range schema {
		if err := to.RunScript(step); err != nil {
			return fmt.Errorf("make the ledger's tables: %w", err)
		}
	}
	up.begun = &Ledger{now: m.now, base: m.base + m.durable.size + 1, voucher: up.old}
	up.begun.signer.Store(up.signer)
	e := Entry{ID: continuedRecord + fmt.Sprint(to.To.Number), Time: m.now(), Kind: KindContinued, Body: body}
	if err := e.Validate(); err != nil {
		return err
	}
	if _, err := up.begun.appendRecord(to.Tx(), e); err != nil {
		return err
	}
	return up.begun.sealGroup(to.Tx())
}

// Moved implements store.Mover.
func (m *mover) Moved(_, _ store.File) {
	up := m.upcoming.Load() // Finish has refused to go on without
	m.base, m.before = up.begun.base, append(append([]Before{}, m.before...), up.end)
	up.begun.next.copyTo(&m.durable)
	m.leaves, m.times, m.pending, m.successor = m.leaves[:0], m.times[:0], nil, nil
	signed := up.begun.pending
	m.newest.Store(&signed)
	m.signer.Store(up.signer)
}

// Abandoned implements store.Mover.
func (*mover) Abandoned() {}

// FinishArchive closes the file before the one in use, where a process was killed before it had. old is the key that
// signed it. It does nothing where that is closed, or isn't there.
func (l *Ledger) FinishArchive(ctx context.Context, old *Signer) error {
	files, err := store.FindFiles(l.store.Path())
	if err != nil || len(files) < 2 || files[1].Number != l.store.File().Number-1 {
		return err
	}
	return l.closeFile(ctx, files[1], old, "")
}

// closeFile writes the last record of a file that another goes on from: it names the next file's first key.
func (l *Ledger) closeFile(ctx context.Context, f store.File, old *Signer, by string) error {
	first, err := part{r: l.r}.readRecords(ctx, " ORDER BY idx LIMIT 1")
	if err != nil || len(first) == 0 {
		return errors.Join(err, errors.New("the file that goes on has no record"))
	}
	key := l.signer.Load().public
	if key, err = firstKey(ctx, part{l.r, first[0].Index}, key); err != nil {
		return err
	}
	err = l.store.WriteOlder(ctx, f, func(tx *store.Tx) error {
		ends, _, err := readEnds(tx)
		if err != nil || ends.last.Kind == KindClosed {
			return err
		}
		if ends.base+ends.count+1 != first[0].Index {
			return fmt.Errorf("%w: file %d does not end where the next begins", ErrTampered, f.Number)
		}
		closing := &Ledger{now: l.now}
		closing.signer.Store(old)
		if err := closing.loadRightEdge(tx); err != nil {
			return err
		}
		body, err := json.Marshal(closedBody{V: 1, By: by, Number: f.Number + 1, Key: key})
		if err != nil {
			return err
		}
		e := Entry{ID: closedRecord + fmt.Sprint(f.Number), Time: l.now(), Kind: KindClosed, Body: body}
		if _, err := closing.appendRecord(tx, e); err != nil {
			return err
		}
		return closing.sealGroup(tx)
	})
	if err != nil {
		return fmt.Errorf("close file %d of the ledger: %w", f.Number, err)
	}
	return nil
}

// firstKey returns the public key that a file began with: a rotation may have put another in its place.
func firstKey(ctx context.Context, p part, key string) (string, error) {
	list, err := readHandovers(ctx, p.r.Query, p.base)
	if err != nil {
		return "", err
	}
	ring, _, err := newKeyring(key, list)
	if err != nil {
		return "", err
	}
	for _, s := range ring.spans {
		if s.verifier.Name() == keyOrigin(key) {
			return s.key, nil
		}
	}
	return key, nil
}
