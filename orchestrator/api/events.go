package api

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/problem"
)

// events is the stream of what happens in a conversation.
type events conversations

type eventsInput struct {
	ConversationPath
	After string `query:"after" maxLength:"20" pattern:"^(now|[0-9]{1,16})$" doc:"The last event that is known; now for none before."`
	Last  string `header:"Last-Event-ID" maxLength:"20" doc:"Likewise, of a reader that comes back."`
}

func (s events) register() {
	op := operation{
		id: "follow-conversation", method: http.MethodGet, path: "/v1/conversations/{conversation}/events", tag: conversationTag,
		scopes: whoChats, summary: "Follow a conversation",
		description: "Server-sent events, each named after its kind: `text`, `withdrawn` (the text so far is not the answer), `agent`, `call`, " +
			"`outcome`, `approval`, `reply`, `error`, `gap` where events are missing. " +
			"Without `after` the stream begins with the oldest event that is kept. " +
			"A comment comes every 15 seconds where nothing else does. A reader that doesn't read is cut off.",
		fails: []problem.Code{problem.Overloaded, problem.Draining}, form: formEvents,
	}
	out := s.describe(op)
	schema := s.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[event](), true, "Event")
	out.Responses["200"] = describeStream(schema, "Events, as the data of each")
	huma.Register(s.huma, out, func(_ context.Context, in *eventsInput) (*huma.StreamResponse, error) {
		return &huma.StreamResponse{Body: func(c huma.Context) { s.onFollow(c, op.id, in) }}, nil
	})
}

// onFollow streams what happens in a conversation.
func (s events) onFollow(c huma.Context, operation string, in *eventsInput) {
	r, _ := humago.Unwrap(c)
	p, _ := access.FromContext(r.Context())
	serveStream(s.API, operation, c, func(ctx context.Context) (<-chan sent, error) {
		after, err := readEventID(in.Last, in.After)
		if err != nil {
			return nil, err
		}
		user, err := actFor(p, in.User)
		if err != nil {
			return nil, err
		}
		conv, err := conversations(s).openConversation(ctx, p, user, in.ID, p.Skills)
		if err != nil {
			return nil, err
		}
		return relay(ctx, s.API, func(tell func(sent) bool) { s.follow(ctx, conv, in.ID, after, tell) }), nil
	})
}

// follow tells a reader what happens until it leaves or the conversation ends.
func (s events) follow(ctx context.Context, conv *orchestrator.Conversation, name string, after int64, tell func(sent) bool) {
	for e, err := range conv.Events(ctx, after) {
		if errors.Is(err, ctx.Err()) && err != nil {
			return
		}
		if err != nil { // the stream ends with it
			last := event{Kind: orchestrator.EventFailure, Error: newEventError(orchestrator.DescribeError(err))}
			tell(sent{kind: string(last.Kind), data: last})
			return
		}
		e.Conversation = name
		if !tell(sent{id: strconv.FormatInt(e.ID, 10), kind: string(e.Kind), data: s.view.newEvent(e)}) {
			return
		}
	}
}
