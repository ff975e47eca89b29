package sentinel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/vedette-dev/vedette/skills"
)

// ErrLimitsAway is what a Limiter's error wraps when the store that counts for all
// processes is unreachable. Options.LimitsAway says what follows; every other error
// of a Limiter denies.
var ErrLimitsAway = errors.New("limits store unreachable")

// AwayOutward is the row of an AwayTable for calls that reach others.
const AwayOutward = "outward"

// AwayTable says what becomes of calls while the limits store is unreachable: for
// each effect, and for AwayOutward. The most restrictive of a call's rows counts,
// and a row that is missing denies: the nil table denies everything.
type AwayTable map[string]Outcome

// DefaultLimitsAway returns the outcomes that a configuration without any has:
// reads and inward creations go ahead, marked as degraded; the rest is denied.
func DefaultLimitsAway() AwayTable {
	t := AwayTable{AwayOutward: Deny}
	for _, e := range skills.Effects() {
		t[string(e)] = Deny
	}
	t[string(skills.Read)], t[string(skills.Create)] = Allow, Allow
	return t
}

// cell returns the outcome for a call, and the row that it is from.
func (t AwayTable) cell(c Call) (Outcome, string) {
	o, row := min(t[string(c.Effect())], Allow), string(c.Effect())
	if c.Outward() && t[AwayOutward] < o {
		return t[AwayOutward], AwayOutward
	}
	return o, row
}

// These are the codes of the limits while their store is unreachable.
const (
	// CodeLimitsAway: the call was stopped, or a person is asked.
	CodeLimitsAway = "limits.away"
	// CodeLimitsDegraded: the call goes ahead uncounted.
	CodeLimitsDegraded = "limits.degraded"
)

// awayRetry is when a call that was put off for the limits' sake may come again.
const awayRetry = 2 * time.Second

// uncounted is what reserve answers until the call is known.
func uncounted() Verdict {
	return Verdict{State: Failed, Code: CodeLimitsAway, Reason: "nobody could be asked who counts"}
}

// settleAway puts the table's outcome for the call that is judged, the
// rewritten one where rules rewrote it, in the place of uncounted.
func (p *Checkpoint) settleAway(ctx context.Context, c Call, v Verdict) Verdict {
	if v.State != Failed || v.Code != CodeLimitsAway {
		return v
	}
	o, row := p.o.LimitsAway.cell(c)
	if c.Skill() == nil {
		row = "unknown skill"
	}
	v.State, v.Outcome, v.Degraded = Judged, o, o == Allow
	v.Reason = fmt.Sprintf("nobody could be asked who counts: limits.store.when_away (%s) is %s", row, o)
	v.WhatYouCanDo = "Nothing is wrong with the call as far as is known; try again later, or report what was not done."
	msg := "the limits could not be counted"
	switch o {
	case Allow:
		v.Code, v.WhatYouCanDo = CodeLimitsDegraded, ""
		msg = "LIMITS DEGRADED: a call goes on uncounted"
	case Defer:
		v.RetryAfter = awayRetry
	}
	p.logger().LogAttrs(ctx, slog.LevelWarn, msg, slog.String("code", v.Code), slog.String("row", row),
		slog.String("outcome", o.String()), slog.String("call", c.ID()))
	return v
}
