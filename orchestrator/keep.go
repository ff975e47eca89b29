package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/orchestrator/history"
	"github.com/vedette-dev/vedette/skills"
)

// turnSpace is the namespace of turn ids: one conversation's request ids say
// nothing about another's.
var turnSpace = uuid.MustParse("c1b0a1de-3a6c-5f39-8d5e-70f0a5f0c7b2")

func turnID(conversation, request string) string {
	return uuid.NewSHA1(turnSpace, []byte(conversation+"\n"+request)).String()
}

// memberGrant is the id of an agent's grant: the same again after a restart.
func memberGrant(turnGrant, agent string) string {
	return uuid.NewSHA1(turnSpace, []byte(turnGrant+"\n"+agent)).String()
}

type (
	began      struct{}
	unattended struct{ t *turn }
)

// open writes the request down before anything is done about it. One that was
// sent before and has ended is not begun again: its end is what is answered.
func (t *turn) open(c *otp.Context) {
	kept, about, fresh := t.o.kept, t.about(), t.fresh
	items := []history.Item{{Kind: keptRequest, Data: []byte(t.request)}, item(recordOpen, t.opened)}
	t.o.at("open")
	t.start(c, func(ctx context.Context) (any, error) {
		if !fresh {
			end, err := t.o.endOf(ctx, about, t.request)
			if err != nil || end != nil {
				return end, err
			}
		}
		return began{}, kept.Begin(ctx, about, items...)
	})
}

// endOf reads how a request ended that was sent before, nil if it has not. A
// text that isn't the one that was sent then is ErrRequest; empty fits all.
func (o *Orchestrator) endOf(ctx context.Context, about history.Turn, text string) (*endRecord, error) {
	items, err := o.kept.Items(ctx, about)
	if err != nil {
		return nil, err
	}
	var s saved // the end alone: of the rest some may be gone
	for _, it := range items {
		if it.Kind != keptRequest && it.Kind != recordEnd {
			continue
		}
		if err := s.take(it); err != nil {
			return nil, err
		}
	}
	if s.end == nil {
		return nil, nil
	}
	if text != "" && s.text != "" && s.text != text {
		return nil, errOtherText
	}
	return s.end, nil
}

// begin starts the work on a request that is durable.
func (t *turn) begin(c *otp.Context, m otp.TaskResult) {
	switch v := m.Value.(type) {
	case began:
		t.phase = working
		t.o.counted.Store(t.id, struct{}{})
		if t.abandoned {
			t.end(c, "", ErrCancelled)
			return
		}
		t.watch(c)
		t.think(c)
	case *endRecord:
		t.phase, t.answer, t.err, t.repeated = closing, v.Reply, failureOf(v.Failure), true
		t.v.over(c, t)
	default:
		t.phase, t.err, t.outage = closing, ErrNotKept, history.Down(m.Err)
		t.unkept = t.outage || errors.Is(m.Err, history.ErrUnderWay) // then the journal knows more than this process
		switch {
		case errors.Is(m.Err, ErrRequest):
			t.err = m.Err
		case errors.Is(m.Err, history.ErrOwner):
			t.err = errOtherUser
		}
		t.v.over(c, t)
	}
}

// watch ends a turn that no caller waits for when the turn's time is over. A waiting
// caller has a deadline of its own, and so has a person who is asked.
func (t *turn) watch(c *otp.Context) { c.SendAfter(t.o.tune.turn, unattended{t}) }

func (t *turn) attended(c *otp.Context, m unattended) {
	switch {
	case m.t != t || t.phase != working:
	case len(t.waiters) > 0 || t.holds || t.away ||
		slices.ContainsFunc(t.members, func(k *member) bool { return k.current() == agents.AwaitingApproval }):
		t.watch(c)
	default:
		t.end(c, "", ErrInterrupted)
	}
}

// save writes the round down before any of its calls is made.
func (t *turn) save(c *otp.Context) {
	t.records++
	r := roundRecord{
		V: recordVersion, Number: t.records, Messages: t.messages[t.saved:], Invokes: t.invokes, Rounds: t.rounds,
		Last: t.last, Nudged: t.nudged, Omitted: t.omitted, Tainted: t.desk.Tainted(), Spent: spentOf(&t.spent),
	}
	r.Messages, r.Hidden = t.concealed(r.Messages)
	for _, k := range t.members {
		if res := k.result(); res.State.Done() && !k.recorded {
			k.recorded = true
			r.Ended = append(r.Ended, res)
		}
		if k.wants() != nil {
			r.Asking = append(r.Asking, k.args.AgentID)
		}
	}
	t.saved, t.saving = len(t.messages), true
	about, kept := t.about(), t.o.kept
	t.o.at("save")
	t.start(c, func(ctx context.Context) (any, error) { return began{}, kept.Add(ctx, about, item(recordRound, r)) })
}

