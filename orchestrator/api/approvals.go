package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/problem"
	"github.com/vedette-dev/vedette/sentinel/approval"
)

// via is how answers that come by this API are recorded to have come.
const via = "api"

// writeFor is how long what a person decided may take to be written down, also without the caller.
const writeFor = 10 * time.Second

// approvals are the operations on questions to people.
type approvals struct{ *API }

// whoApproves are the scopes that see questions.
var whoApproves = []access.Scope{access.Approve}

func (s approvals) register() {
	register(s.API, operation{
		id: "list-approvals", method: http.MethodGet, path: "/v1/approvals", tag: "approvals", scopes: whoApproves,
		summary:     "List approvals",
		description: "The oldest first. Without a state, those that wait for an answer. Entries hold names, codes and times, no value.",
	}, s.onList)
	register(s.API, operation{
		id: "show-approval", method: http.MethodGet, path: "/v1/approvals/{id}", tag: "approvals", scopes: whoApproves,
		summary:     "Show an approval with what a person must see",
		description: "The sheet holds values of the call. It is shown to those alone who may answer by `approvals.who`.",
		fails:       []problem.Code{problem.NotAllowed},
	}, s.onShow)
	register(s.API, operation{
		id: "answer-approval", method: http.MethodPost, path: "/v1/approvals/{id}/answer", tag: "approvals", scopes: whoApproves, keyed: true,
		summary: "Answer an approval",
		description: "Who answers is the token's principal. The digest is the one that was shown: an answer to a question that has " +
			"changed since is refused as `stale`. With a no, the agent reads the feedback.",
		fails: []problem.Code{problem.NotAllowed, problem.AlreadyDecided, problem.Stale},
	}, s.onAnswer)
	s.registerWatch()
}

type approvalsInput struct {
	State        string `query:"state" enum:"pending,approved,consumed,denied,expired,cancelled,superseded,all"`
	Conversation string `query:"conversation" maxLength:"128"`
	User         string `query:"user" maxLength:"128"`
	Skill        string `query:"skill" maxLength:"128"`
	Limit        int    `query:"limit" minimum:"1" maximum:"10000" default:"100"`
	After        string `query:"after" maxLength:"400" doc:"The next_cursor of the page before."`
}

func (s approvals) onList(ctx context.Context, p access.Principal, in *approvalsInput) (*page[approval.Item], error) {
	inbox, err := s.inbox()
	if err != nil {
		return nil, err
	}
	list := []string{p.ID, "approvals", in.State, in.Conversation, in.User, in.Skill}
	ids := s.listCalledSo(ctx, p, in.User, in.Conversation)
	f := approval.Filter{Conversation: ids[0], User: in.User, Skill: in.Skill, State: approval.State(in.State), Limit: in.Limit + 1}
	copy(f.OrConversations[:], ids[1:])
	if in.State == "all" {
		f.State, f.All = "", true
	}
	if f.After, err = s.cursor.open(in.After, list...); err != nil {
		return nil, err
	}
	found, err := inbox.List(ctx, f)
	if err != nil {
		return nil, err
	}
	return newPage(found, in.Limit, func(last approval.Item) string { return s.cursor.seal(last.ID, list...) }), nil
}

// ApprovalPath names an approval. It is exported for huma, which fills no embedded type that is not.
type ApprovalPath struct {
	ID string `path:"id" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9-]+$" doc:"The whole id."`
}

type approvalCard struct{ Body approval.Card }

func (s approvals) onShow(ctx context.Context, p access.Principal, in *ApprovalPath) (*approvalCard, error) {
	card, err := s.findCard(ctx, p, in.ID)
	if err != nil {
		return nil, err
	}
	return &approvalCard{card}, nil
}

// findCard returns an approval to a person who may answer it.
func (s approvals) findCard(ctx context.Context, p access.Principal, id string) (approval.Card, error) {
	inbox, err := s.inbox()
	if err != nil {
		return approval.Card{}, err
	}
	card, err := inbox.Show(ctx, id)
	switch {
	case err != nil:
		return card, err
	case card.ID != id: // the beginning of an id names nothing here
		return card, approval.ErrUnknown
	case !inbox.May(p.Name, card.Item):
		return approval.Card{}, &approval.NotAllowedError{Approval: id, By: p.Name, Rules: []string{"approvals.who"}}
	}
	return card, nil
}

type answerInput struct {
	ApprovalPath
	Body struct {
		Word     approval.Word   `json:"word" enum:"yes,no"`
		Digest   string          `json:"digest" minLength:"16" maxLength:"128" pattern:"^[0-9a-f]+$" doc:"The digest that was shown."`
		Feedback string          `json:"feedback,omitempty" maxLength:"4096" doc:"The person's own words. The agent reads those of a no."`
		Edit     json.RawMessage `json:"edit,omitempty" doc:"With a yes: other arguments, judged from the first gate on."`
	}
}

type approvalItem struct{ Body approval.Item }

func (s approvals) onAnswer(ctx context.Context, p access.Principal, in *answerInput) (*approvalItem, error) {
	inbox, err := s.inbox()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeFor) // it isn't lost with the caller
	defer cancel()
	item, err := inbox.Answer(ctx, approval.Answer{
		Approval: in.ID, Word: in.Body.Word, Feedback: in.Body.Feedback, Digest: in.Body.Digest, Edit: in.Body.Edit, By: p.Name, Via: via,
		Principal: p.ID,
	})
	if err != nil {
		return nil, err
	}
	return &approvalItem{item}, nil
}

// registerWatch adds the stream of changes.
func (s approvals) registerWatch() {
	op := operation{
		id: "watch-approvals", method: http.MethodGet, path: "/v1/approvals/events", tag: "approvals", scopes: whoApproves,
		summary: "Follow the approvals",
		description: "Server-sent events, each named after its kind. The stream begins with a `gap`: list the approvals then. " +
			"Another `gap` says that the reader was too slow.",
		fails: []problem.Code{problem.Overloaded}, form: formEvents,
	}
	out := s.describe(op)
	schema := s.huma.OpenAPI().Components.Schemas.Schema(changeType, true, "ApprovalChange")
	out.Responses["200"] = describeStream(schema, "Changes of approvals, as the data of each event")
	huma.Register(s.huma, out, func(context.Context, *struct{}) (*huma.StreamResponse, error) {
		return &huma.StreamResponse{Body: s.onWatch}, nil
	})
}

// onWatch streams changes.
func (s approvals) onWatch(c huma.Context) {
	serveStream(s.API, "watch-approvals", c, func(ctx context.Context) (<-chan sent, error) {
		inbox, err := s.inbox()
		if err != nil {
			return nil, err
		}
		changes, err := inbox.Watch(ctx)
		if err != nil {
			return nil, err
		}
		return relay(ctx, s.API, func(tell func(sent) bool) {
			first := approval.Change{Kind: approval.ChangeGap}
			if !tell(sent{kind: string(first.Kind), data: first}) {
				return
			}
			for change := range changes {
				if !tell(sent{kind: string(change.Kind), data: change}) {
					return
				}
			}
		}), nil
	})
}
