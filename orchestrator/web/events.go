package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/vedette-dev/vedette/orchestrator"
)

// chatEvent is an event as the page's script reads it. Its texts have marks in place of what no screen
// shows, and the script puts them down as text.
type chatEvent struct {
	Kind     string `json:"kind"`
	Request  string `json:"request,omitempty"`
	Text     string `json:"text,omitempty"`
	Agent    string `json:"agent,omitempty"`
	State    string `json:"state,omitempty"`
	Skill    string `json:"skill,omitempty"`
	Outcome  string `json:"outcome,omitempty"`
	Why      string `json:"why,omitempty"`
	Approval string `json:"approval,omitempty"`
}

// newChatEvent is an event for the page.
func newChatEvent(e orchestrator.Event) chatEvent {
	out := chatEvent{Kind: string(e.Kind), Request: e.Request, Text: markText(e.Text), Approval: e.Approval}
	if a := e.Agent; a != nil {
		out.Agent, out.State, out.Why = markText(a.Agent), string(a.State), markText(a.Reason)
	}
	if st := e.Step; st != nil {
		out.Agent, out.Skill, out.Outcome = markText(st.Agent), markText(st.Skill), st.Outcome
		if st.Status != "" {
			out.Outcome = st.Status
		}
		if st.Refusal != nil {
			out.Why = markText(st.Refusal.Reason)
		}
	}
	if e.Error != nil {
		out.Why = markText(e.Error.Message)
	}
	return out
}

const (
	// writeTimeout is how long a browser may take to read an event.
	writeTimeout = 10 * time.Second
	// keepOpen is how many beats a stream is still before it gets a comment.
	keepOpen = 15
)

// onEvents streams what happens in a conversation, until the browser leaves, the session ends or the
// pages close.
func (s chat) onEvents(w http.ResponseWriter, r *http.Request, v *visitor) {
	user, ok := s.findUser(w, r, v)
	if !ok {
		return
	}
	select {
	case s.followers <- struct{}{}:
		defer func() { <-s.followers }()
	default:
		s.showChatFailure(w, r, v, orchestrator.ErrOverloaded)
		return
	}
	id := r.PathValue("id")
	if !nameForm.MatchString(id) {
		s.showChatFailure(w, r, v, orchestrator.ErrUnknownConversation)
		return
	}
	conv, err := s.openConversation(r.Context(), v, user, id)
	if err != nil {
		s.showChatFailure(w, r, v, err)
		return
	}
	after, err := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64)
	if err != nil || after < 0 {
		after = 0
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	source := make(chan orchestrator.Event)
	s.running.Go(func() {
		defer close(source)
		defer func() { _ = recover() }() // the stream ends, and the browser comes back
		for e, err := range conv.Events(ctx, after) {
			if err != nil {
				return
			}
			select {
			case source <- e:
			case <-ctx.Done():
				return
			}
		}
	})
	s.writeEvents(w, v, source)
	cancel()
	for range source { // what feeds it has ended when this has
	}
}

// writeEvents writes events as they come, and comments where none do.
func (s chat) writeEvents(w http.ResponseWriter, v *visitor, source <-chan orchestrator.Event) {
	h, control := w.Header(), http.NewResponseController(w)
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	write := func(text string) bool {
		_ = control.SetWriteDeadline(time.Now().Add(writeTimeout)) // not every writer has one
		_, err := w.Write([]byte(text))
		return err == nil && control.Flush() == nil
	}
	if !write("retry: 3000\n\n") {
		return
	}
	look := time.NewTicker(beat)
	defer look.Stop()
	for still := 0; ; still++ {
		good := true
		select {
		case <-s.base.Done():
			return
		case e, more := <-source:
			if !more {
				return
			}
			data, err := json.Marshal(newChatEvent(e))
			still, good = 0, err == nil && write(fmt.Sprintf("id: %d\ndata: %s\n\n", e.ID, data))
		case <-look.C:
			if !s.isHere(v) {
				return
			}
			if still%keepOpen == keepOpen-1 {
				good = write(": open\n\n")
			}
		}
		if !good { // the browser left or doesn't read
			return
		}
	}
}
