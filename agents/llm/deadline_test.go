package llm

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// late is a context whose deadline has passed but which has not noticed yet.
type late struct {
	context.Context
	at time.Time
}

func (l late) Deadline() (time.Time, bool) { return l.at, true }
func (l late) Err() error                  { return nil }

// A dialler may give up at the deadline before the context does; whose deadline
// it was still decides.
func TestDeadlineNoticedByTheDiallerFirst(t *testing.T) {
	c := &Client{cfg: Config{Name: "fast"}}
	past := late{t.Context(), time.Now().Add(-time.Second)}
	broken := &Error{Kind: KindConnect}
	require.Equal(t, KindCanceled, c.classifyFailure(past, past, &exchange{}, broken).Kind)
	require.Equal(t, KindTimeout, c.classifyFailure(t.Context(), past, &exchange{}, broken).Kind)
	require.Equal(t, KindTimeout, c.classifyFailure(late{t.Context(), time.Now().Add(time.Hour)}, past, &exchange{}, broken).Kind)
	require.Equal(t, KindConnect, c.classifyFailure(t.Context(), late{t.Context(), time.Now().Add(time.Hour)}, &exchange{}, broken).Kind)
}
