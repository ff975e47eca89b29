package otp

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Values of proc.run. Exactly one party moves a proc to dead: its own actor in
// Stopped, or a killer from outside.
const (
	idle uint32 = iota
	busy
	dead
)

// stage is the callback that a process runs.
type stage uint8

const (
	stageInit stage = iota
	stageHandle
	stageTerminate
)

// phase is how far the end of a process has come. A process never goes back a phase.
type phase uint8

const (
	phaseAlive  phase = iota
	phaseEnding       // a stop was requested or the process ended: Context is cancelled
	phaseFrozen       // dead: the reason is final
	phaseClosed       // the supervisor knows of the end: monitors and calls are answered at once
)

// supervisorServer is what the supervisors implement beyond Server. Their start and stop
// end later than the callback that begins them, so that no child ever blocks a
// supervisor.
type supervisorServer interface {
	Server
	beginStart(p *proc)
	onMessage(msg any)
	onRequest(c *call)
}

// proc is one incarnation of a child: the actor behind a PID. A proc outlives its
// actor only to tell late askers why the process ended.
type proc struct {
	sys    *System
	parent *proc // nil for the hidden root
	spec   *ChildSpec
	slot   *child // the supervisor's record; touched by the supervisor alone
	epoch  uint64
	made   time.Time
	// restarts is how many incarnations of the child ran before this one.
	restarts int
	lastEnd  string // why the one before ended

	run  atomic.Uint32
	init atomic.Bool // Init succeeded
	// queued counts messages that were posted and not yet received.
	queued   atomic.Int32
	actorPID atomic.Pointer[actor.PID]

	// Touched by the actor's goroutine alone.
	actorContext actor.Context
	server       Server
	self         Context
	exiting      bool // the process ended or stops: later messages are dropped

	mu        sync.Mutex
	phase     phase
	hasReason bool
	reason    Reason
	initErr   error
	ctx       context.Context
	cancel    context.CancelFunc
	refs      map[Ref]holder // timers, tasks, requests and monitors of this process
	watchers  map[Ref]func(Down)
	waiters   map[*call]struct{}
	children  map[*proc]struct{}
}

// holder is something of an incarnation that must end with it.
type holder interface{ release() }

// newProc makes the incarnation of a child, without an actor yet.
func newProc(sys *System, parent *proc, spec *ChildSpec) *proc {
	p := &proc{sys: sys, parent: parent, spec: spec, epoch: sys.epoch.Add(1), made: sys.now()}
	p.self.p = p
	return p
}

// supervisorPID returns the parent's PID, zero for roots: the system's own root stays
// hidden.
func (p *proc) supervisorPID() PID {
	if p.parent == nil || p.parent.parent == nil {
		return PID{}
	}
	return PID{p.parent}
}

// processName returns id#epoch, the name of the process in PIDs and logs.
func (p *proc) processName() string { return p.spec.ID + "#" + strconv.FormatUint(p.epoch, 10) }

// spawnActor makes the actor of p. The producer only hands over p, since a producer runs
// in the spawner.
func (p *proc) spawnActor(at actor.SpawnerContext) error {
	props := actor.PropsFromProducer(func() actor.Actor { return p },
		actor.WithMailbox(actor.UnboundedLockfree()), actor.WithDispatcher(&p.sys.mailboxes))
	apid, err := at.SpawnNamed(props, p.processName())
	if err != nil {
		return err
	}
	p.actorPID.Store(apid)
	if p.run.Load() == dead {
		p.detachActor() // killed while it was being spawned
	}
	return nil
}

// postMessage puts an internal message into the mailbox. A message to a dead process is
// dropped.
func (p *proc) postMessage(msg any) {
	if apid := p.actorPID.Load(); apid != nil && p.run.Load() != dead {
		p.queued.Add(1)
		p.sys.actors.Root.Send(apid, msg)
	}
}

// Receive handles one message of the actor. No panic and no Goexit of a callback gets
// past Receive.
func (p *proc) Receive(ac actor.Context) {
	switch msg := ac.Message().(type) {
	case *actor.Started:
		p.onStarted(ac)
	case *actor.Stopping:
		p.onStopping()
	case *actor.Stopped:
		p.onStopped()
	case *actor.Terminated, *actor.Restarting:
		// Children announce their end by childGone, and no process is restarted in place.
	default:
		p.queued.Add(-1)
		p.onMessage(msg)
	}
}

// onStarted starts the server in the actor's own goroutine.
func (p *proc) onStarted(ac actor.Context) {
	p.actorContext = ac
	p.actorPID.Store(ac.Self())
	if !p.run.CompareAndSwap(idle, busy) {
		return
	}
	var err error
	returned := false
	defer p.leaveCallback(stageInit, &returned, &err)
	err = p.startServer()
	returned = true
}

// startServer registers the name, builds the server and calls Init.
func (p *proc) startServer() error {
	if p.spec.Name != "" && !p.sys.registerName(p.spec.Name, p) {
		return ErrNameTaken
	}
	srv := p.spec.Start()
	t, isTree := srv.(supervisorServer)
	switch {
	case srv == nil:
		return fmt.Errorf("%w: child %q: Start returned nil", ErrBadSpec, p.spec.ID)
	case isTree != (p.spec.Type == Supervisor):
		return fmt.Errorf("%w: child %q: Type does not match what Start returned", ErrBadSpec, p.spec.ID)
	}
	p.server = srv
	if isTree {
		t.beginStart(p)
		return nil
	}
	return srv.Init(&p.self)
}

