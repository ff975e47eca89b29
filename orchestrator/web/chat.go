package web

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"runtime/debug"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/sentinel"
)

// chat are the pages of conversations.
type chat struct{ *Pages }

func (s chat) register(mux *http.ServeMux) {
	mux.HandleFunc("GET /chat", s.forScope(access.Chat, s.onList))
	mux.HandleFunc("GET /chat/{id}", s.forScope(access.Chat, s.onShow))
	mux.HandleFunc("GET /chat/{id}/messages", s.forScope(access.Chat, s.onShow))
	mux.HandleFunc("GET /chat/{id}/events", s.forScope(access.Chat, s.onEvents))
	mux.HandleFunc("POST /chat/{id}", s.forScope(access.Chat, s.onSend))
}

// nameForm is what ids of conversations and requests look like.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$`)

// chatListView is the list of a user's conversations.
type chatListView struct {
	User, CSRF, NewID, RequestID string
	Rows                         []orchestrator.ConversationInfo
	Next                         string
	Examples                     []string
	Problem                      string
}

// chatView is one conversation.
type chatView struct {
	ID, User, CSRF, RequestID string
	Tainted                   bool
	Turns                     []turnView
	Older                     string
	Problem, Text             string
	Examples                  []string
	Waits                     bool // a request has no answer yet
}

// turnView is a request with its answer.
type turnView struct {
	Request string
	Asked   *orchestrator.Message
	Said    *orchestrator.Message
}

// findUser returns whose conversations a visitor sees. Words that they send must be a person's own.
func (s chat) findUser(w http.ResponseWriter, r *http.Request, v *visitor) (string, bool) {
	user, err := v.principal.ActFor("")
	if err != nil {
		s.showFailure(w, v, failure{http.StatusForbidden, "Your token has no user", "Conversations are a user's: sign in with a token of " +
			"vedette token create NAME --user USER --scope chat --human."})
		return "", false
	}
	if r.Method == http.MethodPost && !v.principal.IsHuman() {
		s.showFailure(w, v, failure{http.StatusForbidden, "Your token isn't for what a person writes",
			"What is sent here counts as the user's own words, so the token must be made with --human."})
		return "", false
	}
	return user, true
}

func (s chat) onList(w http.ResponseWriter, r *http.Request, v *visitor) {
	user, ok := s.findUser(w, r, v)
	if !ok {
		return
	}
	page, err := s.o.Orchestrator.Conversations(r.Context(), orchestrator.ConversationQuery{User: user, Cursor: r.URL.Query().Get("after")})
	if err != nil {
		s.showChatFailure(w, r, v, err)
		return
	}
	s.show(w, http.StatusOK, "chats", viewFor(v, "chat", "Chat", chatListView{
		User: user, CSRF: v.sessionToken, NewID: sentinel.NewID(), RequestID: sentinel.NewID(), Rows: page.Conversations, Next: page.Next,
		Examples: s.o.Examples,
	}))
}

// showChatFailure shows why a conversation can't be. What belongs to another user is not there.
func (s chat) showChatFailure(w http.ResponseWriter, r *http.Request, v *visitor, err error) {
	switch {
	case r.Context().Err() != nil:
	case errors.Is(err, orchestrator.ErrOtherUser), errors.Is(err, orchestrator.ErrUnknownConversation), errors.Is(err,
		orchestrator.ErrOrphaned):
		s.showFailure(w, v, failure{http.StatusNotFound, "There is no such conversation", "It was never there, or it was erased."})
	case errors.As(err, new(*orchestrator.BlockedError)):
		s.showFailure(w, v, failure{http.StatusForbidden, "The request was blocked", markText(orchestrator.DescribeError(err).Message)})
	case errors.Is(err, orchestrator.ErrRequest):
		s.showFailure(w, v, failure{http.StatusUnprocessableEntity, "That can't be sent", markText(orchestrator.DescribeError(err).Message)})
	case errors.Is(err, orchestrator.ErrOverloaded), errors.Is(err, orchestrator.ErrClosed):
		s.showFailure(w, v, failure{http.StatusServiceUnavailable, "There is no room at the moment",
			markText(orchestrator.DescribeError(err).Message)})
	default:
		s.showBroken(w, r, v, err)
	}
}

// onShow shows a conversation, or for a page that follows it the messages alone.
func (s chat) onShow(w http.ResponseWriter, r *http.Request, v *visitor) {
	user, ok := s.findUser(w, r, v)
	if !ok {
		return
	}
	out, err := s.readChat(r.Context(), v, user, r.PathValue("id"), r.URL.Query().Get("older"))
	switch {
	case err != nil:
		s.showChatFailure(w, r, v, err)
	case isPart(r):
		s.show(w, http.StatusOK, "turns", out)
	default:
		page := viewFor(v, "chat", "Chat", out)
		if out.Waits {
			page.Refresh = 5
		}
		s.show(w, http.StatusOK, "chat", page)
	}
}

