package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/vedette-dev/vedette/internal/advice"
	"github.com/vedette-dev/vedette/internal/backoff"
	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/orchestrator/control"
	"github.com/vedette-dev/vedette/orchestrator/records"
	"github.com/vedette-dev/vedette/sentinel/approval"
)

type (
	// ApprovalWord is what a person says.
	ApprovalWord = approval.Word
	// ApprovalState is how far an approval is.
	ApprovalState = approval.State
	// ApprovalFilter chooses approvals.
	ApprovalFilter = approval.Filter
	// ApprovalItem is an approval in a list.
	ApprovalItem = approval.Item
	// ApprovalCard is an approval with what a person must see.
	ApprovalCard = approval.Card
	// ApprovalSheet is what a person must see.
	ApprovalSheet = approval.Sheet
	// ApprovalAnswer is what a person answers.
	ApprovalAnswer = approval.Answer
	// StandingTerms are how often and how long a standing approval holds.
	StandingTerms = approval.StandingTerms
	// Standing is a standing approval.
	Standing = approval.Standing
	// StandingFilter chooses standing approvals.
	StandingFilter = approval.StandingFilter
)

// The bounds of a standing approval.
const (
	MaxStandingUses = approval.MaxStandingUses
	MaxStandingFor  = approval.MaxStandingFor
)

// The words, and the states after an answer that commands tell apart.
const (
	ApprovalYes        = approval.Yes
	ApprovalNo         = approval.No
	ApprovalPending    = approval.StatePending
	ApprovalApproved   = approval.StateApproved
	ApprovalSuperseded = approval.StateSuperseded
)

// ApprovalDigits is how many digits of a digest an answer gives at least.
const ApprovalDigits = approval.MinDigest

// ApprovalStates lists all states of an approval.
func ApprovalStates() []string {
	var out []string
	for _, s := range approval.States() {
		out = append(out, string(s))
	}
	return out
}

// Approvals reaches the inbox of a database: through the process that runs on it, or in the
// database itself where no process does. An answer that is given there counts once the call is
// asked about again.
type Approvals struct {
	process *control.Client
	source  records.Source
	who     *approval.Policy
	whole   bool // the configuration is known, and with it the keys and who may answer
}

// FindApprovals returns the inbox of a configuration's database, or of the database that is named
// in its place. With a database alone there must be a process on it, for all but lists.
func (p Program) FindApprovals(config, database string, named bool) (*Approvals, error) {
	a := &Approvals{source: records.Source{Database: database}}
	if database == "" || named {
		cfg, err := p.Load(config)
		if err != nil {
			return nil, err
		}
		if a.who, err = assembly.NewApprovalPolicy(cfg); err != nil {
			return nil, InvalidConfig(config, err)
		}
		if database == "" {
			a.source.Database = cfg.Ledger.Path
		}
		a.source.Keys, a.source.Driver, a.whole = cfg.Keys.Dir, cfg.Ledger.Driver, true
	}
	a.process = Dial(a.source.Database)
	return a, nil
}

// approvalPage is how many approvals are asked for at a time.
const approvalPage = 5000

// FindTokens returns the tokens of a configuration's database, or of the database that is named
// in its place. With a database alone there must be a process on it, for all but lists.
func (p Program) FindTokens(config, database string, named bool) (*Tokens, error) {
	t := &Tokens{offline: access.Offline{Database: database}}
	if database == "" || named {
		cfg, err := p.Load(config)
		if err != nil {
			return nil, err
		}
		if database == "" {
			t.offline.Database = cfg.Ledger.Path
		}
		t.offline.Keys, t.offline.Driver, t.whole = cfg.Keys.Dir, cfg.Ledger.Driver, true
	}
	t.process = Dial(t.offline.Database)
	return t, nil
}

// List returns the approvals that the filter chooses, the oldest first: all of them where it sets
// no limit.
func (a *Approvals) List(ctx context.Context, f approval.Filter) (list []approval.Item, err error) {
	most := f.Limit
	for {
		f.Limit = approvalPage
		if left := most - len(list); most > 0 && left < approvalPage {
			f.Limit = left
		}
		page, err := a.listPage(ctx, f)
		list = append(list, page...)
		if err != nil || len(page) < f.Limit || most > 0 && len(list) >= most {
			return list, err
		}
		f.After = page[len(page)-1].ID
	}
}

// listPage returns one page of a list.
func (a *Approvals) listPage(ctx context.Context, f approval.Filter) (list []approval.Item, err error) {
	list, err = a.process.ListApprovals(ctx, f)
	if errors.Is(err, control.ErrNotRunning) { // reading needs no process, and keeps none from starting
		return a.source.ListApprovals(ctx, f)
	}
	return list, adviseOnInbox(err)
}

