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

func holdAmount(t *testing.T, h Harness, id string, meters ...limits.Meter) limits.Metered {
	t.Helper()
	got, err := h.Store.Hold(t.Context(), id, meters)
	require.NoError(t, err)
	return got
}

func spendAmount(t *testing.T, h Harness, id string, meters ...limits.Meter) {
	t.Helper()
	require.NoError(t, h.Store.Spend(t.Context(), id, meters))
}

// withAmount returns the meter with another amount.
func withAmount(m limits.Meter, n int64) limits.Meter { m.Amount = n; return m }

func testMeterLife(t *testing.T, h Harness) {
	m := limits.Meter{Key: "c/turn/1/tokens", Max: 100}
	require.True(t, holdAmount(t, h, "a", withAmount(m, 60)).OK)
	require.Equal(t, limits.Metered{Full: 0, Used: 60, Held: 60}, holdAmount(t, h, "b", withAmount(m, 41)))
	require.True(t, holdAmount(t, h, "a", withAmount(m, 60)).OK, "asking again is free")
	spendAmount(t, h, "a", withAmount(m, 10))
	require.True(t, holdAmount(t, h, "b", withAmount(m, 90)).OK)
	spendAmount(t, h, "b", withAmount(m, 200)) // it came to more than was thought
	require.Equal(t, limits.Metered{Full: 0, Used: 210}, holdAmount(t, h, "c", withAmount(m, 0)),
		"what was overspent leaves no room for nothing")
	spendAmount(t, h, "b", withAmount(m, 0))
	spendAmount(t, h, "b", withAmount(m, 90)) // it isn't there any more
	require.True(t, holdAmount(t, h, "c", withAmount(m, 90)).OK)
	require.True(t, holdAmount(t, h, "d", withAmount(limits.Meter{Key: "c/turn/1/tokens"}, 1000)).OK, "no bound")
	require.NoError(t, h.Store.Forget(t.Context(), "c/turn/1"))
	require.True(t, holdAmount(t, h, "e", withAmount(m, 100)).OK)
	require.NoError(t, h.Store.Forget(t.Context(), "c/turn"))
	require.True(t, holdAmount(t, h, "f", withAmount(m, 100)).OK)
}

func testMeterWindow(t *testing.T, h Harness) {
	m := limits.Meter{Key: "c/tokens", Max: 100, Window: 10 * time.Second}
	require.True(t, holdAmount(t, h, "a", withAmount(m, 50)).OK)
	h.Shift(4 * time.Second)
	spendAmount(t, h, "a", withAmount(m, 50)) // the window counts from the start
	require.True(t, holdAmount(t, h, "b", withAmount(m, 50)).OK)
	require.Equal(t, limits.Metered{Full: 0, Used: 100, Held: 50, RetryAfter: 6 * time.Second}, holdAmount(t, h, "c", withAmount(m, 50)))
	require.Equal(t, limits.Metered{Full: 0, Used: 100, Held: 50, RetryAfter: 10 * time.Second}, holdAmount(t, h, "c", withAmount(m, 51)))
	require.Equal(t, limits.Metered{Full: 0, Used: 100, Held: 50}, holdAmount(t, h, "c", withAmount(m, 101)))
	require.NoError(t, h.Store.Forget(t.Context(), "c"))
	h.Shift(6*time.Second - time.Millisecond)
	require.False(t, holdAmount(t, h, "c", withAmount(m, 1)).OK)
	h.Shift(time.Millisecond)
	require.True(t, holdAmount(t, h, "c", withAmount(m, 50)).OK)
}

func testMeterClockSetBack(t *testing.T, h Harness) {
	m := limits.Meter{Key: "c/tokens", Max: 100, Window: 10 * time.Second}
	h.Shift(time.Hour)
	require.True(t, holdAmount(t, h, "a", withAmount(m, 40)).OK)
	h.Shift(4 * time.Second)
	require.True(t, holdAmount(t, h, "b", withAmount(m, 40)).OK)
	h.Shift(-2 * time.Hour)
	require.Equal(t, limits.Metered{Full: 0, Used: 80, Held: 80, RetryAfter: 6 * time.Second},
		holdAmount(t, h, "c", withAmount(m, 60)), "time stands still")
	spendAmount(t, h, "a", withAmount(m, 30))
	require.True(t, holdAmount(t, h, "c", withAmount(m, 30)).OK, "what is spent then is taken for spent at the latest moment known")
	h.Shift(2*time.Hour + 6*time.Second - time.Millisecond)
	require.Equal(t, limits.Metered{Full: 0, Used: 100, Held: 70, RetryAfter: time.Millisecond}, holdAmount(t, h, "d", withAmount(m, 30)))
	h.Shift(time.Millisecond)
	require.True(t, holdAmount(t, h, "d", withAmount(m, 30)).OK, "a's window is over")
	h.Shift(4*time.Second - time.Millisecond)
	require.Equal(t, limits.Metered{Full: 0, Used: 100, Held: 100, RetryAfter: time.Millisecond}, holdAmount(t, h, "e", withAmount(m, 30)))
	h.Shift(time.Millisecond)
	require.True(t, holdAmount(t, h, "e", withAmount(m, 70)).OK, "b's is, and that of what was held meanwhile")
}

