package storetest

import (
	"fmt"
	"testing"
	"time"

	"strings"

	"github.com/stretchr/testify/require"
	"github.com/vedette-dev/vedette/limits"
	"pgregory.net/rapid"
)

func takeSlots(t *testing.T, h Harness, id string, buckets ...limits.Bucket) limits.Taken {
	t.Helper()
	got, err := h.Store.Take(t.Context(), id, buckets)
	require.NoError(t, err)
	return got
}

func testWindowSlides(t *testing.T, h Harness) {
	b := limits.Bucket{Key: "c/calls", Max: 2, Window: 10 * time.Second}
	require.Equal(t, limits.Taken{OK: true, Full: -1, Used: 1}, takeSlots(t, h, "1", b))
	h.Shift(4 * time.Second)
	require.Equal(t, limits.Taken{OK: true, Full: -1, Used: 2}, takeSlots(t, h, "2", b))
	require.Equal(t, limits.Taken{Full: 0, Used: 2, RetryAfter: 6 * time.Second}, takeSlots(t, h, "3", b))
	h.Shift(6*time.Second - time.Millisecond)
	require.Equal(t, limits.Taken{Full: 0, Used: 2, RetryAfter: time.Millisecond}, takeSlots(t, h, "3", b))
	h.Shift(time.Millisecond)
	require.True(t, takeSlots(t, h, "3", b).OK)
	// Only the first id has left: a window that started afresh would have room here.
	require.Equal(t, limits.Taken{Full: 0, Used: 2, RetryAfter: 4 * time.Second}, takeSlots(t, h, "4", b))
}

func testLifetimeStays(t *testing.T, h Harness) {
	b := limits.Bucket{Key: "c/turn/1", Max: 1}
	require.True(t, takeSlots(t, h, "1", b).OK)
	h.Shift(time.Hour)
	require.Equal(t, limits.Taken{Full: 0, Used: 1}, takeSlots(t, h, "2", b))
}

func testAllOrNone(t *testing.T, h Harness) {
	for full := range 3 {
		buckets := make([]limits.Bucket, 3)
		for i := range buckets {
			buckets[i] = limits.Bucket{Key: fmt.Sprintf("c%d/%d", full, i), Max: 2, Window: time.Duration(i) * time.Minute}
		}
		require.True(t, takeSlots(t, h, "a", buckets[full]).OK)
		require.True(t, takeSlots(t, h, "b", buckets[full]).OK)
		for range 5 {
			got := takeSlots(t, h, "c", buckets...)
			require.False(t, got.OK)
			require.Equal(t, full, got.Full)
			require.Equal(t, 2, got.Used)
		}
		for i, b := range buckets {
			if i != full {
				require.Equal(t, 1, takeSlots(t, h, "d", b).Used, "bucket %d was touched", i)
			}
		}
	}
	a, b := limits.Bucket{Key: "d/1", Max: 0}, limits.Bucket{Key: "d/2", Max: 0}
	require.Equal(t, 0, takeSlots(t, h, "x", a, b).Full, "the first full bucket is named")
}

func testCountedOnce(t *testing.T, h Harness) {
	a := limits.Bucket{Key: "c/a", Max: 2, Window: time.Minute}
	b := limits.Bucket{Key: "c/b", Max: 5}
	for range 3 {
		require.Equal(t, limits.Taken{OK: true, Full: -1, Used: 1}, takeSlots(t, h, "1", a, b))
	}
	require.Equal(t, 2, takeSlots(t, h, "2", a, b).Used)
	require.True(t, takeSlots(t, h, "1", a, b).OK, "full, and it is inside")
	require.False(t, takeSlots(t, h, "3", a, b).OK)
	require.Equal(t, 3, takeSlots(t, h, "4", b).Used)
}

func testNewAfterWindow(t *testing.T, h Harness) {
	a := limits.Bucket{Key: "c/a", Max: 1, Window: time.Minute}
	b := limits.Bucket{Key: "c/b", Max: 1}
	require.True(t, takeSlots(t, h, "1", a, b).OK)
	h.Shift(time.Minute)
	require.True(t, takeSlots(t, h, "2", a).OK)
	require.Equal(t, limits.Taken{Full: 0, Used: 1, RetryAfter: time.Minute}, takeSlots(t, h, "1", a, b))
}

