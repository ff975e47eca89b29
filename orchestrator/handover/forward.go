package handover

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// Forwarding is what a Proposal has whose caller is handed the call itself, inside of a model's answer that goes
// through this server. Such a call is known by what it does: principal, user, conversation, skill and arguments.
// So a person's yes is for the next call that does the same, whatever the answer that holds it.
type Forwarding struct {
	// Tool is the skill as its caller declares it, where the registry doesn't have it.
	Tool *skills.Skill
	// Said are the user's turns before the request, oldest first. They count where RequestHuman is set.
	Said []sentinel.EarlierTurn
	// Before is what the caller read in earlier turns.
	Before []Result

	begun bool
}

// Thread is whose conversation forwarded calls belong to.
type Thread struct{ Principal, User, Conversation string }

const (
	// forwardWithin is how long an allowed call has until its answer carried it to its caller.
	forwardWithin = 15 * time.Minute
	// recalledCalls is how many calls an endless conversation is read back from.
	recalledCalls = 64
	// maxOccurrences bounds how often calls of one content are looked for.
	maxOccurrences = 1 << 20
	// forwardedKind begins the ids of conversations whose calls are forwarded.
	forwardedKind = "proxy"
	// ForwardingAgent is who proposes a forwarded call where Proposal.Agent is empty.
	ForwardingAgent = "client"
)

// ForwardingID is how a principal's conversation for a user is named on record, whose calls are forwarded.
func ForwardingID(t Thread) string {
	return deriveID(forwardedKind, t.Principal, t.User, t.Conversation)
}

// isForwarding reports whether the calls of the conversation of that id are forwarded.
func isForwarding(id string) bool { return strings.HasPrefix(id, forwardedKind+"-") }

// newForwardingGrant is the authority of a forwarded call. Its id is the conversation's: what the call was asked for
// in doesn't make it another one, and the rules are asked under the request of the answer that holds it.
func newForwardingGrant(h Options, p *Proposal) (sentinel.Grant, error) {
	agent := p.Agent
	if agent == "" {
		agent = ForwardingAgent
	}
	o := sentinel.GrantOptions{
		ID: deriveID("grant", forwardedKind, p.Principal, p.User, p.Conversation), User: p.User,
		Conversation: ForwardingID(Thread{p.Principal, p.User, p.Conversation}),
		Turn:         forwardingTurn(Thread{p.Principal, p.User, p.Conversation}, p.Turn),
		Agent:        agent, Mission: p.Mission, MissionBy: sentinel.ByOrchestrator, MissionTainted: true,
		Scope: forwardingScope(h.Skills, p), Calls: p.Calls, Remote: p.Principal, Proposer: p.Principal,
	}
	if p.By != "" {
		o.Proposer = p.By
	}
	if p.RequestHuman {
		o.Earlier = p.Forwarding.Said
	}
	return p.finishGrant(h, o)
}

func forwardingTurn(t Thread, turn string) string {
	return deriveID("turn", forwardedKind, t.Principal, t.User, t.Conversation, turn)
}

// forwardingScope is what a forwarded call may use: tools, and skills that other programs run, of these those that
// the principal may use, and of these those that the request asks for.
func forwardingScope(elsewhere skills.Scope, p *Proposal) skills.Scope {
	tools, _ := skills.NewScope("tool.*") // it is a domain
	s := tools.Union(elsewhere)
	if !p.Scope.Empty() {
		s = intersectScopes(s, p.Scope)
	}
	if p.Only != nil {
		s = intersectScopes(s, *p.Only)
	}
	return s
}

// Forwarder decides calls that their callers get in answers. It shares conversations, bounds and records with its
// Handover.
type Forwarder struct{ *Handover }

