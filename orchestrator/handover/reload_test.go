package handover_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/handover"
	"github.com/vedette-dev/vedette/sentinel"
)

// A warrant that was not handed out yet meets the rules of a reload: it is thrown away, on record.
func TestReloadMeetsWarrantsLeftLying(t *testing.T) {
	o := openOffice(t, lenient)
	done, err := o.Handover.Decide(t.Context(), proposal())
	require.NoError(t, err)
	<-done
	file := filepath.Join(o.dir, "vedette.yaml")
	require.NoError(t, os.WriteFile(file, []byte(officeHead+denies), 0o600))
	cfg, err := config.Load(file, config.Options{})
	require.NoError(t, err)
	_, err = o.Reload(t.Context(), cfg, "file")
	require.NoError(t, err)
	a := o.propose(proposal())
	require.Equal(t, handover.Denied, a.State)
	require.Empty(t, a.Warrant)
	again := o.propose(proposal())
	require.Equal(t, sentinel.CodeWithdrawn, again.Refusal.Code)
	require.Empty(t, again.Warrant)
}
