package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// The limits of an Orchestrator.
const (
	maxConversations = 10_000
	maxQueued        = 4 // requests that wait for a conversation's turn to end
	maxRequest       = 64 << 10
	defaultTurn      = 10 * time.Minute
	maxRounds        = 40 // model calls a turn
)

// Errors of this package.
var (
	// ErrClosed answers calls to an Orchestrator that was closed.
	ErrClosed = errors.New("the orchestrator is closed")
	// ErrOverloaded refuses work at the door. Try again later.
	ErrOverloaded = errors.New("too much is waiting already; try again later")
	// ErrRequest refuses a request that is empty or too long.
	ErrRequest = errors.New("bad request")
)

// ModelError is a turn that ended because the orchestrator's model could not
// be asked. Kind is one of llm's kinds.
type ModelError struct{ Kind string }

// Error names the kind; the server's own text is left out.
func (e *ModelError) Error() string { return "the orchestrator's model can't be asked: " + e.Kind }

// Options are what a program adds to the configuration.
type Options struct {
	// Skills are Go functions that join the configured skills.
	Skills []*skills.GoSkill
	// Approver asks people; nil means that nobody can approve.
	Approver sentinel.Approver
	// Observe is told of every decision and outcome. It must not block.
	Observe func(sentinel.Event)
	// OnAgent is told when an agent starts or ends. It must not block.
	OnAgent func(conversation string, r agents.Result)
	// NoReview leaves the model review out; decisions say so.
	NoReview bool
	Log      *slog.Logger
}

// Orchestrator holds the conversations of one process. It is safe for
// concurrent use.
type Orchestrator struct {
	parts *assembly.Parts
	opts  Options
	sys   *otp.System
	model agents.Model
	log   *slog.Logger

	router, conversations otp.PID
}

// New builds everything that the configuration names, opens its store, and
// starts the supervision tree. Close releases it.
func New(ctx context.Context, cfg *config.Config, opts Options) (*Orchestrator, error) {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	o := &Orchestrator{opts: opts, log: opts.Log}
	parts, err := assembly.Build(ctx, cfg, assembly.Options{
		Skills: opts.Skills, Natives: o.natives(), Approver: opts.Approver, Observe: o.observe,
		NoReview: opts.NoReview, Log: opts.Log,
	})
	if err != nil {
		return nil, err
	}
	o.parts = parts
	if o.model, err = parts.Model("orchestrator"); err != nil {
		return nil, errors.Join(err, parts.Close())
	}
	if err := o.start(ctx); err != nil {
		return nil, errors.Join(err, o.Close(ctx))
	}
	return o, nil
}

// start brings up the tree: the conversations before the router that fills
// them.
func (o *Orchestrator) start(ctx context.Context) error {
	ctx, cancel := withDeadline(ctx, time.Minute)
	defer cancel()
	sys := otp.NewSystem(otp.SystemOptions{Logger: o.log})
	o.sys = sys
	conversations := otp.DynamicSupervisorSpec("conversations", otp.DynamicSupervisorOptions{MaxChildren: maxConversations})
	conversations.Name = "conversations"
	_, err := sys.Start(ctx, otp.SupervisorSpec("app", otp.SupervisorOptions{
		Strategy: otp.OneForOne,
		Children: []otp.ChildSpec{
			conversations,
			// Permanent: without it no conversation can be opened. It holds
			// nothing that a restart would lose.
			{ID: "router", Name: "router", Restart: otp.Permanent, Start: func() otp.Server { return &router{o: o} }},
		},
	}))
	return err
}

// Close stops all conversations and closes the store. Calls that are under way
// get until ctx ends.
func (o *Orchestrator) Close(ctx context.Context) error {
	var errs []error
	if o.sys != nil {
		errs = append(errs, o.sys.Stop(ctx))
	}
	if o.parts != nil {
		errs = append(errs, o.parts.Close())
	}
	return errors.Join(errs...)
}

// Parts gives access to what was assembled: the checkpoint, the ledger, the
// journal.
func (o *Orchestrator) Parts() *assembly.Parts { return o.parts }

