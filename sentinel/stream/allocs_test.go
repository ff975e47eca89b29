package stream_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/internal/owntest"
	"github.com/vedette-dev/vedette/sentinel/stream"
)

// A chunk of text costs at most two allocations. The race detector has pools drop what they
// hold, so they are counted in a program without it.
func TestTextAllocates(t *testing.T) {
	const counting = "VEDETTE_TEST_COUNTED_ALLOCATIONS"
	if os.Getenv(counting) == "" {
		child := exec.CommandContext(t.Context(), owntest.Plain(t), "-test.run=^TestTextAllocates$", "-test.v")
		child.Env = append(os.Environ(), counting+"=1")
		out, err := child.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "--- PASS: TestTextAllocates ")
		return
	}
	for _, format := range formats {
		relay := stream.NewRelay(codecs[format](), options(t, stream.Terminate))
		relay.Write([]byte(textBegin[format]))
		frame := []byte(textFrame[format])
		relay.Write(frame)
		require.LessOrEqual(t, testing.AllocsPerRun(100, func() { relay.Write(frame) }), 2.0, format)
	}
}
