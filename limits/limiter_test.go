package limits_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/internal/testclock"
	"github.com/vedette-dev/vedette/limits"
)

type subject struct {
	*limits.Limiter
	*testclock.Clock
	t *testing.T
	n int
}

func newLimiter(t *testing.T, cfg limits.Config) *subject {
	t.Helper()
	c := newClock()
	l, err := limits.New(cfg, limits.NewMemory(limits.MemoryOptions{Now: c.Now}))
	require.NoError(t, err)
	return &subject{Limiter: l, Clock: c, t: t}
}

// reserve proposes a call with an id of its own.
func (b *subject) reserve(p limits.Proposal) limits.Verdict {
	b.t.Helper()
	b.n++
	p.ID = fmt.Sprint("call", b.n)
	v, err := b.Reserve(b.t.Context(), p)
	require.NoError(b.t, err)
	return v
}

func proposal(turn, agent string) limits.Proposal {
	return limits.Proposal{User: "u", Conversation: "c", Turn: turn, Agent: agent, Skill: "files.read"}
}

// The numbers of Config{} are the documented ones, level by level.
func TestDefaultLevels(t *testing.T) {
	t.Run("agent: 5 calls, until it ends", func(t *testing.T) {
		b := newLimiter(t, limits.Config{})
		p := proposal("1", "a")
		for i := range 5 {
			require.Equal(t, limits.Verdict{OK: true, Limit: 5, Used: i + 1}, b.reserve(p))
		}
		want := limits.Verdict{Code: limits.CodeAgentCalls, Limit: 5, Used: 5}
		require.Equal(t, want, b.reserve(p))
		b.Shift(time.Hour)
		require.Equal(t, want, b.reserve(p), "an agent that lives on keeps its count")
		require.True(t, b.reserve(proposal("1", "b")).OK)
		require.Equal(t, 1, b.reserve(proposal("2", "a")).Used, "another turn's agent of the same name is another")
		require.NoError(t, b.EndAgent(t.Context(), p))
		require.True(t, b.reserve(p).OK)
	})
	t.Run("agent: a dispatch may ask for 20", func(t *testing.T) {
		for _, row := range []struct{ asked, got int }{{1, 1}, {7, 7}, {20, 20}, {21, 20}, {1 << 30, 20}} {
			b := newLimiter(t, limits.Config{})
			p := proposal("1", "a")
			p.AgentCalls = row.asked
			for range row.got {
				require.True(t, b.reserve(p).OK)
			}
			require.Equal(t, limits.Verdict{Code: limits.CodeAgentCalls, Limit: row.got, Used: row.got}, b.reserve(p))
		}
	})
	t.Run("turn: 30 calls", func(t *testing.T) {
		b := newLimiter(t, limits.Config{})
		for i := range 30 {
			require.True(t, b.reserve(proposal("1", fmt.Sprint(i/5))).OK)
		}
		require.Equal(t, limits.Verdict{Code: limits.CodeTurnCalls, Limit: 30, Used: 30}, b.reserve(proposal("1", "z")))
		require.Equal(t, 1, b.reserve(proposal("2", "z")).Used, "the refusal used none of the agent's calls")
		require.NoError(t, b.EndTurn(t.Context(), proposal("1", "")))
		require.True(t, b.reserve(proposal("1", "y")).OK)
	})
	t.Run("conversation: 50 calls in 5 minutes, also over its end", func(t *testing.T) {
		b := newLimiter(t, limits.Config{})
		for i := range 50 {
			require.True(t, b.reserve(proposal(fmt.Sprint(i/25), fmt.Sprint(i/5))).OK)
			b.Shift(time.Second)
		}
		want := limits.Verdict{Code: limits.CodeConversationCalls, Limit: 50, Used: 50, RetryAfter: 5*time.Minute - 50*time.Second}
		require.Equal(t, want, b.reserve(proposal("2", "z")))
		require.NoError(t, b.EndConversation(t.Context(), proposal("", "")))
		require.Equal(t, want, b.reserve(proposal("2", "z")))
		b.Shift(want.RetryAfter)
		require.True(t, b.reserve(proposal("0", "0")).OK, "turn and agent were forgotten")
		require.Equal(t, time.Second, b.reserve(proposal("2", "z")).RetryAfter)
	})
}

