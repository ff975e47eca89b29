package otp

import (
	"context"
	"runtime/pprof"
)

// unlabelled drops the profiler labels that a goroutine inherited: a process
// that somebody's message woke does not belong to that somebody.
func unlabelled() { pprof.SetGoroutineLabels(context.Background()) }

// dispatcher runs mailboxes on goroutines and goes on with the mailbox when a
// callback ended its goroutine by Goexit.
type dispatcher struct{}

func (d dispatcher) Schedule(fn func()) {
	go func() {
		unlabelled()
		returned := false
		defer func() {
			if !returned {
				d.Schedule(fn)
			}
		}()
		fn()
		returned = true
	}()
}

func (dispatcher) Throughput() int { return 300 }
