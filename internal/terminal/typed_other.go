//go:build !linux

package terminal

import "io"

// DiscardTyped does nothing where a terminal's pending input can't be
// thrown away.
func DiscardTyped(io.Reader) {}
