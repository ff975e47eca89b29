package orchestrator

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/vedette-dev/vedette/agents/otp"
)

func newID() string { return uuid.Must(uuid.NewV7()).String() }

type openConversation struct{ co ConversationOptions }

// router is the permanent process that opens conversations by id.
type router struct {
	o       *Orchestrator
	owners  map[string]string
	opening map[otp.Ref]opening
}

type opening struct {
	from otp.From
	id   string
}

// Init starts empty: who is running is the registry's to know.
func (r *router) Init(*otp.Context) error {
	r.owners, r.opening = map[string]string{}, map[otp.Ref]opening{}
	return nil
}

// Handle opens conversations without blocking on their start.
func (r *router) Handle(c *otp.Context, msg any) {
	switch m := msg.(type) {
	case openConversation:
		r.open(c, m.co)
	case otp.Reply:
		w, ok := r.opening[m.Ref]
		if !ok {
			return
		}
		delete(r.opening, m.Ref)
		switch {
		case errors.Is(m.Err, otp.ErrMaxChildren):
			w.from.Reply(nil, ErrOverloaded)
		case errors.Is(m.Err, otp.ErrDuplicate), errors.Is(m.Err, otp.ErrNameTaken):
			w.from.Reply(nil, nil) // somebody else opened it meanwhile
		default:
			w.from.Reply(nil, m.Err)
		}
	}
}

// Terminate has nothing to release.
func (r *router) Terminate(*otp.Context, otp.Reason) {}

func (r *router) open(c *otp.Context, co ConversationOptions) {
	if owner, ok := r.owners[co.ID]; ok && owner != co.User {
		c.Reply(nil, fmt.Errorf("%w: the conversation belongs to another user", ErrRequest))
		return
	}
	if _, ok := c.System().Whereis(serverName(co.ID)); ok {
		c.Reply(nil, nil)
		return
	}
	sup, ok := c.System().Whereis("conversations")
	if !ok {
		c.Reply(nil, ErrClosed)
		return
	}
	r.owners[co.ID] = co.User
	ref := c.StartChild(sup, conversationSpec(r.o, co), 30*time.Second)
	r.opening[ref] = opening{c.From(), co.ID}
}

// conversationSpec is one conversation: its server first, then its agents, so
// that a server that crashes takes the agents it forgot with it.
func conversationSpec(o *Orchestrator, co ConversationOptions) otp.ChildSpec {
	members := otp.DynamicSupervisorSpec("agents", otp.DynamicSupervisorOptions{MaxChildren: 64})
	members.Name = agentsName(co.ID)
	spec := otp.SupervisorSpec("conversation-"+co.ID, otp.SupervisorOptions{
		Strategy: otp.RestForOne, MaxRestarts: 3, Period: 5 * time.Second,
		Children: []otp.ChildSpec{
			// Transient: a conversation that was closed stays closed.
			{
				ID: "server", Name: serverName(co.ID), Restart: otp.Transient,
				Start: func() otp.Server { return &conversation{o: o, co: co} },
			},
			members,
		},
	})
	spec.Restart = otp.Transient
	return spec
}
