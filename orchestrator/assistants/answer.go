package assistants

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/orchestrator/problem"
	"github.com/vedette-dev/vedette/orchestrator/threads"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
)

// lastWords is how long what is kept of an answer may take after its client left.
const lastWords = 10 * time.Second

// answer is the work on one request.
type answer struct {
	*Door
	thread  threads.Thread
	conv    *orchestrator.Conversation
	request orchestrator.Request
	foreign []message
	out     writer

	told   string    // of the answer, since it was last withdrawn
	open   []waiting // questions that people have not answered
	since  time.Time // when the first of them was asked; zero where there is none
	asked  bool      // a person was asked about a call of the request
	begun  bool      // the orchestrator works on the request
	ending bool      // nothing more is said
}

// waiting is a question that a person has not answered.
type waiting struct{ id, skill string }

// step is what a source tells: an event, or its end.
type step struct {
	event orchestrator.Event
	err   error
}

// run tells the answer of the request before, where that was not told, and then that of this one.
func (a *answer) run(ctx context.Context) {
	if a.thread.Pending != "" && a.thread.Pending != a.request.ID && !a.tellPending(ctx) {
		return
	}
	a.follow(ctx, func(ctx context.Context, yield func(step) bool) {
		for e, err := range a.conv.StreamRequest(ctx, a.request) {
			if !yield(step{e, err}) {
				return
			}
		}
	})
}

// tellPending tells the answer that the client was not told. It is false where there is none yet, or the
// client left.
func (a *answer) tellPending(ctx context.Context) bool {
	id := a.thread.Pending
	ended := make(chan step, 1)
	asking, cancel := context.WithCancel(ctx)
	done := a.runBeside(asking, ended, func(ctx context.Context, yield func(step) bool) {
		reply, err := a.conv.Reply(ctx, id)
		yield(step{orchestrator.Event{Kind: orchestrator.EventReply, Reply: &reply}, err})
	})
	defer func() { cancel(); <-done }()
	beat, hold := time.NewTicker(a.o.Beat), time.NewTimer(a.o.Hold)
	defer beat.Stop()
	defer hold.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-beat.C:
			if a.out.beat() != nil {
				return false
			}
		case <-hold.C:
			a.sayStillWaiting()
			return false
		case s := <-ended:
			return a.takePending(ctx, s)
		}
	}
}

// takePending tells what became of the request before.
func (a *answer) takePending(ctx context.Context, s step) bool {
	if ctx.Err() != nil {
		return false
	}
	text := "The message before this one was not answered to its end. Ask again for what is still wanted."
	if s.err == nil {
		text = s.event.Reply.Text
	} else if c := orchestrator.DescribeError(s.err).Code; c == orchestrator.CodeTimeout || c == orchestrator.CodeOverloaded {
		a.out.fail(*a.explain(ctx, s.err))
		return false
	}
	if err := a.threads.KeepPending(ctx, a.thread, "", nil); err != nil {
		a.out.fail(*a.explain(ctx, err))
		return false
	}
	return a.out.say(text+paragraph) == nil
}

// sayStillWaiting ends an answer because the one before it still waits.
func (a *answer) sayStillWaiting() {
	text := "The message before this one is still being worked on. This one was not taken: send it again later."
	open := a.listOpen()
	if len(open) > 0 {
		text = "The message before this one still waits for a person. This one was not taken: send it again when that is answered."
	}
	for _, id := range open {
		text += "\n" + a.linkTo(id)
	}
	_ = a.out.say(text) // the end finds out whether the client left
	a.keepSaid([]message{{"user", a.request.Text}, {"assistant", a.out.said()}})
	a.out.end(orchestrator.Spent{})
}