func testMaximumChanges(t *testing.T, h Harness) {
	b := limits.Bucket{Key: "c/a", Max: 3, Window: 10 * time.Second}
	for i := range 3 {
		require.True(t, takeSlots(t, h, fmt.Sprint(i), b).OK)
		h.Shift(time.Second)
	}
	b.Max = 1 // Ids 0, 1 and 2 all have to go. The last one leaves at 12 s; it is 3 s now.
	require.Equal(t, limits.Taken{Full: 0, Used: 3, RetryAfter: 9 * time.Second}, takeSlots(t, h, "x", b))
	b.Max = 4
	require.True(t, takeSlots(t, h, "x", b).OK)
}

func testZeroHoldsNone(t *testing.T, h Harness) {
	for _, most := range []int{0, -1} {
		require.Equal(t, limits.Taken{Full: 0}, takeSlots(t, h, "1", limits.Bucket{Key: "c/a", Max: most}))
		require.Equal(t, limits.Taken{Full: 0}, takeSlots(t, h, "1", limits.Bucket{Key: "c/b", Max: most, Window: time.Minute}))
	}
}

func testExactlyMax(t *testing.T, h Harness) {
	const most = 37
	buckets := []limits.Bucket{
		{Key: "c/a", Max: 500}, {Key: "c/b", Max: most}, {Key: "c/c", Max: 400, Window: time.Minute},
	}
	got := countYes(t, 1000, func(i int) (bool, error) {
		taken, err := h.Store.Take(t.Context(), fmt.Sprint(i), buckets)
		return taken.OK, err
	})
	require.Equal(t, most, got)
	require.Equal(t, most+1, takeSlots(t, h, "x", buckets[0]).Used)
	require.Equal(t, most+1, takeSlots(t, h, "x", buckets[2]).Used)
}

func testConcurrentRepeats(t *testing.T, h Harness) {
	b := limits.Bucket{Key: "c/a", Max: 10}
	got := countYes(t, 200, func(int) (bool, error) {
		taken, err := h.Store.Take(t.Context(), "same", []limits.Bucket{b})
		return taken.OK, err
	})
	require.Equal(t, 200, got)
	require.Equal(t, 2, takeSlots(t, h, "other", b).Used)
}

func testClockSetBack(t *testing.T, h Harness) {
	b := limits.Bucket{Key: "c/a", Max: 1, Window: time.Minute}
	h.Shift(time.Hour)
	require.True(t, takeSlots(t, h, "1", b).OK)
	h.Shift(-2 * time.Hour)
	require.Equal(t, limits.Taken{Full: 0, Used: 1, RetryAfter: time.Minute}, takeSlots(t, h, "2", b))
	h.Shift(2*time.Hour + time.Minute - time.Millisecond)
	require.Equal(t, limits.Taken{Full: 0, Used: 1, RetryAfter: time.Millisecond}, takeSlots(t, h, "2", b))
	h.Shift(time.Millisecond)
	require.True(t, takeSlots(t, h, "2", b).OK)
}

func testForget(t *testing.T, h Harness) {
	buckets := []limits.Bucket{
		{Key: "c/turn/1/calls", Max: 9}, {Key: "c/turn/1", Max: 9}, {Key: "c/turn/12/calls", Max: 9},
		{Key: "c/turn/1/recent", Max: 9, Window: time.Minute}, {Key: "c2/turn/1/calls", Max: 9},
		{Key: "c/turn/1/agent/a/calls", Max: 9}, {Key: "c/turn/12/agent/a/calls", Max: 9},
	}
	used := func(id string) (n []int) {
		for _, b := range buckets {
			n = append(n, takeSlots(t, h, id, b).Used)
		}
		return n
	}
	require.Equal(t, []int{1, 1, 1, 1, 1, 1, 1}, used("a"))
	require.NoError(t, h.Store.Forget(t.Context(), "c/turn/1"))
	require.Equal(t, []int{1, 1, 2, 2, 2, 1, 2}, used("b"))
	require.NoError(t, h.Store.Forget(t.Context(), "c/turn/12/agent/a"))
	require.Equal(t, []int{2, 2, 3, 3, 3, 2, 1}, used("c"))
	require.NoError(t, h.Store.Forget(t.Context(), "c"))
	require.Equal(t, []int{1, 1, 1, 4, 4, 1, 1}, used("d"))
	require.NoError(t, h.Store.Forget(t.Context(), "nobody/turn"))
	require.Equal(t, []int{2, 2, 2, 5, 5, 2, 2}, used("e"))
	require.ErrorIs(t, h.Store.Forget(t.Context(), ""), limits.ErrRequest)
}

