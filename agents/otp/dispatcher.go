package otp

import (
	"context"
	"runtime/pprof"
	"sync"
)

// maxIdle is how many goroutines wait for work. A new goroutine starts with a
// small stack, which a callback makes grow two or three times: used ones spare
// a busy system that, and an idle one holds a few kilobytes.
const maxIdle = 16

// dispatcher runs mailboxes on goroutines and goes on with the mailbox when a
// callback ended its goroutine by Goexit. As many goroutines run as there are
// mailboxes with work: one that is stuck holds up no other.
type dispatcher struct {
	mu     sync.Mutex
	idle   []chan func() // the last one used is on top
	closed bool
}

// Schedule runs fn soon, in a goroutine of its own for as long as it takes.
func (d *dispatcher) Schedule(fn func()) {
	d.mu.Lock()
	if n := len(d.idle); n > 0 {
		next := d.idle[n-1]
		d.idle = d.idle[:n-1]
		d.mu.Unlock()
		next <- fn
		return
	}
	d.mu.Unlock()
	go d.runMailboxes(fn)
}

// Throughput is how many messages a mailbox handles before it lets others run.
func (*dispatcher) Throughput() int { return 300 }

// runMailboxes runs one mailbox after another, as long as the dispatcher has work for the
// goroutine.
func (d *dispatcher) runMailboxes(fn func()) {
	// A process does not carry the labels of the sender whose message woke it.
	unlabelled := context.Background()
	pprof.SetGoroutineLabels(unlabelled)
	returned := false
	defer func() {
		if !returned {
			d.Schedule(fn)
		}
	}()
	next := make(chan func(), 1)
	for fn != nil {
		fn()
		if !d.offerGoroutine(next) {
			break
		}
		pprof.SetGoroutineLabels(unlabelled) // a callback may have set its own
		fn = <-next
	}
	returned = true
}

// offerGoroutine offers the goroutine for more work. It reports false when enough
// goroutines wait.
func (d *dispatcher) offerGoroutine(next chan func()) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || len(d.idle) == maxIdle {
		return false
	}
	d.idle = append(d.idle, next)
	return true
}

// close ends the goroutines that wait, and lets no other wait.
func (d *dispatcher) close() {
	d.mu.Lock()
	idle := d.idle
	d.idle, d.closed = nil, true
	d.mu.Unlock()
	for _, next := range idle {
		close(next)
	}
}