// observe tells agents that a person is being asked, so that their clock
// stands still, and passes the event on.
func (o *Orchestrator) observe(e sentinel.Event) {
	g := e.Call.Grant()
	v, _ := e.Decision.Verdict(sentinel.GateApproval)
	switch {
	case e.Kind == sentinel.RecordHeld:
		o.tell(g.Conversation(), heldCall{g.ID(), true})
	case e.Kind == sentinel.RecordDecision && v.State != sentinel.NotReached:
		o.tell(g.Conversation(), heldCall{g.ID(), false})
	}
	if o.opts.Observe != nil {
		o.opts.Observe(e)
	}
}

func (o *Orchestrator) tell(conversation string, msg any) {
	if o.sys == nil {
		return
	}
	if pid, ok := o.sys.Whereis(serverName(conversation)); ok {
		pid.Send(msg)
	}
}

func serverName(conversation string) string { return "conversation/" + conversation }
func agentsName(conversation string) string { return "agents/" + conversation }

// ConversationOptions name a conversation.
type ConversationOptions struct {
	// ID is 1 to 128 letters, digits, ".", "_", ":" and "-".
	ID string
	// User is on whose behalf the agents work; same form as ID.
	User string
	// Scope are the skills the user's agents may be granted; empty means all
	// that are configured.
	Scope skills.Scope
}

var idForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$`)

// Conversation is one user's conversation.
type Conversation struct {
	o  *Orchestrator
	co ConversationOptions
}

// Open returns the conversation, starting it where it is not running. A
// conversation belongs to the user who opened it.
func (o *Orchestrator) Open(ctx context.Context, co ConversationOptions) (*Conversation, error) {
	if !idForm.MatchString(co.ID) || !idForm.MatchString(co.User) {
		return nil, fmt.Errorf("%w: conversation and user need ids of 1 to 128 letters, digits and . _ : @ -", ErrRequest)
	}
	if co.Scope.Empty() {
		all, err := skills.NewScope(o.userSkills()...)
		if err != nil {
			return nil, err
		}
		co.Scope = all
	}
	ctx, cancel := withDeadline(ctx, time.Minute)
	defer cancel()
	pid, ok := o.sys.Whereis("router")
	if !ok {
		return nil, ErrClosed
	}
	_, err := otp.Call(ctx, pid, openConversation{co})
	return &Conversation{o, co}, closedError(err)
}

func (o *Orchestrator) userSkills() []string {
	var names []string
	for _, n := range o.parts.Registry.Names() {
		if !isNative(n) {
			names = append(names, n)
		}
	}
	return names
}

func withDeadline(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d)
}

func closedError(err error) error {
	if errors.Is(err, otp.ErrNoProcess) || errors.Is(err, otp.ErrStopping) {
		return errors.Join(ErrClosed, err)
	}
	return err
}

// ID names the conversation.
func (c *Conversation) ID() string { return c.co.ID }

// Reply is the answer to one request.
type Reply struct {
	Turn string
	Text string
	// Agents are the sub-agents that worked on it, in the order of their
	// dispatch.
	Agents []agents.Result
	// Tainted is set where something that others could have written was read
	// on the way to the answer.
	Tainted bool
	Took    time.Duration
}

// Send gives the user's words to the conversation and returns the answer. It
// fails with ErrRequest, ErrOverloaded, ErrClosed, a *ModelError, or ctx's
// error; the turn is stopped when ctx ends. Requests of one conversation are
// worked on one after another.
func (c *Conversation) Send(ctx context.Context, request string) (Reply, error) {
	if request == "" || len(request) > maxRequest {
		return Reply{}, fmt.Errorf("%w: a request has 1 to %d bytes, not %d", ErrRequest, maxRequest, len(request))
	}
	ctx, cancel := withDeadline(ctx, defaultTurn)
	defer cancel()
	pid, ok := c.o.sys.Whereis(serverName(c.co.ID))
	if !ok {
		if _, err := c.o.Open(ctx, c.co); err != nil {
			return Reply{}, err
		}
		if pid, ok = c.o.sys.Whereis(serverName(c.co.ID)); !ok {
			return Reply{}, ErrClosed
		}
	}
	id := newID()
	v, err := otp.Call(ctx, pid, sendRequest{ID: id, Text: request})
	if ctx.Err() != nil {
		pid.Send(cancelTurn{id})
	}
	if err != nil {
		return Reply{}, closedError(err)
	}
	return v.(Reply), nil
}
