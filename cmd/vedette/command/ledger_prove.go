package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/orchestrator/records"
)

// proveCommand is `vedette ledger prove`.
type proveCommand struct {
	*app
	places       *places
	since, check string
	json         bool
}

func newProveCommand(a *app, p *places) *cobra.Command {
	c := &proveCommand{app: a, places: p}
	cmd := &cobra.Command{
		Use:   "prove ID | prove --since-head FILE | prove --check FILE",
		Short: "Prove that a record is in the ledger, or that the ledger has only grown",
		Long: `Prove prints a proof as JSON: that a record is in the ledger under its newest
signed head, or with --since-head that no record was changed or removed since an
older head. Somebody who holds ledger.pub checks it without the database, with
--check FILE --key ledger.pub, and sees what it proves.

A proof of a record shows that record and no other. It holds no argument values.`,
		Example: `  vedette ledger prove 0199a1b2-c3d4 > proof.json
  vedette ledger prove --since-head heads/monday.txt > grown.json
  vedette ledger prove --check proof.json --key ledger.pub`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	cmd.Flags().StringVar(&c.since, "since-head", "", "prove that the ledger has only grown since the head in `FILE`")
	cmd.Flags().StringVar(&c.check, "check", "", "check the proof in `FILE`")
	cmd.Flags().BoolVar(&c.json, "json", false, "with --check, print what the proof shows as JSON")
	return cmd
}

func (c *proveCommand) run(ctx context.Context, args []string) error {
	ways := len(args)
	for _, flag := range []string{c.since, c.check} {
		if flag != "" {
			ways++
		}
	}
	if ways != 1 {
		return usageError("name one record by its ID, or one file with --since-head or --check")
	}
	if c.check != "" {
		return c.checkProof()
	}
	src, err := c.places.findSource(c.program(), true, false)
	if err != nil {
		return err
	}
	var p records.Proof
	if c.since != "" {
		p, err = records.ProveSince(ctx, src, c.since)
	} else {
		p, err = records.Prove(ctx, src, args[0])
	}
	if err != nil {
		return asLedgerFailure(err)
	}
	return c.writeJSON(p, false)
}

// checkProof checks a proof: with --key it needs no configuration and no database.
func (c *proveCommand) checkProof() error {
	src := records.Source{PublicKey: c.places.key}
	if src.PublicKey == "" {
		var err error
		if src, err = c.places.findSource(c.program(), true, false); err != nil {
			return err
		}
	}
	proved, err := records.ReadProof(src, c.check)
	switch {
	case err != nil:
		return asLedgerFailure(err)
	case c.json:
		return c.writeJSON(proved, false)
	}
	if r := proved.Record; r != nil {
		if err := (records.Found{Record: *r}).WriteText(c.out, c.color); err != nil {
			return err
		}
	}
	t := terminal.Table{Colour: c.color}
	if proved.Older != nil {
		t.Add("older head", fmt.Sprintf("%d records, %s", proved.Older.Size, proved.Older.Time.UTC().Format(records.TimeLayout)))
	}
	t.Add("signed head", fmt.Sprintf("%d records, %s", proved.Head.Size, proved.Head.Time.UTC().Format(records.TimeLayout)))
	t.Add("proof", "it holds")
	return t.Write(c.out)
}
