// Package slots counts the checkpoint's proposals against the limits.
//
// Limiter puts package limits into the checkpoint's words: it implements
// sentinel.Limiter. Each proposal uses a slot of its agent, turn and conversation. The
// orchestrator's own calls (agent.dispatch and its like) use one of the turn's agents
// instead. A used-up limit denies. An open breaker defers, since it closes by itself.
//
//	l := slots.New(slots.Options{Counts: c, Breakers: c, AgentSkills: own, Log: log})
//	cp, err := sentinel.New(sentinel.Options{Limiter: l, …})
//
// What not to do: don't turn an error into a pass here. The checkpoint knows what an
// unreachable store means for each effect (sentinel.ErrLimitsAway), and denies the rest.
//
// The package isn't stable: docs/api.md lists those that are. Programs
// reach it through orchestrator/assembly.
package slots

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/vedette-dev/vedette/limits"
	"github.com/vedette-dev/vedette/sentinel"
)

// Counts use up slots. An error that wraps limits.ErrAway means that the store that counts
// for all processes is unreachable.
type Counts interface {
	Reserve(ctx context.Context, p limits.Proposal) (limits.Verdict, error)
	ReserveAgent(ctx context.Context, p limits.Proposal) (limits.Verdict, error)
}

// Breakers hear how reserved calls ended.
type Breakers interface {
	Report(ctx context.Context, skill, callID string, ok bool) error
	Abandon(ctx context.Context, skill, callID string) error
}

// Options say who counts.
type Options struct {
	Counts   Counts
	Breakers Breakers
	// AgentSkills are the orchestrator's own skills, which use one of the turn's agents.
	// A skill of an operator's that is named agent.something is none.
	AgentSkills []string
	Log         *slog.Logger
}

// Limiter implements sentinel.Limiter. It is safe for concurrent use.
type Limiter struct{ o Options }

// New returns a Limiter. Without a logger it logs nothing.
func New(o Options) *Limiter {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Limiter{o}
}

// Reserve implements sentinel.Limiter. The error wraps sentinel.ErrLimitsAway where the
// limits store is unreachable and nothing else speaks against the call.
func (l *Limiter) Reserve(ctx context.Context, s sentinel.Slot) (sentinel.Verdict, error) {
	p := limits.Proposal{
		ID: s.CallID, User: s.User, Conversation: s.Conversation, Turn: s.Turn, Agent: s.Agent, Skill: s.Skill, AgentCalls: s.AgentCalls,
	}
	count := l.o.Counts.Reserve
	if slices.Contains(l.o.AgentSkills, s.Skill) {
		count = l.o.Counts.ReserveAgent
	}
	v, err := count(ctx, p)
	if errors.Is(err, limits.ErrAway) {
		return sentinel.Verdict{}, fmt.Errorf("%w: %w", sentinel.ErrLimitsAway, err)
	}
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

// Report implements sentinel.Limiter: it tells the skill's breaker how a run ended.
func (l *Limiter) Report(ctx context.Context, skill, callID string, ok bool) {
	l.logUncounted(l.o.Breakers.Report(ctx, skill, callID, ok))
}

// Release implements sentinel.Limiter: it frees the breaker's probe of a call that did
// not run.
func (l *Limiter) Release(ctx context.Context, skill, callID string) {
	l.logUncounted(l.o.Breakers.Abandon(ctx, skill, callID))
}

// logUncounted logs the error of a breaker. The call has ended and waits for no breaker.
func (l *Limiter) logUncounted(err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		l.o.Log.Warn("the limits could not be told of an outcome", "error", err)
	}
}
