package command

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/orchestrator/records"
)

func newLedgerCommand(a *app) *cobra.Command {
	p := &places{}
	cmd := asGroup(&cobra.Command{
		Use:   "ledger",
		Short: "Read and verify the record of decisions",
		Long: `The ledger holds every decision and what became of it: codes, names and numbers,
no argument values. The commands read the database beside a running server.

The database and the keys are those of the configuration, or what --db, --key and
--keys name: then no configuration is read.`,
		Example: `  vedette ledger list --outcome deny --since 24h
  vedette ledger show 0199a1b2-c3d4
  vedette ledger verify --head heads/monday.txt`,
	}, newListCommand(a, p), newTailCommand(a, p), newStatsCommand(a, p), newExportCommand(a, p), newShowCommand(a, p),
		newVerifyCommand(a, p), newHeadCommand(a, p), newProveCommand(a, p), newPolicyCommand(a, p), newLabelCommand(a, p),
		newAnchorCommand(a, p), newAcceptRestoredCommand(a, p), newRotateKeyCommand(a, p), newArchiveCommand(a, p))
	f := cmd.PersistentFlags()
	f.StringVar(&p.config, "config", defaultConfig, "configuration `FILE`")
	f.StringVar(&p.db, "db", "", "database `FILE`, in place of the configuration's")
	f.StringVar(&p.key, "key", "", "public key `FILE` (ledger.pub), in place of the configuration's")
	f.StringVar(&p.keys, "keys", "", "key `FOLDER`, in place of the configuration's")
	return cmd
}

// asLedgerFailure gives errors of records the exit codes that they have besides
// exitFailed.
func asLedgerFailure(err error) error {
	var broken *records.IntegrityError
	if errors.As(err, &broken) {
		return &failure{exitIntegrity, broken.Err, broken.Todo}
	}
	return err
}

// parseMoment reads a moment: RFC 3339, a day, or how long ago.
func parseMoment(flag, s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, usageError(fmt.Sprintf(
		"--%s %q: say a time such as 2026-01-02T15:04:05Z, a day such as 2026-01-02, or how long ago such as 24h", flag, s))
}
