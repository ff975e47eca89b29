package sentinel

import (
	"context"
	"time"
)

// HabitRow is an approval as the journal keeps it, for habits: sealed, under its user's name.
type HabitRow struct {
	// Ref names the habit; it holds no value.
	Ref string
	// Data is for the journal, sealed there.
	Data []byte
	// Expires is when the approval counts no more.
	Expires time.Time
}

// HabitKeeper remembers what people approve. *habit.Habits is one.
type HabitKeeper interface {
	// Remember returns what to keep of a call that a person approved at that time; ok is false
	// where that is nothing.
	Remember(ctx context.Context, c Call, at time.Time) (row HabitRow, ok bool)
}

// listNewHabits returns what an allowed call leaves for habits: a person approved it, it is
// not tainted, and its review was not in shadow, where a configuration is only tried.
func listNewHabits(ctx context.Context, p *Checkpoint, c Call, d Decision) []HabitRow {
	review, _ := d.Verdict(GateReview)
	if p.o.Habits == nil || d.Outcome != Allow || c.Tainted() || review.State == Shadow || !personApproved(d) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	row, ok := p.o.Habits.Remember(ctx, c, d.Answered)
	if !ok {
		return nil
	}
	return []HabitRow{row}
}

// personApproved reports whether a person said yes to what was decided.
func personApproved(d Decision) bool {
	v, ok := d.Verdict(GateApproval)
	return ok && v.State == Judged && v.Outcome == Allow && !d.Answered.IsZero()
}
