//go:build !race

package stream_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/stream"
)

// The race detector has pools drop what they hold, so allocations are counted without it.

// A chunk of text costs at most two allocations.
func TestTextAllocates(t *testing.T) {
	for _, format := range formats {
		relay := stream.NewRelay(codecs[format](), options(t, stream.Terminate))
		relay.Write([]byte(textBegin[format]))
		frame := []byte(textFrame[format])
		relay.Write(frame)
		require.LessOrEqual(t, testing.AllocsPerRun(100, func() { relay.Write(frame) }), 2.0, format)
	}
}
