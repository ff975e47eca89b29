package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"math/rand/v2"
	"time"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/orchestrator/history"
	"github.com/vedette-dev/vedette/sentinel"
)

// recallConversation reads a conversation. user is whose it is if it is new; crashed is
// set where the process before crashed. It runs in a task: nothing here touches
// a process.
func (o *Orchestrator) recallConversation(ctx context.Context, id, user string, crashed bool) (recalledConversation, error) {
	o.reachPlace("recall")
	row, known, err := o.kept.Get(ctx, id)
	if err != nil {
		return recalledConversation{}, err
	}
	if !known {
		return o.recallUnknown(ctx, id, user, crashed)
	}
	m := recalledConversation{user: row.User, tainted: row.Tainted}
	if m.said, err = o.readEarlierTurns(ctx, row); err != nil || row.Turn == "" {
		return m, err
	}
	about := history.Turn{Conversation: id, User: row.User, Turn: row.Turn}
	if over, err := o.giveUpUnwanted(ctx, about); over {
		return m, err
	}
	tries, err := o.countAttempt(ctx, about, row, crashed)
	if err != nil {
		return m, err
	}
	err = errLost
	if tries <= maxLives {
		m.turn, err = o.restoreTurn(ctx, row, m.said)
	}
	if errors.Is(err, errLost) {
		o.log.Warn("a request can't be gone on with", "conversation", id, "turn", row.Turn, "attempts", tries)
		m.turn, err = nil, o.endLostTurn(ctx, about)
	}
	return m, err
}

// recallUnknown reads a conversation that no row knew: a new one, unless something
// was said in it. That belongs to no user, and is tainted for all that is known. A
// crashed process may have left a write under way, so the row may be there by now.
func (o *Orchestrator) recallUnknown(ctx context.Context, id, user string, crashed bool) (recalledConversation, error) {
	orphan, err := o.kept.Orphaned(ctx, id, keptRequest, keptAnswer, keptAgent, recordOpen, recordRound,
		recordEnd, recordAgentRound, recordAgentEnd)
	if orphan {
		o.log.Error("a conversation has history and no owner, so no user may open it; purge it with vedette journal purge --conversation",
			"conversation", id)
	}
	if err != nil || orphan {
		return recalledConversation{user: user, orphan: orphan, tainted: orphan}, err
	}
	_, known, err := o.kept.Get(ctx, id)
	if known {
		return o.recallConversation(ctx, id, user, crashed)
	}
	return recalledConversation{user: user}, err
}

// endLostTurn ends a turn that can't be gone on with.
func (o *Orchestrator) endLostTurn(ctx context.Context, about history.Turn) error {
	o.counted.Delete(about.Turn)
	o.endHeldCalls(ctx, about, nil, "", "its turn can't be gone on with")
	end := endRecord{V: recordVersion, Failure: failedInterrupted}
	return o.kept.End(ctx, about, newItem(recordEnd, end))
}

// readEarlierTurns is what the model is shown of earlier turns. A turn that isn't
// understood is left out, with all before it.
func (o *Orchestrator) readEarlierTurns(ctx context.Context, row history.Conversation) ([]llm.Message, error) {
	var turns [][]llm.Message
	n, bytes := 0, 0
	err := o.kept.Newest(ctx, row.User, row.ID, recordEnd, func(data []byte) bool {
		var r endRecord
		if json.Unmarshal(data, &r) != nil || r.V != recordVersion {
			return false
		}
		turns = append(turns, r.Messages)
		n, bytes = n+len(r.Messages), bytes+countBytes(r.Messages)
		return n < maxHistory && bytes <= maxHistoryBytes
	})
	var out []llm.Message
	for i := len(turns) - 1; i >= 0; i-- {
		out = append(out, turns[i]...)
	}
	return trimHistory(out), err
}

// restoreTurn makes the turn that was under way: its desk, its agents and theirs,
// up to the last round that was written down. Grants, taint and budgets are
// those that were recorded; what isn't certain is taken for tainted. What was
// spent is counted again where another process did.
func (o *Orchestrator) restoreTurn(ctx context.Context, row history.Conversation, earlier []llm.Message) (*turn, error) {
	items, err := o.kept.Items(ctx, history.Turn{Conversation: row.ID, User: row.User, Turn: row.Turn})
	if err != nil {
		return nil, err
	}
	s, err := readSavedTurn(items)
	if err != nil {
		return nil, err
	}
	if s.open.V == 0 || s.text == "" {
		return nil, errLost
	}
	t, err := newTurn(o, row.ID, row.User, s.text, s.open, earlier)
	if err != nil || t.id != row.Turn {
		return nil, errors.Join(err, errLost)
	}
	if len(s.rounds) == 0 {
		o.counted.Store(t.id, struct{}{}) // nothing yet
		return t, nil
	}
	for _, r := range s.rounds {
		for _, m := range r.Messages {
			t.addMessage(m)
		}
	}
	r := s.rounds[len(s.rounds)-1]
	t.saved, t.records = len(t.messages), len(s.rounds)
	t.rounds, t.last, t.nudged, t.invokes, t.omitted = r.Rounds, r.Last, r.Nudged, r.Invokes, r.Omitted
	t.calls, t.hidden = orderDispatches(t.messages[len(t.messages)-1].ToolCalls), r.Hidden
	if err := t.replayCalls(ctx, r); err != nil {
		return nil, err
	}
	if err := t.restoreAgents(ctx, s); err != nil {
		return nil, err
	}
	_, counted := o.counted.LoadOrStore(t.id, struct{}{})
	t.recountSpending(ctx, r.Spent, s.sumAgentSpending(), !counted)
	return t, nil
}

