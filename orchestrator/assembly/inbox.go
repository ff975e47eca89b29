package assembly

import (
	"context"
	"errors"
	"time"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/labelled"
	"github.com/vedette-dev/vedette/orchestrator/threads"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/sentinel/label"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/skills"
)

// NewApprovalPolicy reads who may answer what. The error has its places in the file.
func NewApprovalPolicy(cfg *config.Config) (*approval.Policy, error) {
	p, err := newApprovalPolicy(cfg)
	return p, cfg.Locate(err)
}

// newApprovalPolicy reads the rules under approvals.who.
func newApprovalPolicy(cfg *config.Config) (*approval.Policy, error) {
	rules := make([]approval.Rule, len(cfg.Approvals.Who))
	for i, w := range cfg.Approvals.Who {
		rules[i] = approval.Rule{
			Skill: w.Skill, Effect: skills.Effect(w.Effect), Users: w.Users, Approvers: w.Approvers, Min: w.Min,
			ExcludeRequester: w.ExcludeRequester,
		}
	}
	return approval.NewPolicy(rules)
}

// checkApprovalPolicy finds the mistakes under approvals.who.
func checkApprovalPolicy(cfg *config.Config) error {
	_, err := newApprovalPolicy(cfg)
	return err
}

// openInbox opens the inbox where the configuration wants it and the program has no approver of
// its own. Store, ledger and journal are open by then.
func (p *Parts) openInbox(ctx context.Context, o Options) error {
	cfg := p.Config
	if !cfg.Approvals.Inbox {
		return nil
	}
	if o.Approver != nil {
		o.Log.Warn("approvals.inbox is on and not used: the program has an approver of its own")
		return nil
	}
	who, err := newApprovalPolicy(cfg)
	if err != nil {
		return cfg.Locate(err)
	}
	p.Inbox, err = approval.OpenInbox(ctx, approval.InboxOptions{
		Store: p.Store, Ledger: p.Ledger, Journal: p.Journal, Key: p.Keys.Digest(), Policy: who, Retention: cfg.Journal.Retention,
		Skills: p.findSkill, PolicyDigest: cfg.Digest(), Now: o.Now, Log: o.Log,
	})
	return err
}

// lockWait is how long a start waits for a database that is in use. A command that answers an
// approval has it for a moment; another process keeps it.
const lockWait = 2 * time.Second

// lockPause is how long a database that is in use is left alone.
const lockPause = 50 * time.Millisecond

// openStore opens the database, once the commands that have it for a moment are done.
func openStore(ctx context.Context, o store.Options) (*store.Store, error) {
	wait, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	for {
		st, err := store.Open(ctx, o)
		if !errors.Is(err, store.ErrLocked) {
			return st, err
		}
		select {
		case <-wait.Done():
			return nil, err
		case <-time.After(lockPause):
		}
	}
}

// findSkill returns a skill once there are any.
func (p *Parts) findSkill(name string) (*skills.Skill, bool) {
	if p.Registry == nil {
		return nil, false
	}
	return p.Registry.Get(name)
}

// chooseApprover returns who asks people: the program's own approver, the inbox, or none.
func (p *Parts) chooseApprover(o Options) sentinel.Approver {
	if o.Approver == nil && p.Inbox != nil {
		return p.Inbox
	}
	return o.Approver
}

// onRecord ends the approval of a call that is decided, in the transaction of its record.
func (p *Parts) onRecord(tx *store.Tx, rec sentinel.Record) error {
	if p.Inbox == nil {
		return nil
	}
	return p.Inbox.CloseTx(tx, rec)
}

// ForgetRows deletes some of what is kept of a user or of a conversation beside the journal: the threads of chat
// interfaces, and approvals, see approval.ForgetTx.
func (p *Parts) ForgetRows(tx *store.Tx, user, conversation string) (int, error) {
	if err := threads.ForgetTx(tx, user, conversation); err != nil {
		return 0, err
	}
	if p.Inbox != nil {
		return p.Inbox.ForgetTx(tx, user, conversation)
	}
	return approval.ForgetTx(tx, user, conversation)
}

// openLabels opens what reviewers say of decisions. Store, ledger and journal are open by then.
func (p *Parts) openLabels(ctx context.Context, o Options) (err error) {
	p.Labels, err = label.Open(ctx, label.Options{Store: p.Store, Ledger: p.Ledger, Journal: p.Journal, Now: o.Now})
	return err
}

// ExportLabels makes a page of cases of labelled decisions, on record in the name of by: see labelled.Export.
func (p *Parts) ExportLabels(ctx context.Context, part labelled.Part, by, via string) (labelled.Page, error) {
	return labelled.Export(ctx, labelled.Sources{Ledger: &p.Ledger.Reader, Journal: p.Journal, Labels: p.Labels}, part, by, via)
}
