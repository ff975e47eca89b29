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

// DefaultLimitsAway returns the outcomes that a configuration without any has:
// reads and inward creations go ahead, marked as degraded; the rest is denied.
func DefaultLimitsAway() OutageTable {
	t := OutageTable{}
	for _, row := range OutageRows() {
		t[row] = Deny
	}
	t[string(skills.Read)], t[string(skills.Create)] = Allow, Allow
	return t
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

// newUncounted is the verdict of reserve until the call is known.
func newUncounted() Verdict {
	return Verdict{State: Failed, Code: CodeLimitsAway, Reason: "limits store unreachable"}
}

// resolveUnreachableLimits puts the table's outcome for the call that is judged, the
// rewritten one where rules rewrote it, in the place of newUncounted's.
func (p *Checkpoint) resolveUnreachableLimits(ctx context.Context, c Call, v Verdict) Verdict {
	if v.State != Failed || v.Code != CodeLimitsAway {
		return v
	}
	o, row := p.o.LimitsAway.OutcomeFor(c)
	if c.Skill() == nil {
		row = "unknown skill"
	}
	v.State, v.Outcome, v.Degraded = Judged, o, o == Allow
	v.Reason = fmt.Sprintf("limits store unreachable: limits.store.when_away (%s) is %s", row, o)
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

// Slot is what a proposal uses up of the limits.
type Slot struct {
	CallID       string
	User         string
	Conversation string
	Turn         string
	Agent        string
	Skill        string // empty for an unknown skill
	AgentCalls   int    // the dispatch's own maximum; zero means the default
}

// Limiter counts proposals. Reserve uses a slot and answers with a verdict; an
// error denies, unless it wraps ErrLimitsAway. Of a reserved call exactly one
// of Report (it ran) and Release (it did not) is told.
type Limiter interface {
	Reserve(ctx context.Context, s Slot) (Verdict, error)
	Report(ctx context.Context, skill, callID string, ok bool)
	Release(ctx context.Context, skill, callID string)
}

// countProposal uses the proposal's slot. Its callers look at pauses.
func (p *Checkpoint) countProposal(ctx context.Context, g Grant, callID, skill string) Verdict {
	s := Slot{
		CallID: callID, User: g.User(), Conversation: g.Conversation(), Turn: g.Turn(), Agent: g.ID(), AgentCalls: g.Calls(),
	}
	if g.Remote() != "" && s.Turn != "" { // its grant may outlive a turn
		s.Agent += "/" + s.Turn
	}
	if s.Turn == "" { // a grant outside of any conversation's turns is a turn of its own
		s.Turn = g.ID()
	}
	if _, known := p.o.Registry.Get(skill); known {
		s.Skill = skill
	}
	v, err := p.o.Limiter.Reserve(ctx, s)
	if errors.Is(err, ErrLimitsAway) {
		return newUncounted()
	}
	if err != nil {
		return Verdict{State: Failed, Code: "limits.error", Reason: "the limits could not be read", Detail: err.Error()}
	}
	return v
}

// releaseSlot tells the limiter that a call of a known skill did not run.
func (p *Checkpoint) releaseSlot(ctx context.Context, skill, callID string) {
	if _, known := p.o.Registry.Get(skill); known {
		p.o.Limiter.Release(context.WithoutCancel(ctx), skill, callID)
	}
}

// Suppressed is how many proposals of a conversation became no Call and are not
// on record yet, not even as a count.
func (p *Checkpoint) Suppressed(user, conversation string) int {
	l := &p.refused
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.by[proposer{user, conversation}]; c != nil {
		return c.omitted
	}
	return 0
}

// TellSuppressed records for each conversation how many proposals became no
// Call and were left out of the ledger: one refused record with the count. Call
// it now and then, and before the store is closed. What can't be written is kept
// for the next time; ErrNotRecorded says so.
func (p *Checkpoint) TellSuppressed(ctx context.Context) error {
	list := p.refused.drain()
	for i, s := range list {
		if err := p.recordSuppressed(ctx, s); err != nil {
			for _, rest := range list[i+1:] {
				p.refused.putBack(rest, p.now())
			}
			return err
		}
	}
	return nil
}

// recordSuppressed records one count, or keeps it where that fails.
func (p *Checkpoint) recordSuppressed(ctx context.Context, s suppressed) error {
	if s.n == 0 || p.o.Recorder == nil {
		return nil
	}
	err := p.writeRecord(ctx, suppressedRecord(s, p.now()))
	if err != nil {
		p.refused.putBack(s, p.now())
	}
	return err
}

// pauseVerdict returns the verdict of the pause in force, if one is. It goes by the
// name of the limits, as all that is refused without being judged does.
func (p *Checkpoint) pauseVerdict(user, skill string) (Verdict, bool) {
	if p.o.Pauser == nil {
		return Verdict{}, false
	}
	by, ok := p.o.Pauser.Paused(user, skill)
	if !ok {
		return Verdict{}, false
	}
	v := Refuse(CodePaused, "an operator has paused "+pausedWhat[by.Scope])
	v.Gate = GateLimits
	v.WhatYouCanDo = "Stop here and tell the user that work was paused; don't try again until told."
	return v, true
}

// stopVerdict returns why nothing of a grant's may go on, if that is so: the pause in force, or that who began it
// may act no more.
func (p *Checkpoint) stopVerdict(g Grant, skill string) (Verdict, bool) {
	if v, ok := p.pauseVerdict(g.User(), skill); ok {
		return v, true
	}
	if g.Principal() == "" || p.o.Ended == nil || !p.o.Ended(g.Principal()) {
		return Verdict{}, false
	}
	v := Refuse(CodeRevoked, "the access of the program that asked for this was revoked or has expired")
	v.Gate = GateLimits
	v.WhatYouCanDo = "Stop here; nothing more of this request can be done."
	return v, true
}

var pausedWhat = map[string]string{
	"all": "all work", "user": "this user's work", "skill": "this skill", "": "the work",
}
