package limits

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Codes of a Verdict that is not OK.
const (
	CodeAgentCalls        = "limits.agent_calls"
	CodeTurnCalls         = "limits.turn_calls"
	CodeTurnAgents        = "limits.turn_agents"
	CodeConversationCalls = "limits.conversation_calls"
	CodeSkillOpen         = "limits.skill_open"
)

// ErrProposal means that a Proposal lacks a field it needs, or asks for a
// negative number of calls. Refuse the call.
var ErrProposal = errors.New("limits: incomplete proposal")

// Limiter counts proposals against a Config. It is safe for concurrent use and
// holds no state besides its Store. The zero value answers with errors.
type Limiter struct {
	cfg   atomic.Pointer[Config] // SetCounts exchanges it
	rule  Rule
	store Store
}

// Proposal is a call that an agent would like to make.
//
// Its texts may be anything. A text that is long goes into the store as a hash. So
// does one with other signs than letters, digits and "-_.:@".
type Proposal struct {
	// ID is the call's own id; a proposal repeated with it is counted once. Required.
	ID string
	// User and Conversation name the conversation. Conversation is required.
	User, Conversation string
	// Turn names the turn within the conversation. Required.
	Turn string
	// Agent names the agent within the turn. Required by Reserve and EndAgent. An
	// agent that outlives its turn keeps its count while its proposals name the
	// turn that dispatched it. Its grant names that turn too.
	Agent string
	// Skill is the skill's name as proposed, known or not. If empty, no breaker is asked.
	Skill string
	// AgentCalls is what the agent's dispatch asked for. If zero,
	// Config.Agent.Calls; more than Config.Agent.Max is cut to it.
	AgentCalls int
}

// Verdict says whether there was room. Its zero value means there was none.
type Verdict struct {
	OK bool
	// Code says what had no room, one of the Code constants; empty if OK.
	Code string
	// Limit and Used tell of the level that had no room. If OK, they tell of the
	// first level asked (the agent's calls, the turn's agents), this proposal
	// included. Both are zero for CodeSkillOpen.
	Limit, Used int
	// RetryAfter is, if not OK, how long to wait; zero if waiting won't help.
	RetryAfter time.Duration
	// Probe says that a half-open breaker lets this one call through. Report or
	// Abandon must follow.
	Probe bool
	// InFlight says of a budget that only questions under way fill it. They may
	// need less than they hold.
	InFlight bool
}

