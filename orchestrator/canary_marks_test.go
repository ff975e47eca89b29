package orchestrator

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A model of the review that fails its canaries is in what top and doctor read
// of the process.
func TestTopNamesMarkedModels(t *testing.T) {
	o := with()
	o.config = reviewed
	r := start(t, o, []rule{{"when": rule{"schema": "sentinel_decision"}, "reply": rule{"content": `{"decision":"approve","reason":"fits"}`}}})
	require.Eventually(t, func() bool { return len(r.Top().CanaryFailed) > 0 }, eventually, tick)
	require.Equal(t, []string{"m"}, r.Top().CanaryFailed)
}
