//go:build unix

package main

import "time"

// longer are the tests that may be silent for longer than two minutes, each with
// its reason. None of them is exempt.
var longer = []struct {
	pkg, test string
	limit     time.Duration
	why       string
}{
	{".", "TestInvariantsAreTested", 12 * time.Minute, "each case compiles the tests of a package with the race detector, then runs some of them"},
}
