package command

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
)

func newLedgerHead(a *app, p *places) *cobra.Command {
	return &cobra.Command{
		Use:   "head",
		Short: "Print the newest signed head, to keep it elsewhere",
		Long: `Head prints the newest signed head. Keep the head in a place that the writers of the
database can't write: vedette ledger verify --head then finds a rollback up to that head.`,
		Example: `  vedette ledger head > /mnt/elsewhere/$(date +%F).txt`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := p.fill(true, false); err != nil {
				return err
			}
			key, err := p.publicKey()
			if err != nil {
				return err
			}
			head, err := p.newestHead(cmd.Context())
			if err != nil {
				return err
			}
			if _, err := ledger.ParseHead(head, key); err != nil {
				return &failure{exitIntegrity, fmt.Errorf("the newest head: %w", err), "vedette ledger verify says more"}
			}
			_, err = a.out.Write(head) // four lines and a signature: its form was just checked
			return err
		},
	}
}

// newestHead reads the newest head beside a running writer.
func (p *places) newestHead(ctx context.Context) (head []byte, err error) {
	r, err := store.OpenReader(ctx, p.db)
	if err != nil {
		return nil, p.explain(err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	err = r.QueryRow(ctx, `SELECT note FROM ledger_heads ORDER BY size DESC LIMIT 1`).Scan(&head)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("the ledger in %s is empty: there is no head yet", p.db)
	}
	return head, p.explain(err)
}
