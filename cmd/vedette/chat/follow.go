package chat

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/internal/backoff"
	"github.com/vedette-dev/vedette/orchestrator"
)

// againPauses are the pauses before a server that broke off is asked again.
var againPauses = backoff.Pauses{First: 200 * time.Millisecond, Longest: 5 * time.Second, Spread: backoff.Spread{Least: 80, Most: 120}}

// errBrokeOff is a stream that ended before its request did.
var errBrokeOff = errors.New("the stream broke off")

// Send implements Peer. It listens first, so that the answer streams. Where the stream breaks off, the
// message is sent again under its id, which says how far it is: the server works on it once.
func (s *server) Send(ctx context.Context, id, text string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f := follower{server: s, id: id, text: text, yield: yield}
		for n := 0; ; n++ {
			err := f.follow(ctx)
			switch {
			case f.over || ctx.Err() != nil:
				return
			case !canComeAgain(err) || n == 0 && !f.begun:
				yield(Event{}, err)
				return
			}
			if !yield(Event{Kind: orchestrator.EventGap}, nil) || !backoff.Wait(ctx, againPauses.Pause(n)) {
				return
			}
		}
	}
}

// canComeAgain reports whether the server may answer later: it can't be reached, or has no room.
func canComeAgain(err error) bool {
	var refused *ServerError
	var away *unreachableError
	return errors.Is(err, errBrokeOff) || errors.As(err, &away) ||
		errors.As(err, &refused) && (refused.Status == http.StatusTooManyRequests || refused.Status >= http.StatusInternalServerError)
}

// follower follows one request.
type follower struct {
	*server
	id, text string
	yield    func(Event, error) bool
	begun    bool // the server has the request
	over     bool // it has ended, or the reader left
}

// follow listens, sends and yields until the request is over or the stream breaks off.
func (f *follower) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	res, err := f.open(ctx, http.MethodGet, f.path("/events?after="+strconv.FormatInt(f.last, 10)), nil)
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // it was read
	if err := f.post(ctx); err != nil || f.over {
		return err
	}
	for e := range readStream(res.Body) {
		if err := f.take(ctx, e); err != nil || f.over {
			return err
		}
	}
	return errBrokeOff
}

// post sends the message and yields its answer where there is one.
func (f *follower) post(ctx context.Context) error {
	body := struct {
		Text    string `json:"text"`
		Request string `json:"request_id"`
		Wait    int    `json:"wait_seconds"`
	}{f.text, f.id, 0}
	var state struct {
		Reply *Reply `json:"reply"`
	}
	if err := f.ask(ctx, http.MethodPost, f.path("/messages"), body, &state); err != nil {
		return err
	}
	f.begun = true
	if state.Reply != nil {
		f.over = true
		f.yield(Event{Kind: orchestrator.EventReply, Request: f.id, Reply: state.Reply}, nil)
	}
	return nil
}

// take yields an event, where it is one of the request.
func (f *follower) take(ctx context.Context, e Event) error {
	if e.ID > 0 {
		f.last = e.ID
	}
	switch {
	case e.Kind == orchestrator.EventGap: // the answer may have been in it
		return f.post(ctx)
	case e.Kind == orchestrator.EventFailure && e.Request == "" && e.ID == 0: // the stream's own end
		return errBrokeOff
	case e.Request != f.id:
		return nil
	}
	f.over = !f.yield(e, nil) || e.Kind == orchestrator.EventReply || e.Kind == orchestrator.EventFailure
	return nil
}

// readStream yields the events of a stream until it ends. What can't be read ends it.
func readStream(body io.Reader) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		lines := bufio.NewScanner(body)
		lines.Buffer(nil, maxAnswer)
		for lines.Scan() {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue // the id and the kind are in the data, and comments say nothing
			}
			var e Event
			if json.Unmarshal([]byte(data), &e) != nil || !yield(e) {
				return
			}
		}
	}
}
