package records

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/vedette-dev/vedette/internal/advice"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/sentinel/store/keys"
)

// ListApprovals returns the approvals that the filter chooses, also while another process
// writes to the database. It needs no key.
func (s Source) ListApprovals(ctx context.Context, f approval.Filter) (_ []approval.Item, err error) {
	r, err := store.OpenReader(ctx, s.Database)
	if err != nil {
		return nil, s.AdviseOn(err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	list, err := approval.List(ctx, r, f, time.Now())
	return list, s.AdviseOn(err)
}

// ShowApproval returns an approval with what a person must see. It needs the database for
// itself: the error is store.ErrLocked where a process has it open.
func (s Source) ShowApproval(ctx context.Context, begin string) (c approval.Card, err error) {
	err = s.useInbox(ctx, begin, nil, func(in *approval.Inbox) error {
		c, err = in.Show(ctx, begin)
		return err
	})
	return c, err
}

// AnswerApproval takes an answer while no process has the database open: it counts once the
// call is asked about again. The error is store.ErrLocked where a process has it open, or one of
// approval.Inbox.Answer.
func (s Source) AnswerApproval(ctx context.Context, who *approval.Policy, a approval.Answer) (i approval.Item, err error) {
	err = s.useInbox(ctx, a.Approval, who, func(in *approval.Inbox) error {
		i, err = in.Answer(ctx, a)
		return err
	})
	return i, err
}

// StandApproval takes a yes that is to stand, as AnswerApproval takes an answer.
func (s Source) StandApproval(
	ctx context.Context, who *approval.Policy, a approval.Answer, t approval.StandingTerms,
) (out approval.Standing, err error) {
	err = s.useInbox(ctx, a.Approval, who, func(in *approval.Inbox) error {
		out, err = in.Stand(ctx, a, t)
		return err
	})
	return out, err
}

// ListStanding returns standing approvals, also while another process writes to the database. It
// needs no key.
func (s Source) ListStanding(ctx context.Context, f approval.StandingFilter) (_ []approval.Standing, err error) {
	r, err := store.OpenReader(ctx, s.Database)
	if err != nil {
		return nil, s.AdviseOn(err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	list, err := approval.ListStanding(ctx, r, f, time.Now())
	return list, s.AdviseOn(err)
}

// RevokeStanding ends a standing approval while no process has the database open.
func (s Source) RevokeStanding(ctx context.Context, id, by, via string) (out approval.Standing, err error) {
	err = s.useInbox(ctx, "", nil, func(in *approval.Inbox) error {
		out, err = in.Revoke(ctx, id, by, via)
		return err
	})
	return out, err
}

// checkOwn refuses a database that these keys did not make, and an approval that it doesn't hold,
// before anything is opened for writing: a mistaken path must change nothing.
func (s Source) checkOwn(ctx context.Context, begin string) (err error) {
	for _, name := range []string{"journal.key", "digest.key", "ledger.key"} {
		if _, err := os.Stat(filepath.Join(s.Keys, name)); err != nil {
			return &advice.Error{
				Err:  fmt.Errorf("the keys of %s are not in %s: %s can't be read", s.Database, s.Keys, name),
				Todo: "name the configuration that the database was made under with --config FILE",
			}
		}
	}
	r, err := store.OpenReader(ctx, s.Database)
	if err != nil {
		return s.AdviseOn(err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if begin == "" {
		list, err := approval.ListStanding(ctx, r, approval.StandingFilter{All: true, Limit: 1}, time.Now())
		if err == nil && len(list) == 0 {
			err = fmt.Errorf("%w: there is no standing approval", approval.ErrUnknown)
		}
		return err
	}
	_, err = approval.FindID(ctx, r, begin)
	return err
}

// useInbox opens the inbox of a database that no process has open, for as long as use runs. begin
// is how the id of an approval begins that must be there; empty asks for a standing one.
func (s Source) useInbox(ctx context.Context, begin string, who *approval.Policy, use func(*approval.Inbox) error) (err error) {
	if err := s.CheckDatabase(); err != nil {
		return err
	}
	if err := s.checkOwn(ctx, begin); err != nil {
		return err
	}
	k, err := keys.LoadOrCreate(s.Keys)
	if err != nil {
		return err
	}
	st, err := store.Open(ctx, store.Options{Path: s.Database, Driver: s.Driver})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	// The journal comes first: it refuses the keys of another database before the ledger signs.
	jr, err := journal.Open(ctx, st, journal.SingleKey(k.Journal()), journal.Options{})
	if err != nil {
		return err
	}
	l, err := ledger.OpenWith(ctx, st, k, ledger.Options{})
	if err != nil {
		return err
	}
	in, err := approval.OpenInbox(ctx, approval.InboxOptions{Store: st, Ledger: l, Journal: jr, Key: k.Digest(), Policy: who})
	if err != nil {
		return err
	}
	return use(in)
}