// listOpen lists the questions that the conversation waits for: of the inbox, or as they were told where
// the program has an approver of its own.
func (a *answer) listOpen() (ids []string) {
	in := a.o.Orchestrator.Parts().Inbox
	if in == nil {
		return a.thread.Approvals
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	list, err := in.List(ctx, approval.Filter{Conversation: a.thread.Conversation, User: a.thread.User, Limit: maxListed})
	if err != nil {
		a.o.Log.Warn("the questions of a conversation can't be listed", "error", err)
	}
	for _, i := range list {
		ids = append(ids, i.ID)
	}
	return ids
}

// maxListed is how many questions one answer names.
const maxListed = 20

// paragraph stands between two texts.
const paragraph = "\n\n"

// runBeside feeds steps from a goroutine of its own until the source ends or ctx does. The channel that it
// returns is closed then.
func (a *answer) runBeside(ctx context.Context, to chan<- step, source func(context.Context, func(step) bool)) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		yield := func(s step) bool {
			select {
			case to <- s:
				return true
			case <-ctx.Done():
				return false
			}
		}
		defer func() {
			if recover() != nil {
				a.o.Log.Error("an answer broke; please report it", "request_id", problem.RequestID(ctx), "stack", string(debug.Stack()))
				yield(step{err: orchestrator.ErrInterrupted})
			}
		}()
		source(ctx, yield)
	}()
	return done
}

// follow tells what the source tells, until it ends, the client leaves, or a person has to be waited for too long.
func (a *answer) follow(ctx context.Context, source func(context.Context, func(step) bool)) {
	steps := make(chan step)
	following, cancel := context.WithCancel(ctx)
	done := a.runBeside(following, steps, source)
	defer func() { cancel(); <-done }()
	beat := time.NewTicker(min(a.o.Beat, a.o.Hold))
	defer beat.Stop()
	for !a.ending {
		var err error
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-beat.C:
			if err = a.out.beat(); err == nil && !a.since.IsZero() && time.Since(a.since) >= a.o.Hold {
				a.leaveOpen(cancel)
			}
		case s := <-steps:
			err = a.take(ctx, s)
		}
		if err != nil {
			a.onLeft(cancel)
			return
		}
	}
}

// take tells one step.
func (a *answer) take(ctx context.Context, s step) error {
	if ctx.Err() != nil { // it came with the end of the caller
		return ctx.Err()
	}
	e := s.event
	if s.err != nil || e.Kind == orchestrator.EventFailure {
		a.onFailure(ctx, s.err)
		return nil //nolint:nilerr // the client was told, and is there
	}
	a.begun = true
	switch e.Kind {
	case orchestrator.EventText:
		if a.out.live() {
			a.told += e.Text
			return a.out.say(e.Text)
		}
	case orchestrator.EventWithdrawn:
		return a.endParagraph()
	case orchestrator.EventApproval:
		return a.onApproval(ctx, e)
	case orchestrator.EventReply:
		return a.onReply(ctx, e.Reply)
	}
	return nil
}

// endParagraph ends the paragraph of text that was told and is not the answer.
func (a *answer) endParagraph() error {
	if a.told == "" {
		return nil
	}
	a.told = ""
	return a.out.say(paragraph)
}

// onApproval tells that a person is asked, or notes that the question is over.
func (a *answer) onApproval(ctx context.Context, e orchestrator.Event) error {
	is := func(w waiting) bool { return w.id == e.Approval }
	if e.Step == nil || e.Step.Outcome != sentinel.Ask.String() {
		if a.open = slices.DeleteFunc(a.open, is); len(a.open) == 0 {
			a.since = time.Time{}
		}
		return nil
	}
	if slices.ContainsFunc(a.open, is) {
		return nil
	}
	w := waiting{e.Approval, e.Step.Skill}
	if a.open = append(a.open, w); a.since.IsZero() {
		a.since = time.Now()
	}
	a.asked = true
	if err := a.keepPending(ctx); err != nil { // now: the client may leave, or the program end
		a.explain(ctx, err)
	}
	if !a.out.live() {
		return nil
	}
	if err := a.endParagraph(); err != nil {
		return err
	}
	return a.out.say(a.describeWaiting(w) + paragraph)
}

