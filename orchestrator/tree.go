package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/orchestrator/control"
)

// buildTree is the app with all that runs in this process. Children start in this
// order and stop in reverse: what writes to the store ends before its writer,
// and the owner can look in until the conversations are gone.
//
// one_for_one: none of them keeps state of another's; calls reach what they need
// through the Parts, not by message. The intensity is meant never to be used
// up, since the end of the app is the end of everybody's work: with delays that
// grow to five seconds, something that breaks again and again is started some
// twenty-five times a minute, and sixty are granted. The log tells of each.
func (o *Orchestrator) buildTree() otp.ChildSpec {
	conversations := otp.DynamicSupervisorSpec("conversations",
		otp.DynamicSupervisorOptions{MaxChildren: o.parts.Config.Limits.Process.Conversations})
	// Permanent, with the usual three restarts in five seconds. Conversations
	// that give up end with shutdown and count for nothing here, so it takes
	// crashes of the runtime's own to use them up.
	conversations.Name = "conversations"
	var kids []otp.ChildSpec
	// rest_for_one: the maintenance writes, so it restarts with its writer.
	// Ledger, journal, approvals and history have no goroutine and no process:
	// they are what the writer runs (docs/decisions/0005-tree.md).
	kids = append(kids, o.groupSpec("store", otp.RestForOne))
	if o.parts.Review != nil {
		kids = append(kids, o.reviewSpec())
	}
	// Beside the models and not among them: if asking breaks down again and
	// again, that must not close their breakers.
	for _, s := range o.parts.Services() {
		if s.Group == "review" {
			kids = append(kids, serviceSpec(s))
		}
	}
	if _, ok := o.parts.Limits(); ok {
		kids = append(kids, o.groupSpec("limits", otp.OneForOne))
	}
	if o.parts.Intake != nil {
		// one_for_one: a parser whose processes break says nothing of another.
		kids = append(kids, o.groupSpec("intent", otp.OneForOne))
	}
	if len(o.parts.Anchors()) > 0 {
		// one_for_one: an anchor that breaks says nothing of another.
		kids = append(kids, o.groupSpec("anchors", otp.OneForOne))
	}
	if len(o.parts.Channels()) > 0 {
		// one_for_one: a channel that breaks says nothing of another.
		kids = append(kids, o.groupSpec("notify", otp.OneForOne))
	}
	if s := o.tel.Server(); s != nil {
		// Permanent: without metrics an operator learns of faults too late.
		kids = append(kids, otp.ChildSpec{ID: "metrics", Name: "metrics", Start: func() otp.Server { return &service{run: s.Serve, up: true} }})
	}
	kids = append(kids,
		// Permanent: without the door no operator can pause this process from outside.
		otp.ChildSpec{ID: "door", Name: "door", Start: func() otp.Server { return &service{run: o.serveDoor, up: true} }},
		conversations,
		// Permanent: without it no conversation can be opened. It holds nothing
		// that a restart would lose.
		otp.ChildSpec{ID: "orchestrator", Name: "router", Start: func() otp.Server {
			return &router{needs: &o.conversationNeeds, restorer: o.restorer, openings: &o.openings}
		}},
		// Permanent, and last: it begins work. A restart finds all of it again.
		otp.ChildSpec{ID: "recovery", Name: "recovery", Start: func() otp.Server {
			return &recovery{restorer: o.restorer, wake: o.wakeConversation}
		}},
	)
	return otp.SupervisorSpec("app", otp.SupervisorOptions{
		Strategy: otp.OneForOne, MaxRestarts: cmp.Or(o.tune.restarts, appRestarts), Period: time.Minute, Backoff: patience, Children: kids,
	})
}

// appRestarts is how many children of the app are restarted within a minute.
// More is the end of it: see Err.
const appRestarts = 60

// patience is the delay of restarts where nothing waits for them.
var patience = otp.Backoff{Base: 20 * time.Millisecond, Cap: 5 * time.Second}

