package orchestrator

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// heldTimers holds timers of one length until a test says that their time is over.
// All others run as they are. So however long the machine stands still, the time that
// a test is about passes when the test wants it.
type heldTimers struct {
	length time.Duration

	mu    sync.Mutex
	next  int
	armed map[int]func()
}

func newHeldTimers(length time.Duration) *heldTimers {
	return &heldTimers{length: length, armed: map[int]func(){}}
}

// after is the AfterFunc of a system.
func (h *heldTimers) after(d time.Duration, run func()) (stop func() bool) {
	if d != h.length {
		return time.AfterFunc(d, run).Stop
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next++
	id := h.next
	h.armed[id] = run
	return func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		_, ok := h.armed[id]
		delete(h.armed, id)
		return ok
	}
}

// begun is how many there were so far.
func (h *heldTimers) begun() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.next
}

// fire lets the time of those that run be over, and returns how many there were.
func (h *heldTimers) fire() int {
	h.mu.Lock()
	due := h.armed
	h.armed = map[int]func(){}
	h.mu.Unlock()
	for _, run := range due {
		run()
	}
	return len(due)
}

// fireNext waits for one that runs, and fires.
func (h *heldTimers) fireNext(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return h.fire() > 0 }, eventually, tick)
}
