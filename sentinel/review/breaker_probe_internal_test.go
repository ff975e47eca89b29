package review

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
)

// The next call asks for a pending proof that no goroutine makes: a breaker would stay
// half-open for ever otherwise. One that is being made is not asked for twice.
func TestPendingProofIsAskedForAgain(t *testing.T) {
	c, err := llm.New(llm.Config{Name: "fast", Model: "plain", BaseURL: "http://127.0.0.1:1/v1"}, &http.Client{})
	require.NoError(t, err)
	g, err := New(Options{Models: []*llm.Client{c}})
	require.NoError(t, err)
	m := g.models[0]
	first, _ := m.newestProof() // no goroutine looks
	require.Empty(t, g.suspects)
	g.watching.Add(1)
	for range 2 {
		again, _ := m.newestProof()
		require.Same(t, first, again)
		require.Len(t, g.suspects, 1)
	}
	m.concludeProof(nil)
	next, _ := m.newestProof()
	require.NotSame(t, first, next)
}
