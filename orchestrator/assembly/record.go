package assembly

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/vedette-dev/vedette/limits"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/scope"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// recorder puts a record, its values and its spent warrant into one
// transaction: all of them are durable, or none.
type recorder struct {
	store   *store.Store
	ledger  *ledger.Ledger
	journal *journal.Journal
	keep    time.Duration // how long the journal keeps what a restart reads
	now     func() time.Time
}

// Record returns when everything is on disk.
func (r recorder) Record(ctx context.Context, rec sentinel.Record) error {
	return r.store.Submit(ctx, func(tx *store.Tx) error {
		if rec.Check != nil {
			if err := rec.Check(); err != nil {
				return err
			}
		}
		if rec.Spend != "" {
			if err := store.Spend(tx, rec.Spend, rec.SpendExpires); err != nil {
				return err
			}
		}
		if rec.Once != "" {
			if err := store.Spend(tx, "call/"+rec.Once, r.now().Add(max(rec.OnceFor, r.keep))); err != nil {
				return err
			}
		}
		for _, v := range rec.Values {
			_, err := r.journal.PutTx(tx, journal.Item{
				Call: rec.CallID, Conversation: rec.Conversation, User: rec.User, Kind: v.Name, Name: rec.Kind, Data: v.Data,
			})
			if err != nil {
				return err
			}
		}
		_, err := r.ledger.AppendTx(tx, ledger.Entry{
			ID: rec.ID, Time: rec.At, Kind: rec.Kind, Call: rec.CallID, Decision: rec.DecisionID, Conversation: rec.Conversation,
			User: rec.User, Agent: rec.Agent, Skill: rec.Skill, Outcome: rec.Outcome, Gate: rec.Gate, Code: rec.Code, Body: rec.Body,
		})
		return err
	})
}

// Past returns what was recorded of one call. The journal knows which kind of
// record a value belongs to, so the newest record of a kind has them all.
func (r recorder) Past(ctx context.Context, callID string) ([]sentinel.Record, error) {
	list, err := r.ledger.List(ctx, ledger.Query{Call: callID, Limit: 1000})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	values, err := r.journal.ByCall(ctx, callID)
	if err != nil {
		return nil, err
	}
	out := make([]sentinel.Record, len(list))
	last := map[string]int{}
	for i, e := range list {
		out[i] = sentinel.Record{
			Kind: e.Kind, ID: e.ID, At: e.Time, CallID: e.Call, DecisionID: e.Decision, Conversation: e.Conversation,
			User: e.User, Agent: e.Agent, Skill: e.Skill, Outcome: e.Outcome, Gate: e.Gate, Code: e.Code, Body: e.Body,
		}
		last[e.Kind] = i
	}
	for _, v := range values {
		if v.User != list[0].User || v.Conversation != list[0].Conversation {
			continue // a call is one user's, and so is what is kept of it
		}
		if i, ok := last[v.Name]; ok {
			out[i].Values = append(out[i].Values, sentinel.Value{Name: v.Kind, Data: v.Data})
		}
	}
	return out, nil
}

// limiter puts package limits into the checkpoint's words.
type limiter struct {
	c   *counters
	log *slog.Logger
}

// ownCall reports whether a skill is the orchestrator's own. A skill of an
// operator's that is named agent.something is none.
func ownCall(skill string) bool {
	switch skill {
	case scope.SkillDispatch, scope.SkillExtend, "agent.update":
		return true
	}
	return false
}

// Reserve uses a slot of the proposal's agent, turn and conversation; the
// orchestrator's own calls use one of the turn's agents instead.
func (a limiter) Reserve(ctx context.Context, s sentinel.Slot) (sentinel.Verdict, error) {
	p := limits.Proposal{
		ID: s.CallID, User: s.User, Conversation: s.Conversation, Turn: s.Turn, Agent: s.Agent, Skill: s.Skill, AgentCalls: s.AgentCalls,
	}
	v, err := a.c.reserve(func(l *limits.Limiter) (limits.Verdict, error) {
		if ownCall(s.Skill) {
			return l.ReserveAgent(ctx, p)
		}
		return l.Reserve(ctx, p)
	})
	if err != nil {
		return sentinel.Verdict{}, err
	}
	if v.OK {
		return sentinel.Pass(), nil
	}
	no := sentinel.Refuse(v.Code, reasons[v.Code])
	if v.Code == limits.CodeSkillOpen { // not now, rather than no: the breaker closes by itself
		no.Outcome = sentinel.Defer
	}
	no.RetryAfter = v.RetryAfter
	no.WhatYouCanDo = advice[v.Code]
	return no, nil
}

var reasons = map[string]string{
	limits.CodeAgentCalls:        "the agent has used all its calls",
	limits.CodeTurnCalls:         "the turn has used all its calls",
	limits.CodeTurnAgents:        "the turn has used all its agents",
	limits.CodeConversationCalls: "the conversation has used all its calls for now",
	limits.CodeSkillOpen:         "the skill failed several times and is out of use for now",
}

var advice = map[string]string{
	limits.CodeSkillOpen:         "Go on without this skill, or try again later.",
	limits.CodeConversationCalls: "Report what you have; more is possible later.",
}

// Report tells the skill's breaker how a run ended.
func (a limiter) Report(ctx context.Context, skill, callID string, ok bool) {
	a.told(a.c.tell(func(l *limits.Limiter) error { return l.Report(ctx, skill, callID, ok) }))
}

// Release frees the breaker's probe of a call that did not run.
func (a limiter) Release(ctx context.Context, skill, callID string) {
	a.told(a.c.tell(func(l *limits.Limiter) error { return l.Abandon(ctx, skill, callID) }))
}

func (a limiter) told(err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		a.log.Warn("the limits could not be told of an outcome", "error", err)
	}
}
