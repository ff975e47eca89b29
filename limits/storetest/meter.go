package storetest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/vedette-dev/vedette/limits"
)

func hold(t *testing.T, h Harness, id string, meters ...limits.Meter) limits.Metered {
	t.Helper()
	got, err := h.Store.Hold(t.Context(), id, meters)
	require.NoError(t, err)
	return got
}

func spend(t *testing.T, h Harness, id string, meters ...limits.Meter) {
	t.Helper()
	require.NoError(t, h.Store.Spend(t.Context(), id, meters))
}

// of returns the meter with another amount.
func of(m limits.Meter, n int64) limits.Meter { m.Amount = n; return m }

func meterLife(t *testing.T, h Harness) {
	m := limits.Meter{Key: "c/turn/1/tokens", Max: 100}
	require.True(t, hold(t, h, "a", of(m, 60)).OK)
	require.Equal(t, limits.Metered{Full: 0, Used: 60, Held: 60}, hold(t, h, "b", of(m, 41)))
	require.True(t, hold(t, h, "a", of(m, 60)).OK, "asking again is free")
	spend(t, h, "a", of(m, 10))
	require.True(t, hold(t, h, "b", of(m, 90)).OK)
	spend(t, h, "b", of(m, 200)) // it came to more than was thought
	require.Equal(t, limits.Metered{Full: 0, Used: 210}, hold(t, h, "c", of(m, 0)), "what was overspent leaves no room for nothing")
	spend(t, h, "b", of(m, 0))
	spend(t, h, "b", of(m, 90)) // it isn't there any more
	require.True(t, hold(t, h, "c", of(m, 90)).OK)
	require.True(t, hold(t, h, "d", of(limits.Meter{Key: "c/turn/1/tokens"}, 1000)).OK, "no bound")
	require.NoError(t, h.Store.Forget(t.Context(), "c/turn/1"))
	require.True(t, hold(t, h, "e", of(m, 100)).OK)
	require.NoError(t, h.Store.Forget(t.Context(), "c/turn"))
	require.True(t, hold(t, h, "f", of(m, 100)).OK)
}

func meterWindow(t *testing.T, h Harness) {
	m := limits.Meter{Key: "c/tokens", Max: 100, Window: 10 * time.Second}
	require.True(t, hold(t, h, "a", of(m, 50)).OK)
	h.Shift(4 * time.Second)
	spend(t, h, "a", of(m, 50)) // the window counts from the start
	require.True(t, hold(t, h, "b", of(m, 50)).OK)
	require.Equal(t, limits.Metered{Full: 0, Used: 100, Held: 50, RetryAfter: 6 * time.Second}, hold(t, h, "c", of(m, 50)))
	require.Equal(t, limits.Metered{Full: 0, Used: 100, Held: 50, RetryAfter: 10 * time.Second}, hold(t, h, "c", of(m, 51)))
	require.Equal(t, limits.Metered{Full: 0, Used: 100, Held: 50}, hold(t, h, "c", of(m, 101)))
	require.NoError(t, h.Store.Forget(t.Context(), "c"))
	h.Shift(6*time.Second - time.Millisecond)
	require.False(t, hold(t, h, "c", of(m, 1)).OK)
	h.Shift(time.Millisecond)
	require.True(t, hold(t, h, "c", of(m, 50)).OK)
}

func meterClockSetBack(t *testing.T, h Harness) {
	m := limits.Meter{Key: "c/tokens", Max: 100, Window: 10 * time.Second}
	h.Shift(time.Hour)
	require.True(t, hold(t, h, "a", of(m, 40)).OK)
	h.Shift(4 * time.Second)
	require.True(t, hold(t, h, "b", of(m, 40)).OK)
	h.Shift(-2 * time.Hour)
	require.Equal(t, limits.Metered{Full: 0, Used: 80, Held: 80, RetryAfter: 6 * time.Second}, hold(t, h, "c", of(m, 60)), "time stands still")
	spend(t, h, "a", of(m, 30))
	require.True(t, hold(t, h, "c", of(m, 30)).OK, "what is spent then is taken for spent at the latest moment known")
	h.Shift(2*time.Hour + 6*time.Second - time.Millisecond)
	require.Equal(t, limits.Metered{Full: 0, Used: 100, Held: 70, RetryAfter: time.Millisecond}, hold(t, h, "d", of(m, 30)))
	h.Shift(time.Millisecond)
	require.True(t, hold(t, h, "d", of(m, 30)).OK, "a's window is over")
	h.Shift(4*time.Second - time.Millisecond)
	require.Equal(t, limits.Metered{Full: 0, Used: 100, Held: 100, RetryAfter: time.Millisecond}, hold(t, h, "e", of(m, 30)))
	h.Shift(time.Millisecond)
	require.True(t, hold(t, h, "e", of(m, 70)).OK, "b's is, and that of what was held meanwhile")
}

