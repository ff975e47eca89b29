package orchestrator

import (
	"time"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/otp"
)

// wave is a set of agents that were started side by side: in one round of the
// orchestrator's model, behind equally many others that depend on one another.
type wave struct{ round, depth int }

// waveOver comes when the time of some of a wave may be over.
type waveOver struct {
	t *turn
	w wave
}

// clock is the time of one agent in its wave. It stands still while a person is
// asked, and while the agent waits for its orchestrator.
type clock struct {
	wave    wave
	left    time.Duration // when it last began to run
	running time.Time     // since then; zero while it stands still
}

func (k *clock) remains() time.Duration {
	if k.running.IsZero() {
		return k.left
	}
	return k.left - time.Since(k.running)
}

func (k *clock) hold() {
	if !k.running.IsZero() {
		k.left, k.running = k.remains(), time.Time{}
	}
}

func (k *clock) release() {
	if k.running.IsZero() {
		k.running = time.Now()
	}
}

// measureDepth is how many agents stand one behind the other before one that
// depends on those. A dependency was always dispatched earlier, so there is no
// circle, and its own depth is known.
func (t *turn) measureDepth(dependsOn []string) (n int) {
	for _, d := range dependsOn {
		if other := t.member(d); other != nil {
			n = max(n, 1+other.depth)
		}
	}
	return n
}

// joins puts an agent that starts into its wave, with what is left of its time.
func (t *turn) joins(c *otp.Context, k *member) {
	k.clock = clock{wave: wave{t.rounds, k.depth}, left: t.o.tune.wave, running: time.Now()}
	for _, other := range t.members {
		if other != k && other.agent != nil && other.clock.wave == k.clock.wave {
			k.clock.left = other.clock.remains()
			return
		}
	}
	c.SendAfter(t.o.tune.wave, waveOver{t, k.clock.wave})
}

// overdue asks whom of a wave the time is over for what they have, and looks
// again when that of the next may be.
func (t *turn) overdue(c *otp.Context, m waveOver) {
	if m.t != t || t.phase != working {
		return
	}
	next := time.Duration(-1)
	for _, k := range t.members {
		if k.agent == nil || k.clock.wave != m.w || k.current().Done() {
			continue
		}
		if left := k.clock.remains(); left > 0 || k.clock.running.IsZero() {
			if left = max(left, t.o.tune.wave/100); next < 0 || left < next {
				next = left
			}
			continue
		}
		k.send(agents.Interrupt{Reason: "the time of agents that were started together, " + t.o.tune.wave.String() + ", is over"})
	}
	if next >= 0 {
		c.SendAfter(next, m)
	}
}
