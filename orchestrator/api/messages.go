package api

import (
	"context"
	"net/http"
	"runtime/debug"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/problem"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// messages are the operations on what is said in a conversation.
type messages conversations

func (s messages) register() {
	register(s.API, operation{
		id: "send-message", method: http.MethodPost, path: "/v1/conversations/{conversation}/messages", tag: conversationTag, scopes: whoChats,
		keyed: true, body: 128 << 10, summary: "Send what the user says",
		description: "The answer comes with 200 where the turn ended within `wait_seconds`, otherwise 202 says that it goes on: follow " +
			"the events, or ask for the request. A request that is sent again with the same id and text is not worked on again. " +
			"A caller that leaves stops nothing. The text counts as the user's own words, so the token must say `user_turns: human`.",
		fails: []problem.Code{problem.Forbidden, problem.Blocked, problem.Overloaded, problem.NotKept, problem.Draining, problem.ModelFailed},
	}, s.onSend)
	register(s.API, operation{
		id: "list-messages", method: http.MethodGet, path: "/v1/conversations/{conversation}/messages", tag: conversationTag, scopes: whoChats,
		summary:     "List what was said",
		description: "The newest page comes first, and on a page the oldest message. A request that is being worked on has no answer yet.",
	}, s.onList)
	register(s.API, operation{
		id: "show-request", method: http.MethodGet, path: "/v1/conversations/{conversation}/requests/{request}", tag: conversationTag,
		scopes: whoChats, summary: "Show the answer to a request",
		fails: []problem.Code{problem.Overloaded, problem.NotKept, problem.Draining, problem.ModelFailed},
	}, s.onShow)
	register(s.API, operation{
		id: "cancel-request", method: http.MethodPost, path: "/v1/conversations/{conversation}/requests/{request}/cancel", tag: conversationTag,
		scopes: whoChats, keyed: true, status: http.StatusNoContent, summary: "Stop a request",
		description: "Callers who wait for it are told that it was stopped. A request that has ended stays as it is.",
	}, s.onCancel)
}

type sendInput struct {
	ConversationPath
	Body struct {
		Text    string   `json:"text" minLength:"1" maxLength:"65536" doc:"What the user says, at most 65,536 bytes."`
		Request string   `json:"request_id,omitempty" maxLength:"128" pattern:"^[A-Za-z0-9][A-Za-z0-9._:@-]*$" doc:"If empty, one is made."`
		Skills  []string `json:"skills,omitempty" nullable:"false" maxItems:"256" doc:"Narrows what the token may use."`
		Wait    *int     `json:"wait_seconds,omitempty" minimum:"0" maximum:"600" doc:"How long to wait for the answer. If none is given, 60."`
	}
}

// The states of a request.
const (
	stateAnswered = "answered"
	stateBegun    = "begun"
	stateQueued   = "queued"
)

// requestState is where a request stands.
type requestState struct {
	Conversation string `json:"conversation"`
	Request      string `json:"request_id"`
	State        string `json:"state" enum:"answered,begun,queued" doc:"A begun request outlives a restart; a queued one doesn't."`
	Reply        *reply `json:"reply,omitempty"`
}

type sentRequest struct {
	Status   int
	Location string `header:"Location"`
	Body     requestState
}

func (s messages) onSend(ctx context.Context, p access.Principal, in *sendInput) (*sentRequest, error) {
	user, err := actFor(p, in.User)
	if err != nil {
		return nil, err
	}
	if !p.IsHuman() {
		return nil, problem.New(problem.Forbidden, "a message counts as the user's own words, and the token doesn't say user_turns: human")
	}
	scope, err := narrowScope(p.Skills, in.Body.Skills)
	if err != nil {
		return nil, err
	}
	conv, err := conversations(s).openConversation(ctx, p, user, in.ID, scope)
	if err != nil {
		return nil, err
	}
	r := orchestrator.Request{ID: in.Body.Request, Text: in.Body.Text}
	if r.ID == "" {
		r.ID = sentinel.NewID()
	}
	wait := defaultWait
	if in.Body.Wait != nil {
		wait = time.Duration(*in.Body.Wait) * time.Second
	}
	w := waiting{conv: conv, name: in.ID, request: r.ID, text: r.Text, wait: wait, stays: true}
	return s.awaitReply(ctx, w, func(ctx context.Context) (orchestrator.Reply, error) { return conv.SendRequest(ctx, r) })
}

const (
	defaultWait = 60 * time.Second
	// beginFor is how long an answer without a reply waits for the request to be written down,
	// and beginLook how often it looks.
	beginFor  = time.Second
	beginLook = 5 * time.Millisecond
)

// narrowScope is what of the principal's skills a body leaves. An empty scope would be all of them, so
// nothing is an error.
func narrowScope(most skills.Scope, names []string) (skills.Scope, error) {
	if len(names) == 0 {
		return most, nil
	}
	wanted, err := skills.NewScope(names...)
	if err != nil {
		return most, problem.New(problem.Invalid, "skills must hold skill names such as email.read, or domains such as email.*")
	}
	if most.Empty() {
		return wanted, nil
	}
	left, err := skills.NewScope(listShared(wanted, most)...)
	if err != nil || left.Empty() {
		return most, problem.New(problem.Invalid, "the token may use none of the skills")
	}
	return left, nil
}

// listShared lists what both scopes allow.
func listShared(a, b skills.Scope) []string {
	out := []string{}
	for _, pair := range [][2]skills.Scope{{a, b}, {b, a}} {
		for _, name := range pair[0].List() {
			if one, err := skills.NewScope(name); err == nil && !slices.Contains(out, name) {
				if within, _ := one.Within(pair[1]); within {
					out = append(out, name)
				}
			}
		}
	}
	return out
}

type showInput struct {
	ConversationPath
	Request string `path:"request" minLength:"1" maxLength:"128" pattern:"^[A-Za-z0-9][A-Za-z0-9._:@-]*$"`
	Wait    int    `query:"wait_seconds" minimum:"0" maximum:"600" doc:"How long to wait for the answer."`
}

func (s messages) onShow(ctx context.Context, p access.Principal, in *showInput) (*sentRequest, error) {
	conv, err := s.findConversation(ctx, p, &in.ConversationPath)
	if err != nil {
		return nil, err
	}
	w := waiting{conv: conv, name: in.ID, request: in.Request, wait: time.Duration(in.Wait) * time.Second}
	return s.awaitReply(ctx, w, func(ctx context.Context) (orchestrator.Reply, error) { return conv.Reply(ctx, in.Request) })
}

// findConversation opens a conversation in which something was sent.
func (s messages) findConversation(ctx context.Context, p access.Principal, in *ConversationPath) (*orchestrator.Conversation, error) {
	user, err := actFor(p, in.User)
	if err != nil {
		return nil, err
	}
	if _, err := conversations(s).showConversation(ctx, user, in.ID); err != nil {
		return nil, err
	}
	return conversations(s).openConversation(ctx, p, user, in.ID, p.Skills)
}

// waiting is a caller that waits for the answer to a request.
type waiting struct {
	conv *orchestrator.Conversation
	// name is what the caller calls the conversation.
	name, request string
	// text is what was sent under the request's id; empty where a caller asks for one that was sent before.
	text string
	wait time.Duration
	// stays says that the request is not to be left before it is written down.
	stays bool
}

// replied is what a request came to.
type replied struct {
	reply orchestrator.Reply
	err   error
}

// awaitReply waits for the answer to a request. After the time it says whether the request is written
// down. Where it isn't, ask goes on beside until the API is closed: without it the request could be lost.
func (s messages) awaitReply(ctx context.Context, w waiting, ask func(context.Context) (orchestrator.Reply, error)) (*sentRequest, error) {
	asking, leave := context.WithCancel(context.WithoutCancel(ctx))
	ended := s.runBeside(asking, leave, ask)
	state, end := w.await(ctx, ended)
	if !w.stays || state != stateQueued {
		leave()
	}
	out := &sentRequest{Status: http.StatusAccepted, Body: requestState{Conversation: w.name, Request: w.request, State: state}}
	out.Location = "/v1/conversations/" + w.name + "/requests/" + w.request
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case s.base.Err() != nil:
		return nil, errClosed()
	case state != stateAnswered:
		return out, nil
	case end.err != nil:
		return nil, end.err
	}
	out.Status, out.Body.Reply = http.StatusOK, s.view.newReply(end.reply)
	return out, nil
}