// What is folded counts as long as the newest of it: never less than by itself,
// and at most a fold longer.
func meterFolds(t *testing.T, h Harness) {
	const uses, apart = 120, 250 * time.Millisecond
	m := limits.Meter{Key: "c/tokens", Max: 1000, Window: 10 * time.Second, Fold: 2 * time.Second}
	id := func(i int) string { return "use-" + strconv.Itoa(i) }
	within := func(i int, window time.Duration) (sum int64) {
		for k := 0; k < i; k++ {
			if time.Duration(i-1-k)*apart < window {
				sum += 3
			}
		}
		return sum
	}
	used := func() limits.Metered {
		got := hold(t, h, "other", of(m, m.Max))
		require.False(t, got.OK)
		return got
	}
	for i := range uses {
		require.True(t, hold(t, h, id(i), of(m, 5)).OK)
		require.Equal(t, int64(5), used().Held)
		spend(t, h, id(i), of(m, 3))
		spend(t, h, id(i), of(m, 400)) // it isn't there any more
		got := used()
		require.Zero(t, got.Held)
		require.GreaterOrEqual(t, got.Used, within(i+1, m.Window))
		require.LessOrEqual(t, got.Used, within(i+1, m.Window+m.Fold))
		require.LessOrEqual(t, got.RetryAfter, m.Window)
		h.Shift(apart)
	}
	require.True(t, hold(t, h, "late", of(m, 7)).OK)
	spend(t, h, "late", of(m, 0)) // given back
	h.Shift(m.Window)
	require.True(t, hold(t, h, "other", of(m, m.Max)).OK)
	h.Shift(m.Window)
	require.True(t, hold(t, h, "other", of(m, m.Max)).OK)
	spend(t, h, "other", of(m, m.Max))
	require.Equal(t, m.Max, hold(t, h, "x", of(m, 1)).Used)
}

func metersAllOrNone(t *testing.T, h Harness) {
	a, b := limits.Meter{Key: "c/a", Max: 10}, limits.Meter{Key: "c/b", Max: 5, Window: time.Minute}
	require.Equal(t, limits.Metered{Full: 1}, hold(t, h, "x", of(a, 6), of(b, 6)))
	require.True(t, hold(t, h, "y", of(a, 10)).OK, "nothing was left in the first")
	require.True(t, hold(t, h, "y", of(b, 5)).OK)
	for _, bad := range [][]limits.Meter{nil, {{Amount: 1}}, {of(a, -1)}, {of(a, 1<<52)}, {a, a}, {{Key: "c/a", Window: -1}}} {
		_, err := h.Store.Hold(t.Context(), "z", bad)
		require.ErrorIs(t, err, limits.ErrRequest)
		require.ErrorIs(t, h.Store.Spend(t.Context(), "z", bad), limits.ErrRequest)
	}
	_, err := h.Store.Hold(t.Context(), "", []limits.Meter{a})
	require.ErrorIs(t, err, limits.ErrRequest)
}

func meterRace(t *testing.T, h Harness) {
	m := limits.Meter{Key: "c/tokens", Max: 1000}
	got := race(t, 300, func(i int) (bool, error) {
		id := fmt.Sprint(i)
		r, err := h.Store.Hold(t.Context(), id, []limits.Meter{of(m, 70)})
		if err == nil && r.OK {
			err = h.Store.Spend(t.Context(), id, []limits.Meter{of(m, 70)})
		}
		return r.OK, err
	})
	require.Equal(t, 14, got)
	require.Equal(t, limits.Metered{Full: 0, Used: 980}, hold(t, h, "x", of(m, 21)))
}

