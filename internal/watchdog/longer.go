//go:build unix

package main

import "time"

// longer are the tests that may be silent for longer than five minutes, each with
// its reason. None of them is exempt. Those with long may be so with VEDETTE_LONG
// alone, which ./test -long sets.
var longer = []struct {
	pkg, test string
	limit     time.Duration
	long      bool
	why       string
}{
	{".", "TestInvariantsAreTested", 12 * time.Minute, false, "it compiles the tests of many packages, before its first case"},
	{"orchestrator", "TestKilled", 15 * time.Minute, true, "it kills 300 processes, one after another"},
	{"orchestrator", "TestChaos", 10 * time.Minute, true, "it makes faults for a minute, then waits for all that was begun"},
	{"sentinel/ledger", "TestCrash", 10 * time.Minute, true, "it kills 100 processes, one after another"},
}
