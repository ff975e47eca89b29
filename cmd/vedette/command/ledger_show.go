package command

import (
	"context"

	"github.com/spf13/cobra"
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
		Short: "Show one record with every gate",
		Long: `Show prints one record, every gate of its decision, and the other records of the
same call. ID is a record's id or the start of it, or the whole id of a decision
or a call.

Arguments, results and details are not in the ledger. --values opens them in the
journal, with the keys of the key folder, as long as they are kept; it needs the
database for itself, so not while a server runs on it.`,
		Example: `  vedette ledger show 0199a1b2-c3d4
  vedette ledger show 0199a1b2-c3d4 --values`,
		Args: wantOne("name one record by its ID, or by how the ID begins; vedette ledger list shows the IDs"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	cmd.Flags().BoolVar(&c.values, "values", false, "open arguments, results and details in the journal")
	cmd.Flags().BoolVar(&c.json, "json", false, "print JSON")
	return cmd
}

func (c *showCommand) run(ctx context.Context, id string) error {
	src, err := c.places.findSource(c.program(), false, c.values)
	if err != nil {
		return err
	}
	found, err := src.Find(ctx, id)
	if err != nil {
		return err
	}
	if c.values {
		if found.Values, err = src.Values(ctx, found.Record.Call); err != nil {
			return err
		}
	}
	if c.json {
		return c.writeJSON(found, false)
	}
	if err := found.WriteText(c.out, c.color); err != nil {
		return err
	}
	if !c.values {
		c.tellNote("arguments, results and details are sealed in the journal: --values opens them")
	}
	return nil
}
