package api

import (
	"context"
	"net/http"
	"time"

	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/problem"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// conversations are the operations on conversations.
type conversations struct{ *API }

var whoChats = []access.Scope{access.Chat}

const conversationTag = "conversations"

func (s conversations) register() {
	register(s.API, operation{
		id: "create-conversation", method: http.MethodPost, path: "/v1/conversations", tag: conversationTag, scopes: whoChats, keyed: true,
		status: http.StatusCreated, summary: "Begin a conversation",
		description: "The id may be yours, among the user's own; without one it is made. " +
			"A conversation is kept, and listed, from its first message on.",
		fails: []problem.Code{problem.Overloaded},
	}, s.onCreate)
	register(s.API, operation{
		id: "list-conversations", method: http.MethodGet, path: "/v1/conversations", tag: conversationTag, scopes: whoChats,
		summary: "List the user's conversations", description: "The one that was written last comes first.",
	}, s.onList)
	register(s.API, operation{
		id: "show-conversation", method: http.MethodGet, path: "/v1/conversations/{conversation}", tag: conversationTag, scopes: whoChats,
		summary: "Show a conversation",
	}, s.onShow)
	register(s.API, operation{
		id: "purge-conversation", method: http.MethodDelete, path: "/v1/conversations/{conversation}", tag: conversationTag, scopes: whoChats,
		summary:     "Erase a conversation",
		description: "Requests, answers, arguments, results and open approvals are erased. The ledger keeps its records, without values.",
	}, s.onPurge)
	register(s.API, operation{
		id: "purge-user", method: http.MethodDelete, path: "/v1/users/{user}/conversations", tag: conversationTag,
		scopes:  []access.Scope{access.Admin},
		summary: "Erase all that is kept of a user",
	}, s.onPurgeUser)
	messages(s).register()
	events(s).register()
}

// ForUser names the user where the token is not the user's own.
type ForUser struct {
	User string `query:"user" maxLength:"128" doc:"Another user than the token's needs the scope act_as."`
}

// ConversationPath names a conversation and its user.
type ConversationPath struct {
	ForUser
	ID string `path:"conversation" minLength:"1" maxLength:"128" pattern:"^[A-Za-z0-9][A-Za-z0-9._:@-]*$"`
}

type createInput struct {
	ForUser
	Body *struct {
		ID string `json:"id,omitempty" maxLength:"128" pattern:"^[A-Za-z0-9][A-Za-z0-9._:@-]*$"`
	}
}

type createdConversation struct {
	Location string `header:"Location"`
	Body     struct {
		ID   string `json:"id"`
		User string `json:"user"`
	}
}

func (s conversations) onCreate(ctx context.Context, p access.Principal, in *createInput) (*createdConversation, error) {
	user, err := actFor(p, in.User)
	if err != nil {
		return nil, err
	}
	id := sentinel.NewID()
	if in.Body != nil && in.Body.ID != "" {
		id = in.Body.ID
	}
	if _, err := s.openConversation(ctx, p, user, id, p.Skills); err != nil {
		return nil, err
	}
	out := &createdConversation{Location: "/v1/conversations/" + id}
	out.Body.ID, out.Body.User = id, user
	return out, nil
}

type conversationsInput struct {
	ForUser
	Limit int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
	After string `query:"after" maxLength:"800" doc:"The next_cursor of the page before."`
}

func (s conversations) onList(ctx context.Context, p access.Principal, in *conversationsInput,
) (*page[orchestrator.ConversationInfo], error) {
	user, err := actFor(p, in.User)
	if err != nil {
		return nil, err
	}
	place, err := s.cursor.open(in.After, p.ID, "conversations", user)
	if err != nil {
		return nil, err
	}
	found, err := s.o.Orchestrator.Conversations(ctx, orchestrator.ConversationQuery{User: user, Cursor: place, Limit: in.Limit})
	if err != nil {
		return nil, err
	}
	for i := range found.Conversations {
		found.Conversations[i].ID = access.ConversationName(user, found.Conversations[i].ID)
	}
	return sealPage(s.API, found.Conversations, found.Next, p.ID, "conversations", user), nil
}

// sealPage is a page whose next place another package named.
func sealPage[T any](a *API, data []T, next string, list ...string) *page[T] {
	out := &page[T]{}
	out.Body.Data = append([]T{}, data...)
	if out.Body.HasMore = next != ""; out.Body.HasMore {
		out.Body.Next = a.cursor.seal(next, list...)
	}
	return out
}

type conversationInfo struct{ Body orchestrator.ConversationInfo }

func (s conversations) onShow(ctx context.Context, p access.Principal, in *ConversationPath) (*conversationInfo, error) {
	user, err := actFor(p, in.User)
	if err != nil {
		return nil, err
	}
	info, err := s.showConversation(ctx, user, in.ID)
	if err != nil {
		return nil, err
	}
	info.ID = in.ID
	return &conversationInfo{info}, nil
}

type purged struct {
	Body struct {
		orchestrator.Purged
		Pending bool `json:"pending" doc:"All is gone, and old pages of the database remain until its readers have ended. Purge again then."`
	}
}

func (s conversations) onPurge(ctx context.Context, p access.Principal, in *ConversationPath) (*purged, error) {
	user, err := actFor(p, in.User)
	if err != nil {
		return nil, err
	}
	id, err := s.findID(ctx, user, in.ID)
	if err != nil { // one whose purge has not ended is purged again
		id = in.ID
	}
	return s.purge(ctx, orchestrator.PurgeTarget{User: user, Conversation: id, By: p.Name})
}

func (s conversations) onPurgeUser(ctx context.Context, p access.Principal, in *struct {
	User string `path:"user" minLength:"1" maxLength:"128" pattern:"^[A-Za-z0-9][A-Za-z0-9._:@-]*$"`
}) (*purged, error) {
	if in.User != p.User && !p.May(access.ActAs) && p.User != "" {
		return nil, problem.New(problem.ScopeMissing, "naming another user needs the scope act_as")
	}
	return s.purge(ctx, orchestrator.PurgeTarget{User: in.User, By: p.Name})
}

// purgeFor is how long a purge may take. It isn't lost with its caller.
const purgeFor = 5 * time.Minute

// purge erases and says how much it was.
func (s conversations) purge(ctx context.Context, who orchestrator.PurgeTarget) (*purged, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), purgeFor)
	defer cancel()
	n, err := s.o.Orchestrator.Purge(ctx, who)
	out := &purged{}
	if out.Body.Pending = isPending(err); err != nil && !out.Body.Pending {
		return nil, err
	}
	out.Body.Purged = n
	return out, nil
}

// showConversation returns what is known of what the user calls by name.
func (s conversations) showConversation(ctx context.Context, user, name string) (info orchestrator.ConversationInfo, err error) {
	id, err := s.findID(ctx, user, name)
	if err != nil {
		return info, err
	}
	return s.o.Orchestrator.Conversation(ctx, user, id)
}

// openConversation opens what the user calls by name, with the skills that the principal may use.
func (s conversations) openConversation(ctx context.Context, p access.Principal, user, name string,
	scope skills.Scope) (*orchestrator.Conversation, error) {
	id, err := s.findID(ctx, user, name)
	if err != nil {
		return nil, err
	}
	return s.o.Orchestrator.Open(ctx, orchestrator.ConversationOptions{ID: id, User: user, By: p.NameFor(user), Principal: p.ID, Scope: scope})
}