// newForwarding is a forwarded call as the checkpoint takes it.
func newForwarding(h *Handover, f *flight, grant sentinel.Grant) sentinel.Handing {
	p := &f.proposal
	return sentinel.Handing{
		ID: f.id, Grant: grant, Skill: p.Skill, Args: p.Arguments, Tool: p.Forwarding.Tool, History: listHistory(p.History),
		Earlier: listHistory(p.Forwarding.Before), Lifetime: p.Wait + forwardWithin, Elsewhere: Forwarder{h}.runsElsewhere, OnHeld: f.onHeld,
		AwaitCaller: func(ctx context.Context) (sentinel.Grant, error) { return f.awaitCaller(ctx, h.o.Now) },
		Seal:        func(_ sentinel.Call, s sentinel.Seal) (string, error) { return s.ID, nil }, // the answer is what its caller is handed
	}
}

// runsElsewhere reports whether calls of a skill may be forwarded: nothing in this program runs it.
func (h Forwarder) runsElsewhere(skill string) bool {
	_, known := h.o.Checkpoint.Registry().Get(skill)
	return h.o.Skills.Allows(skill) || !known && strings.HasPrefix(skill, "tool.")
}

// Forward decides a call that its caller gets in an answer. Where the state is Allowed the answer may carry it now,
// and Forwarded must be told. Where it is Pending a person is asked: the next call of the same content goes on with
// that question. The errors are those of Propose.
func (h Forwarder) Forward(ctx context.Context, p Proposal) (Answer, error) {
	key, conv, g, err := h.beginForwarding(ctx, &p)
	if err != nil {
		return Answer{}, err
	}
	defer h.leaveConversation(conv)
	for from := 0; from < maxOccurrences; {
		n, err := h.findOccurrence(ctx, conv, &p, key, from)
		if err != nil {
			return Answer{}, err
		}
		p.CallID = occurrenceName(key, n)
		f, err := h.joinFlight(conv, &p, g)
		if errors.Is(err, ErrDigest) { // its tool was declared otherwise: a person's yes is for another one
			conv.seen.settle(key, n, false)
			from = n + 1
			continue
		}
		if err != nil {
			conv.seen.settle(key, n, false)
			return Answer{}, err
		}
		a, err := h.awaitFlight(ctx, f, &p)
		pending := err != nil || a.State == Pending || a.State == Deferred
		conv.seen.settle(key, n, !pending)
		if err != nil || pending || a.Warrant != "" || f.decidedNow() {
			return a, err
		}
	}
	return Answer{}, ErrConversationFull
}

// beginForwarding checks a forwarded call and opens its conversation.
func (h Forwarder) beginForwarding(ctx context.Context, p *Proposal) (key string, c *conversation, g sentinel.Grant, err error) {
	own := Forwarding{}
	if p.Forwarding != nil {
		own = *p.Forwarding
	}
	own.begun = true
	p.Forwarding, p.CallID = &own, "forwarded"
	if err := p.check(); err != nil {
		return "", nil, g, err
	}
	canonical, _, err := sentinel.CanonicalArgs(p.Arguments)
	if err != nil {
		return "", nil, g, fmt.Errorf("%w: %w", ErrProposal, err)
	}
	if g, err = newGrant(h.o, p); err != nil {
		return "", nil, g, err
	}
	c, err = h.openConversation(ctx, g)
	return contentKey(p.Skill, canonical), c, g, err
}

// decidedNow reports whether the flight ended in a decision of its own, and not in one that was on record.
func (f *flight) decidedNow() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.handed.Past == nil && f.handed.Warrant == ""
}

// contentKey names what a call does.
func contentKey(skill, canonical string) string {
	sum := sha256.Sum256([]byte(strconv.Itoa(len(skill)) + " " + skill + canonical))
	return hex.EncodeToString(sum[:])
}

// occurrenceName names the n-th call of one content in its conversation, from 0.
func occurrenceName(key string, n int) string { return key + "/" + strconv.Itoa(n) }

// findOccurrence returns the number of the next call of a content. One that a person is asked about comes first.
func (h Forwarder) findOccurrence(ctx context.Context, c *conversation, p *Proposal, key string, from int) (int, error) {
	for {
		if n, known := c.seen.take(key, from); known {
			return n, nil
		}
		next, err := h.countOccurrences(ctx, c, Thread{p.Principal, p.User, p.Conversation}, key)
		if err != nil {
			return 0, err
		}
		c.seen.begin(key, next)
	}
}

