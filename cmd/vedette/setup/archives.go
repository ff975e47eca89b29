package setup

import (
	"context"
	"errors"
	"os"

	"github.com/vedette-dev/vedette/internal/advice"
	"github.com/vedette-dev/vedette/orchestrator/control"
	"github.com/vedette-dev/vedette/orchestrator/records"
)

// ArchiveLedger closes the ledger's database file and has another go on: in the process that runs on it, or in the
// database itself where no process does. It is on record as this user's.
func ArchiveLedger(ctx context.Context, src records.Source) (out records.Archived, err error) {
	process := Dial(src.Database)
	err = reachEither(ctx, func() error {
		out, err = process.ArchiveLedger(ctx)
		return err
	}, func() error {
		out, err = records.ArchiveLedger(ctx, src, control.NameLocal(os.Getuid()))
		return err
	}, either{src.Database, true, "archive", "stop it, and archive again"})
	if errors.Is(err, control.ErrNoArchives) {
		err = &advice.Error{Err: err, Todo: "stop it, and archive again"}
	}
	return out, records.AdviseOnArchive(err)
}
