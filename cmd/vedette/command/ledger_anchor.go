package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/cmd/vedette/setup"
)

func newAnchorCommand(a *app, p *places) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "anchor",
		Short: "Send the newest signed head to every anchor now",
		Long: `Anchor sends the newest signed head to each place under ledger.anchors. A running
process does so by itself. The exit status is 1 where a place did not take it.`,
		Example: `  vedette ledger anchor
  vedette ledger anchor --config /etc/vedette/vedette.yaml --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runAnchor(cmd.Context(), a, p, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print each anchor as a line of JSON")
	return cmd
}

func runAnchor(ctx context.Context, a *app, p *places, asJSON bool) error {
	list, err := setup.SendHead(ctx, a.program(), p.config)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		a.tellNote("ledger.anchors names no place")
	}
	failed := false
	for _, s := range list {
		failed = failed || s.Problem != ""
		switch {
		case asJSON:
			err = a.writeJSON(s, true)
		case s.Problem != "":
			err = a.printText("%s: not kept: %s\n", s.Anchor, s.Problem)
		default:
			err = a.printText("%s: a head of %d records is kept\n", s.Anchor, s.Kept)
		}
		if err != nil {
			return err
		}
	}
	if failed {
		return &failure{exitFailed, errTold, ""}
	}
	return nil
}

func newAcceptRestoredCommand(a *app, p *places) *cobra.Command {
	var by string
	cmd := &cobra.Command{
		Use:   "accept-restored --by NAME",
		Short: "Go on with a database that is behind its anchors: a backup was restored",
		Long: `A process refuses to start where an anchor knows of records that the database lacks: it
may be an older copy that somebody put in place. Where a backup was restored on
purpose, accept-restored says so in the ledger, with the name of who did it. The heads
of what is lost count no more from then on.

No process may use the database meanwhile.`,
		Example: `  vedette ledger accept-restored --by ann`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if by == "" {
				return usageError("say who accepts it, with --by NAME")
			}
			newest, err := setup.AcceptRestored(cmd.Context(), a.program(), p.config, by)
			if err != nil {
				return err
			}
			return a.printText("on record: heads of up to %d records, signed until now, count no more\n", newest)
		},
	}
	cmd.Flags().StringVar(&by, "by", "", "`NAME` of who accepts it, for the record")
	return cmd
}