// Dispatches count against the turn's agents, and against nothing else.
func TestReserveAgent(t *testing.T) {
	b := newLimiter(t, limits.Config{Turn: limits.TurnConfig{Calls: 1}})
	p := limits.Proposal{User: "u", Conversation: "c", Turn: "1", AgentCalls: -1}
	for i := range 8 {
		p.ID = fmt.Sprint(i)
		for range 2 {
			v, err := b.ReserveAgent(t.Context(), p)
			require.NoError(t, err)
			require.Equal(t, limits.Verdict{OK: true, Limit: 8, Used: i + 1}, v)
		}
	}
	p.ID = "8"
	v, err := b.ReserveAgent(t.Context(), p)
	require.NoError(t, err)
	require.Equal(t, limits.Verdict{Code: limits.CodeTurnAgents, Limit: 8, Used: 8}, v)
	require.True(t, b.reserve(proposal("1", "a")).OK)
	require.NoError(t, b.EndTurn(t.Context(), p))
	v, err = b.ReserveAgent(t.Context(), p)
	require.NoError(t, err)
	require.True(t, v.OK)
}

// A breaker refuses one skill in every conversation; what it refuses has used its slots.
func TestSkillBreaker(t *testing.T) {
	b := newLimiter(t, limits.Config{})
	ctx, p := t.Context(), proposal("1", "a")
	for i := range 3 {
		require.NoError(t, b.Report(ctx, p.Skill, fmt.Sprint("f", i), false))
	}
	other := limits.Proposal{Conversation: "c2", Turn: "1", Agent: "a", Skill: p.Skill}
	want := limits.Verdict{Code: limits.CodeSkillOpen, RetryAfter: 30 * time.Second}
	require.Equal(t, want, b.reserve(p))
	require.Equal(t, want, b.reserve(other))
	other.Skill = "files.list"
	require.Equal(t, limits.Verdict{OK: true, Limit: 5, Used: 2}, b.reserve(other))

	b.Shift(30 * time.Second)
	v := b.reserve(p)
	require.True(t, v.OK && v.Probe)
	probe := fmt.Sprint("call", b.n)
	require.Equal(t, want, b.reserve(p))
	require.NoError(t, b.Abandon(ctx, p.Skill, probe))
	require.True(t, b.reserve(p).Probe)
	state, err := b.SkillState(ctx, p.Skill)
	require.NoError(t, err)
	require.Equal(t, limits.HalfOpen, state)
	require.NoError(t, b.Report(ctx, p.Skill, fmt.Sprint("call", b.n), true))
	v = b.reserve(p)
	require.Equal(t, limits.Verdict{OK: true, Limit: 5, Used: 5}, v, "five proposals were made, three of them refused")
}

// Without room the breaker isn't asked: a proposal that can't run must not be the probe.
func TestNoProbeWithoutRoom(t *testing.T) {
	b := newLimiter(t, limits.Config{Agent: limits.AgentConfig{Calls: 1}})
	p := proposal("1", "a")
	require.True(t, b.reserve(p).OK)
	for i := range 3 {
		require.NoError(t, b.Report(t.Context(), p.Skill, fmt.Sprint("f", i), false))
	}
	b.Shift(time.Minute)
	require.Equal(t, limits.CodeAgentCalls, b.reserve(p).Code)
	require.True(t, b.reserve(proposal("1", "b")).Probe)
}

// Ids with separators, empty users and long or hostile names share no key with another's.
func TestKeysDoNotCollide(t *testing.T) {
	b := newLimiter(t, limits.Config{Agent: limits.AgentConfig{Calls: 1}})
	long := strings.Repeat("x", 4096)
	for _, p := range []limits.Proposal{
		{Conversation: "c", Turn: "1", Agent: "a"},
		{User: "u", Conversation: "c", Turn: "1", Agent: "a"},
		{Conversation: "u,c", Turn: "1", Agent: "a"},
		{User: "u,c", Conversation: "x", Turn: "1", Agent: "a"},
		{User: "u", Conversation: "c,x", Turn: "1", Agent: "a"},
		{Conversation: "c/agent/a", Turn: "1", Agent: "b"},
		{Conversation: "c", Turn: "1", Agent: "a/calls"},
		{Conversation: "c", Turn: "1", Agent: "a/agent/a"},
		{Conversation: "c", Turn: "1", Agent: long},
		{Conversation: "c", Turn: "1", Agent: long + "y"},
		{Conversation: "c", Turn: "1", Agent: "\xff"},
		{Conversation: "c", Turn: "1", Agent: "\xfe", Skill: long},
	} {
		require.Equal(t, limits.Verdict{OK: true, Limit: 1, Used: 1}, b.reserve(p))
		require.Equal(t, limits.CodeAgentCalls, b.reserve(p).Code)
	}
}