// countOccurrences returns how many calls of a content are on record: their numbers are dense.
func (h Forwarder) countOccurrences(ctx context.Context, c *conversation, t Thread, key string) (int, error) {
	ended := func(n int) (bool, error) {
		_, known, err := c.desk.PastCall(ctx, CallID(t.Principal, t.User, t.Conversation, occurrenceName(key, n)))
		return known, err
	}
	below, above := -1, 0 // the greatest that has ended, and one that has not
	for step := 1; ; step *= 2 {
		is, err := ended(above)
		if err != nil {
			return 0, err
		}
		if !is {
			break
		}
		below, above = above, above+step
	}
	for above-below > 1 {
		middle := (below + above) / 2
		is, err := ended(middle)
		if err != nil {
			return 0, err
		}
		if is {
			below = middle
		} else {
			above = middle
		}
	}
	return above, nil
}

// Observe decides a call that goes through whatever is decided, and writes down what would have been. Answer.State
// is Allowed, Denied, Pending where a person would have been asked, or Deferred.
func (h Forwarder) Observe(ctx context.Context, p Proposal) (Answer, error) {
	key, conv, g, err := h.beginForwarding(ctx, &p)
	if err != nil {
		return Answer{}, err
	}
	defer h.leaveConversation(conv)
	n, err := h.findOccurrence(ctx, conv, &p, key, 0)
	if err != nil {
		return Answer{}, err
	}
	p.CallID = occurrenceName(key, n)
	f := &flight{id: CallID(p.Principal, p.User, p.Conversation, p.CallID), conv: conv, proposal: p, grantID: g.ID(), grant: g}
	handed, err := conv.desk.Observe(ctx, newForwarding(h.Handover, f, g))
	conv.seen.settle(key, n, err == nil)
	var no *skills.Refusal
	if err != nil && !errors.As(err, &no) {
		return Answer{}, err
	}
	a := Answer{ID: f.id, State: Denied, Refusal: no, DecisionID: handed.Decision.ID}
	if no != nil {
		return a, nil
	}
	line := handed.Decision.Line(p.CallID)
	a.Decision = &line
	switch handed.Decision.Outcome {
	case sentinel.Allow:
		a.State = Allowed
	case sentinel.Ask:
		a.State = Pending
	case sentinel.Defer:
		a.State = Deferred
	}
	return a, nil
}

// Refuse writes down a proposal whose arguments didn't reach the checkpoint, with why. p.Arguments may be left out. The
// refusal is Answer.Refusal. The errors are those of Propose.
func (h Forwarder) Refuse(ctx context.Context, p Proposal, code, reason string) (Answer, error) {
	p.Arguments = nil
	_, conv, g, err := h.beginForwarding(ctx, &p)
	if err != nil {
		return Answer{}, err
	}
	defer h.leaveConversation(conv)
	id := CallID(p.Principal, p.User, p.Conversation, sentinel.NewID())
	f := &flight{id: id, conv: conv, proposal: p, grantID: g.ID(), grant: g}
	err = conv.desk.Refuse(ctx, newForwarding(h.Handover, f, g), &sentinel.CallError{Code: code, Reason: reason})
	var no *skills.Refusal
	if !errors.As(err, &no) {
		return Answer{}, err
	}
	return Answer{ID: id, State: Denied, Refusal: no}, nil
}

// openThread opens the conversation of forwarded calls.
func (h Forwarder) openThread(ctx context.Context, t Thread) (*conversation, error) {
	g, err := newForwardingGrant(h.o, &Proposal{Principal: t.Principal, User: t.User, Conversation: t.Conversation, Forwarding: &Forwarding{}})
	if err != nil {
		return nil, err
	}
	return h.openConversation(ctx, g)
}

