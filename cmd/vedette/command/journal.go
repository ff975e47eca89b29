package command

import (
	"github.com/spf13/cobra"
)

func newJournalCommand(a *app) *cobra.Command {
	return asGroup(&cobra.Command{
		Use:   "journal",
		Short: "Erase what is kept of a user or a conversation",
		Long: `The journal holds values: requests, arguments, results, answers, each sealed under
a key of its own. Erasing destroys the keys. The ledger, which holds no values unless
ledger.values says so, keeps its records and still verifies.`,
		Example: `  vedette journal purge --user ann`,
	}, newPurgeCommand(a))
}
