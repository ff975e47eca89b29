package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/trace"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/orchestrator/admission"
	"github.com/vedette-dev/vedette/orchestrator/history"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// ConversationOptions name a conversation.
type ConversationOptions struct {
	// ID is 1 to 128 letters, digits, ".", "_", ":", "@" and "-", the first a
	// letter or a digit.
	ID string
	// User is on whose behalf the agents work; same form as ID.
	User string
	// By is who sends requests through this Conversation in the user's name, as approvers are named; empty
	// where it is the user. Where no requester may approve a call, neither may they. Same length as ID.
	By string
	// Principal is the id of who sends them, as package access has it; empty for the program itself. Once its token
	// is revoked or has expired, no call of these requests starts. Same length as ID.
	Principal string
	// Scope are the skills that agents may be granted for requests sent through
	// this Conversation; empty means all that are configured.
	Scope skills.Scope
	// Context is what the program knows of the user and tells the model with each request: a
	// name, a language, a time zone. It is at most 16 KiB and grounds no call. Text that others
	// wrote doesn't belong here, History has it.
	Context string
	// History is what was said before, in a program of which Vedette has no record: at most
	// 200 messages of 256 KiB together. The model reads it before the conversation's first
	// request; later it is left out. The client may have made it up. So it
	// taints the conversation for good, and nothing in it grounds a call.
	History []EarlierMessage
	// Assistant is how requests are worked on that are sent through this Conversation.
	Assistant Assistant
}

// EarlierMessage is something that was said before, as a client says.
type EarlierMessage struct {
	Role string `json:"role"` // MessageOfUser or MessageOfAssistant
	Text string `json:"text"`
}

var idForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$`)

// Conversation is one user's conversation.
type Conversation struct {
	needs *conversationNeeds
	co    ConversationOptions
}

// ID names the conversation.
func (c *Conversation) ID() string { return c.co.ID }

// Reply is the answer to one request.
type Reply struct {
	Turn string `json:"turn"`
	Text string `json:"text"`
	// Links is how many links and images were made text, in Text and in the
	// Answers of Agents, because what they stand in is tainted and they lead to
	// a host that is neither under answers.links nor in the request.
	Links int `json:"links,omitempty"`
	// Agents are the sub-agents that worked on it, in the order of their
	// dispatch.
	Agents []agents.Result `json:"agents,omitempty"`
	// Tainted is set where something that others could have written was read
	// on the way to the answer, in this turn or before.
	Tainted bool          `json:"tainted"`
	Took    time.Duration `json:"took"`
	// Spent is what the request's questions to models came to, those of its
	// agents included.
	Spent Spent `json:"spent"`
	// Steps are the calls that were judged on the way to the answer, as the
	// ledger has them, also those before a restart; Left is how many more there
	// were than fit, -1 where the ledger could not be read.
	Steps []Step `json:"steps,omitempty"`
	Left  int    `json:"left,omitempty"`
}

// Request is something a user asks for.
type Request struct {
	// ID names the request in its conversation, in the form of a conversation's id. A
	// request that is sent again with the same ID and text is not worked on again. Its
	// caller waits for the same answer, or gets that answer at once.
	ID   string `json:"id"`
	Text string `json:"text"`
	// Said is what a client says was said since the last answer, and of which Vedette has no
	// record. It is read before the request, within the bounds of ConversationOptions.History, and
	// taints and grounds nothing as that does. It is left out where the request was sent before.
	Said []EarlierMessage `json:"said,omitempty"`
}

// Send gives the user's words to the conversation and returns the answer. It
// fails with ErrRequest, ErrOverloaded, ErrClosed, ErrInterrupted, ErrNotKept,
// a *ModelError, or ctx's error; the turn is stopped when ctx ends, or after 10
// minutes where ctx has no deadline, also where its process crashed meanwhile.
// (One that a killed program left behind is finished by the next.) Requests of one conversation are worked on
// one after another, and wait for room among those of all users, in turn.
// ErrOverloaded is an *OverloadedError: nothing was begun, and it says when to
// come again.
func (c *Conversation) Send(ctx context.Context, request string) (Reply, error) {
	return c.sendAndWait(ctx, sendRequest{ID: sentinel.NewID(), Text: request, Fresh: true})
}

// SendRequest is Send of a request that the caller named. It goes on being
// worked on when ctx ends; once it is begun also when the process ends, after
// the next start: send it again, or use Reply. A request whose answer is gone,
// because its retention is over, is new.
//
// It is begun when its conversation has answered those before it and there is
// room among those of all users: then it is written down. Until then it waits in
// memory, and the end of its conversation's process, or of the program, forgets
// it: to Reply it is ErrRequest, and sent again it is new. A caller that has to
// know waits for the answer.
func (c *Conversation) SendRequest(ctx context.Context, r Request) (Reply, error) {
	if !idForm.MatchString(r.ID) {
		return Reply{}, ErrBadID
	}
	return c.sendAndWait(ctx, sendRequest{ID: r.ID, Text: r.Text, Said: r.Said, Stays: true})
}

// checkRequestText refuses what is no text of a request.
func checkRequestText(text string) error {
	switch {
	case text == "":
		return ErrEmptyRequest
	case len(text) > maxRequest:
		return ErrLongRequest
	case !utf8.ValidString(text):
		return fmt.Errorf("%w: a request is text in UTF-8", ErrRequest)
	}
	return nil
}

// reattach bounds how often a caller looks for its request after the process
// that worked on it has crashed.
const reattach = 10

// sendAndWait sends a request and waits for its answer, also over crashes of its process.
func (c *Conversation) sendAndWait(ctx context.Context, m sendRequest) (Reply, error) {
	if err := checkRequestText(m.Text); err != nil {
		return Reply{}, err
	}
	if err := checkEarlier(m.Said); err != nil {
		return Reply{}, err
	}
	credit, err := c.needs.pools.requests.Try(admission.Ask{User: c.co.User})
	if err != nil {
		return Reply{}, err
	}
	defer credit.Release()
	ctx, cancel := withDeadline(ctx, defaultTurn)
	defer cancel()
	m.User, m.By, m.Scope, m.Token, m.Trace, m.Credit = c.co.User, c.co.By, c.co.Scope, sentinel.NewID(), traceOf(ctx), credit
	m.Principal = c.co.Principal
	m.Context, m.History, m.Assistant = c.co.Context, c.co.History, c.co.Assistant
	if err := (intentAsker{c}).authorize(ctx, &m); err != nil {
		return Reply{}, err
	}
	for range reattach {
		credit.Reclaim() // a process that crashed may have lent it
		v, err := c.callProcess(ctx, m)
		if err == nil {
			out := v.(requestResult)
			return c.withSteps(ctx, out.reply), out.err
		}
		again := errors.Is(err, ErrInterrupted)
		if ctx.Err() != nil || !again && !m.Fresh {
			c.leaveRequest(m)
		}
		if !again {
			return Reply{}, err
		}
		m.Fresh = false // it may have been written down, or even answered
	}
	c.leaveRequest(m)
	return Reply{}, ErrInterrupted
}

// Reply waits for the answer to a request that was sent before, and returns what Send or
// SendRequest did. An earlier process may have got the request. ErrRequest: no such
// request is known, nor was one begun. When ctx ends the request goes on.
func (c *Conversation) Reply(ctx context.Context, id string) (Reply, error) {
	credit, err := c.needs.pools.requests.Try(admission.Ask{User: c.co.User})
	if err != nil {
		return Reply{}, err
	}
	defer credit.Release()
	ctx, cancel := withDeadline(ctx, defaultTurn)
	defer cancel()
	for range reattach {
		credit.Reclaim()
		m := attach{id, c.co.User, sentinel.NewID(), credit}
		v, err := c.callProcess(ctx, m)
		if err != nil && ctx.Err() != nil {
			c.needs.tellConversation(c.co.ID, cancelTurn{m.ID, m.Token}) // who doesn't wait any more doesn't keep the turn alive
		}
		switch {
		case err == nil:
			out := v.(requestResult)
			return c.withSteps(ctx, out.reply), out.err
		case errors.Is(err, errNotHere):
			return c.readAnswer(ctx, id)
		case !errors.Is(err, ErrInterrupted):
			return Reply{}, err
		}
	}
	return Reply{}, ErrInterrupted
}

// readAnswer reads the answer of a request that is over.
func (c *Conversation) readAnswer(ctx context.Context, id string) (Reply, error) {
	end, err := c.needs.journal.readEnd(ctx, history.Turn{Conversation: c.co.ID, User: c.co.User, Turn: deriveTurnID(c.co.ID, id)}, "")
	switch {
	case err != nil:
		return Reply{}, errors.Join(ErrNotKept, err)
	case end == nil:
		return Reply{}, ErrUnknownRequest
	}
	return c.withSteps(ctx, end.Reply), failureFromCode(end.Failure)
}

// attempts bounds how often a call looks for a conversation that comes and goes. It is
// being restarted, or went to rest this moment.
const attempts = 100

// callProcess asks the conversation's process, starting it where it is not running.
func (c *Conversation) callProcess(ctx context.Context, msg any) (any, error) {
	for range attempts {
		pid, err := c.findProcess(ctx)
		if err != nil {
			return nil, c.needs.ending.translateError(ctx, err)
		}
		v, err := otp.Call(ctx, pid, msg)
		var down *otp.DownError
		if errors.As(err, &down) && down.Reason.Kind == otp.KindNormal {
			continue // it went to rest before it saw the message
		}
		return v, c.needs.ending.translateError(ctx, err)
	}
	return nil, c.needs.ending.translateError(ctx, ErrInterrupted)
}

// back is how long is waited before the router, or the supervisor of the
// conversations, is looked for again.
const lookAgainAfter = 10 * time.Millisecond

// waitBriefly waits until a process may have been started again, or ctx ends.
func waitBriefly(ctx context.Context) {
	t := time.NewTimer(lookAgainAfter)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// findProcess returns the conversation's process, starting it where it is not running.
func (c *Conversation) findProcess(ctx context.Context) (otp.PID, error) {
	sys := c.needs.sys
	for range attempts {
		if pid, ok := sys.Whereis(serverName(c.co.ID)); ok {
			return pid, nil
		}
		if err := ctx.Err(); err != nil || c.needs.ending.closed.Load() {
			return otp.PID{}, errors.Join(err, otp.ErrStopping)
		}
		if sup, ok := sys.Whereis(supervisorName(c.co.ID)); ok {
			// Its server is about to be there: this request is served after the
			// restart that is under way. Or all of it is about to be gone.
			if _, err := otp.RestartChild(ctx, sup, "server"); errors.Is(err, otp.ErrStopping) {
				_, _ = otp.Wait(ctx, sup) // ctx's end is seen above
			}
			runtime.Gosched()
			continue
		}
		router, ok := sys.Whereis("router")
		if !ok {
			waitBriefly(ctx) // it is permanent: back in a moment
			continue
		}
		_, err := otp.Call(ctx, router, openConversation{c.co.ID, c.co.User})
		switch {
		case err == nil:
		case errors.Is(err, otp.ErrNoProcess), errors.Is(err, otp.ErrStopping):
			waitBriefly(ctx) // so is it, and the supervisor of conversations
		default:
			return otp.PID{}, err
		}
	}
	return otp.PID{}, ErrInterrupted
}

// leaveRequest takes the caller off its request. A conversation that isn't there, since
// it crashed too often, is woken to hear of it.
func (c *Conversation) leaveRequest(m sendRequest) {
	if c.needs.ending.closed.Load() {
		return
	}
	if !m.Stays {
		c.needs.abandoned.addRequest(c.co.ID, m.ID)
	}
	if !c.needs.tellConversation(c.co.ID, cancelTurn{m.ID, m.Token}) && !m.Stays {
		c.needs.recovery.requestWake(c.co.ID, c.co.User)
	}
}

// traceOf is the trace of the caller that sends a request.
func traceOf(ctx context.Context) trace.SpanContext { return trace.SpanContextFromContext(ctx) }

// withSteps adds the steps of a reply's turn. They are read from the ledger, where
// they stand whichever process judged them. An answer is not lost over them.
func (c *Conversation) withSteps(ctx context.Context, r Reply) Reply {
	if r.Turn == "" {
		return r
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stepsFor)
	defer cancel()
	var err error
	if r.Steps, r.Left, err = c.readSteps(ctx, r.Turn); err != nil {
		r.Left = -1
		c.needs.log.Warn("the steps of a turn can't be read from the ledger", "conversation", c.co.ID, "turn", r.Turn, "error", err)
	}
	return r
}