// await waits until the request has ended, or the time is over and it is written down or can't be found.
func (w waiting) await(ctx context.Context, ended <-chan replied) (string, replied) {
	timer := time.NewTimer(w.wait)
	defer timer.Stop()
	select {
	case end := <-ended:
		return stateAnswered, end
	case <-ctx.Done():
		return stateQueued, replied{}
	case <-timer.C:
	}
	look, last := time.NewTicker(beginLook), time.NewTimer(beginFor)
	defer look.Stop()
	defer last.Stop()
	for {
		if w.isBegun(ctx) {
			return stateBegun, replied{}
		}
		select {
		case end := <-ended:
			return stateAnswered, end
		case <-ctx.Done():
			return stateQueued, replied{}
		case <-last.C:
			return stateQueued, replied{}
		case <-look.C:
		}
	}
}

// lookBack is how many requests isBegun looks through: more than wait in one conversation.
const lookBack = 8

// isBegun reports whether the request is written down and has no answer yet. Another text under its id is
// another request, which is about to be refused.
func (w waiting) isBegun(ctx context.Context) bool {
	found, err := w.conv.Messages(ctx, orchestrator.MessageQuery{Limit: lookBack})
	begun := false
	for _, m := range found.Messages {
		if m.Request == w.request {
			begun = m.Role == orchestrator.MessageOfUser && (w.text == "" || w.text == m.Text)
		}
	}
	return err == nil && begun
}

