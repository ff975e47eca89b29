package setup

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/vedette-dev/vedette/internal/advice"
	"github.com/vedette-dev/vedette/orchestrator/control"
	"github.com/vedette-dev/vedette/orchestrator/records"
)

// ReadStory tells all that is kept of a call with its values: through the process that runs on the
// database, or in the database itself where no process does. The reading is on record as this user's.
func ReadStory(ctx context.Context, src records.Source, id string) (s control.Story, err error) {
	process := Dial(src.Database)
	err = reachEither(ctx, func() error {
		s, err = process.ReadStory(ctx, id)
		return err
	}, func() error {
		s, err = src.StoryWithValues(ctx, id, control.StoryReader{By: control.NameLocal(os.Getuid()), Via: control.ViaCommand})
		return err
	}, either{src.Database, true, "show values", "ask that program for them, or stop it: values are opened in the database then"})
	switch {
	case errors.Is(err, control.ErrRecordUnknown):
		return s, &advice.Error{Err: fmt.Errorf("no record, decision or call has the id %q", id), Todo: "vedette ledger list shows the ids"}
	case errors.Is(err, control.ErrRecordAmbiguous):
		return s, &advice.Error{
			Err: fmt.Errorf("several records start with %q", id), Todo: "give more of the id; vedette ledger list shows the ids",
		}
	}
	return s, err
}
