package orchestrator

import (
	"context"
	"iter"
	"time"

	"github.com/vedette-dev/vedette/orchestrator/admission"
	"github.com/vedette-dev/vedette/sentinel"
)

// readersRetry is when a reader may come again that finds too many.
const readersRetry = 10 * time.Second

// EventsFromNow is what Events takes to leave out what has happened before.
const EventsFromNow int64 = -1

// Stream is Send that tells what happens on the way to the answer. It yields the events of this
// request alone: text, agents, calls and approvals as they come, and at the end the reply,
// or the error with an event of kind error. Leaving the loop, or the end of ctx, stops the
// request as it does with Send. A loop that reads slowly costs the request nothing: it
// finds an event of kind gap where it lost its place, and the reply is whole.
//
//	for e, err := range conversation.Stream(ctx, "What is in my mailbox?") {
//		if err != nil {
//			return err
//		}
//		fmt.Print(e.Text)
//	}
func (c *Conversation) Stream(ctx context.Context, text string) iter.Seq2[Event, error] {
	return c.streamRequest(ctx, sendRequest{ID: sentinel.NewID(), Text: text, Fresh: true})
}

// StreamRequest is SendRequest that tells what happens on the way to the answer, as Stream
// does. The request goes on when the loop is left or ctx ends. One that was sent before
// is followed from here on, after the questions of it that wait for a person; one that has ended yields
// its end alone.
func (c *Conversation) StreamRequest(ctx context.Context, r Request) iter.Seq2[Event, error] {
	if !idForm.MatchString(r.ID) {
		return failStream(ErrBadID)
	}
	return c.streamRequest(ctx, sendRequest{ID: r.ID, Text: r.Text, Said: r.Said, Stays: true})
}

// failStream is a stream that ends with an error at once.
func failStream(err error) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) { yield(Event{Kind: EventFailure, Error: DescribeError(err)}, err) }
}

// Events yields what happens in the conversation, of all requests, until the loop
// is left or ctx ends, whose error is then the last. After is the id of the last event that the caller knows:
// the next one follows. Zero begins with the oldest event that is kept, EventsFromNow with the next to
// come. Events that the caller has missed and that are gone are an event of kind gap, with
// an id to resume from. Beside them, pieces of a text whose reply follows may be left out.
//
// The newest 2,048 events are kept while there is a reader, fewer otherwise, and none where
// the conversation rests or the process ended. A conversation has at most 64 readers: one
// more is ErrOverloaded. Close ends all of them with ErrClosed.
func (c *Conversation) Events(ctx context.Context, after int64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		l, err := c.attachReader()
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer c.needs.eventLogs.detachReader(l)
		at := eventPlace(after)
		if after < 0 {
			at = l.newestPlace()
		}
		for {
			list, next, more := l.readEvents(at)
			for _, e := range list {
				if !yield(e, nil) {
					return
				}
			}
			at = next
			if more == nil {
				continue
			}
			select {
			case <-more:
			case <-ctx.Done():
				yield(Event{}, ctx.Err())
				return
			case <-c.needs.ending.done:
				yield(Event{}, ErrClosed)
				return
			}
		}
	}
}

// attachReader returns the conversation's log of events.
func (c *Conversation) attachReader() (*eventLog, error) {
	if c.needs.ending.closed.Load() {
		return nil, ErrClosed
	}
	l, ok := c.needs.eventLogs.attachReader(c.co.User, c.co.ID)
	if !ok {
		return nil, &admission.OverloadedError{What: "readers of events", Of: "conversation", RetryAfter: readersRetry}
	}
	return l, nil
}

// streamRequest sends a request in a goroutine of its own, and yields its events until it
// ends. The goroutine has ended when the loop is left.
func (c *Conversation) streamRequest(ctx context.Context, m sendRequest) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if err := checkRequestText(m.Text); err != nil {
			failStream(err)(yield)
			return
		}
		l, err := c.attachReader()
		if err != nil {
			failStream(err)(yield)
			return
		}
		defer c.needs.eventLogs.detachReader(l)
		ctx, cancel := context.WithCancel(ctx)
		s := requestStream{log: l, request: m.ID, ended: make(chan requestResult, 1)}
		s.open, s.at = l.findOpenQuestions(m.ID)
		gone := make(chan struct{})
		defer func() { cancel(); <-gone }()
		go func() {
			defer close(gone)
			defer func() {
				if recover() != nil {
					c.needs.log.Error("a stream of events broke; its request goes on", "conversation", c.co.ID)
					s.ended <- requestResult{err: ErrInterrupted}
				}
			}()
			reply, err := c.sendAndWait(ctx, m)
			s.ended <- requestResult{reply, err}
		}()
		s.yieldAll(yield)
	}
}

// requestStream is the events of one request, for one reader.
type requestStream struct {
	log     *eventLog
	at      eventPlace
	request string
	open    []Event // questions that were asked before
	ended   chan requestResult
	last    Event // the end that the log has
}

// yieldAll yields the events and then the end.
func (s *requestStream) yieldAll(yield func(Event, error) bool) {
	for _, e := range s.open {
		if !yield(e, nil) {
			return
		}
	}
	for {
		more, ok := s.yieldNew(yield)
		if !ok {
			return
		}
		select {
		case <-more:
		case end := <-s.ended: // whatever belongs to it is in the log by now
			if _, ok := s.yieldNew(yield); ok {
				yield(s.makeEnd(end))
			}
			return
		}
	}
}

// yieldNew yields what has come, false where the reader has left.
func (s *requestStream) yieldNew(yield func(Event, error) bool) (<-chan struct{}, bool) {
	for {
		list, next, more := s.log.readEvents(s.at)
		s.at = next
		for _, e := range list {
			switch {
			case e.Kind != EventGap && e.Request != s.request:
			case e.Kind == EventReply || e.Kind == EventFailure:
				s.last = e
			case !yield(e, nil):
				return nil, false
			}
		}
		if more != nil {
			return more, true
		}
	}
}

// makeEnd is the last event. Its reply is the one that Send returns.
func (s *requestStream) makeEnd(end requestResult) (Event, error) {
	e := s.last
	if e.ID == 0 {
		e = Event{ID: int64(s.at), At: s.log.now().UTC(), Conversation: s.log.conversation, Request: s.request, Turn: end.reply.Turn}
	}
	e.Kind, e.Reply, e.Error = EventReply, &end.reply, nil
	if end.err != nil {
		e.Kind, e.Reply, e.Error = EventFailure, nil, DescribeError(end.err)
	}
	return e, end.err
}
