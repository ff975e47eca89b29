package sentinel

import (
	"context"
	"errors"
	"sync"
)

// callLocks let one goroutine at a time work on a call: what an agent left behind
// when its process crashed must end before the agent is asked again.
type callLocks struct {
	mu   sync.Mutex
	busy map[string]chan struct{}
}

// lockCall waits for the caller that works on the id. Call leave when done.
func (l *callLocks) lockCall(ctx context.Context, id string) (leave func(), err error) {
	for {
		l.mu.Lock()
		other, taken := l.busy[id]
		if !taken {
			if l.busy == nil {
				l.busy = map[string]chan struct{}{}
			}
			mine := make(chan struct{})
			l.busy[id] = mine
			l.mu.Unlock()
			return func() {
				l.mu.Lock()
				delete(l.busy, id)
				l.mu.Unlock()
				close(mine)
			}, nil
		}
		l.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), errStillBusy)
		}
	}
}

var errStillBusy = errors.New("an earlier proposal of the call has not ended")
