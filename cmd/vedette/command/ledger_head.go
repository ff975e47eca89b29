package command

import (
	"github.com/spf13/cobra"
)

func newHeadCommand(a *app, p *places) *cobra.Command {
	return &cobra.Command{
		Use:   "head",
		Short: "Print the newest signed head, to keep it elsewhere",
		Long: `Head prints the newest signed head. Keep the head in a place that the writers of the
database can't write: vedette ledger verify --head then finds a rollback up to that head.`,
		Example: `  vedette ledger head > /mnt/elsewhere/$(date +%F).txt`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			src, err := p.findSource(a.program(), true, false)
			if err != nil {
				return err
			}
			head, err := src.NewestHead(cmd.Context())
			if err != nil {
				return asLedgerFailure(err)
			}
			_, err = a.out.Write(head) // four lines and a signature: its form was just checked
			return err
		},
	}
}
