package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/orchestrator/records"
)

// tailCommand is `vedette ledger tail`.
type tailCommand struct {
	*app
	places *places
	chosen chosenRecords
	last   int
	json   bool
}

func newTailCommand(a *app, p *places) *cobra.Command {
	c := &tailCommand{app: a, places: p}
	cmd := &cobra.Command{
		Use:   "tail [QUERY]",
		Short: "Show records as they are written",
		Long: `Tail shows the newest records that match the query and every flag, and then each
new one as it is written, the oldest first, until Ctrl-C. It reads the database
beside a running server. With --json each record is one line of JSON.

` + describeQueries(),
		Example: `  vedette ledger tail
  vedette ledger tail 'outcome:deny,ask' --last 0
  vedette ledger tail 'user:ann' --json`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	c.chosen.addFlags(cmd.Flags())
	cmd.Flags().IntVar(&c.last, "last", 10, "records to show at most of those that are there already")
	cmd.Flags().BoolVar(&c.json, "json", false, "print each record as a line of JSON")
	return cmd
}

func (c *tailCommand) run(ctx context.Context, args []string) error {
	if c.last < 0 || c.last > maxLast {
		return usageError(fmt.Sprintf("--last %d: use 0 to %d", c.last, maxLast))
	}
	q, err := c.chosen.readQuery(args, time.Now())
	if err != nil {
		return err
	}
	src, err := c.places.findSource(c.program(), false, false)
	if err != nil {
		return err
	}
	return records.Follow(ctx, src, records.FollowOptions{Chosen: records.ListOptions{Query: q, Limit: c.last}}, c.showPage)
}

// maxLast is the greatest --last: the records are held until the oldest is found.
const maxLast = 10_000

// showPage writes records as they come: the widths of columns aren't known, so a line has none.
func (c *tailCommand) showPage(page records.Page) error {
	for i := range page {
		if c.json {
			if err := c.writeJSON(page[i], true); err != nil {
				return err
			}
			continue
		}
		cells := []string{}
		for _, cell := range listCells(&page[i]) {
			if cell != "" {
				cells = append(cells, terminal.Clean(cell))
			}
		}
		if _, err := fmt.Fprintln(c.out, strings.Join(cells, "  ")); err != nil {
			return err
		}
	}
	return nil
}
