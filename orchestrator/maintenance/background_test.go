package maintenance_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/orchestrator/maintenance"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Work in the background outlives the context that it was started under, ends with Stop,
// and is contained: an error is logged as it is, a panic without its value.
func TestBackground(t *testing.T) {
	for name, row := range map[string]struct {
		work func(ctx context.Context) error
		log  string
	}{
		"ends with Stop": {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, ""},
		"fails":          {func(context.Context) error { return errors.New("the disk is full") }, "the disk is full"},
		"panics":         {func(context.Context) error { panic("CANARY-7f3a") }, "maintenance panicked"},
	} {
		t.Run(name, func(t *testing.T) {
			log, ended := &bytes.Buffer{}, make(chan struct{})
			ctx, cancel := context.WithCancel(t.Context())
			b := maintenance.Start(ctx, slog.New(slog.NewTextHandler(log, nil)), "try", func(ctx context.Context) error {
				defer close(ended)
				return row.work(ctx)
			})
			cancel()
			if name != "ends with Stop" {
				<-ended
			}
			b.Stop()
			<-ended
			require.Contains(t, log.String(), row.log)
			require.NotContains(t, log.String(), "CANARY")
			if row.log == "" {
				require.Empty(t, log.String(), "to be stopped is no failure")
			}
		})
	}
	var none *maintenance.Background
	require.NotPanics(t, none.Stop)
}
