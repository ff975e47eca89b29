package orchestrator

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/vedette-dev/vedette/agents/otp"
)

type openConversation struct{ id, user string }

// router is the permanent process that opens conversations by id. It opens each once,
// however many ask for it at the same time. Who runs is the registry's to know and whose
// it is the conversation's own, so a restart loses nothing.
type router struct {
	needs    *conversationNeeds
	restorer *restorer
	openings *openTable
	opening  map[otp.Ref]*openCredit
	open     map[otp.Ref]*openCredit // by the monitor of their supervisors
	waiting  map[string][]otp.From
}

// recheckConversation asks once more whether a conversation that broke was started again.
type recheckConversation struct{ e *openCredit }

// Init watches what an earlier router has opened.
func (r *router) Init(c *otp.Context) error {
	r.opening, r.open, r.waiting = map[otp.Ref]*openCredit{}, map[otp.Ref]*openCredit{}, map[string][]otp.From{}
	for _, e := range r.openings.listCredits() {
		r.watchConversation(c, e)
	}
	return nil
}

// watchConversation watches the conversation, or gives its credit back where it is gone.
func (r *router) watchConversation(c *otp.Context, e *openCredit) {
	if pid, ok := c.System().Whereis(supervisorName(e.id)); ok {
		r.open[c.Monitor(pid)] = e
		return
	}
	r.openings.releaseCredit(e)
	r.restorer.requestWakeIfUnfinished(e.id)
}

// Handle opens conversations without blocking on their start.
func (r *router) Handle(c *otp.Context, msg any) {
	switch m := msg.(type) {
	case openConversation:
		r.onOpenConversation(c, m)
	case otp.Reply:
		r.onConversationStarted(c, m)
	case otp.Down:
		e := r.open[m.Ref]
		if delete(r.open, m.Ref); e == nil {
			return
		}
		if m.Reason.Kind == otp.KindCrash { // it is Transient
			c.SendAfter(time.Second, recheckConversation{e})
			return
		}
		r.openings.releaseCredit(e)
		if m.Reason.Kind != otp.KindNormal {
			r.restorer.requestWakeIfUnfinished(e.id)
		}
	case recheckConversation:
		r.watchConversation(c, m.e)
	case breakdown:
		panic(errEnded)
	}
}

// Terminate has nothing to release.
func (r *router) Terminate(*otp.Context, otp.Reason) {}

// onOpenConversation starts a conversation that does not run, once.
func (r *router) onOpenConversation(c *otp.Context, m openConversation) {
	id := m.id
	if _, ok := c.System().Whereis(supervisorName(id)); ok && r.waiting[id] == nil {
		c.Reply(nil, nil)
		return
	}
	if r.waiting[id] != nil {
		r.waiting[id] = append(r.waiting[id], c.From())
		return
	}
	e, err := r.openings.openCredit(id, m.user)
	if err != nil {
		c.Reply(nil, err)
		return
	}
	r.waiting[id] = append(r.waiting[id], c.From())
	sup, _ := c.System().Whereis("conversations") // without it the start is answered with an error
	r.opening[c.StartChild(sup, conversationSpec(r.needs, id, m.user), 30*time.Second)] = e
}

// onConversationStarted answers those who wait for a conversation.
func (r *router) onConversationStarted(c *otp.Context, m otp.Reply) {
	e := r.opening[m.Ref]
	if e == nil {
		return
	}
	id, err := e.id, m.Err
	if pid, ok := m.Value.(otp.PID); ok && err == nil {
		r.open[c.Monitor(pid)] = e
	} else {
		r.openings.releaseCredit(e)
	}
	switch {
	case errors.Is(err, otp.ErrMaxChildren): // one whose end is known here, and not there yet
		err = r.needs.pools.conversations.Overloaded("")
	case errors.Is(err, otp.ErrNameTaken):
		err = nil // one of before this process's restart runs, or is on its way out
	}
	for _, from := range r.waiting[id] {
		from.Reply(nil, err)
	}
	delete(r.opening, m.Ref)
	delete(r.waiting, id)
}

// conversationSpec is one conversation: its server first, then its agents. So a server
// that crashes takes the agents it forgot with it.
func conversationSpec(n *conversationNeeds, id, user string) otp.ChildSpec {
	spec := otp.SupervisorSpec("conversation-"+id, otp.SupervisorOptions{
		Strategy: otp.RestForOne, MaxRestarts: 3, Period: 5 * time.Second,
		// A server that ends by itself has been idle for long: all of it goes.
		AutoShutdown: otp.AutoShutdownAny,
		Children:     []otp.ChildSpec{serverSpec(n, id, user), agentsSpec(id)},
	})
	spec.Name, spec.Restart = supervisorName(id), otp.Transient
	return spec
}

// serverSpec is the conversation's process.
func serverSpec(n *conversationNeeds, id, user string) otp.ChildSpec {
	var started atomic.Bool
	return otp.ChildSpec{
		ID: "server", Name: serverName(id), Restart: otp.Transient, Significant: true,
		Start: func() otp.Server {
			return &conversation{conversationNeeds: n, id: id, user: user, crashed: started.Swap(true)}
		},
	}
}

// agentsSpec is the supervisor of the conversation's agents.
func agentsSpec(id string) otp.ChildSpec {
	spec := otp.DynamicSupervisorSpec("agents", otp.DynamicSupervisorOptions{MaxChildren: 64})
	spec.Name = agentsName(id)
	return spec
}
