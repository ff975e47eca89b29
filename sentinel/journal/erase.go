package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vedette-dev/vedette/sentinel/store"
)

// eraseStep bounds one transaction of an erasure. So an erasure does not hold up
// the decisions that wait for the same writer.
const eraseStep = 500

// Erase erases the values with these numbers and returns how many there were.
// Numbers that are unknown or erased already are passed over.
func (j *Journal) Erase(ctx context.Context, ids ...int64) (int, error) {
	n := 0
	for start := 0; start < len(ids); start += eraseStep {
		part := ids[start:min(start+eraseStep, len(ids))]
		erased := 0
		err := j.st.Submit(ctx, func(tx *store.Tx) (err error) {
			erased, err = j.eraseValues(tx, part)
			return err
		})
		if err != nil {
			return n, fmt.Errorf("erase: %w", err)
		}
		n += erased
	}
	return n, j.cutWriteAheadLog(ctx)
}

// Owner says whose values EraseTx erases: all of a user's, those of one
// conversation, or those under one call's reference. Exactly one is to be named.
type Owner struct{ User, Conversation, Call string }

// eraseQuery returns the query for the owner's values, with its argument.
func (o Owner) eraseQuery() (query, arg string, err error) {
	switch o {
	case Owner{User: o.User}:
		query, arg = sqlOfUser, o.User
	case Owner{Conversation: o.Conversation}:
		query, arg = sqlOfConversation, o.Conversation
	case Owner{Call: o.Call}:
		query, arg = sqlOfCall, o.Call
	}
	if arg == "" {
		return "", "", fmt.Errorf("%w: name either a user, a conversation or a call to erase", ErrItem)
	}
	return query, arg, nil
}

// EraseTx erases up to 500 values of the owner in the submission of tx. It returns
// how many; with 0 there are none left. Call Cut once the submissions are durable:
// the write-ahead log still holds the pages as they were.
func (j *Journal) EraseTx(tx *store.Tx, o Owner) (int, error) {
	query, arg, err := o.eraseQuery()
	if err != nil {
		return 0, err
	}
	ids, err := collectNextIDs(tx, query, arg)
	if err != nil {
		return 0, err
	}
	return j.eraseValues(tx, ids)
}

// EraseValuesTx erases the values with these numbers in the submission of tx, and returns how
// many there were. Call Cut once the submission is durable.
func (j *Journal) EraseValuesTx(tx *store.Tx, ids ...int64) (int, error) {
	return j.eraseValues(tx, ids)
}

// Cut empties the write-ahead log of what was erased. ErrPending: a reader holds
// it; call Cut again once that has gone.
func (j *Journal) Cut(ctx context.Context) error { return j.cutWriteAheadLog(ctx) }

// EraseUser erases all values of one user and returns how many. It reads the whole
// table. EraseUser refuses the empty name, which values without a user have.
func (j *Journal) EraseUser(ctx context.Context, user string) (int, error) {
	if user == "" {
		return 0, fmt.Errorf("%w: name the user to erase", ErrItem)
	}
	return j.eraseWhere(ctx, sqlOfUser, user)
}

// EraseConversation erases all values of one conversation and returns how many.
// The empty one is refused.
func (j *Journal) EraseConversation(ctx context.Context, conversation string) (int, error) {
	if conversation == "" {
		return 0, fmt.Errorf("%w: name the conversation to erase", ErrItem)
	}
	return j.eraseWhere(ctx, sqlOfConversation, conversation)
}

// Purge erases all values that have expired at now and returns how many.
func (j *Journal) Purge(ctx context.Context, now time.Time) (int, error) {
	return j.eraseWhere(ctx, sqlExpired, now.UnixMilli())
}

// eraseWhere erases in steps until the query finds no more. The log is cut once
// at the end, even if nothing was found: an earlier call may have left it.
func (j *Journal) eraseWhere(ctx context.Context, query string, arg any) (int, error) {
	total := 0
	for {
		n := 0
		err := j.st.Submit(ctx, func(tx *store.Tx) error {
			ids, err := collectNextIDs(tx, query, arg)
			if err != nil {
				return err
			}
			n, err = j.eraseValues(tx, ids)
			return err
		})
		if err != nil {
			return total, fmt.Errorf("erase: %w", err)
		}
		total += n
		if n < eraseStep {
			return total, j.cutWriteAheadLog(ctx)
		}
	}
}

// collectNextIDs returns the numbers of the next values to erase, at most eraseStep.
func collectNextIDs(tx *store.Tx, query string, arg any) (ids []int64, err error) {
	rows, err := tx.Query(query, arg, eraseStep)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// eraseValues overwrites the keys of values and deletes the values.
func (j *Journal) eraseValues(tx *store.Tx, ids []int64) (n int, err error) {
	j.noteErased(ids)
	zeros := make([]byte, wrappedSize)
	for _, id := range ids {
		if _, err := tx.Exec(sqlEraseKey, zeros, id); err != nil {
			return 0, err
		}
		gone, err := tx.Exec(sqlErase, id)
		if err != nil {
			return 0, err
		}
		n += int(gone)
	}
	return n, nil
}

// cutWriteAheadLog empties the write-ahead log, which still has the pages as they were, and the files that became
// archives of values that moved on.
func (j *Journal) cutWriteAheadLog(ctx context.Context) error {
	if err := errors.Join(j.st.Checkpoint(ctx), j.st.CleanOlder(ctx)); err != nil {
		return fmt.Errorf("%w: %w", ErrPending, err)
	}
	return nil
}
