package assembly_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// The id of an allowed call is kept from being allowed again for a week, and for
// longer where what a restart reads is kept for longer.
func TestOnceForAsLongAsValuesAreKept(t *testing.T) {
	const day = 24 * time.Hour
	for retention, want := range map[string]time.Duration{"1h": 7 * day, "168h": 7 * day, "720h": 30 * day} {
		t.Run(retention, func(t *testing.T) {
			clock := newHands()
			p := build(t, write(t, "journal: {retention: "+retention+"}\n"), assembly.Options{Now: clock.now})
			rec := func(id string) error {
				return p.Recorder().Record(t.Context(), sentinel.Record{
					Kind: sentinel.RecordDecision, ID: id, At: clock.now(), CallID: "c", DecisionID: id, Once: "c", OnceFor: 7 * day,
				})
			}
			require.NoError(t, rec("first"))
			clock.move(want - time.Minute)
			_, err := p.Store.PruneSpent(t.Context(), clock.now())
			require.NoError(t, err)
			require.ErrorIs(t, rec("second"), store.ErrSpent)
			clock.move(2 * time.Minute)
			_, err = p.Store.PruneSpent(t.Context(), clock.now())
			require.NoError(t, err)
			require.Zero(t, spent(t, p), "and not for ever")
		})
	}
}