// New returns a Limiter with cfg's numbers over store. The error joins all
// PathErrors of cfg.
func New(cfg Config, store Store) (*Limiter, error) {
	if store == nil {
		return nil, errors.New("limits: no store; pass NewMemory or another Store")
	}
	var errs []error
	for _, fault := range cfg.Validate() {
		errs = append(errs, fault)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	cfg = cfg.Effective()
	rule := Rule{Failures: cfg.Skill.Failures, Window: cfg.Skill.Window, OpenFor: cfg.Skill.OpenFor}
	l := &Limiter{rule: rule, store: store}
	l.cfg.Store(&cfg)
	return l, nil
}

// SetCounts takes the counts of another Config: how many calls and agents there may be. They hold from the next
// proposal on, also for agents and turns under way, which keep what they have used. Windows, breakers
// and budgets stay as they are. The error joins all PathErrors of cfg, and changes nothing.
func (l *Limiter) SetCounts(cfg Config) error {
	if l == nil || l.store == nil {
		return errNoStore
	}
	now := *l.cfg.Load()
	now.Agent, now.Turn, now.Conversation.Calls = cfg.Agent, cfg.Turn, cfg.Conversation.Calls
	var errs []error
	for _, fault := range now.Validate() {
		errs = append(errs, fault)
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	now = now.Effective()
	l.cfg.Store(&now)
	return nil
}

// Reserve uses a slot of the agent, the turn and the conversation for a skill
// call. After that it asks the skill's breaker. A call that an open breaker
// refuses has used its slots. ErrProposal: a field is missing; any other error is
// the store's. On an error, refuse.
func (l *Limiter) Reserve(ctx context.Context, p Proposal) (Verdict, error) {
	if err := l.checkProposal(p, true); err != nil {
		return Verdict{}, err
	}
	owner := ownerKey(p)
	turn := turnKey(owner, p)
	cfg := l.cfg.Load()
	buckets := []Bucket{
		{Key: agentKey(turn, p) + "/calls", Max: cfg.Agent.boundCalls(p)},
		{Key: turn + "/calls", Max: cfg.Turn.Calls},
		{Key: owner + "/calls", Max: cfg.Conversation.Calls, Window: cfg.Conversation.Window},
	}
	codes := [...]string{CodeAgentCalls, CodeTurnCalls, CodeConversationCalls}
	v, err := l.reserveSlots(ctx, p, buckets, codes[:])
	if err != nil || !v.OK || p.Skill == "" {
		return v, err
	}
	a, err := l.store.Admit(ctx, skillKey(p.Skill), keySegment(p.ID), l.rule)
	if err != nil {
		return Verdict{}, fmt.Errorf("ask the skill's breaker: %w", err)
	}
	if !a.OK {
		return Verdict{Code: CodeSkillOpen, RetryAfter: a.RetryAfter}, nil
	}
	v.Probe = a.Probe
	return v, nil
}

// ReserveAgent uses one of the turn's agents, for a dispatch. It touches no
// other level; p.Agent, p.Skill and p.AgentCalls are not read. Errors as in Reserve.
func (l *Limiter) ReserveAgent(ctx context.Context, p Proposal) (Verdict, error) {
	if err := l.checkProposal(p, false); err != nil {
		return Verdict{}, err
	}
	buckets := []Bucket{{Key: turnKey(ownerKey(p), p) + "/agents", Max: l.cfg.Load().Turn.Agents}}
	return l.reserveSlots(ctx, p, buckets, []string{CodeTurnAgents})
}

// Report tells how the execution of a call went. Report a failure only if the
// executor itself broke; see the package comment.
func (l *Limiter) Report(ctx context.Context, skill, callID string, ok bool) error {
	outcome := Failed
	if ok {
		outcome = Succeeded
	}
	return l.settleBreaker(ctx, skill, callID, outcome)
}

// Abandon says that a call which Reserve let through will not run. Another call
// may then be the probe of a half-open breaker. The call's slots stay used. For a
// call that isn't the probe, Abandon does nothing.
func (l *Limiter) Abandon(ctx context.Context, skill, callID string) error {
	return l.settleBreaker(ctx, skill, callID, Abandoned)
}

// SkillState returns the state of a skill's breaker, for status pages.
func (l *Limiter) SkillState(ctx context.Context, skill string) (State, error) {
	if l == nil || l.store == nil {
		return 0, errNoStore
	}
	return l.store.State(ctx, skillKey(skill), l.rule)
}

// EndAgent forgets the counts of p's agent in p's turn, before EndTurn does. Call
// EndAgent when the agent has ended and no living agent of the turn uses its id.
func (l *Limiter) EndAgent(ctx context.Context, p Proposal) error {
	if p.Agent == "" || p.Turn == "" {
		return fmt.Errorf("%w: no agent or no turn", ErrProposal)
	}
	return l.forgetUnder(ctx, p, agentKey(turnKey(ownerKey(p), p), p))
}

// EndTurn forgets the counts of p's turn: its agents, its calls and the calls of
// its agents. Call EndTurn when the turn and its agents have ended. The store
// would count an agent that still proposes from zero.
func (l *Limiter) EndTurn(ctx context.Context, p Proposal) error {
	if p.Turn == "" {
		return fmt.Errorf("%w: no turn", ErrProposal)
	}
	return l.forgetUnder(ctx, p, turnKey(ownerKey(p), p))
}

// EndConversation forgets the counts of all turns and agents of p's
// conversation. Its sliding window stays until it has passed by itself.
func (l *Limiter) EndConversation(ctx context.Context, p Proposal) error {
	return l.forgetUnder(ctx, p, ownerKey(p))
}

var errNoStore = errors.New("limits: a Limiter is made by New")

// checkProposal refuses a proposal that lacks what its question needs.
func (l *Limiter) checkProposal(p Proposal, agent bool) error {
	switch {
	case l == nil || l.store == nil:
		return errNoStore
	case p.ID == "":
		return fmt.Errorf("%w: no call id", ErrProposal)
	case p.Conversation == "":
		return fmt.Errorf("%w: no conversation", ErrProposal)
	case p.Turn == "":
		return fmt.Errorf("%w: no turn", ErrProposal)
	case agent && p.Agent == "":
		return fmt.Errorf("%w: no agent", ErrProposal)
	case agent && p.AgentCalls < 0:
		return fmt.Errorf("%w: a negative number of calls", ErrProposal)
	}
	return nil
}

// boundCalls returns how many calls the agent may propose over its life.
func (c AgentConfig) boundCalls(p Proposal) int {
	if p.AgentCalls == 0 {
		return c.Calls
	}
	return min(p.AgentCalls, c.Max)
}

// reserveSlots takes p's slot in every bucket; codes name the buckets for a refusal.
func (l *Limiter) reserveSlots(ctx context.Context, p Proposal, buckets []Bucket, codes []string) (Verdict, error) {
	t, err := l.store.Take(ctx, keySegment(p.ID), buckets)
	if err != nil {
		return Verdict{}, fmt.Errorf("reserve a slot: %w", err)
	}
	if t.OK {
		return Verdict{OK: true, Limit: buckets[0].Max, Used: t.Used}, nil
	}
	if t.Full < 0 || t.Full >= len(buckets) {
		return Verdict{}, fmt.Errorf("reserve a slot: the store named bucket %d of %d", t.Full, len(buckets))
	}
	return Verdict{Code: codes[t.Full], Limit: buckets[t.Full].Max, Used: t.Used, RetryAfter: t.RetryAfter}, nil
}

// settleBreaker reports a call's outcome to its skill's breaker.
func (l *Limiter) settleBreaker(ctx context.Context, skill, callID string, outcome Outcome) error {
	switch {
	case l == nil || l.store == nil:
		return errNoStore
	case callID == "":
		return fmt.Errorf("%w: no call id", ErrProposal)
	case skill == "":
		return nil // Reserve asked no breaker either.
	}
	return l.store.Settle(ctx, skillKey(skill), keySegment(callID), outcome, l.rule)
}

// forgetUnder drops the lifetime counts below prefix.
func (l *Limiter) forgetUnder(ctx context.Context, p Proposal, prefix string) error {
	if l == nil || l.store == nil {
		return errNoStore
	}
	if p.Conversation == "" {
		return fmt.Errorf("%w: no conversation", ErrProposal)
	}
	return l.store.Forget(ctx, prefix)
}

// ownerKey returns the key of a user's conversation. The user is part of the key:
// a user who names another's conversation can't use up its limits.
func ownerKey(p Proposal) string { return keySegment(p.User) + "," + keySegment(p.Conversation) }

// turnKey returns the key of p's turn, below its owner's.
func turnKey(owner string, p Proposal) string { return owner + "/turn/" + keySegment(p.Turn) }

// agentKey returns an agent's key, below the key of its turn. So the end of the
// turn, which the caller always reports, drops the agent too.
func agentKey(turn string, p Proposal) string { return turn + "/agent/" + keySegment(p.Agent) }

// skillKey returns the key of a skill's breaker.
func skillKey(skill string) string { return "skill/" + keySegment(skill) }

// keySegment returns s if it is short and plain, else a hash of it. Otherwise the
// turn "1/calls" would share a key with another count. A long name from a model
// would fill the store. No plain text starts with "~".
func keySegment(s string) string {
	const longest = 128
	plain := len(s) <= longest
	for i := 0; plain && i < len(s); i++ {
		c := s[i]
		plain = 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
			c == '-' || c == '_' || c == '.' || c == ':' || c == '@'
	}
	if plain {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return "~" + hex.EncodeToString(sum[:])
}
