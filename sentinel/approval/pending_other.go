//go:build !linux

package approval

import "io"

// discardPending does nothing where a terminal's pending input can't be
// thrown away.
func discardPending(io.Reader) {}
