package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/cmd/vedette/setup"
	"github.com/vedette-dev/vedette/orchestrator/records/shown"
)

// showCommand is `vedette ledger show`.
type showCommand struct {
	*app
	places       *places
	values, json bool
}

func newShowCommand(a *app, p *places) *cobra.Command {
	c := &showCommand{app: a, places: p}
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show all that is kept of one call",
		Long: `Show prints what is kept of one call: what the user asked for and the agent was told, what
had come back before, every gate's verdict in words, who was asked, and what became of it.
ID is a record's id or the start of it, or the whole id of a decision or a call.

Requests, missions, arguments, results and a model's reasons are not in the ledger. --values
opens them in the journal, as long as they are kept: through the server that runs on the
database, or with the keys of the key folder where none runs. Each reading of values is a
record in the ledger, with who read them.`,
		Example: `  vedette ledger show 0199a1b2-c3d4
  vedette ledger show 0199a1b2-c3d4 --values`,
		Args: wantOne("name one record by its ID, or by how the ID begins; vedette ledger list shows the IDs"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	cmd.Flags().BoolVar(&c.values, "values", false, "open what the journal keeps: requests, missions, arguments, results, reasons")
	cmd.Flags().BoolVar(&c.json, "json", false, "print JSON")
	return cmd
}

func (c *showCommand) run(ctx context.Context, id string) error {
	src, err := c.places.findSource(c.program(), false, c.values)
	if err != nil {
		return err
	}
	var told story
	if c.values {
		told, err = setup.ReadStory(ctx, src, id, shown.ReadValues)
	} else {
		told, err = shown.ReadStory(ctx, src, id)
	}
	switch {
	case err != nil:
		return err
	case c.json:
		return c.writeJSON(told, false)
	}
	if err := told.WriteText(c.out, showWidth, c.color); err != nil {
		return err
	}
	if !c.values && told.About != nil {
		c.tellNote("request, mission, arguments, results and reasons are sealed in the journal: --values opens them, on record")
	}
	return nil
}

// story is what show prints.
type story = shown.Story

// showWidth is how many columns show prints.
const showWidth = 100
