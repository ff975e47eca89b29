package otp

import (
	"cmp"
	"slices"
	"time"
)

// ProcessInfo is one process of a Snapshot.
type ProcessInfo struct {
	ID      string
	Name    string // as registered, empty for most
	Type    Type
	Restart Restart
	// State is starting, idle, busy or stopping. A child that waits for its
	// restart has no process and is not shown.
	State string
	// Since is when this incarnation was made; Restarts counts those before it.
	Since    time.Time
	Restarts int
	// Before is why the incarnation before this one ended, without values. It is empty
	// for the first, and for one that was restarted with a sibling.
	Before string
	// Mailbox is how many messages wait, Tasks how many Async functions and
	// supervised calls are under way.
	Mailbox, Tasks int
	// Children are in the order of their starts.
	Children []ProcessInfo
}

// Snapshot returns the trees as they are now, roots in the order of their
// starts. It sends no message and waits for no process, so it shows a tree that
// is stuck as well; processes that come and go meanwhile may be there or not.
func (s *System) Snapshot() []ProcessInfo { return s.root.snapshotChildren() }

// snapshotChildren returns the children as they are now, in the order of their starts.
func (p *proc) snapshotChildren() []ProcessInfo {
	p.mu.Lock()
	kids := make([]*proc, 0, len(p.children))
	for k := range p.children {
		kids = append(kids, k)
	}
	p.mu.Unlock()
	slices.SortFunc(kids, func(a, b *proc) int { return cmp.Compare(a.epoch, b.epoch) })
	out := make([]ProcessInfo, len(kids))
	for i, k := range kids {
		out[i] = k.snapshotProcess()
	}
	return out
}

// snapshotProcess returns the process and all below it as they are now.
func (p *proc) snapshotProcess() ProcessInfo {
	i := ProcessInfo{
		ID: p.spec.ID, Name: p.spec.Name, Type: p.spec.Type, Restart: p.spec.Restart,
		Since: p.made, Restarts: p.restarts, Before: p.lastEnd, Mailbox: max(0, int(p.queued.Load())), State: "idle",
	}
	p.mu.Lock()
	for _, h := range p.refs {
		if _, ok := h.(*task); ok {
			i.Tasks++
		}
	}
	ending := p.phase >= phaseEnding
	p.mu.Unlock()
	switch {
	case ending || p.run.Load() == dead:
		i.State = "stopping"
	case !p.init.Load() && p.spec.Type == Worker:
		i.State = "starting"
	case p.run.Load() == busy:
		i.State = "busy"
	}
	if p.spec.Type == Supervisor {
		i.Children = p.snapshotChildren()
	}
	return i
}
