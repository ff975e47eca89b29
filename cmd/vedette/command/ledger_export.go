package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/orchestrator/records"
	"github.com/vedette-dev/vedette/orchestrator/records/query"
)

// exportCommand is `vedette ledger export`.
type exportCommand struct {
	*app
	places         *places
	chosen         chosenRecords
	format, output string
}

func newExportCommand(a *app, p *places) *cobra.Command {
	c := &exportCommand{app: a, places: p}
	cmd := &cobra.Command{
		Use:   "export [QUERY]",
		Short: "Write records to a file for other programs",
		Long: `Export writes the records that match the query and every flag, the oldest first, up
to the newest of when it began: as JSON, one record a line, or as CSV for
spreadsheets. In CSV an apostrophe stands before a value that a spreadsheet would
take for a formula. The file holds what the ledger holds, so no argument values.

` + describeQueries(),
		Example: `  vedette ledger export --output decisions.jsonl 'kind:decision since:30d'
  vedette ledger export --format csv --output denied.csv outcome:deny`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	c.chosen.addFlags(cmd.Flags())
	cmd.Flags().StringVar(&c.format, "format", query.FormatJSONL, strings.Join(query.Formats(), " or "))
	cmd.Flags().StringVarP(&c.output, "output", "o", "", "a new `FILE`; without it, standard output")
	return cmd
}

func (c *exportCommand) run(ctx context.Context, args []string) error {
	if !slices.Contains(query.Formats(), c.format) {
		return usageError(fmt.Sprintf("--format %q: say %s", c.format, strings.Join(query.Formats(), " or ")))
	}
	q, err := c.chosen.readQuery(args, time.Now())
	if err != nil {
		return err
	}
	src, err := c.places.findSource(c.program(), false, false)
	if err != nil {
		return err
	}
	tellMissing(ctx, c.app, src)
	if c.output == "" {
		_, err := c.export(ctx, src, q, c.out)
		return err
	}
	n, err := writeNewFile(c.output, func(w io.Writer) (int64, error) { return c.export(ctx, src, q, w) })
	if err != nil {
		return err
	}
	c.tellNote("%d records written to %s", n, terminal.Clean(c.output))
	return nil
}

func (c *exportCommand) export(ctx context.Context, src records.Source, q query.Query, w io.Writer) (int64, error) {
	out, err := query.NewWriter(c.format, w)
	if err != nil {
		return 0, err
	}
	return records.Export(ctx, src, q, out)
}

// writeNewFile writes a file that wasn't there, whole or not at all.
func writeNewFile(name string, write func(io.Writer) (int64, error)) (n int64, err error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return 0, &failure{exitFailed, fmt.Errorf("%s is there already", terminal.Clean(name)), "name a new file, or move the old one away"}
	}
	if err != nil {
		return 0, &failure{exitFailed, fmt.Errorf("%s can't be written: %w", terminal.Clean(name), err), "name a file in a folder that is there"}
	}
	n, err = write(f)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return n, errors.Join(err, os.Remove(name))
	}
	return n, nil
}
