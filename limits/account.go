package limits

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Allowance bounds what work may take within 24 hours, to the minute. Zero is
// no bound. Cost is in millionths of the currency that prices are in.
type Allowance struct{ Calls, Tokens, Cost int64 }

// Allowances are those of a conversation, of a user, and of all users together.
type Allowances struct{ Conversation, User, Day Allowance }

// Any reports whether there is any bound.
func (a Allowances) Any() bool { return a != Allowances{} }

// allowanceWindow is how long what was taken counts.
const allowanceWindow = 24 * time.Hour

// allowanceFold is how finely work that is done is remembered.
const allowanceFold = time.Minute

// allUsers owns the meters of all users. No user's or conversation's segment is
// like it: a hash is longer, and no plain text starts with "~".
const allUsers = "~all"

// Account counts one kind of work against Allowances, apart from what agents
// spend. Account keeps nothing itself and is safe for concurrent use. What is held
// stands in the store by itself. What was spent stands there by the minute: at
// most 1440 amounts of 24 hours for each bound and owner.
type Account struct {
	name  string
	a     Allowances
	store MeterStore
}

// NewAccount returns an account whose keys have a name of their own: letters,
// digits, '-' and '_'. Errors: another name, no store, an impossible bound.
func NewAccount(name string, a Allowances, store MeterStore) (*Account, error) {
	if name == "" || keySegment(name) != name || store == nil {
		return nil, errors.New("limits: an account needs a plain name and a store")
	}
	for _, l := range []Allowance{a.Conversation, a.User, a.Day} {
		for _, n := range []int64{l.Calls, l.Tokens, l.Cost} {
			if n < 0 || n > maxAmount {
				return nil, errors.New("limits: an allowance is negative or too large")
			}
		}
	}
	return &Account{name, a, store}, nil
}

// Use is one piece of work and what it takes: for Hold at most, for Spend in the
// end.
type Use struct {
	// ID is the work's own. Required, as is Conversation.
	ID, User, Conversation string
	Calls, Tokens, Cost    int64
}

// level is the meters of one owner. A store keeps the keys of one owner together,
// so each level is a step of its own.
type level struct {
	meters []Meter
	codes  []string
}

// Hold takes room for work at every level, or at none. Verdict.Code names what
// is spent, "user.tokens"; Verdict.InFlight is as in Limiter.Hold. Errors are
// the store's.
func (a *Account) Hold(ctx context.Context, u Use) (Verdict, error) {
	levels, err := a.boundedLevels(u)
	if err != nil {
		return Verdict{}, err
	}
	for i, l := range levels {
		m, err := a.store.Hold(ctx, keySegment(u.ID), l.meters)
		if err == nil && m.OK {
			continue
		}
		back := a.releaseLevels(ctx, u, levels[:i])
		switch {
		case err != nil:
			return Verdict{}, fmt.Errorf("hold an allowance: %w", errors.Join(err, back))
		case back != nil:
			return Verdict{}, fmt.Errorf("give back what was held: %w", back)
		case m.Full < 0 || m.Full >= len(l.meters):
			return Verdict{}, fmt.Errorf("hold an allowance: the store named meter %d of %d", m.Full, len(l.meters))
		}
		full := l.meters[m.Full]
		return Verdict{
			Code: l.codes[m.Full], Limit: int(full.Max), Used: int(m.Used), RetryAfter: m.RetryAfter,
			InFlight: m.Held > 0 && m.Used-m.Held+full.Amount <= full.Max,
		}, nil
	}
	return Verdict{OK: true}, nil
}

// releaseLevels releases what the levels hold, also after the caller's context has
// ended. Otherwise the store would count that work for a day.
func (a *Account) releaseLevels(ctx context.Context, u Use, levels []level) error {
	var errs []error
	for _, l := range levels {
		for i := range l.meters {
			l.meters[i].Amount = 0
		}
		errs = append(errs, a.store.Spend(context.WithoutCancel(ctx), keySegment(u.ID), l.meters))
	}
	return errors.Join(errs...)
}

// Spend counts what work came to at every level, in place of what Hold took for
// it. Spend goes on where one level fails. Zero takes the work out.
func (a *Account) Spend(ctx context.Context, u Use) error {
	levels, err := a.boundedLevels(u)
	errs := []error{err}
	for _, l := range levels {
		if err := a.store.Spend(ctx, keySegment(u.ID), l.meters); err != nil {
			errs = append(errs, fmt.Errorf("count what was spent: %w", err))
		}
	}
	return errors.Join(errs...)
}

// boundedLevels returns the levels that have a bound, the narrowest first.
func (a *Account) boundedLevels(u Use) ([]level, error) {
	switch {
	case a == nil || a.store == nil:
		return nil, errNoStore
	case u.ID == "" || u.Conversation == "" || u.Calls < 0 || u.Tokens < 0 || u.Cost < 0:
		return nil, fmt.Errorf("%w: work without an id or a conversation, or with less than nothing", ErrProposal)
	}
	var out []level
	for _, l := range []struct {
		name, owner string
		max         Allowance
	}{
		{"conversation", ownerKey(Proposal{User: u.User, Conversation: u.Conversation}), a.a.Conversation},
		{"user", keySegment(u.User), a.a.User},
		{"day", allUsers, a.a.Day},
	} {
		var one level
		for _, m := range []struct {
			name        string
			amount, max int64
		}{{"calls", u.Calls, l.max.Calls}, {"tokens", u.Tokens, l.max.Tokens}, {"cost", u.Cost, l.max.Cost}} {
			if m.max > 0 {
				key := l.owner + "/" + a.name + "/" + m.name
				one.meters = append(one.meters, Meter{Key: key, Amount: m.amount, Max: m.max, Window: allowanceWindow, Fold: allowanceFold})
				one.codes = append(one.codes, l.name+"."+m.name)
			}
		}
		if len(one.meters) > 0 {
			out = append(out, one)
		}
	}
	return out, nil
}
