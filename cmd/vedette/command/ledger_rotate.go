package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/orchestrator/records"
)

func newRotateKeyCommand(a *app, p *places) *cobra.Command {
	var by, agent string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "rotate-key --by NAME",
		Short: "Sign with a new key from now on",
		Long: `Rotate-key makes a new key that signs the ledger's heads. A record says so, and both keys
sign the head over it, so verify with either public key follows the chain. The old
private key is gone then; its public half stays as ledger-HASH.pub in the key folder.
Give the new ledger.pub to those who verify.

With --agent a new key signs the records of one agent, and the ledger's stays. A record
says so, and what the old key signs later fails verify --agents.

No process may use the database meanwhile. What was broken off is finished by doing
it again.`,
		Example: `  vedette ledger rotate-key --by ann
  vedette ledger rotate-key --agent email_agent --by ann`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if by == "" {
				return usageError("say who rotates it, with --by NAME")
			}
			if cmd.Flags().Changed("agent") {
				return runRotateAgentKey(cmd.Context(), a, p, agent, by, asJSON)
			}
			return runRotateKey(cmd.Context(), a, p, by, asJSON)
		},
	}
	cmd.Flags().StringVar(&by, "by", "", "`NAME` of who rotates it, for the record")
	cmd.Flags().StringVar(&agent, "agent", "", "`NAME` of the agent whose key is rotated, in place of the ledger's")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func runRotateKey(ctx context.Context, a *app, p *places, by string, asJSON bool) error {
	src, err := p.findSource(a.program(), true, true)
	if err != nil {
		return err
	}
	done, err := records.RotateKey(ctx, src, by)
	switch {
	case err != nil:
		return asLedgerFailure(err)
	case asJSON:
		return a.writeJSON(done, false)
	}
	return a.printText("old key  %s, kept as %s\nnew key  %s\n", done.Old, done.Kept, done.New)
}

func runRotateAgentKey(ctx context.Context, a *app, p *places, agent, by string, asJSON bool) error {
	src, err := p.findSource(a.program(), true, true)
	if err != nil {
		return err
	}
	done, err := records.RotateAgentKey(ctx, src, agent, by)
	switch {
	case err != nil:
		return asLedgerFailure(err)
	case asJSON:
		return a.writeJSON(done, false)
	}
	return a.printText("old key of %s  %s\nnew key of %s  %s\n", done.Agent, done.Old, done.Agent, done.New)
}