// groupSpec is a supervisor of services. Like the app it does not give up: without
// its supervised writer the store writes all the same, without maintenance
// values stay longer, and both are worth being tried again for ever.
func (o *Orchestrator) groupSpec(id string, strategy otp.Strategy) otp.ChildSpec {
	opts := otp.SupervisorOptions{Strategy: strategy, MaxRestarts: 60, Period: time.Minute, Backoff: patience}
	for _, s := range o.parts.Services() {
		if s.Group == id {
			opts.Children = append(opts.Children, serviceSpec(s))
		}
	}
	return otp.SupervisorSpec(id, opts)
}

// serviceSpec is Permanent: a service has no end of its own.
func serviceSpec(s assembly.Service) otp.ChildSpec {
	return otp.ChildSpec{ID: s.ID, Name: "service/" + s.ID, Start: func() otp.Server {
		return &service{run: func(ctx context.Context, up func()) error { return s.Run(ctx) }}
	}}
}

// reviewSpec holds the breakers of the review's models, also of those that give
// second opinions. It is one_for_one: a fault in one model's breaker says nothing of
// another's. Three crashes in five seconds end the group. The app then restarts the
// group with every breaker closed, and the review asks the models again.
func (o *Orchestrator) reviewSpec() otp.ChildSpec {
	opts := otp.SupervisorOptions{Strategy: otp.OneForOne}
	for _, name := range o.parts.Review.Models() {
		var before atomic.Bool // the first process finds a new breaker, and calls may have come already
		opts.Children = append(opts.Children, otp.ChildSpec{ID: "model-" + name, Name: "review/" + name, Start: func() otp.Server {
			return &service{run: func(ctx context.Context, _ func()) error {
				if before.Swap(true) {
					o.parts.Review.Renew(name)
				}
				<-ctx.Done()
				return nil
			}}
		}})
	}
	return otp.SupervisorSpec("review", opts)
}

// service is the process of work that runs beside the calls. The work is a task
// of it: its end, its panic and its being ended are messages.
type service struct {
	run  func(ctx context.Context, up func()) error
	up   bool // Init waits until run has said that it is up, or has failed
	task otp.Ref
}

// errEnded is the error of work that ended by itself, before the supervisor stopped
// it.
var errEnded = errors.New("the work ended")

// breakdown is a message that no part of the program sends: tests do, to see
// what a crash does.
type breakdown struct{}

// Init begins the work.
func (s *service) Init(c *otp.Context) error {
	if !s.up {
		s.task = c.Async(0, func(ctx context.Context) (any, error) { return nil, s.run(ctx, func() {}) })
		return nil
	}
	up := make(chan struct{})
	ready := sync.OnceFunc(func() { close(up) })
	s.task = c.Async(0, func(ctx context.Context) (any, error) {
		defer ready() // what has failed is not waited for
		return nil, s.run(ctx, ready)
	})
	select {
	case <-up:
	case <-time.After(upTime): // the program starts without it; its end will be told
	case <-c.Context().Done():
	}
	return nil
}

// upTime is how long the start of the program waits for a service to be up.
const upTime = time.Second

// Handle crashes with the work, so that the supervisor starts it again.
func (s *service) Handle(c *otp.Context, msg any) {
	switch m := msg.(type) {
	case otp.TaskResult:
		if m.Ref == s.task {
			c.Stop(otp.Crash(errors.Join(errEnded, m.Err)))
		}
	case breakdown:
		panic(errEnded)
	}
}

// Terminate has nothing to release: the work ends with its context.
func (*service) Terminate(*otp.Context, otp.Reason) {}

// serveDoor serves the socket that the process's owner looks in and pauses by,
// until ctx ends. Without it work goes on, so it is loud: the kill switch is
// then Pauses in Parts alone.
func (o *Orchestrator) serveDoor(ctx context.Context, up func()) error {
	path := control.SocketPath(o.parts.Config.Ledger.Path)
	srv, err := control.Listen(context.WithoutCancel(ctx), path, door{o.parts, o.log, o.Top, o.Status}, control.Options{Log: o.log})
	if err != nil {
		o.log.Error("vedette pause and vedette top can't reach this process", "error", err)
		return err
	}
	up()
	select {
	case <-ctx.Done():
	case <-srv.Done():
		err = errEnded
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), doorTime)
	defer cancel()
	return errors.Join(err, srv.Close(closing))
}

// doorTime is how long an answer under way has when the door closes.
const doorTime = 3 * time.Second