// Show returns an approval with what a person must see, by its id or the beginning of it.
func (a *Approvals) Show(ctx context.Context, begin string) (c approval.Card, err error) {
	err = a.reachInbox(ctx, func() error {
		c, err = a.process.ShowApproval(ctx, begin)
		return err
	}, func() error {
		c, err = a.source.ShowApproval(ctx, begin)
		return err
	})
	return c, adviseOnInbox(err)
}

// Answer answers in the name of the system's user. The answer's own By and Via are not used.
func (a *Approvals) Answer(ctx context.Context, in approval.Answer) (i approval.Item, err error) {
	in.By, in.Via = control.NameLocal(os.Getuid()), control.ViaCommand
	err = a.reachInbox(ctx, func() error {
		i, err = a.process.AnswerApproval(ctx, in)
		return err
	}, func() error {
		i, err = a.source.AnswerApproval(ctx, a.who, in)
		return err
	})
	return i, adviseOnInbox(err)
}

// Stand says yes in the name of the system's user, and leaves a standing approval.
func (a *Approvals) Stand(ctx context.Context, in approval.Answer, t approval.StandingTerms) (s approval.Standing, err error) {
	in.By, in.Via = control.NameLocal(os.Getuid()), control.ViaCommand
	err = a.reachInbox(ctx, func() error {
		s, err = a.process.StandApproval(ctx, in, t)
		return err
	}, func() error {
		s, err = a.source.StandApproval(ctx, a.who, in, t)
		return err
	})
	return s, adviseOnInbox(err)
}

// ListStanding returns standing approvals, the oldest first.
func (a *Approvals) ListStanding(ctx context.Context, f approval.StandingFilter) (list []approval.Standing, err error) {
	list, err = a.process.ListStanding(ctx, f)
	if errors.Is(err, control.ErrNotRunning) {
		return a.source.ListStanding(ctx, f)
	}
	return list, adviseOnInbox(err)
}

// Revoke ends a standing approval in the name of the system's user.
func (a *Approvals) Revoke(ctx context.Context, id string) (s approval.Standing, err error) {
	err = a.reachInbox(ctx, func() error {
		s, err = a.process.RevokeStanding(ctx, id)
		return err
	}, func() error {
		s, err = a.source.RevokeStanding(ctx, id, control.NameLocal(os.Getuid()), control.ViaCommand)
		return err
	})
	return s, adviseOnInbox(err)
}

// startTime is how long a process may take between opening its database and listening.
const startTime = 5 * time.Second

// lockPauses are how long a database that others have open is left alone.
var lockPauses = backoff.Pauses{First: 20 * time.Millisecond, Longest: 500 * time.Millisecond}

// reachInbox asks the process, and opens the database where none listens.
func (a *Approvals) reachInbox(ctx context.Context, ask, open func() error) error {
	return reachEither(ctx, ask, open, either{a.source.Database, a.whole, "listen for answers",
		"answer in that program, or stop it: an answer is kept until the call is asked about again"})
}

// either is a database that a process may have open.
type either struct {
	database string
	// whole says that the configuration is known, and with it the keys.
	whole bool
	// does is what a process that has it open doesn't do, todo what an operator can do then.
	does, todo string
}

// reachEither asks the process, and opens the database where none listens. Between the two a
// process may start, or another command may have the database for a moment: both are tried again.
func reachEither(ctx context.Context, ask, open func() error, e either) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for n := 0; ; n++ {
		err := ask()
		switch {
		case !errors.Is(err, control.ErrNotRunning):
			return err
		case !e.whole:
			return &advice.Error{
				Err:  fmt.Errorf("no process listens for %s, and its keys and rules are not known", e.database),
				Todo: "name its configuration with --config FILE",
			}
		}
		if err = open(); !errors.Is(err, records.ErrInUse) {
			return err
		}
		if !backoff.Wait(ctx, lockPauses.Pause(n)) {
			return &advice.Error{Err: fmt.Errorf("%s is in use by a process that does not %s", e.database, e.does), Todo: e.todo}
		}
	}
}

// adviseOnInbox adds what a person can do about an approval that can't be answered.
func adviseOnInbox(err error) error {
	todo := ""
	switch {
	case errors.Is(err, control.ErrNoInbox):
		todo = "set approvals: {inbox: true} in its configuration, and start it again"
	case errors.Is(err, approval.ErrUnknown):
		todo = "vedette approvals list --all shows the ids"
	case errors.Is(err, approval.ErrStale):
		todo = "vedette approvals show ID prints what is asked now, and its digest"
	case errors.Is(err, approval.ErrNotAllowed):
		todo = "one of those who are named there has to answer"
	}
	if todo == "" {
		return err
	}
	return &advice.Error{Err: err, Todo: todo}
}
