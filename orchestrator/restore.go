package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/orchestrator/history"
	"github.com/vedette-dev/vedette/sentinel"
)

// restorer reads conversations back from the journal, with the turns under way.
type restorer struct {
	*turnNeeds
	unwanted sync.Map // turns whose end is still to be written, by id
}

// recallConversation reads a conversation. user is the owner of a new one; crashed is set
// where the process before crashed. It runs in a task: nothing here touches a process.
func (r *restorer) recallConversation(ctx context.Context, id, user string, crashed bool) (recalledConversation, error) {
	r.tune.reachPlace("recall")
	row, known, err := r.journal.Get(ctx, id)
	if err != nil {
		return recalledConversation{}, err
	}
	if !known {
		return r.recallUnknown(ctx, id, user, crashed)
	}
	m := recalledConversation{user: row.User, tainted: row.Tainted}
	if m.earlier, err = r.readEarlierTurns(ctx, row); err != nil || row.Turn == "" {
		return m, err
	}
	about := history.Turn{Conversation: id, User: row.User, Turn: row.Turn}
	if over, err := r.giveUpUnwanted(ctx, about); over {
		return m, err
	}
	tries, err := r.countAttempt(ctx, about, row, crashed)
	if err != nil {
		return m, err
	}
	err = errLost
	if tries <= maxLives {
		m.turn, err = r.restoreTurn(ctx, row, m.earlier)
	}
	if errors.Is(err, errLost) {
		r.log.Warn("a request can't be gone on with", "conversation", id, "turn", row.Turn, "attempts", tries)
		m.turn, err = nil, r.endLostTurn(ctx, about)
	}
	return m, err
}

// recallUnknown reads a conversation that no row knew: a new one, unless something
// was said in it. That belongs to no user, and is tainted for all that is known. A
// crashed process may have left a write under way, so the row may be there by now.
func (r *restorer) recallUnknown(ctx context.Context, id, user string, crashed bool) (recalledConversation, error) {
	orphan, err := r.journal.Orphaned(ctx, id, keptRequest, keptAnswer, keptAgent, recordOpen, recordRound,
		recordEnd, recordAgentRound, recordAgentEnd)
	if orphan {
		r.log.Error("a conversation has history and no owner, so no user may open it; purge it with vedette journal purge --conversation",
			"conversation", id)
	}
	if err != nil || orphan {
		return recalledConversation{user: user, orphan: orphan, tainted: orphan}, err
	}
	_, known, err := r.journal.Get(ctx, id)
	if known {
		return r.recallConversation(ctx, id, user, crashed)
	}
	return recalledConversation{user: user}, err
}

// endLostTurn ends a turn that can't be gone on with.
func (r *restorer) endLostTurn(ctx context.Context, about history.Turn) error {
	r.spending.dropMark(about.Turn)
	r.journal.endHeldCalls(ctx, about, nil, "", "its turn can't be gone on with")
	end := endRecord{V: recordVersion, Failure: failedInterrupted}
	return r.journal.End(ctx, about, history.NewItem(recordEnd, end))
}

// readEarlierTurns reads what the model is shown of earlier turns, what the user said in them
// and what strangers did. A turn that isn't understood is left out, with all before it.
func (r *restorer) readEarlierTurns(ctx context.Context, row history.Conversation) (earlierTurns, error) {
	var shown [][]llm.Message
	var said []sentinel.EarlierTurn
	var strange []sentinel.Step
	var results []sentinel.PastResult
	n, bytes := 0, 0
	err := r.journal.Newest(ctx, row.User, row.ID, recordEnd, func(data []byte) bool {
		var end endRecord
		if json.Unmarshal(data, &end) != nil || end.V != recordVersion {
			return false
		}
		if n < maxHistory && bytes <= maxHistoryBytes {
			shown = append(shown, slices.Concat(end.Imported, end.Messages))
			n, bytes = n+len(end.Messages), bytes+countBytes(end.Messages)
		}
		if end.Failure == "" && len(said) < sentinel.MaxEarlierTurns {
			said, strange = append(said, end.readSaid()), append(end.readStrange(), strange...)
			results = append(end.readResults(), results...)
		}
		return n < maxHistory && bytes <= maxHistoryBytes || len(said) < sentinel.MaxEarlierTurns
	})
	var out []llm.Message
	for _, turn := range slices.Backward(shown) {
		out = append(out, turn...)
	}
	slices.Reverse(said)
	return earlierTurns{
		trimHistory(out), sentinel.KeepNewestTurns(said), sentinel.KeepNewestResults(strange), sentinel.KeepPastResults(results),
	}, err
}