// Forwarded takes down that an allowed call left in an answer, or that it didn't. The errors are those of Report.
func (h Forwarder) Forwarded(ctx context.Context, t Thread, id string, left bool) error {
	conv, err := h.openThread(ctx, t)
	if err != nil {
		return err
	}
	defer h.leaveConversation(conv)
	if err := conv.desk.Forwarded(ctx, id, left); err != nil {
		return forwardedError(err)
	}
	conv.dropHanded(id)
	return nil
}

// forwardedError is an error of package sentinel as this one has it.
func forwardedError(err error) error {
	for ours, theirs := range reportErrors {
		if errors.Is(err, theirs) {
			return fmt.Errorf("%w", ours)
		}
	}
	return err
}

// ToolResult is what a client says that a forwarded call came to.
type ToolResult struct {
	// ID is that of the call where its caller knows it. Otherwise the call is found by Skill and Arguments.
	ID        string
	Skill     string
	Arguments []byte
	Failed    bool
	Text      string
}

// Arrival is what a request brings into a conversation.
type Arrival struct {
	Results []ToolResult
	// Turn names the turn that the request belongs to, where it has words that a person sent.
	Turn string
	// Read says that the request holds other text that somebody else may have written, ReadBefore that it holds some
	// of earlier turns.
	Read, ReadBefore bool
}

// Arrive takes down what a request brings: results of forwarded calls, and a turn that begins. It returns for each
// result whether it is that of a call of this conversation. The error is the store's.
func (h Forwarder) Arrive(ctx context.Context, t Thread, a Arrival) ([]bool, error) {
	conv, err := h.openThread(ctx, t)
	if err != nil {
		return nil, err
	}
	defer h.leaveConversation(conv)
	known, taken := make([]bool, len(a.Results)), map[string]bool{}
	for i, r := range a.Results {
		if known[i], err = h.takeResult(ctx, conv, t, r, taken); err != nil {
			return nil, err
		}
	}
	conv.desk.KeepNewest()
	if a.ReadBefore {
		conv.desk.TaintBefore()
	}
	if a.Turn != "" {
		conv.desk.BeginTurn(forwardingTurn(t, a.Turn))
	}
	if a.Read {
		conv.desk.Taint()
	}
	return known, nil
}

// takeResult takes down one result, and reports whether it is that of a call of the conversation.
func (h Forwarder) takeResult(ctx context.Context, c *conversation, t Thread, r ToolResult, taken map[string]bool) (bool, error) {
	id := r.ID
	if id == "" {
		found, err := h.findForwarded(ctx, c, t, r, taken)
		if found == "" || err != nil {
			return false, err
		}
		id = found
	}
	taken[id] = true
	_, err := c.desk.Report(ctx, id, sentinel.RemoteReport{Failed: r.Failed, Text: r.Text, Untrusted: true})
	for _, told := range []error{sentinel.ErrReported, sentinel.ErrNoCall, sentinel.ErrNotAllowed, sentinel.ErrLate} {
		if errors.Is(err, told) {
			return false, nil
		}
	}
	return err == nil, err
}

// maxFindBack is how many of the newest calls of a content may wait for their results.
const maxFindBack = 16

// findForwarded returns the oldest call of a content that was forwarded and has no result, empty where there is none.
func (h Forwarder) findForwarded(ctx context.Context, c *conversation, t Thread, r ToolResult, taken map[string]bool) (string, error) {
	canonical, _, err := sentinel.CanonicalArgs(r.Arguments)
	if err != nil {
		return "", nil //nolint:nilerr // no call had such arguments
	}
	key := contentKey(r.Skill, canonical)
	n, err := h.countOccurrences(ctx, c, t, key)
	if err != nil {
		return "", err
	}
	for at := max(0, n-maxFindBack); at < n; at++ {
		id := CallID(t.Principal, t.User, t.Conversation, occurrenceName(key, at))
		past, _, err := c.desk.PastCall(ctx, id)
		if err != nil {
			return "", err
		}
		if (past.IsForwarded() || past.IsOpen()) && !taken[id] {
			return id, nil
		}
	}
	return "", nil
}
