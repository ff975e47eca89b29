package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/orchestrator/records"
)

// verifyCommand is `vedette ledger verify`.
type verifyCommand struct {
	*app
	places *places
	o      records.VerifyOptions
	json   bool
}

func newVerifyCommand(a *app, p *places) *cobra.Command {
	c := &verifyCommand{app: a, places: p}
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Prove that the ledger holds what was signed",
		Long: `Verify computes every record's hash again and compares the tree with every signed
head. Verify needs only the database file and the public key, and works beside a
running server. The exit status is 5 where a record was changed, swapped,
inserted or removed.

A person who can write the file can cut off its end together with its heads, or put
an old copy in its place. Verify finds that up to the newest head that you give it
with --head: keep what vedette ledger head prints where that person can't write, or
name places under ledger.anchors. With --witness each of those heads must bear the
cosignature of a witness as well.

Where the signing key was rotated, the old and the new public key both verify it all:
the records link them.

--fast checks one signature in 1,024 and the newest, which covers all records, and
doesn't compare the indexes that queries go by. --deep compares each record's columns
with its body besides, and names the column that lies. --agents checks the signature
of each record that an agent's key signed, and that the ledger's key certifies that one.`,
		Example: `  vedette ledger verify
  vedette ledger verify --db copy.db --key ledger.pub --head monday.txt --head tuesday.txt --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return asLedgerFailure(c.run(cmd.Context())) },
	}
	cmd.Flags().StringArrayVar(&c.o.Heads, "head", nil, "`FILE` with signed heads that were kept elsewhere; may be repeated")
	cmd.Flags().StringArrayVar(&c.o.Witnesses, "witness", nil, "public `KEY` of a witness who must have cosigned them; may be repeated")
	cmd.Flags().BoolVar(&c.o.Fast, "fast", false, "check some signatures and no index")
	cmd.Flags().BoolVar(&c.o.Deep, "deep", false, "compare columns with the bodies of their records")
	cmd.Flags().BoolVar(&c.o.Agents, "agents", false, "check the signatures of agents")
	cmd.MarkFlagsMutuallyExclusive("fast", "deep")
	cmd.Flags().BoolVar(&c.json, "json", false, "print JSON")
	return cmd
}

func (c *verifyCommand) run(ctx context.Context) error {
	src, err := c.places.findSource(c.program(), true, false)
	if err != nil {
		return err
	}
	v, err := src.Verify(ctx, c.o)
	if err != nil {
		return err
	}
	if c.json {
		err = c.writeJSON(v, false)
	} else {
		err = v.WriteText(c.out)
	}
	if err != nil {
		return err
	}
	return v.Err()
}
