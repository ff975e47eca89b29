package command

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// A decision is there before the next line is asked for.
func TestCheckAnswersAtOnce(t *testing.T) {
	cfg := common(t)
	in, feed := io.Pipe()
	answers, out := io.Pipe()
	code := make(chan int, 1)
	go func() {
		defer func() { _ = errors.Join(in.Close(), out.Close()) }() // a run that fails must not keep the test waiting
		code <- runLine(t.Context(), []string{"check", "--config", cfg}, &app{in: in, out: out, err: io.Discard})
	}()
	r := bufio.NewReader(answers)
	for i := range 3 {
		_, err := fmt.Fprintf(feed, `{"id":"%d","proposed_action":{"skill_name":"a.b"}}`+"\n", i)
		require.NoError(t, err)
		line, err := r.ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, line, fmt.Sprintf(`{"id":"%d","decision":"deny"`, i))
	}
	require.NoError(t, feed.Close())
	require.Equal(t, exitOK, <-code)
}
