package setup

import (
	"context"
	"os"

	"github.com/vedette-dev/vedette/orchestrator/control"
	"github.com/vedette-dev/vedette/orchestrator/records"
)

// OpenStory reads a story with its values in a database that no process has open.
type OpenStory func(ctx context.Context, src records.Source, id string, who control.StoryReader) (control.Story, error)

// ReadStory tells all that is kept of a call with its values: through the process that runs on the
// database, or by open in the database itself where no process does. The reading is on record as this user's.
func ReadStory(ctx context.Context, src records.Source, id string, open OpenStory) (s control.Story, err error) {
	process := Dial(src.Database)
	err = reachEither(ctx, func() error {
		s, err = process.ReadStory(ctx, id)
		return err
	}, func() error {
		s, err = open(ctx, src, id, control.StoryReader{By: control.NameLocal(os.Getuid()), Via: control.ViaCommand})
		return err
	}, either{src.Database, true, "show values", "ask that program for them, or stop it: values are opened in the database then"})
	return s, records.AdviseOnID(id, err)
}
