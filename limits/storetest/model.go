package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/vedette-dev/vedette/limits"
)

// model is what a store should be: one list of all that was ever taken, read
// from start to end for every question.
type model struct {
	latest time.Duration // the clock only goes forwards here; see "a clock set back"
	taken  []event
}

type event struct {
	key, id string
	at      time.Duration
	gone    bool // forgotten
}

// held returns when each id that bucket b still holds was taken, oldest first.
func (m *model) held(b limits.Bucket) (at []time.Duration, ids map[string]bool) {
	ids = map[string]bool{}
	for _, e := range m.taken {
		if e.key == b.Key && !e.gone && (b.Window == 0 || e.at+b.Window > m.latest) {
			at, ids[e.id] = append(at, e.at), true
		}
	}
	return at, ids
}

func (m *model) take(id string, buckets []limits.Bucket) limits.Taken {
	for i, b := range buckets {
		at, ids := m.held(b)
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
		if _, ids := m.held(b); !ids[id] {
			m.taken = append(m.taken, event{key: b.Key, id: id, at: m.latest})
		}
	}
	at, _ := m.held(buckets[0])
	return limits.Taken{OK: true, Full: -1, Used: len(at)}
}

func (m *model) forget(prefix string, windows map[string]time.Duration) {
	for i, e := range m.taken {
		if windows[e.key] == 0 && strings.HasPrefix(e.key+"/", prefix+"/") {
			m.taken[i].gone = true
		}
	}
}

func millis(lo, hi int) *rapid.Generator[time.Duration] {
	return rapid.Map(rapid.IntRange(lo, hi), func(n int) time.Duration { return time.Duration(n) * time.Millisecond })
}

func equalsModel(t *testing.T, open Open) {
	windows := map[string]time.Duration{"a/x": 0, "a/x/y": 0, "a/w": 10 * time.Millisecond, "b/x": 0, "b/w": 25 * time.Millisecond}
	keys := []string{"a/x", "a/x/y", "a/w", "b/x", "b/w"}
	rapid.Check(t, func(rt *rapid.T) {
		h, m := open(t), &model{}
		rt.Repeat(map[string]func(*rapid.T){
			"take": func(rt *rapid.T) {
				id := fmt.Sprint(rapid.IntRange(0, 12).Draw(rt, "id"))
				var buckets []limits.Bucket
				for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom(keys), 1, 4, rapid.ID).Draw(rt, "keys") {
					buckets = append(buckets, limits.Bucket{Key: key, Max: rapid.IntRange(0, 5).Draw(rt, "max"), Window: windows[key]})
				}
				got, err := h.Store.Take(t.Context(), id, buckets)
				if want := m.take(id, buckets); err != nil || got != want {
					rt.Fatalf("take %s %v: got %+v, %v; want %+v", id, buckets, got, err, want)
				}
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
				m.forget(prefix, windows)
			},
		})
	})
}

// breakerModel is a breaker that keeps its failures in a list for ever.
type breakerModel struct {
	model
	failed          []event
	closedAt        int // failures before this index are settled
	openUntil       time.Duration
	probe           string
	probeUntil      time.Duration
	probed, tripped bool
}

func (m *breakerModel) state() limits.State {
	switch {
	case !m.tripped:
		return limits.Closed
	case m.latest < m.openUntil:
		return limits.Open
	}
	return limits.HalfOpen
}

func (m *breakerModel) admit(call string, r limits.Rule) limits.Admission {
	switch m.state() {
	case limits.Closed:
		return limits.Admission{OK: true}
	case limits.Open:
		return limits.Admission{RetryAfter: m.openUntil - m.latest}
	}
	if m.probed && m.probe != call {
		if wait := m.probeUntil - m.latest; wait > 0 {
			return limits.Admission{RetryAfter: wait}
		}
	}
	if !m.probed || m.probe != call {
		m.probed, m.probe, m.probeUntil = true, call, m.latest+r.OpenFor
	}
	return limits.Admission{OK: true, Probe: true}
}

func (m *breakerModel) settle(call string, o limits.Outcome, r limits.Rule) {
	open := func() { m.tripped, m.probed, m.openUntil = true, false, m.latest+r.OpenFor }
	if m.state() == limits.Closed {
		if o != limits.Failed {
			return
		}
		calls := map[string]bool{}
		for _, e := range m.failed[m.closedAt:] {
			if e.at+r.Window > m.latest {
				calls[e.id] = true
			}
		}
		if !calls[call] {
			m.failed, calls[call] = append(m.failed, event{id: call, at: m.latest}), true
		}
		if len(calls) >= r.Failures {
			open()
		}
		return
	}
	if !m.probed || m.probe != call {
		return
	}
	switch o {
	case limits.Succeeded:
		m.tripped, m.probed, m.closedAt = false, false, len(m.failed)
	case limits.Failed:
		open()
	case limits.Abandoned:
		m.probed = false
	}
}

func breakerEqualsModel(t *testing.T, open Open) {
	r := limits.Rule{Failures: 3, Window: 20 * time.Millisecond, OpenFor: 8 * time.Millisecond}
	rapid.Check(t, func(rt *rapid.T) {
		h, m := open(t), &breakerModel{}
		call := rapid.Map(rapid.IntRange(0, 5), func(n int) string { return fmt.Sprint(n) })
		rt.Repeat(map[string]func(*rapid.T){
			"": func(rt *rapid.T) {
				if got, err := h.Store.State(t.Context(), skill, r); err != nil || got != m.state() {
					rt.Fatalf("state: got %v, %v; want %v", got, err, m.state())
				}
			},
			"admit": func(rt *rapid.T) {
				id := call.Draw(rt, "call")
				got, err := h.Store.Admit(t.Context(), skill, id, r)
				if want := m.admit(id, r); err != nil || got != want {
					rt.Fatalf("admit %s: got %+v, %v; want %+v", id, got, err, want)
				}
			},
			"settle": func(rt *rapid.T) {
				id := call.Draw(rt, "call")
				o := rapid.SampledFrom([]limits.Outcome{limits.Failed, limits.Failed, limits.Succeeded, limits.Abandoned}).Draw(rt, "outcome")
				if err := h.Store.Settle(t.Context(), skill, id, o, r); err != nil {
					rt.Fatal(err)
				}
				m.settle(id, o, r)
			},
			"shift": func(rt *rapid.T) {
				d := millis(0, 12).Draw(rt, "by")
				h.Shift(d)
				m.latest += d
			},
		})
	})
}