// readChat reads what was said in a conversation of a user. One in which nothing was said yet is empty.
func (s chat) readChat(ctx context.Context, v *visitor, user, id, older string) (chatView, error) {
	out := chatView{ID: id, User: user, CSRF: v.sessionToken, RequestID: sentinel.NewID(), Examples: s.o.Examples}
	if !nameForm.MatchString(id) {
		return out, orchestrator.ErrUnknownConversation
	}
	info, err := s.o.Orchestrator.Conversation(ctx, user, id)
	if errors.Is(err, orchestrator.ErrUnknownConversation) {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	conv, err := s.openConversation(ctx, v, user, id)
	if err != nil {
		return out, err
	}
	page, err := conv.Messages(ctx, orchestrator.MessageQuery{Cursor: older})
	if err != nil {
		return out, err
	}
	out.Tainted, out.Older, out.Turns, out.Waits = info.Tainted, page.Older, listTurns(page.Messages), info.Turn != ""
	return out, nil
}

// listTurns puts answers to their requests.
func listTurns(list []orchestrator.Message) (out []turnView) {
	for i := range list {
		m := &list[i]
		last := len(out) - 1
		switch {
		case m.Role == orchestrator.MessageOfUser:
			out = append(out, turnView{Request: m.Request, Asked: m})
		case last >= 0 && out[last].Said == nil && out[last].Request == m.Request:
			out[last].Said = m
		default:
			out = append(out, turnView{Request: m.Request, Said: m})
		}
	}
	return out
}

// openConversation opens a conversation with the skills that the token may use.
func (s chat) openConversation(ctx context.Context, v *visitor, user, id string) (*orchestrator.Conversation, error) {
	return s.o.Orchestrator.Open(ctx, orchestrator.ConversationOptions{
		ID: id, User: user, By: v.principal.NameFor(user), Principal: v.principal.ID, Scope: v.principal.Skills,
	})
}

// beginFor is how long a page that sent something waits for it to be written down, waitsFor how long
// where another request is under way, and beginLook how often it looks.
const (
	beginFor  = 10 * time.Second
	waitsFor  = time.Second
	beginLook = 10 * time.Millisecond
)

// onSend gives what a person wrote to the conversation, and shows it. The request goes on without the
// browser. Its id is the form's, so a form that is sent twice is one request.
func (s chat) onSend(w http.ResponseWriter, r *http.Request, v *visitor) {
	user, ok := s.findUser(w, r, v)
	if !ok {
		return
	}
	form, ok := s.readOwnForm(w, r, v, "text", "request")
	if !ok {
		return
	}
	id := r.PathValue("id")
	if !nameForm.MatchString(id) || !nameForm.MatchString(form["request"]) {
		s.showChatFailure(w, r, v, orchestrator.ErrBadID)
		return
	}
	conv, err := s.openConversation(r.Context(), v, user, id)
	if err != nil {
		s.showChatFailure(w, r, v, err)
		return
	}
	request := orchestrator.Request{ID: form["request"], Text: form["text"]}
	if err := s.begin(r.Context(), user, conv, request); err != nil {
		s.showChatFailure(w, r, v, err)
		return
	}
	http.Redirect(w, r, "/chat/"+id, http.StatusSeeOther)
}

// begin sends a request and waits until it is written down, has ended, or its time is over.
func (s chat) begin(ctx context.Context, user string, conv *orchestrator.Conversation, request orchestrator.Request) error {
	ended := make(chan error, 1)
	s.running.Go(func() {
		defer func() {
			if recover() != nil {
				s.o.Log.Error("a request's wait broke; please report it", "stack", string(debug.Stack()))
				ended <- orchestrator.ErrInterrupted
			}
		}()
		_, err := conv.SendRequest(s.base, request)
		ended <- err
	})
	wait := beginFor
	if info, err := s.o.Orchestrator.Conversation(ctx, user, conv.ID()); err == nil && info.Turn != "" {
		wait = waitsFor
	}
	look, last := time.NewTicker(beginLook), time.NewTimer(wait)
	defer look.Stop()
	defer last.Stop()
	for {
		select {
		case err := <-ended:
			if errors.Is(err, orchestrator.ErrRequest) || errors.Is(err, orchestrator.ErrOverloaded) || errors.Is(err, orchestrator.ErrClosed) ||
				errors.As(err, new(*orchestrator.BlockedError)) {
				return err
			}
			return nil // the conversation shows how it ended
		case <-last.C:
			return nil
		case <-ctx.Done():
			return nil
		case <-look.C:
			if isWritten(ctx, conv, request) {
				return nil
			}
		}
	}
}

// isWritten reports whether a request is written down. Another text under its id is another request.
func isWritten(ctx context.Context, conv *orchestrator.Conversation, request orchestrator.Request) bool {
	found, err := conv.Messages(ctx, orchestrator.MessageQuery{Limit: 1})
	return err == nil && slices.ContainsFunc(found.Messages, func(m orchestrator.Message) bool {
		return m.Role == orchestrator.MessageOfUser && m.Request == request.ID && m.Text == request.Text
	})
}