// meterModel is a meter that keeps a list of all.
type meterModel struct {
	latest time.Duration
	list   []spent
}

type spent struct {
	key, id string
	n       int64
	held    bool
	at      time.Duration
}

func (m *meterModel) in(w limits.Meter) (out []*spent) {
	for i := range m.list {
		if e := &m.list[i]; e.key == w.Key && e.n > 0 && (w.Window == 0 || e.at+w.Window > m.latest) {
			out = append(out, e)
		}
	}
	return out
}

func (m *meterModel) set(id string, meters []limits.Meter, held bool) {
next:
	for _, w := range meters {
		for _, e := range m.in(w) {
			if e.id == id {
				e.n, e.held = w.Amount, held
				continue next
			}
		}
		if !held {
			continue
		}
		m.list = append(m.list, spent{w.Key, id, w.Amount, held, m.latest})
	}
}

func (m *meterModel) hold(id string, meters []limits.Meter) limits.Metered {
	for i, w := range meters {
		got := limits.Metered{Full: i}
		for _, e := range m.in(w) {
			if e.id != id {
				got.Used += e.n
				if e.held {
					got.Held += e.n
				}
			}
		}
		over := got.Used + w.Amount - w.Max
		if w.Max <= 0 || over <= 0 {
			continue
		}
		for _, e := range m.in(w) {
			if e.id == id || w.Window == 0 {
				continue
			}
			if over -= e.n; over <= 0 {
				got.RetryAfter = e.at + w.Window - m.latest
				break
			}
		}
		return got
	}
	m.set(id, meters, true)
	return limits.Metered{OK: true, Full: -1}
}

func metersEqualModel(t *testing.T, open Open) {
	windows := map[string]time.Duration{"a/x": 0, "a/x/y": 0, "a/w": 10 * time.Millisecond, "b/w": 25 * time.Millisecond}
	keys := []string{"a/x", "a/x/y", "a/w", "b/w"}
	rapid.Check(t, func(rt *rapid.T) {
		h, m, id := open(t), &meterModel{}, 0
		draw := func(rt *rapid.T) (string, []limits.Meter) {
			var list []limits.Meter
			for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom(keys), 1, 3, rapid.ID).Draw(rt, "keys") {
				list = append(list, limits.Meter{
					Key: key, Window: windows[key], Max: rapid.Int64Range(0, 30).Draw(rt, "max"), Amount: rapid.Int64Range(0, 15).Draw(rt, "amount"),
				})
			}
			// Ids of one moment are not put in order: those of a window have a
			// moment each.
			h.Shift(time.Millisecond)
			m.latest += time.Millisecond
			id++
			return fmt.Sprint(rapid.IntRange(max(0, id-4), id).Draw(rt, "id")), list
		}
		rt.Repeat(map[string]func(*rapid.T){
			"hold": func(rt *rapid.T) {
				id, list := draw(rt)
				got, err := h.Store.Hold(t.Context(), id, list)
				if want := m.hold(id, list); err != nil || got != want {
					rt.Fatalf("hold %s %v: got %+v, %v; want %+v", id, list, got, err, want)
				}
			},
			"spend": func(rt *rapid.T) {
				id, list := draw(rt)
				if err := h.Store.Spend(t.Context(), id, list); err != nil {
					rt.Fatal(err)
				}
				m.set(id, list, false)
			},
			"shift": func(rt *rapid.T) {
				d := millis(0, 20).Draw(rt, "by")
				h.Shift(d)
				m.latest += d
			},
			"forget": func(rt *rapid.T) {
				prefix := rapid.SampledFrom(append([]string{"a", "b"}, keys...)).Draw(rt, "prefix")
				if err := h.Store.Forget(t.Context(), prefix); err != nil {
					rt.Fatal(err)
				}
				for i, e := range m.list {
					if windows[e.key] == 0 && strings.HasPrefix(e.key+"/", prefix+"/") {
						m.list[i].n = 0
					}
				}
			},
		})
	})
}
