//go:build unix

package main

import (
	"strings"
	"sync"
	"time"
)

// outside is what runs before the first test, after the last and between two:
// TestMain, and what a package starts by itself.
const outside = "what runs outside of tests"

// clocks know when each test that runs was heard of last.
type clocks struct {
	mu    sync.Mutex
	limit time.Duration
	pkg   string // the package's folder below the module, as in longer.go
	long  bool   // ./test -long
	now   func() time.Time
	tests map[string]*clock
	idle  time.Time // since when no test runs
}

// clock is that of one test.
type clock struct {
	heard  time.Time
	paused bool // it waits in t.Parallel for its turn
}

func newClocks(limit time.Duration, pkg string, now func() time.Time) *clocks {
	return &clocks{limit: limit, pkg: pkg, now: now, tests: map[string]*clock{}, idle: now()}
}

// pace is how often the clocks are looked at.
func (c *clocks) pace() time.Duration { return max(min(c.limit/10, time.Second), time.Millisecond) }

// onEvent takes what the program says of a test: RUN, PAUSE, CONT, NAME, or PASS,
// FAIL and SKIP at its end.
func (c *clocks) onEvent(word, test string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	switch word {
	case "RUN":
		c.tests[test] = &clock{heard: now}
	case "PASS", "FAIL", "SKIP":
		delete(c.tests, test)
	case "PAUSE", "CONT":
		if t := c.tests[test]; t != nil {
			t.paused = word == "PAUSE"
		}
	default: // NAME: it has printed, which proves no progress
		return
	}
	c.idle = now
	for name := test; name != ""; name = parent(name) {
		if t := c.tests[name]; t != nil {
			t.heard = now
		}
	}
}

// hanging returns a test of which nothing was heard for longer than it may be
// silent, and for how long. A test with subtests is silent while they run.
func (c *clocks) hanging() (name string, heard time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if len(c.tests) == 0 && now.Sub(c.idle) > c.limit {
		return outside, now.Sub(c.idle)
	}
	busy := map[string]bool{}
	for test := range c.tests {
		busy[parent(test)] = true
	}
	for test, t := range c.tests {
		if silent := now.Sub(t.heard); !t.paused && !busy[test] && silent > c.allowed(test) {
			return test, silent
		}
	}
	return "", 0
}

// allowed is how long a test may be silent.
func (c *clocks) allowed(test string) time.Duration {
	top, _, _ := strings.Cut(test, "/")
	for _, l := range longer {
		if l.test == top && l.pkg == c.pkg && (c.long || !l.long) {
			return max(l.limit, c.limit)
		}
	}
	return c.limit
}

func parent(test string) string {
	i := strings.LastIndexByte(test, '/')
	return test[:max(i, 0)]
}