// replayCalls brings back the turn's desk and does again, in order, what its calls
// did to the turn.
func (t *turn) replayCalls(ctx context.Context, r roundRecord) error {
	found, err := t.desk.Resume(ctx, r.Invokes, len(t.calls))
	if err != nil {
		return err
	}
	t.proposed = map[int]string{}
	for _, p := range found {
		t.proposed[p.Number] = p.Skill
		did := p.Status == sentinel.StatusOK || p.Status == sentinel.StatusUnknown && p.Number < r.Invokes
		if !p.Allowed || !isNativeSkill(p.Skill) || !did {
			continue
		}
		if p.Tainted {
			t.desk.Taint()
		}
		var a dispatchArgs
		if json.Unmarshal([]byte(p.Args), &a) != nil {
			return fmt.Errorf("%w: what an agent was told is gone", errLost)
		}
		if err := t.replayCall(p, a); err != nil {
			t.o.log.Warn("a call of before the restart can't be done again", "call", p.CallID, "skill", p.Skill)
		}
	}
	if r.Tainted {
		t.desk.Taint()
	}
	for _, id := range r.Asking {
		if k := t.findAgent(id); k != nil {
			k.asked = true
		}
	}
	return nil
}

// replayCall does one call of the turn's again. Words for agents are kept until it is
// known which of them go on.
func (t *turn) replayCall(p sentinel.Past, a dispatchArgs) error {
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
	if t.desk.Tainted() {
		k.desk.Taint()
	}
	k.words = append(k.words, w)
	return nil
}

// restoreAgents gives the agents back what they had written down.
func (t *turn) restoreAgents(ctx context.Context, s savedTurn) error {
	for _, r := range s.rounds {
		for i := range r.Ended {
			if k := t.findAgent(r.Ended[i].Agent); k != nil {
				k.ended, k.recorded = &r.Ended[i], true
			}
		}
	}
	for _, k := range t.members {
		grant := k.desk.Grant().ID()
		if end, ok := s.ends[grant]; ok {
			k.described.Store(true)
			if end.Tainted {
				k.desk.Taint()
			}
			if k.ended == nil {
				k.ended = &end.Result
			}
		}
		for _, r := range s.agents[grant] {
			k.rounds = append(k.rounds, r.Round)
			if r.Tainted {
				k.desk.Taint()
			}
		}
		if n := len(k.rounds); n > 0 {
			last := k.rounds[n-1]
			if _, err := k.desk.Resume(ctx, last.Calls, len(last.Queue)); err != nil {
				return err
			}
			continue
		}
		for _, w := range k.words { // it had not begun: it begins with all of them
			k.addContext(w)
		}
		k.words = nil
	}
	for _, k := range t.members { // which results had come up can't be told any more
		t.desk.Hear(k.desk)
	}
	return nil
}

// countAttempt counts that a turn is about to be resumed, and returns how much was
// counted since it last got further. One that broke off because the store was
// down counts nothing, but it waits: models were asked for nothing.
func (o *Orchestrator) countAttempt(ctx context.Context, about history.Turn, row history.Conversation, crashed bool) (int, error) {
	breaks, excused := o.outages.countBreaks(row.ID)
	counts, pause := 1, o.attemptPause(row.Attempts-freeAttempts)
	switch {
	case excused:
		counts, pause = 0, o.attemptPause(breaks-2)
	case crashed:
		counts, pause = crashCounts, 0 // its supervisor has an intensity
	}
	if row.Attempts+counts > maxLives {
		pause = 0 // it is not tried any more
	}
	if pause > 0 {
		o.log.Warn("a request waits before its next attempt: the attempts before made no progress", "conversation", row.ID,
			"turn", row.Turn, "attempts", row.Attempts, "pause", pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
	tries, err := o.kept.Attempt(ctx, about, counts)
	if err == nil {
		o.outages.noteAttempt(row.ID)
	}
	return tries, err
}

// attemptPause is how long the n-th attempt waits that has to, from 0. They differ, so
// that not all that was under way begins in the same moment again.
func (o *Orchestrator) attemptPause(n int) time.Duration {
	if n < 0 {
		return 0
	}
	d := min(o.tune.pause<<min(n, 16), maxPause)
	return d + rand.N(d)
}

// These bounds say how often a turn is resumed without progress: a turn must not
// break its process for ever. A crash of the turn's own process is likely the turn's
// doing, and counts as several starts of the program. An end of the program may have
// any cause, and every turn under way would pay for that end.
//
// For the same reason a start counts only once the turn is tried. From the fourth
// start without progress on, the turn waits for a while after the start, longer each
// time. So a program that something else ends every moment gives up no accepted
// request. In a program that one request ends each time, the other requests work
// until that request is tried.
const (
	maxAttempts = 3  // after crashes of the conversation's process
	maxLives    = 10 // after starts of the program

	crashCounts  = maxLives / maxAttempts // starts
	freeAttempts = 4                      // that wait for nothing
	defaultPause = 50 * time.Millisecond  // before the one after; each further one waits twice as long
	maxPause     = 5 * time.Second
)