// onMessage handles one queued message, unless the process is ending.
func (p *proc) onMessage(msg any) {
	if p.exiting || !p.run.CompareAndSwap(idle, busy) {
		return
	}
	returned := false
	defer p.leaveCallback(stageHandle, &returned, nil)
	p.dispatchMessage(msg)
	returned = true
}

// onStopping calls Terminate of a server whose Init succeeded.
func (p *proc) onStopping() {
	p.exiting = true
	p.endContext()
	if p.spec.Type == Supervisor {
		p.killChildren() // none, unless the supervisor itself crashed
		return
	}
	if !p.init.Load() || !p.run.CompareAndSwap(idle, busy) {
		return
	}
	returned := false
	defer p.leaveCallback(stageTerminate, &returned, nil)
	p.server.Terminate(&p.self, p.exitReason())
	returned = true
}

// onStopped publishes the end of the process, unless a killer has done so.
func (p *proc) onStopped() {
	p.server = nil // a kept PID must not keep the state
	if p.run.Swap(dead) != dead {
		p.publishEnd()
	}
}

// leaveCallback ends every callback and contains its panic. leaveCallback must be the
// deferred function itself: recover works nowhere else.
func (p *proc) leaveCallback(st stage, returned *bool, err *error) {
	var failure error
	goexit := false
	if !*returned {
		//nolint:revive // leaveCallback is what the callbacks defer
		if r := recover(); r != nil {
			failure = newExit(r)
		} else {
			failure, goexit = ErrGoexit, true
		}
	}
	alive := p.run.CompareAndSwap(busy, idle)
	switch {
	case !alive && p.spec.Type == Worker:
		p.sys.onLateReturn(p) // abandoned meanwhile
	case !alive:
	case st == stageInit:
		p.leaveInit(failure, *err)
	case st == stageTerminate:
		p.leaveTerminate(failure)
	case failure != nil:
		p.endWithReason(Crash(failure))
	}
	if st == stageTerminate && goexit {
		// The runtime's own stop was unwound with the goroutine; any Terminated
		// makes it look again whether it can finish.
		p.pokeActor()
	}
}

// leaveInit reports a finished Init to the supervisor, or fails the start.
func (p *proc) leaveInit(failure, err error) {
	if failure == nil {
		failure = err
	}
	switch {
	case failure != nil:
		p.failStart(failure)
	case p.spec.Type == Worker:
		p.reportReady()
	}
}

// leaveTerminate makes a crash of Terminate the reason, as OTP does, unless the process
// crashed before.
func (p *proc) leaveTerminate(failure error) {
	if failure != nil && p.exitReason().Kind != KindCrash {
		p.setReason(Crash(failure), true)
	}
}

// pokeActor lets the actor finish a stop that Goexit interrupted.
func (p *proc) pokeActor() {
	if proc, ok := p.sys.actors.ProcessRegistry.Get(p.actorContext.Self()); ok {
		proc.SendSystemMessage(p.actorContext.Self(), &actor.Terminated{Who: p.actorContext.Self()})
	}
}

// reportReady tells the supervisor that Init succeeded.
func (p *proc) reportReady() {
	p.init.Store(true)
	if p.parent != nil {
		p.parent.postMessage(childReady{p})
	}
}

// failStart ends a process whose start failed; the supervisor reads initErr.
func (p *proc) failStart(err error) {
	p.mu.Lock()
	if p.initErr == nil {
		p.initErr = err
	}
	p.mu.Unlock()
	p.endWithReason(Crash(err))
}

// startError returns why the start failed.
func (p *proc) startError() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.initErr == nil {
		return p.reasonLocked().Err()
	}
	return p.initErr
}

// dispatchMessage hands one message to the process's server.
func (p *proc) dispatchMessage(msg any) {
	if t, ok := p.server.(supervisorServer); ok {
		p.dispatchToSupervisor(t, msg)
		return
	}
	c := &p.self
	switch m := msg.(type) {
	case cast:
		p.server.Handle(c, m.msg)
	case *call:
		p.onCall(m)
	case timerFired:
		if p.takeHolder(m.ref) != nil {
			p.server.Handle(c, m.msg)
		}
	case taskDone:
		if p.takeHolder(m.Ref) != nil {
			p.server.Handle(c, m.TaskResult)
		}
	case downMsg:
		if p.takeHolder(m.Ref) != nil {
			p.server.Handle(c, m.Down)
		}
	case replyMsg:
		if h := p.takeHolder(m.Ref); h != nil {
			h.release()
			p.server.Handle(c, m.Reply)
		}
	}
}

// onCall hands a call to the server. A call that the server neither answers nor keeps
// gets ErrNoReply.
func (p *proc) onCall(m *call) {
	if _, ok := m.msg.(supRequest); ok {
		m.finish(nil, ErrNotSupervisor)
		return
	}
	if !m.isWaiting() {
		return // the caller gave up, and the work was for the caller alone
	}
	p.self.cur = m
	p.server.Handle(&p.self, m.msg)
	p.self.cur = nil
	if !m.taken && !p.exiting {
		m.finish(nil, ErrNoReply)
	}
}

// dispatchToSupervisor hands one message to a supervisor, whose only calls are supervisor
// requests.
func (p *proc) dispatchToSupervisor(t supervisorServer, msg any) {
	m, ok := msg.(*call)
	if !ok {
		t.onMessage(msg)
		return
	}
	if _, ok := m.msg.(supRequest); !ok {
		m.finish(nil, ErrNotServer)
		return
	}
	if m.isWaiting() {
		t.onRequest(m)
	}
}
