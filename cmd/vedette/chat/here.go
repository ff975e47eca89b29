package chat

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/internal/ids"
	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/sentinel/approval"
)

// HereOptions are the parts of Here.
type HereOptions struct {
	Place
	// By names the person at the terminal, as the ledger shall have it.
	By string
	// Config and Program are what the orchestrator is made of. Its approvals go to the inbox.
	Config  *config.Config
	Program orchestrator.Options
}

// NewID returns the id of a conversation that begins.
func NewID() string { return ids.New() }

// via is how answers that come by a chat are recorded to have come.
const via = "chat"

// here is a conversation of this process.
type here struct {
	o    HereOptions
	orc  *orchestrator.Orchestrator
	conv *orchestrator.Conversation
}

// Here runs an orchestrator in this process, and opens a conversation in it. Close ends both.
func Here(ctx context.Context, o HereOptions) (Peer, error) {
	cfg := *o.Config
	cfg.Approvals.Inbox = true
	o.Program.Approver = nil // it would be asked in place of the inbox
	orc, err := orchestrator.New(ctx, &cfg, o.Program)
	if err != nil {
		return nil, err
	}
	conv, err := orc.Open(ctx, orchestrator.ConversationOptions{ID: o.Conversation, User: o.User})
	if err != nil {
		return nil, errors.Join(err, orc.Close(ctx))
	}
	return &here{o, orc, conv}, nil
}

// Describe implements Peer.
func (h *here) Describe() Place { return h.o.Place }

// Send implements Peer.
func (h *here) Send(ctx context.Context, id, text string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for e, err := range h.conv.StreamRequest(ctx, orchestrator.Request{ID: id, Text: text}) {
			if ctx.Err() != nil || !yield(newEvent(e), nil) || err != nil { // the end is an event too
				return
			}
		}
	}
}

// Cancel implements Peer.
func (h *here) Cancel(ctx context.Context, id string) error { return h.conv.Cancel(ctx, id) }

// List implements Peer.
func (h *here) List(ctx context.Context) ([]Message, error) {
	page, err := h.conv.Messages(ctx, orchestrator.MessageQuery{Limit: shownBefore})
	if errors.Is(err, orchestrator.ErrUnknownConversation) {
		return nil, nil
	}
	out := make([]Message, len(page.Messages))
	for i, m := range page.Messages {
		out[i] = Message{m.Role, m.Text, m.Request, newFailure(m.Error)}
	}
	return out, err
}

// Pending implements Peer.
func (h *here) Pending(ctx context.Context) ([]string, error) {
	list, err := h.orc.Parts().Inbox.List(ctx, approval.Filter{Conversation: h.o.Conversation})
	return listIDs(list), err
}

// listIDs lists the ids of approvals.
func listIDs(list []approval.Item) []string {
	out := make([]string, len(list))
	for i, a := range list {
		out[i] = a.ID
	}
	return out
}

// Show implements Peer. A question that others must answer is not shown: it holds values.
func (h *here) Show(ctx context.Context, id string) (approval.Card, error) {
	inbox := h.orc.Parts().Inbox
	card, err := inbox.Show(ctx, id)
	if err == nil && !inbox.May(h.o.By, card.Item) {
		return approval.Card{}, &approval.NotAllowedError{Approval: id, By: h.o.By, Rules: []string{"approvals.who"}}
	}
	return card, err
}

// Answer implements Peer.
func (h *here) Answer(ctx context.Context, a approval.Answer) (approval.Item, error) {
	a.By, a.Via = h.o.By, via
	return h.orc.Parts().Inbox.Answer(ctx, a)
}

// drainTime is how long what is under way has to end when the person leaves.
const drainTime = 5 * time.Second

// Close implements Peer.
func (h *here) Close(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	d, err := h.orc.Drain(ctx)
	if d.Clean() {
		return "", err
	}
	return d.String(), err
}

// newEvent is an event of the orchestrator in the form of the API.
func newEvent(e orchestrator.Event) Event {
	out := Event{ID: e.ID, Kind: e.Kind, Request: e.Request, Text: e.Text, Approval: e.Approval, Error: newFailure(e.Error)}
	if a := e.Agent; a != nil {
		out.Agent = &Agent{a.Agent, string(a.State), a.Reason, a.Calls, a.Took.Milliseconds()}
	}
	if s := e.Step; s != nil {
		out.Step = &Step{
			Decision: s.Decision, Skill: s.Skill, Agent: s.Agent, Outcome: s.Outcome, Degraded: s.Degraded, Status: s.Status, Approver: s.Approver,
		}
		if r := s.Refusal; r != nil {
			out.Step.Refusal = &Refusal{r.Reason, r.WhatYouCanDo, r.Gate, r.Code}
		}
	}
	if r := e.Reply; r != nil {
		out.Reply = &Reply{r.Text, r.Tainted, r.Links, r.Took.Milliseconds(), r.Spent.Tokens}
	}
	return out
}

// newFailure is an error of the orchestrator in the form of the API.
func newFailure(e *orchestrator.EventError) *Failure {
	if e == nil {
		return nil
	}
	return &Failure{e.Code, e.Message, int((e.RetryAfter + time.Second - 1) / time.Second)}
}
