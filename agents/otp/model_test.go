package otp

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// model is R1 to R4 as a pure function of the history.
type model struct {
	strategy Strategy
	limit    int
	period   time.Duration
	kinds    []Restart
	alive    []bool
	listed   []bool
	crashes  []time.Time
	gone     bool
}

// exit enters the end of child i. It returns the children that get a new
// process, and who ends and starts in which order.
func (m *model) exit(i int, r Reason, now time.Time) (fresh map[int]bool, order []string) {
	order = []string{fmt.Sprint("-", i)}
	m.alive[i] = false
	back := m.kinds[i] == Permanent || m.kinds[i] == Transient && r.Kind == KindCrash
	if !back {
		m.listed[i] = m.kinds[i] != Temporary
		return nil, order
	}
	recent := 1
	for _, t := range m.crashes {
		if now.Sub(t) <= m.period {
			recent++
		}
	}
	m.crashes = append(m.crashes, now)
	in := func(j int) bool {
		return j == i || m.strategy == OneForAll || m.strategy == RestForOne && j > i
	}
	m.gone = recent > m.limit
	for j := len(m.kinds) - 1; j >= 0; j-- { // giving up stops them all
		if m.alive[j] && (in(j) || m.gone) {
			order = append(order, fmt.Sprint("-", j))
		}
	}
	if m.gone {
		return nil, order
	}
	fresh = map[int]bool{}
	for j := range m.kinds {
		switch {
		case !in(j) || !m.listed[j]:
		case m.kinds[j] == Temporary:
			m.alive[j], m.listed[j] = false, false
		default:
			m.alive[j], fresh[j] = true, true
			order = append(order, fmt.Sprint("+", j))
		}
	}
	return fresh, order
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

// For any children, strategy, intensity, exits and pauses the supervisor does
// what the pure model says, in its order; the one that gave up comes back if it
// is permanent, whole.
func TestR1R2R3R4_Model(t *testing.T) {
	r, run := newRig(t), 0
	reasons := []Reason{Normal(), Shutdown(nil), Shutdown("x"), Crash(errors.New("x"))}
	rapid.Check(t, func(rt *rapid.T) {
		run++
		m, l := &model{
			strategy: Strategy(rapid.IntRange(0, 2).Draw(rt, "strategy")), limit: rapid.IntRange(1, 4).Draw(rt, "limit"),
			period: time.Duration(rapid.IntRange(1, 50).Draw(rt, "period")) * time.Second / 10}, &log{}
		var specs []ChildSpec
		for i := range rapid.IntRange(1, 5).Draw(rt, "children") {
			kind := Restart(rapid.IntRange(0, 2).Draw(rt, "kind"))
			m.kinds, m.alive, m.listed = append(m.kinds, kind), append(m.alive, true), append(m.listed, true)
			specs = append(specs, logged(l, fmt.Sprint(i), kind))
		}
		inner := SupervisorSpec("inner", SupervisorOptions{Strategy: m.strategy, MaxRestarts: m.limit, Period: m.period, Children: specs})
		inner.Restart = Restart(rapid.IntRange(0, 2).Draw(rt, "supervisor"))
		top := r.start(SupervisorSpec(fmt.Sprint("top", run), SupervisorOptions{Children: []ChildSpec{inner}}))
		defer func() { _ = TerminateChild(r.ctx, PID{r.root}, top) }()
		sup := r.children(top)["inner"].PID
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			r.clock.Advance(time.Duration(rapid.IntRange(0, 30).Draw(rt, "tenths")) * time.Second / 10)
			i := rapid.IntRange(0, len(specs)-1).Draw(rt, "child")
			if !m.alive[i] {
				continue
			}
			before := settled(r, sup)
			l.take()
			pid, reason := before[fmt.Sprint(i)].PID, rapid.SampledFrom(reasons).Draw(rt, "reason")
			pid.Send(end(reason))
			require.Equal(rt, reason, r.ended(pid))
			fresh, order := m.exit(i, reason, r.clock.Now())
			if m.gone {
				require.Equal(rt, Shutdown(ErrMaxRestarts), r.ended(sup))
				m.back(rt, r, inner, top, order, l)
				return
			}
			after := settled(r, sup)
			require.Equal(rt, order, l.take())
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

// back checks what became of a supervisor that gave up (R2).
func (m *model) back(rt *rapid.T, r *rig, inner ChildSpec, top PID, order []string, l *log) {
	kids := settled(r, top)
	got, listed := kids["inner"]
	require.Equal(rt, inner.Restart != Temporary, listed)
	require.Equal(rt, inner.Restart == Permanent, !got.PID.IsZero())
	if inner.Restart == Permanent {
		for j := range m.kinds {
			order = append(order, fmt.Sprint("+", j))
		}
		require.Len(rt, settled(r, got.PID), len(m.kinds))
	}
	require.Equal(rt, order, l.take())
}

// For any starts, exits, stops and pauses a dynamic supervisor holds the
// children that the rules leave it, and refuses those beyond its limit.
func TestR1R3R11_DynamicModel(t *testing.T) {
	r, run := newRig(t), 0
	reasons := []Reason{Normal(), Shutdown(nil), Crash(errors.New("x"))}
	rapid.Check(t, func(rt *rapid.T) {
		run++
		limit, most := rapid.IntRange(1, 4).Draw(rt, "limit"), rapid.IntRange(1, 5).Draw(rt, "max children")
		sup := r.start(DynamicSupervisorSpec(fmt.Sprint("dyn", run), DynamicSupervisorOptions{
			MaxChildren: most, MaxRestarts: limit, Period: time.Second}))
		defer func() { _ = TerminateChild(r.ctx, PID{r.root}, sup) }()
		kinds, crashes := map[string]Restart{}, []time.Time{}
		for n := range rapid.IntRange(1, 40).Draw(rt, "steps") {
			r.clock.Advance(time.Duration(rapid.IntRange(0, 5).Draw(rt, "tenths")) * time.Second / 10)
			now := settled(r, sup)
			require.Len(rt, now, len(kinds))
			act := rapid.IntRange(0, 2).Draw(rt, "act")
			if act == 0 || len(kinds) == 0 {
				id, kind := fmt.Sprint(n), Restart(rapid.IntRange(0, 2).Draw(rt, "kind"))
				if _, err := StartChild(r.ctx, sup, worker(id, kind)); len(kinds) == most {
					require.ErrorIs(rt, err, ErrMaxChildren)
				} else {
					require.NoError(rt, err)
					kinds[id] = kind
				}
				continue
			}
			id := rapid.SampledFrom(slices.Sorted(maps.Keys(kinds))).Draw(rt, "child")
			pid := now[id].PID
			if act == 1 {
				require.NoError(rt, TerminateChild(r.ctx, sup, pid))
				delete(kinds, id)
				continue
			}
			reason := rapid.SampledFrom(reasons).Draw(rt, "reason")
			pid.Send(end(reason))
			r.ended(pid)
			if kinds[id] == Temporary || kinds[id] == Transient && reason.Kind != KindCrash {
				delete(kinds, id)
				continue
			}
			crashes = append(crashes, r.clock.Now())
			recent := slices.DeleteFunc(slices.Clone(crashes), func(c time.Time) bool { return r.clock.Now().Sub(c) > time.Second })
			if len(recent) > limit {
				require.Equal(rt, Shutdown(ErrMaxRestarts), r.ended(sup))
				return
			}
			require.NotEqual(rt, pid, settled(r, sup)[id].PID)
		}
	})
}