// Values of a proposal never stand in a store's keys unless they are plain names.
func TestKeysHoldNoText(t *testing.T) {
	var seen []string
	store := fakeStore{take: func(id string, buckets []limits.Bucket) (limits.Taken, error) {
		seen = append(seen, id)
		for _, b := range buckets {
			seen = append(seen, b.Key)
		}
		return limits.Taken{OK: true, Full: -1}, nil
	}, admit: func(key, call string) (limits.Admission, error) {
		seen = append(seen, key, call)
		return limits.Admission{OK: true}, nil
	}}
	l, err := limits.New(limits.Config{}, store)
	require.NoError(t, err)
	const canary = "canary {x} *"
	_, err = l.Reserve(t.Context(), limits.Proposal{ID: canary, User: canary, Conversation: canary, Turn: canary, Agent: canary,
		Skill: canary})
	require.NoError(t, err)
	require.Len(t, seen, 6)
	require.NotContains(t, strings.Join(seen, "\n"), "canary")
}

// An incomplete proposal is an error, never room.
func TestIncompleteProposals(t *testing.T) {
	b := newLimiter(t, limits.Config{})
	full := limits.Proposal{ID: "1", Conversation: "c", Turn: "t", Agent: "a"}
	for _, spoil := range []func(*limits.Proposal){
		func(p *limits.Proposal) { p.ID = "" },
		func(p *limits.Proposal) { p.Conversation = "" },
		func(p *limits.Proposal) { p.Turn = "" },
		func(p *limits.Proposal) { p.Agent = "" },
		func(p *limits.Proposal) { p.AgentCalls = -1 },
	} {
		p := full
		spoil(&p)
		v, err := b.Reserve(t.Context(), p)
		require.ErrorIs(t, err, limits.ErrProposal)
		require.Equal(t, limits.Verdict{}, v)
	}
	require.ErrorIs(t, b.EndAgent(t.Context(), limits.Proposal{Conversation: "c", Turn: "t"}), limits.ErrProposal)
	require.ErrorIs(t, b.EndAgent(t.Context(), limits.Proposal{Conversation: "c", Agent: "a"}), limits.ErrProposal)
	require.ErrorIs(t, b.EndTurn(t.Context(), limits.Proposal{Conversation: "c"}), limits.ErrProposal)
	require.ErrorIs(t, b.EndConversation(t.Context(), limits.Proposal{User: "u"}), limits.ErrProposal)
	require.ErrorIs(t, b.Report(t.Context(), "s", "", false), limits.ErrProposal)
	require.NoError(t, b.Report(t.Context(), "", "1", false))
}

// fakeStore answers as it is told.
type fakeStore struct {
	limits.Store
	take  func(id string, buckets []limits.Bucket) (limits.Taken, error)
	admit func(key, call string) (limits.Admission, error)
}

func (f fakeStore) Take(_ context.Context, id string, b []limits.Bucket) (limits.Taken, error) {
	return f.take(id, b)
}

func (f fakeStore) Admit(_ context.Context, key, call string, _ limits.Rule) (limits.Admission, error) {
	return f.admit(key, call)
}

// A store that fails, or answers nonsense, is an error and never room.
func TestStoreErrors(t *testing.T) {
	away := errors.New("away")
	room := func(string, []limits.Bucket) (limits.Taken, error) { return limits.Taken{OK: true, Full: -1}, nil }
	admits := func(string, string) (limits.Admission, error) { return limits.Admission{OK: true}, nil }
	p := limits.Proposal{ID: "1", Conversation: "c", Turn: "t", Agent: "a", Skill: "s"}
	for _, store := range []fakeStore{
		{take: func(string, []limits.Bucket) (limits.Taken, error) { return limits.Taken{OK: true, Full: -1}, away }, admit: admits},
		{take: room, admit: func(string, string) (limits.Admission, error) { return limits.Admission{OK: true}, away }},
	} {
		l, err := limits.New(limits.Config{}, store)
		require.NoError(t, err)
		v, err := l.Reserve(t.Context(), p)
		require.ErrorIs(t, err, away)
		require.Equal(t, limits.Verdict{}, v)
	}
	for _, index := range []int{-1, 3} {
		l, err := limits.New(limits.Config{}, fakeStore{admit: admits, take: func(string, []limits.Bucket) (limits.Taken, error) {
			return limits.Taken{Full: index}, nil
		}})
		require.NoError(t, err)
		v, err := l.Reserve(t.Context(), p)
		require.Error(t, err)
		require.False(t, v.OK)
	}
	for _, l := range []*limits.Limiter{nil, {}} {
		v, err := l.Reserve(t.Context(), p)
		require.Error(t, err)
		require.False(t, v.OK)
		require.Error(t, l.Report(t.Context(), "s", "1", true))
		require.Error(t, l.EndTurn(t.Context(), p))
	}
	_, err := limits.New(limits.Config{}, nil)
	require.Error(t, err)
}

