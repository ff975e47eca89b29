package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/orchestrator/records"
)

// purgeCommand is `vedette journal purge`.
type purgeCommand struct {
	*app
	config    string
	whose     records.PurgeOptions
	yes, json bool
}

func newPurgeCommand(a *app) *cobra.Command {
	c := &purgeCommand{app: a}
	cmd := &cobra.Command{
		Use:        "purge",
		SuggestFor: []string{"prune", "erase", "delete", "clear", "remove"},
		Short:      "Erase the values and conversations of a user, or one conversation",
		Long: `Purge erases every value that the journal keeps of a user, or of one conversation,
and forgets the conversations themselves: a request that was under way is not gone
on with. It can't be undone. Backups of the database are not touched.

Nor is the ledger, from which nothing can be taken without breaking its proof: what
ledger.values: full put into it, the arguments of calls, stays readable there (and
with hmac, keyed digests of them). Purge counts those records and says so.

Purge records in the ledger that it begins, with the operator's name, and that it has
ended, with the count of values. An interrupted purge keeps its conversations closed; the
next start of the server, or the next purge, finishes it. Stop the server first: the
database has one writer.`,
		Example: `  vedette journal purge --user ann
  vedette journal purge --conversation c1 --yes --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (c.whose.User == "") == (c.whose.Conversation == "") {
				return usageError("name either a user with --user U or a conversation with --conversation C")
			}
			if !c.yes && !c.prompt {
				return usageError("no terminal to ask for confirmation, and purge can't be undone; confirm with --yes")
			}
			return c.run(cmd.Context())
		},
	}
	addConfigFlag(cmd, &c.config)
	cmd.Flags().StringVar(&c.whose.User, "user", "", "erase what is kept of this `USER`")
	cmd.Flags().StringVar(&c.whose.Conversation, "conversation", "", "erase what is kept of this `CONVERSATION`")
	cmd.Flags().BoolVar(&c.yes, "yes", false, "don't ask")
	cmd.Flags().BoolVar(&c.json, "json", false, "print JSON")
	return cmd
}

func (c *purgeCommand) run(ctx context.Context) error {
	cfg, err := c.program().Load(c.config)
	if err != nil {
		return err
	}
	src := records.Source{Database: cfg.Ledger.Path, Keys: cfg.Keys.Dir, Driver: cfg.Ledger.Driver}
	if err := src.CheckDatabase(); err != nil {
		return err
	}
	if !c.yes && !c.isAgreed() {
		return &failure{exitFailed, errors.New("nothing was erased"), "answer yes to erase"}
	}
	c.whose.By = currentOperator()
	gone, err := src.Purge(ctx, c.whose)
	if gone.InLedger > 0 {
		c.tellNote("warning: %d records of the ledger hold arguments, since ledger.values was full when they were made; they stay readable",
			gone.InLedger)
	}
	if err != nil {
		return err
	}
	if c.json {
		return c.writeJSON(gone, false)
	}
	return c.printText("%d values erased, %d conversations forgotten\n", gone.Values, gone.Conversations)
}

// currentOperator is who runs this command, as the system knows it.
func currentOperator() string {
	u, err := user.Current()
	if err != nil {
		return fmt.Sprint("uid ", os.Getuid())
	}
	return u.Username
}

// isAgreed asks the person at the terminal.
func (c *purgeCommand) isAgreed() bool {
	what := "user " + c.whose.User
	if c.whose.User == "" {
		what = "conversation " + c.whose.Conversation
	}
	_, _ = fmt.Fprintf(c.err, "Erase everything that is kept of %s? It can't be undone. [yes/no] ", terminal.Clean(what))
	line, _ := bufio.NewReader(c.in).ReadString('\n')
	return strings.TrimSpace(line) == "yes"
}
