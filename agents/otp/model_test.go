package otp

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// model is R1 to R4 as a pure function of the history.
type model struct {
	strategy Strategy
	kinds    []Restart
	alive    []bool
	listed   []bool
	crashes  []time.Time
	gone     bool
}

// exit enters the end of child i and returns the children that got a new process.
func (m *model) exit(i int, r Reason, now time.Time) map[int]bool {
	m.alive[i] = false
	back := m.kinds[i] == Permanent || m.kinds[i] == Transient && r.Kind == KindCrash
	if !back {
		m.listed[i] = m.kinds[i] != Temporary
		return nil
	}
	recent := 1
	for _, t := range m.crashes {
		if now.Sub(t) <= 5*time.Second {
			recent++
		}
	}
	m.crashes = append(m.crashes, now)
	if m.gone = recent > 3; m.gone {
		return nil
	}
	fresh := map[int]bool{}
	for j := range m.kinds {
		in := j == i || m.strategy == OneForAll || m.strategy == RestForOne && j > i
		switch {
		case !in || !m.listed[j]:
		case m.kinds[j] == Temporary:
			m.alive[j], m.listed[j] = false, false
		default:
			m.alive[j], fresh[j] = true, true
		}
	}
	return fresh
}

// settled waits until no child is on its way up or down.
func settled(r *rig, sup PID) map[string]ChildInfo {
	for {
		kids, calm := r.children(sup), true
		for _, k := range kids {
			calm = calm && (k.State == "running" || k.State == "absent")
		}
		if calm {
			return kids
		}
		runtime.Gosched()
	}
}

// For any children, strategy, exits and pauses the supervisor does what the pure model says.
func TestR1R2R3R4_Model(t *testing.T) {
	r, run := newRig(t), 0
	reasons := []Reason{Normal(), Shutdown(nil), Shutdown("x"), Crash(errors.New("x"))}
	rapid.Check(t, func(rt *rapid.T) {
		run++
		m := &model{strategy: Strategy(rapid.IntRange(0, 2).Draw(rt, "strategy"))}
		var specs []ChildSpec
		for i := range rapid.IntRange(1, 5).Draw(rt, "children") {
			kind := Restart(rapid.IntRange(0, 2).Draw(rt, "kind"))
			m.kinds, m.alive, m.listed = append(m.kinds, kind), append(m.alive, true), append(m.listed, true)
			specs = append(specs, worker(fmt.Sprint(i), kind))
		}
		sup := r.start(SupervisorSpec(fmt.Sprintf("sup%d", run), SupervisorOptions{Strategy: m.strategy, Children: specs}))
		defer func() { _ = TerminateChild(r.ctx, PID{r.root}, sup) }()
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			r.clock.Advance(time.Duration(rapid.IntRange(0, 30).Draw(rt, "tenths")) * time.Second / 10)
			i := rapid.IntRange(0, len(specs)-1).Draw(rt, "child")
			if !m.alive[i] {
				continue
			}
			before := settled(r, sup)
			pid, reason := before[fmt.Sprint(i)].PID, rapid.SampledFrom(reasons).Draw(rt, "reason")
			pid.Send(end(reason))
			require.Equal(rt, reason, r.ended(pid))
			fresh := m.exit(i, reason, r.clock.Now())
			if m.gone {
				require.Equal(rt, KindShutdown, r.ended(sup).Kind)
				return
			}
			after := settled(r, sup)
			for j := range specs {
				id := fmt.Sprint(j)
				got, listed := after[id]
				require.Equal(rt, m.listed[j], listed, "child %d listed", j)
				require.Equal(rt, m.alive[j], !got.PID.IsZero(), "child %d alive", j)
				if m.alive[j] {
					require.Equal(rt, fresh[j], got.PID != before[id].PID, "child %d restarted", j)
				}
			}
		}
	})
}
