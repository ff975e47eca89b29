package records

import (
	"context"
	"errors"
	"time"

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
		return nil, s.adviseOn(err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	list, err := approval.List(ctx, r, f, time.Now())
	return list, s.adviseOn(err)
}

// ShowApproval returns an approval with what a person must see. It needs the database for
// itself: the error is store.ErrLocked where a process has it open.
func (s Source) ShowApproval(ctx context.Context, begin string) (c approval.Card, err error) {
	err = s.useInbox(ctx, nil, func(in *approval.Inbox) error {
		c, err = in.Show(ctx, begin)
		return err
	})
	return c, err
}

// AnswerApproval takes an answer while no process has the database open: it counts once the
// call is asked about again. The error is store.ErrLocked where a process has it open, or one of
// approval.Inbox.Answer.
func (s Source) AnswerApproval(ctx context.Context, who *approval.Policy, a approval.Answer) (i approval.Item, err error) {
	err = s.useInbox(ctx, who, func(in *approval.Inbox) error {
		i, err = in.Answer(ctx, a)
		return err
	})
	return i, err
}

// useInbox opens the inbox of a database that no process has open, for as long as use runs.
func (s Source) useInbox(ctx context.Context, who *approval.Policy, use func(*approval.Inbox) error) (err error) {
	if err := s.CheckDatabase(); err != nil {
		return err
	}
	k, err := keys.LoadOrCreate(s.Keys)
	if err != nil {
		return err
	}
	signer, err := ledger.NewSigner(k.Ledger())
	if err != nil {
		return err
	}
	st, err := store.Open(ctx, store.Options{Path: s.Database, Driver: s.Driver})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	l, err := ledger.Open(ctx, st, signer, ledger.Options{})
	if err != nil {
		return err
	}
	jr, err := journal.Open(ctx, st, journal.SingleKey(k.Journal()), journal.Options{})
	if err != nil {
		return err
	}
	in, err := approval.OpenInbox(ctx, approval.InboxOptions{Store: st, Ledger: l, Journal: jr, Key: k.Digest(), Policy: who})
	if err != nil {
		return err
	}
	return use(in)
}
