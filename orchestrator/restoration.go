package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/loop"
	"github.com/vedette-dev/vedette/sentinel"
)

// restoration brings a turn to where its last round record left it.
type restoration struct {
	turn  *turn
	saved savedTurn
}

// lastRound is the newest round record of the turn.
func (r *restoration) lastRound() roundRecord { return r.saved.rounds[len(r.saved.rounds)-1] }

// restoreRounds gives the turn its messages and counts back.
func (r *restoration) restoreRounds() {
	last := r.lastRound()
	whole := loop.Round{Counts: loop.Counts{
		Questions: last.Questions, Records: len(r.saved.rounds), Proposed: last.Proposed, Omitted: last.Omitted,
		WithoutTools: last.WithoutTools, Nudged: last.Nudged,
	}}
	for _, round := range r.saved.rounds {
		whole.Messages = append(whole.Messages, round.Messages...)
	}
	if n := len(whole.Messages); n > 0 {
		whole.Calls = whole.Messages[n-1].ToolCalls
	}
	r.turn.loop.Restore(whole, last.Hidden)
}

// replayCalls restores the turn's desk and repeats, in order, what its calls did to the turn.
func (r *restoration) replayCalls(ctx context.Context) error {
	t, last := r.turn, r.lastRound()
	found, err := t.desk.Resume(ctx, last.Proposed, len(t.loop.CallsLeft()))
	if err != nil {
		return err
	}
	t.proposed = map[int]string{}
	for _, p := range found {
		t.proposed[p.Number] = p.Skill
		did := p.Status == sentinel.StatusOK || p.Status == sentinel.StatusUnknown && p.Number < last.Proposed
		if !p.Allowed || !isNativeSkill(p.Skill) || !did {
			continue
		}
		t.desk.TaintAs(taintOf(p.Tainted, p.TaintedBefore))
		var a dispatchArgs
		if json.Unmarshal([]byte(p.Args), &a) != nil {
			return fmt.Errorf("%w: what an agent was told is gone", errLost)
		}
		if err := r.replayCall(p, a); err != nil {
			t.log.Warn("a call of before the restart can't be done again", "call", p.CallID, "skill", p.Skill)
		}
	}
	t.desk.TaintAs(taintOf(last.Tainted, last.TaintedBefore))
	for _, id := range last.Asking {
		if k := t.findAgent(id); k != nil {
			k.asked = true
		}
	}
	return nil
}

// replayCall repeats one call of the turn's. Messages to agents wait until restoreAgents knows
// which agents go on.
func (r *restoration) replayCall(p sentinel.Past, a dispatchArgs) error {
	t := r.turn
	if p.Skill == skillDispatch {
		_, err := t.enlistAgent(p.JudgedID, a)
		return err
	}
	k := t.findAgent(a.AgentID)
	if k == nil {
		return errLost
	}
	w := orchestratorWord{id: p.JudgedID, text: a.Message}
	if p.Skill == skillExtend {
		list, err := t.widenGrant(k, a)
		if err != nil {
			return err
		}
		w.skills, w.answer = list, true
	}
	k.desk.Hear(t.desk)
	k.words = append(k.words, w)
	return nil
}

// restoreAgents gives the agents back what they had written down.
func (r *restoration) restoreAgents(ctx context.Context) error {
	t := r.turn
	for _, round := range r.saved.rounds {
		for i := range round.Ended {
			if k := t.findAgent(round.Ended[i].Agent); k != nil {
				k.ended, k.recorded = &round.Ended[i], true
			}
		}
	}
	for _, k := range t.agents {
		if err := r.restoreAgent(ctx, k); err != nil {
			return err
		}
	}
	for _, k := range t.agents { // which results had come up can't be told any more
		t.desk.Hear(k.desk)
	}
	return nil
}

// restoreAgent restores an agent's rounds, end and taint, and resumes its desk. It starts no
// process. An agent without rounds gets its earlier messages as context.
func (r *restoration) restoreAgent(ctx context.Context, k *agentRun) error {
	grant := k.desk.Grant().ID()
	if end, ok := r.saved.ends[grant]; ok {
		k.described.Store(true)
		k.desk.TaintAs(taintOf(end.Tainted, end.Before))
		if k.ended == nil {
			k.ended = &end.Result
		}
	}
	for _, round := range r.saved.agents[grant] {
		k.rounds = append(k.rounds, round.Round)
		k.desk.TaintAs(taintOf(round.Tainted, round.Before))
	}
	if n := len(k.rounds); n > 0 {
		last := k.rounds[n-1]
		_, err := k.desk.Resume(ctx, last.Proposed, len(last.Queue))
		return err
	}
	for _, w := range k.words { // it had not begun: it begins with all of them
		k.addContext(w)
	}
	k.words = nil
	return nil
}

// recountSpending takes what was spent before a restart: by the turn's own questions
// and by its agents. Where the whole program is new it is counted again: a crash
// of the conversation, or of the supervisor of all, has left the counts as they
// were. It runs in the task that reads the journal.
func (r *restoration) recountSpending(ctx context.Context, count bool) {
	t := r.turn
	recount := func(agent string, spent *llm.Spent, s Spent, id string) {
		if s.Tokens == 0 && s.Cost == 0 {
			return
		}
		spent.Add(s.Tokens, s.Cost, s.Estimated)
		if !count {
			return
		}
		who := callerOf(t.desk.Grant(), agent, nil)
		who.ID = id + ":before"
		t.spending.parts.Spend(ctx, who, s.Tokens, s.Cost)
	}
	recount("", &t.spent, r.lastRound().Spent, t.desk.Grant().ID())
	agents := r.saved.sumAgentSpending()
	for _, k := range t.agents {
		id := k.desk.Grant().ID()
		recount(id, &k.spent, agents[id], id)
	}
}
