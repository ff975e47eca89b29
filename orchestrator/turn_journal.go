package orchestrator

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/vedette-dev/vedette/orchestrator/history"
	"github.com/vedette-dev/vedette/sentinel"
)

// withdrawTime bounds how long the end of a turn waits for its questions to end.
const withdrawTime = 5 * time.Second

// turnJournal is where turns keep what a restart needs, and end what waits for people.
type turnJournal struct {
	*history.History
	parts heldCallEnder
	log   *slog.Logger
}

// heldCallEnder ends on record the calls that wait for a person: assembly.Parts.
type heldCallEnder interface {
	EndHeldCalls(ctx context.Context, conversation, turn, grant, reason string) error
}

// endHeldCalls ends, on record, every call of the turn that still waits for a person.
// Those that a crash or an earlier process left behind are among them. With a grant it is
// about the calls under that grant alone. What can't be recorded is logged: the end of a
// turn does not fail for it.
func (j *turnJournal) endHeldCalls(ctx context.Context, about history.Turn, desk *sentinel.Desk, grant, reason string) {
	ctx, cancel := context.WithTimeout(ctx, withdrawTime)
	defer cancel()
	var err error
	if desk != nil {
		err = desk.Withdraw(ctx)
	}
	err = errors.Join(err, j.parts.EndHeldCalls(ctx, about.Conversation, about.Turn, grant, reason))
	if err != nil && ctx.Err() == nil {
		j.log.Error("the end of a held call can't be written down", "conversation", about.Conversation, "turn", about.Turn, "error", err)
	}
}

// readEnd reads how a request ended that was sent before, nil if it has not. A
// text that isn't the one that was sent then is ErrRequest; empty fits all.
func (j *turnJournal) readEnd(ctx context.Context, about history.Turn, text string) (*endRecord, error) {
	items, err := j.Items(ctx, about)
	if err != nil {
		return nil, err
	}
	var s savedTurn // the end alone: of the rest some may be gone
	for _, it := range items {
		if it.Kind != keptRequest && it.Kind != recordEnd {
			continue
		}
		if err := s.takeItem(it); err != nil {
			return nil, err
		}
	}
	if s.end == nil {
		return nil, nil
	}
	if text != "" && s.text != "" && s.text != text {
		return nil, ErrOtherText
	}
	return s.end, nil
}

// withoutTexts is the end of a turn of which the journal has no more than that
// it ended.
type withoutTexts struct{}

// writeEnd writes the end down. Where the store is up and does not take it, it
// writes no more than that the turn has ended: one without an end would be gone
// on with for ever.
func (j *turnJournal) writeEnd(ctx context.Context, about history.Turn, bare endRecord, items []history.Item) (any, error) {
	err := j.End(ctx, about, items...)
	if err == nil || history.Down(err) {
		return nil, err
	}
	j.log.Error("an answer can't be written down; only that the request has ended is", "conversation",
		about.Conversation, "turn", about.Turn, "error", err)
	return withoutTexts{}, j.End(ctx, about, history.NewItem(recordEnd, bare))
}
