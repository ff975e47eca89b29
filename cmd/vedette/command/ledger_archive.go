package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/cmd/vedette/setup"
	"github.com/vedette-dev/vedette/orchestrator/records"
)

func newArchiveCommand(a *app, p *places) *cobra.Command {
	var list, asJSON bool
	cmd := &cobra.Command{
		Use:   "archive",
		Short: "Close the database file and go on in another",
		Long: `Archive closes the ledger's database file and begins another, with a key of its own, whose
first record carries the signed head of the one before. No record is deleted: the
closed file keeps all of them and is read and verified together with the new one. What
lives moves: values that are kept, held calls, spent warrants, labels, tokens.

The files are vedette.db, vedette.db.d/0002.db and so on. A closed file may be taken
elsewhere; queries and verify say then what they lack. ledger.archive in the
configuration does it by size or age.

A running server does it on request, without an interruption. With --list nothing is
changed.`,
		Example: `  vedette ledger archive
  vedette ledger archive --list --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if list {
				return listArchives(cmd.Context(), a, p, asJSON)
			}
			return runArchive(cmd.Context(), a, p, asJSON)
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "list the files that were closed, the oldest first")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func runArchive(ctx context.Context, a *app, p *places, asJSON bool) error {
	src, err := p.findSource(a.program(), true, true)
	if err != nil {
		return err
	}
	done, err := setup.ArchiveLedger(ctx, src)
	switch {
	case done.File.Number == 0:
		return asLedgerFailure(err)
	case asJSON:
		return firstOf(a.writeJSON(done, false), err)
	}
	return firstOf(a.printText("closed   %s, %d records\ngoes on  %s\nkey      %s\n", done.Path, done.Records, done.File.Path, done.Key), err)
}

// firstOf returns the first error there is.
func firstOf(list ...error) error {
	for _, err := range list {
		if err != nil {
			return err
		}
	}
	return nil
}

func listArchives(ctx context.Context, a *app, p *places, asJSON bool) error {
	src, err := p.findSource(a.program(), false, false)
	if err != nil {
		return err
	}
	list, err := records.ListArchives(ctx, src)
	if err != nil {
		return asLedgerFailure(err)
	}
	for _, one := range list {
		where := one.Path
		if where == "" {
			where = "not here"
		}
		if asJSON {
			err = a.writeJSON(one, true)
		} else {
			err = a.printText("%d  records %d to %d  %s\n", one.Number, one.From, one.From+one.Records, where)
		}
		if err != nil {
			return err
		}
	}
	if len(list) == 0 {
		a.tellNote("the ledger has one file, and no archive")
	}
	return nil
}

// tellMissing notes which archives a command can't read.
func tellMissing(ctx context.Context, a *app, src records.Source) {
	list, err := records.ListArchives(ctx, src)
	if err != nil {
		return // the command itself has told, or verify will
	}
	for _, line := range records.DescribeMissing(list) {
		a.tellNote("%s", line)
	}
}
