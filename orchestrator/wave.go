package orchestrator

import (
	"time"
)

// wave is a set of agents that were started side by side. They are of one round of the
// orchestrator's model, behind equally many others that depend on one another.
type wave struct{ round, depth int }

// waveOver comes when the time of some of a wave may be over.
type waveOver struct {
	t *turn
	w wave
}

// waveClock is the time of one agent in its wave. It stands still while a person is
// asked, and while the agent waits for its orchestrator.
type waveClock struct {
	wave    wave
	left    time.Duration    // when it last began to run
	running time.Time        // since then; zero while it stands still
	now     func() time.Time // a test's, or time.Now
}

// remains is how much of the time is left.
func (k *waveClock) remains() time.Duration {
	if k.running.IsZero() {
		return k.left
	}
	return k.left - k.now().Sub(k.running)
}

// stop makes the clock stand still.
func (k *waveClock) stop() {
	if !k.running.IsZero() {
		k.left, k.running = k.remains(), time.Time{}
	}
}

// start lets the clock run. That of an agent which was not started has no time.
func (k *waveClock) start() {
	if k.running.IsZero() && k.now != nil {
		k.running = k.now()
	}
}