// describeWaiting says that a call waits for a person. The link is ours: no part of it was written by a model.
func (a *answer) describeWaiting(w waiting) string {
	return "**Approval needed**: `" + cmp.Or(w.skill, "a call") + "` waits for a person: " + a.linkTo(w.id)
}

// linkTo is the address of a question's page.
func (a *answer) linkTo(id string) string { return a.o.PublicURL + "/approvals/" + url.PathEscape(id) }

// onReply tells what of the answer was not told, and ends.
func (a *answer) onReply(ctx context.Context, r *orchestrator.Reply) error {
	a.ending = true
	rest, follows := strings.CutPrefix(r.Text, a.told)
	if !follows { // events were missed
		if err := a.endParagraph(); err != nil {
			return err
		}
		rest = r.Text
	}
	if err := a.out.say(rest); err != nil {
		return err
	}
	a.keepAll()
	if a.asked {
		if err := a.threads.KeepPending(context.WithoutCancel(ctx), a.thread, "", nil); err != nil {
			a.explain(ctx, err)
		}
	}
	a.out.end(r.Spent)
	return nil
}

// onFailure ends the answer with an error. A request that takes longer than callers wait goes on.
func (a *answer) onFailure(ctx context.Context, err error) {
	a.ending = true
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		a.keepOpen("It takes longer. Send a message later to read the answer.")
		return
	}
	if a.begun {
		a.keepSaid([]message{{"user", a.request.Text}})
	}
	f := a.explain(ctx, err)
	if errors.Is(err, orchestrator.ErrOverloaded) {
		f.Again = !a.begun
	}
	a.out.fail(*f)
}

// leaveOpen ends an answer that a person has to be waited for. The turn goes on, and the next message finds what
// became of it.
func (a *answer) leaveOpen(leave context.CancelFunc) {
	a.ending = true
	leave()
	if !a.out.live() {
		for _, w := range a.open {
			_ = a.out.say(a.describeWaiting(w) + "\n") // one answer has no reader before its end
		}
	}
	a.keepOpen("The answer waits for that. Send a message when it is decided.")
}

// keepOpen writes down that the answer was not told, and ends with a text that says so.
func (a *answer) keepOpen(text string) {
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	if err := a.keepPending(ctx); err != nil {
		a.out.fail(*a.explain(ctx, err))
		return
	}
	_ = a.out.say(text) // the end finds out whether the client left
	a.keepAll()
	a.out.end(orchestrator.Spent{})
}

// keepPending writes down that the answer was not told, and the questions that it waits for.
func (a *answer) keepPending(ctx context.Context) error {
	ids := make([]string, 0, len(a.open))
	for _, w := range a.open {
		ids = append(ids, w.id)
	}
	return a.threads.KeepPending(ctx, a.thread, a.request.ID, ids)
}

// onLeft stops a request whose client left, unless a person was asked: then the next message finds the answer.
func (a *answer) onLeft(leave context.CancelFunc) {
	leave()
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	if a.asked {
		a.keepAll()
		return
	}
	a.keepSaid([]message{{"user", a.request.Text}, {"assistant", a.out.said()}})
	if err := a.conv.Cancel(ctx, a.request.ID); err != nil && !errors.Is(err, orchestrator.ErrUnknownRequest) {
		a.explain(ctx, err)
	}
}

// keepAll notes what was said: it is recognised when the client sends it again.
func (a *answer) keepAll() {
	a.keepSaid(append(slices.Clone(a.foreign), message{"user", a.request.Text}, message{"assistant", a.out.said()}))
}

// keepSaid notes messages. Where that fails they are taken for the client's, which is safe.
func (a *answer) keepSaid(list []message) {
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	if err := a.threads.KeepSaid(ctx, a.thread, tellSaid(list)); err != nil {
		a.o.Log.Warn("what was said to a chat interface can't be written down; it will be taken for the client's", "error", err)
	}
}

// tellSaid is messages as the threads take them.
func tellSaid(list []message) []threads.Said {
	out := make([]threads.Said, len(list))
	for i, m := range list {
		out[i] = threads.Said{Role: m.role, Text: m.text}
	}
	return out
}