// testMeterFolds holds that a fold counts as long as its newest amount. No amount
// counts for less time than by itself, and at most a fold longer.
func testMeterFolds(t *testing.T, h Harness) {
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
		got := holdAmount(t, h, "other", withAmount(m, m.Max))
		require.False(t, got.OK)
		return got
	}
	for i := range uses {
		require.True(t, holdAmount(t, h, id(i), withAmount(m, 5)).OK)
		require.Equal(t, int64(5), used().Held)
		spendAmount(t, h, id(i), withAmount(m, 3))
		spendAmount(t, h, id(i), withAmount(m, 400)) // it isn't there any more
		got := used()
		require.Zero(t, got.Held)
		require.GreaterOrEqual(t, got.Used, within(i+1, m.Window))
		require.LessOrEqual(t, got.Used, within(i+1, m.Window+m.Fold))
		require.LessOrEqual(t, got.RetryAfter, m.Window)
		h.Shift(apart)
	}
	require.True(t, holdAmount(t, h, "late", withAmount(m, 7)).OK)
	spendAmount(t, h, "late", withAmount(m, 0)) // given back
	h.Shift(m.Window)
	require.True(t, holdAmount(t, h, "other", withAmount(m, m.Max)).OK)
	h.Shift(m.Window)
	require.True(t, holdAmount(t, h, "other", withAmount(m, m.Max)).OK)
	spendAmount(t, h, "other", withAmount(m, m.Max))
	require.Equal(t, m.Max, holdAmount(t, h, "x", withAmount(m, 1)).Used)
}

func testMetersAllOrNone(t *testing.T, h Harness) {
	a, b := limits.Meter{Key: "c/a", Max: 10}, limits.Meter{Key: "c/b", Max: 5, Window: time.Minute}
	require.Equal(t, limits.Metered{Full: 1}, holdAmount(t, h, "x", withAmount(a, 6), withAmount(b, 6)))
	require.True(t, holdAmount(t, h, "y", withAmount(a, 10)).OK, "nothing was left in the first")
	require.True(t, holdAmount(t, h, "y", withAmount(b, 5)).OK)
	for _, bad := range [][]limits.Meter{nil, {{Amount: 1}}, {withAmount(a, -1)}, {withAmount(a, 1<<52)}, {a, a}, {{Key: "c/a", Window: -1}}} {
		_, err := h.Store.Hold(t.Context(), "z", bad)
		require.ErrorIs(t, err, limits.ErrRequest)
		require.ErrorIs(t, h.Store.Spend(t.Context(), "z", bad), limits.ErrRequest)
	}
	_, err := h.Store.Hold(t.Context(), "", []limits.Meter{a})
	require.ErrorIs(t, err, limits.ErrRequest)
}

func testMeterRace(t *testing.T, h Harness) {
	m := limits.Meter{Key: "c/tokens", Max: 1000}
	got := countYes(t, 300, func(i int) (bool, error) {
		id := fmt.Sprint(i)
		r, err := h.Store.Hold(t.Context(), id, []limits.Meter{withAmount(m, 70)})
		if err == nil && r.OK {
			err = h.Store.Spend(t.Context(), id, []limits.Meter{withAmount(m, 70)})
		}
		return r.OK, err
	})
	require.Equal(t, 14, got)
	require.Equal(t, limits.Metered{Full: 0, Used: 980}, holdAmount(t, h, "x", withAmount(m, 21)))
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

func (m *meterModel) amountsIn(w limits.Meter) (out []*spent) {
	for i := range m.list {
		if e := &m.list[i]; e.key == w.Key && e.n > 0 && (w.Window == 0 || e.at+w.Window > m.latest) {
			out = append(out, e)
		}
	}
	return out
}

func (m *meterModel) setAmount(id string, meters []limits.Meter, held bool) {
next:
	for _, w := range meters {
		for _, e := range m.amountsIn(w) {
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

func (m *meterModel) holdAmount(id string, meters []limits.Meter) limits.Metered {
	for i, w := range meters {
		got := limits.Metered{Full: i}
		for _, e := range m.amountsIn(w) {
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
		for _, e := range m.amountsIn(w) {
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
	m.setAmount(id, meters, true)
	return limits.Metered{OK: true, Full: -1}
}

func testMeterModel(t *testing.T, open Open) {
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
				if want := m.holdAmount(id, list); err != nil || got != want {
					rt.Fatalf("hold %s %v: got %+v, %v; want %+v", id, list, got, err, want)
				}
			},
			"spend": func(rt *rapid.T) {
				id, list := draw(rt)
				if err := h.Store.Spend(t.Context(), id, list); err != nil {
					rt.Fatal(err)
				}
				m.setAmount(id, list, false)
			},
			"shift": func(rt *rapid.T) {
				d := drawMillis(0, 20).Draw(rt, "by")
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
