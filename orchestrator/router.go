package orchestrator

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/vedette-dev/vedette/agents/otp"
)

func newID() string { return uuid.Must(uuid.NewV7()).String() }

type openConversation struct{ id, user string }

// router is the permanent process that opens conversations by id, each once
// however many ask for it at the same time. Who runs is the registry's to know
// and whose it is the conversation's own, so a restart loses nothing.
type router struct {
	o       *Orchestrator
	opening map[otp.Ref]string
	waiting map[string][]otp.From
}

// Init starts empty.
func (r *router) Init(*otp.Context) error {
	r.opening, r.waiting = map[otp.Ref]string{}, map[string][]otp.From{}
	return nil
}

// Handle opens conversations without blocking on their start.
func (r *router) Handle(c *otp.Context, msg any) {
	switch m := msg.(type) {
	case openConversation:
		r.open(c, m)
	case otp.Reply:
		r.opened(m)
	case breakdown:
		panic(errEnded)
	}
}

// Terminate has nothing to release.
func (r *router) Terminate(*otp.Context, otp.Reason) {}

func (r *router) open(c *otp.Context, m openConversation) {
	id := m.id
	if _, ok := c.System().Whereis(supervisorName(id)); ok && r.waiting[id] == nil {
		c.Reply(nil, nil)
		return
	}
	r.waiting[id] = append(r.waiting[id], c.From())
	if len(r.waiting[id]) > 1 {
		return
	}
	sup, _ := c.System().Whereis("conversations") // without it the start is answered with an error
	r.opening[c.StartChild(sup, conversationSpec(r.o, id, m.user), 30*time.Second)] = id
}

func (r *router) opened(m otp.Reply) {
	id, ok := r.opening[m.Ref]
	if !ok {
		return
	}
	err := m.Err
	switch {
	case errors.Is(err, otp.ErrMaxChildren):
		err = ErrOverloaded
	case errors.Is(err, otp.ErrNameTaken):
		err = nil // one of before this process's restart runs, or is on its way out
	}
	for _, from := range r.waiting[id] {
		from.Reply(nil, err)
	}
	delete(r.opening, m.Ref)
	delete(r.waiting, id)
}

// conversationSpec is one conversation: its server first, then its agents, so
// that a server that crashes takes the agents it forgot with it.
func conversationSpec(o *Orchestrator, id, user string) otp.ChildSpec {
	var started atomic.Bool
	members := otp.DynamicSupervisorSpec("agents", otp.DynamicSupervisorOptions{MaxChildren: 64})
	members.Name = agentsName(id)
	spec := otp.SupervisorSpec("conversation-"+id, otp.SupervisorOptions{
		Strategy: otp.RestForOne, MaxRestarts: 3, Period: 5 * time.Second,
		// A server that ends by itself has been idle for long: all of it goes.
		AutoShutdown: otp.AutoShutdownAny,
		Children: []otp.ChildSpec{
			{
				ID: "server", Name: serverName(id), Restart: otp.Transient, Significant: true,
				Start: func() otp.Server { return &conversation{o: o, id: id, user: user, crashed: started.Swap(true)} },
			},
			members,
		},
	})
	spec.Name, spec.Restart = supervisorName(id), otp.Transient
	return spec
}
