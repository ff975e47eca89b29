package assistants

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"regexp"
	"slices"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/problem"
	"github.com/vedette-dev/vedette/orchestrator/threads"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// ConversationHeader names the conversation, in requests and in answers.
const ConversationHeader = "X-Vedette-Conversation"

// onCompletion answers a request with a turn.
func (d *Door) onCompletion(w http.ResponseWriter, r *http.Request) {
	p, _ := access.FromContext(r.Context())
	q, f := readCompletion(w, r)
	if f != nil {
		writeFailure(w, *f)
		return
	}
	a, f := d.prepare(r, p, q)
	if f != nil {
		writeFailure(w, *f)
		return
	}
	w.Header().Set(ConversationHeader, a.thread.Name)
	h := newHead(q.Model, d.o.Now())
	a.out = &whole{head: h, w: w}
	if q.Stream {
		a.out = &stream{head: h, w: w, control: http.NewResponseController(w), usage: q.Usage}
	}
	a.run(r.Context())
}

// prepare says who asks, finds the conversation, and what in the request was not said there.
func (d *Door) prepare(r *http.Request, p access.Principal, q completion) (*answer, *failure) {
	ctx := r.Context()
	a, f := d.findAssistant(p, q.Model)
	if f != nil {
		return nil, f
	}
	if !p.IsHuman() {
		return nil, &failure{Status: http.StatusForbidden, Type: typePermission, Code: "user_turns", Message: "the last message counts as the " +
			"user's own words, and the token doesn't say user_turns: human; create one with vedette token create --human"}
	}
	user, scope, f := readAuthority(p, q, a)
	if f != nil {
		return nil, f
	}
	if wait := d.rates.take(q.Model+" "+user, a.Limits.Requests, a.Limits.Window); wait > 0 {
		return nil, &failure{Status: http.StatusTooManyRequests, Type: typeRate, Code: "assistant_requests", RetryAfter: wait, Again: true,
			Message: "the requests that the user may send to this assistant are spent for now"}
	}
	t, f := d.findThread(r, p, user)
	if f != nil {
		return nil, f
	}
	conv, err := d.o.Orchestrator.Open(ctx, orchestrator.ConversationOptions{
		ID: t.Conversation, User: user, By: p.NameFor(user), Principal: p.ID, Scope: scope, Assistant: orchestrator.Assistant{
			Prompt: a.Prompt, Persona: a.Persona, Locale: a.Locale, Orchestrator: a.Roster["orchestrator"], Agents: a.Roster["agent"],
			Intent: intentMode(a.Intent),
			Bounds: orchestrator.TurnBounds{Agents: a.Limits.Agents, Calls: a.Limits.Calls, Tokens: int64(a.Limits.Tokens)},
		},
	})
	if err != nil {
		return nil, d.explain(ctx, err)
	}
	foreign := q.listForeign(d.threads.Knows(ctx, t))
	return &answer{Door: d, thread: t, conv: conv, foreign: foreign, request: orchestrator.Request{
		ID: requestID(r, p), Text: q.request(), Said: tellForeign(foreign),
	}}, nil
}

// intentMode is what the configuration says of an assistant's intents. One that says nothing has none.
func intentMode(word string) orchestrator.IntentMode {
	return cmp.Or(orchestrator.IntentMode(word), orchestrator.IntentOff)
}

// readAuthority returns for whom the request is, and the skills that its agents may use. The user in the
// body counts where the token may name one; other clients put anything there.
func readAuthority(p access.Principal, q completion, a config.Assistant) (user string, scope skills.Scope, f *failure) {
	user = p.User
	if user == "" || q.User != "" && p.May(access.ActAs) {
		named, err := p.ActFor(q.User)
		if err != nil || !p.May(access.ActAs) {
			return "", scope, &failure{Status: http.StatusForbidden, Type: typePermission, Param: "user", Code: "act_as",
				Message: "the token is no user's: name the user in the field user, with a token that has the scope act_as"}
		}
		user = named
	}
	scope, ok := narrow(p.Skills, a.Skills)
	if !ok {
		return "", scope, &failure{Status: http.StatusForbidden, Type: typePermission, Param: "model", Code: "no_skills",
			Message: "the token may use none of the assistant's skills"}
	}
	return user, scope, nil
}

// narrow is what of a token's skills an assistant leaves. False is nothing: an empty scope would be all of them.
func narrow(most skills.Scope, names []string) (skills.Scope, bool) {
	if len(names) == 0 {
		return most, true
	}
	own, err := skills.NewScope(names...)
	if err != nil || own.Empty() {
		return most, false
	}
	if most.Empty() {
		return own, true
	}
	var shared []string
	for _, pair := range [][2]skills.Scope{{own, most}, {most, own}} {
		for _, name := range pair[0].List() {
			if one, err := skills.NewScope(name); err == nil && !slices.Contains(shared, name) {
				if within, _ := one.Within(pair[1]); within {
					shared = append(shared, name)
				}
			}
		}
	}
	left, err := skills.NewScope(shared...)
	return left, err == nil && !left.Empty()
}

// nameForm is what names of conversations look like, as the orchestrator takes them.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$`)

// findThread finds the request's conversation.
func (d *Door) findThread(r *http.Request, p access.Principal, user string) (threads.Thread, *failure) {
	ctx := r.Context()
	names := r.Header.Values(ConversationHeader)
	if len(names) > 1 {
		return threads.Thread{}, invalid("", "bad_request", "the request names two conversations")
	}
	name := ""
	if len(names) == 1 {
		name = names[0]
	}
	if name != "" && !nameForm.MatchString(name) { // now: the name of a conversation is written down before it is opened
		return threads.Thread{}, d.explain(ctx, orchestrator.ErrBadID)
	}
	t, err := d.threads.Find(ctx, p.ID, user, name)
	if err != nil {
		return t, d.explain(ctx, err)
	}
	return t, nil
}

// explain is an error as the client reads it. One that isn't known is logged.
func (d *Door) explain(ctx context.Context, err error) *failure {
	f := describeFailure(err)
	if f.Code == orchestrator.CodeInternal && ctx.Err() == nil {
		d.o.Log.Error("a request of a chat interface failed", "request_id", problem.RequestID(ctx), "error", err)
	}
	return &f
}

// requestID is the id of a request. Clients that send one again by themselves say so with its key.
func requestID(r *http.Request, p access.Principal) string {
	key := r.Header.Get("Idempotency-Key")
	if key == "" || len(key) > 255 {
		return sentinel.NewID()
	}
	sum := sha256.Sum256([]byte(p.ID + "\x00" + key))
	return "k-" + hex.EncodeToString(sum[:16])
}