func testMalformedTake(t *testing.T, h Harness) {
	good := limits.Bucket{Key: "c/a", Max: 1}
	for _, ask := range []struct {
		id      string
		buckets []limits.Bucket
	}{
		{"", []limits.Bucket{good}},
		{"1", nil},
		{"1", []limits.Bucket{{Max: 1}}},
		{"1", []limits.Bucket{good, {Key: "c/b", Max: 1, Window: -1}}},
		{"1", []limits.Bucket{good, good}},
	} {
		got, err := h.Store.Take(t.Context(), ask.id, ask.buckets)
		require.ErrorIs(t, err, limits.ErrRequest)
		require.False(t, got.OK)
	}
	require.Equal(t, 1, takeSlots(t, h, "2", good).Used)
}

// bucketModel is what a store should be: one list of all that was ever taken. Each
// question reads the list from start to end.
type bucketModel struct {
	latest time.Duration // the clock only goes forwards here; see "a clock set back"
	taken  []event
}

type event struct {
	key, id string
	at      time.Duration
	gone    bool // forgotten
}

// idsHeld returns the ids that bucket b still holds, and when each was taken,
// oldest first.
func (m *bucketModel) idsHeld(b limits.Bucket) (at []time.Duration, ids map[string]bool) {
	ids = map[string]bool{}
	for _, e := range m.taken {
		if e.key == b.Key && !e.gone && (b.Window == 0 || e.at+b.Window > m.latest) {
			at, ids[e.id] = append(at, e.at), true
		}
	}
	return at, ids
}

func (m *bucketModel) takeSlots(id string, buckets []limits.Bucket) limits.Taken {
	for i, b := range buckets {
		at, ids := m.idsHeld(b)
		if ids[id] || len(at) < b.Max {
			continue
		}
		t := limits.Taken{Full: i, Used: len(at)}
		if b.Window > 0 && b.Max > 0 {
			t.RetryAfter = at[len(at)-b.Max] + b.Window - m.latest
		}
		return t
	}
	for _, b := range buckets {
		if _, ids := m.idsHeld(b); !ids[id] {
			m.taken = append(m.taken, event{key: b.Key, id: id, at: m.latest})
		}
	}
	at, _ := m.idsHeld(buckets[0])
	return limits.Taken{OK: true, Full: -1, Used: len(at)}
}

func (m *bucketModel) forgetUnder(prefix string, windows map[string]time.Duration) {
	for i, e := range m.taken {
		if windows[e.key] == 0 && strings.HasPrefix(e.key+"/", prefix+"/") {
			m.taken[i].gone = true
		}
	}
}

func testBucketModel(t *testing.T, open Open) {
	windows := map[string]time.Duration{"a/x": 0, "a/x/y": 0, "a/w": 10 * time.Millisecond, "b/x": 0, "b/w": 25 * time.Millisecond}
	keys := []string{"a/x", "a/x/y", "a/w", "b/x", "b/w"}
	rapid.Check(t, func(rt *rapid.T) {
		h, m := open(t), &bucketModel{}
		rt.Repeat(map[string]func(*rapid.T){
			"take": func(rt *rapid.T) {
				id := fmt.Sprint(rapid.IntRange(0, 12).Draw(rt, "id"))
				var buckets []limits.Bucket
				for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom(keys), 1, 4, rapid.ID).Draw(rt, "keys") {
					buckets = append(buckets, limits.Bucket{Key: key, Max: rapid.IntRange(0, 5).Draw(rt, "max"), Window: windows[key]})
				}
				got, err := h.Store.Take(t.Context(), id, buckets)
				if want := m.takeSlots(id, buckets); err != nil || got != want {
					rt.Fatalf("take %s %v: got %+v, %v; want %+v", id, buckets, got, err, want)
				}
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
				m.forgetUnder(prefix, windows)
			},
		})
	})
}