// A second Limiter over the same Store goes on counting, with its own numbers.
func TestReconfigure(t *testing.T) {
	store := limits.NewMemory(limits.MemoryOptions{})
	p := proposal("1", "a")
	for i, calls := range []int{3, 3, 1, 4} {
		l, err := limits.New(limits.Config{Agent: limits.AgentConfig{Calls: calls}}, store)
		require.NoError(t, err)
		p.ID = fmt.Sprint(i)
		v, err := l.Reserve(t.Context(), p)
		require.NoError(t, err)
		require.Equal(t, calls != 1, v.OK)
	}
}

// Of many agents that propose at once, a turn lets exactly its number through.
func TestReserveConcurrently(t *testing.T) {
	b := newLimiter(t, limits.Config{})
	var ok, turn atomic.Int64
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() {
			p := proposal("1", fmt.Sprint(i))
			p.ID = fmt.Sprint(i)
			v, err := b.Reserve(t.Context(), p)
			switch {
			case err == nil && v.OK:
				ok.Add(1)
			case err == nil && v.Code == limits.CodeTurnCalls:
				turn.Add(1)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 30, ok.Load())
	require.EqualValues(t, 970, turn.Load())
}

// Other counts hold from the next proposal on, for agents and turns under way too; a mistake changes nothing.
func TestSetCounts(t *testing.T) {
	l, err := limits.New(limits.Config{Agent: limits.AgentConfig{Calls: 3}}, limits.NewMemory(limits.MemoryOptions{}))
	require.NoError(t, err)
	n := 0
	reserve := func() limits.Verdict {
		n++
		v, err := l.Reserve(t.Context(), limits.Proposal{ID: fmt.Sprint(n), User: "u", Conversation: "c", Turn: "t", Agent: "a"})
		require.NoError(t, err)
		return v
	}
	require.True(t, reserve().OK)
	require.True(t, reserve().OK)
	require.NoError(t, l.SetCounts(limits.Config{Agent: limits.AgentConfig{Calls: 2}}))
	require.Equal(t, limits.CodeAgentCalls, reserve().Code)
	require.NoError(t, l.SetCounts(limits.Config{Agent: limits.AgentConfig{Calls: 9}, Turn: limits.TurnConfig{Calls: 3}}))
	require.True(t, reserve().OK)
	require.Equal(t, limits.CodeTurnCalls, reserve().Code)
	var fault limits.PathError
	require.ErrorAs(t, l.SetCounts(limits.Config{Agent: limits.AgentConfig{Calls: -1}}), &fault)
	require.Equal(t, limits.CodeTurnCalls, reserve().Code)
	require.Error(t, (*limits.Limiter)(nil).SetCounts(limits.Config{}))
}

// The number that is configured binds an agent whose dispatch asked for more, and does so from the next proposal on
// where it is exchanged.
func TestConfiguredCallsBindWhatWasAskedFor(t *testing.T) {
	l, err := limits.New(limits.Config{Agent: limits.AgentConfig{Calls: 12}}, limits.NewMemory(limits.MemoryOptions{}))
	require.NoError(t, err)
	n := 0
	reserve := func() limits.Verdict {
		n++
		v, err := l.Reserve(t.Context(), limits.Proposal{
			ID: fmt.Sprint(n), User: "u", Conversation: "c", Turn: "t", Agent: "a", AgentCalls: 15,
		})
		require.NoError(t, err)
		return v
	}
	require.Equal(t, 12, reserve().Limit)
	require.True(t, reserve().OK)
	require.NoError(t, l.SetCounts(limits.Config{Agent: limits.AgentConfig{Calls: 3}}))
	require.Equal(t, limits.Verdict{OK: true, Limit: 3, Used: 3}, reserve())
	require.Equal(t, limits.Verdict{Code: limits.CodeAgentCalls, Limit: 3, Used: 3}, reserve())
}