// restoreTurn makes the turn that was under way, up to the last round that was written
// down. Grants, taint and budgets are those that were recorded; what isn't certain is
// taken for tainted. What was spent is counted again where another process did.
func (r *restorer) restoreTurn(ctx context.Context, row history.Conversation, earlier earlierTurns) (*turn, error) {
	items, err := r.journal.Items(ctx, history.Turn{Conversation: row.ID, User: row.User, Turn: row.Turn})
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
	t, err := newTurn(r.turnNeeds, row.ID, row.User, s.text, s.open, earlier)
	if err != nil || t.id != row.Turn {
		return nil, errors.Join(err, errLost)
	}
	if len(s.rounds) == 0 {
		r.spending.markCounted(t.id) // nothing yet
		return t, nil
	}
	again := &restoration{t, s}
	again.restoreRounds()
	if err := again.replayCalls(ctx); err != nil {
		return nil, err
	}
	if err := again.restoreAgents(ctx); err != nil {
		return nil, err
	}
	again.recountSpending(ctx, !r.spending.markCounted(t.id))
	return t, nil
}

// countAttempt counts that a turn is about to be resumed. It returns how much was counted
// since the turn last got further. One that broke off because the store was down counts
// nothing, but it waits: models were asked for nothing.
func (r *restorer) countAttempt(ctx context.Context, about history.Turn, row history.Conversation, crashed bool) (int, error) {
	breaks, excused := r.outages.countBreaks(row.ID)
	counts, pause := 1, r.attemptPause(row.Attempts-freeAttempts)
	switch {
	case excused:
		counts, pause = 0, r.attemptPause(breaks-2)
	case crashed:
		counts, pause = crashCounts, 0 // its supervisor has an intensity
	}
	if row.Attempts+counts > maxLives {
		pause = 0 // it is not tried any more
	}
	if pause > 0 {
		r.log.Warn("a request waits before its next attempt: the attempts before made no progress", "conversation", row.ID,
			"turn", row.Turn, "attempts", row.Attempts, "pause", pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
	tries, err := r.journal.Attempt(ctx, about, counts)
	if err == nil {
		r.outages.noteAttempt(row.ID)
	}
	return tries, err
}

// attemptPause returns the pause before the n-th attempt that has one, from 0. Each is drawn, so
// that turns don't all begin at the same moment again. They are computed
// here and not by internal/backoff, since this package may import no more than it does.
func (r *restorer) attemptPause(n int) time.Duration {
	if n < 0 {
		return 0
	}
	d := min(r.tune.pause<<min(n, 16), maxPause)
	return d + rand.N(d)
}

// These bounds say how often a turn is resumed without progress: a turn must not
// break its process for ever. A crash of the turn's own process is likely the turn's
// doing, and counts as several starts of the program. An end of the program may have
// any cause, and every turn under way would pay for that end.
//
// For the same reason a start counts only once the turn is tried. From the fifth
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

// requestWake asks the recovery to wake a conversation.
func (r *restorer) requestWake(id, user string) {
	if pid, ok := r.sys.Whereis("recovery"); ok {
		pid.Send(wakeRequest{row: history.Conversation{ID: id, User: user}})
	}
}

// requestWakeIfUnfinished asks the recovery to wake a conversation whose processes have
// ended. The recovery wakes it only if they left a request behind: no caller may ever ask
// for that request.
func (r *restorer) requestWakeIfUnfinished(id string) {
	if pid, ok := r.sys.Whereis("recovery"); ok {
		pid.Send(wakeRequest{row: history.Conversation{ID: id}, ifUnfinished: true})
	}
}

// giveUpUnwanted ends a turn that no caller wants any more. It reports false for other
// turns.
func (r *restorer) giveUpUnwanted(ctx context.Context, about history.Turn) (bool, error) {
	if _, ok := r.unwanted.Load(about.Turn); !ok {
		return false, nil
	}
	err := r.endLostTurn(ctx, about)
	if err == nil {
		r.unwanted.Delete(about.Turn)
	}
	return true, err
}

// noteUnwanted remembers a turn that no caller wants any more, and whose end is still
// to be written.
func (r *restorer) noteUnwanted(turn string) { r.unwanted.Store(turn, struct{}{}) }