func (t *turn) savedRound(c *otp.Context, m otp.TaskResult) {
	t.saving = false
	t.o.at("saved")
	if history.Down(m.Err) {
		t.breakOff(c)
		return
	}
	if m.Err != nil {
		t.end(c, "", ErrNotKept)
		return
	}
	t.o.outages.over(t.v.id)
	t.next(c)
}

// end finishes the turn: agents that still work are cancelled, then answers
// are written down, then the callers are told.
func (t *turn) end(c *otp.Context, text string, err error) {
	switch t.phase {
	case closing:
		return
	case opening: // whether it was written down isn't known yet
		t.abandoned = true
		return
	case admitting:
		t.seat.leave()
		if !t.resumed { // nothing was done about it, or written down
			t.refuse(c, err)
			return
		}
	}
	if t.busy {
		c.CancelTaskFor(t.task, skills.ErrWithdrawn) // the end of the turn is written down
		t.busy = false
	}
	t.foretold(c)
	if t.wait != nil {
		c.CancelTimer(t.wait.timer)
		t.wait = nil
	}
	t.phase, t.err, t.saving = closing, err, false
	t.dropWants()
	t.stopAgents()
	items, about, o, desk, omitted := t.ending(text), t.about(), t.o, t.desk, t.sumOmitted()
	bare := endRecord{V: recordVersion, Request: t.opened.Request, Failure: cmp.Or(failureCode(err), failedNotKept)}
	t.o.at("end")
	t.start(c, func(ctx context.Context) (any, error) {
		o.endHeldCalls(ctx, about, desk, "", "its turn has ended")
		_ = desk.Omit(ctx, omitted) // where the store is away the end can't be kept either
		return o.finish(ctx, about, bare, items)
	})
}

// withoutTexts is the end of a turn of which the journal has no more than that
// it ended.
type withoutTexts struct{}

// finish writes the end down. Where the store is up and does not take it, it
// writes no more than that the turn has ended: one without an end would be gone
// on with for ever.
func (o *Orchestrator) finish(ctx context.Context, about history.Turn, bare endRecord, items []history.Item) (any, error) {
	err := o.kept.End(ctx, about, items...)
	if err == nil || history.Down(err) {
		return nil, err
	}
	o.log.Error("an answer can't be written down; only that the request has ended is", "conversation",
		about.Conversation, "turn", about.Turn, "error", err)
	return withoutTexts{}, o.kept.End(ctx, about, item(recordEnd, bare))
}

// ending is what the journal keeps of the turn's end, for people and for callers
// that ask again. Callers are shown what the journal keeps.
func (t *turn) ending(text string) (items []history.Item) {
	for _, k := range t.members {
		if !k.described.Load() {
			items = append(items, t.describe(k, k.result()))
		}
	}
	end := endRecord{V: recordVersion, Request: t.opened.Request, Failure: failureCode(t.err)}
	if t.err == nil {
		if said := t.messages[t.base:]; size(said) <= maxHistoryBytes { // more is never shown again
			end.Messages, _ = t.concealed(said)
		}
		end.Reply = t.reply(text)
		record := fitting(&end)
		t.answer = end.Reply
		return append(items, history.Item{Kind: keptAnswer, Data: []byte(clip(t.answer.Text, maxKept))}, record)
	}
	return append(items, item(recordEnd, end))
}

// fitting is the record of an end, with its texts cut to what the journal takes.
func fitting(end *endRecord) history.Item {
	whole, record := end.Reply, item(recordEnd, end)
	for n := agents.MaxAnswer / 2; len(record.Data) > maxRecord && n >= minCut; n /= 2 {
		end.Reply.Text, end.Reply.Agents = agents.Cut(whole.Text, n), slices.Clone(whole.Agents)
		for i, a := range whole.Agents {
			end.Reply.Agents[i].Answer = agents.Cut(a.Answer, n)
		}
		record = item(recordEnd, end)
	}
	return record
}

func (t *turn) reply(text string) Reply {
	r := Reply{Turn: t.id, Tainted: t.desk.Tainted(), Took: time.Since(t.started), Spent: t.sum()}
	r.Text, r.Links = t.defang(r.Tainted, text)
	for _, k := range t.members {
		res := k.result()
		text, n := t.defang(k.desk.Tainted(), res.Answer)
		res.Answer, r.Links = text, r.Links+n
		r.Agents = append(r.Agents, res)
	}
	return r
}

// at is a place where tests break the process.
func (o *Orchestrator) at(place string) {
	if o.tune.at != nil {
		o.tune.at(place)
	}
}
