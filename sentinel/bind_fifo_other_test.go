//go:build !unix

package sentinel_test

import "testing"

// makeFIFO skips a test that needs a FIFO.
func makeFIFO(t *testing.T, _ string) {
	t.Helper()
	t.Skip("this platform has no FIFOs")
}