// runBeside runs ask in a goroutine of the API's, which ends when leave is called or the API is closed.
func (s messages) runBeside(ctx context.Context, leave func(), ask func(context.Context) (orchestrator.Reply, error)) <-chan replied {
	ended := make(chan replied, 1)
	stop := context.AfterFunc(s.base, leave)
	s.running.Go(func() {
		defer leave()
		defer stop()
		defer func() {
			if recover() != nil {
				s.o.Log.Error("a request's wait broke; please report it",
					"request_id", problem.RequestID(ctx), "stack", string(debug.Stack()))
				ended <- replied{err: orchestrator.ErrInterrupted}
			}
		}()
		r, err := ask(ctx)
		ended <- replied{r, err}
	})
	return ended
}

type messagesInput struct {
	ConversationPath
	Limit int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"How many requests, with their answers."`
	After string `query:"after" maxLength:"800" doc:"The next_cursor of the page before, which is newer."`
}

func (s messages) onList(ctx context.Context, p access.Principal, in *messagesInput) (*page[message], error) {
	conv, err := s.findConversation(ctx, p, &in.ConversationPath)
	if err != nil {
		return nil, err
	}
	list := []string{p.ID, "messages", in.User, in.ID}
	place, err := s.cursor.open(in.After, list...)
	if err != nil {
		return nil, err
	}
	found, err := conv.Messages(ctx, orchestrator.MessageQuery{Cursor: place, Limit: in.Limit})
	if err != nil {
		return nil, err
	}
	data := make([]message, len(found.Messages))
	for i, m := range found.Messages {
		data[i] = message{Role: m.Role, Text: m.Text, At: m.At, Request: m.Request, Turn: m.Turn, Error: newEventError(m.Error)}
		if m.Reply != nil {
			data[i].Reply = s.view.newReply(*m.Reply)
		}
	}
	return sealPage(s.API, data, found.Older, list...), nil
}

type cancelInput struct {
	ConversationPath
	Request string `path:"request" minLength:"1" maxLength:"128" pattern:"^[A-Za-z0-9][A-Za-z0-9._:@-]*$"`
}

func (s messages) onCancel(ctx context.Context, p access.Principal, in *cancelInput) (*struct{}, error) {
	conv, err := s.findConversation(ctx, p, &in.ConversationPath)
	if err != nil {
		return nil, err
	}
	return nil, conv.Cancel(ctx, in.Request)
}
