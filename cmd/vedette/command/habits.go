package command

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/orchestrator/records"
)

func newHabitsCommand(a *app) *cobra.Command {
	return asGroup(&cobra.Command{
		Use:   "habits",
		Short: "List and revoke what people have approved again and again",
		Long: `With judge.habits: on, three approvals on three days make a habit: calls of the same
skill to the same recipients are in doubt no more. The approvals are sealed in the
journal for 90 days.`,
		Example: `  vedette habits list --user ann
  vedette habits revoke 3f9a02c4`,
	}, newHabitsListCommand(a), newHabitsRevokeCommand(a))
}

// habitsListCommand is `vedette habits list`.
type habitsListCommand struct {
	*app
	config, user string
	json         bool
}

func newHabitsListCommand(a *app) *cobra.Command {
	c := &habitsListCommand{app: a}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the approvals that make habits, or will",
		Long: `List opens the approvals in the journal, those of one user or of all, and shows whose
they are, of which skill, to whom, and on how many days. IN FORCE says whether they
make a habit now; with fewer than three days they don't yet.

The list shows values that the journal keeps sealed. It needs the database for itself:
stop the server first.`,
		Example: `  vedette habits list
  vedette habits list --user ann --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	addConfigFlag(cmd, &c.config)
	cmd.Flags().StringVar(&c.user, "user", "", "habits of this `USER`")
	cmd.Flags().BoolVar(&c.json, "json", false, "print each habit as a line of JSON")
	return cmd
}

func (c *habitsListCommand) run(ctx context.Context) error {
	src, err := findHabits(c.app, c.config)
	if err != nil {
		return err
	}
	list, err := src.Habits(ctx, c.user)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		c.tellNote("no approval is kept")
		return nil
	}
	t := terminal.Table{Colour: c.color}
	t.Add("ID", "USER", "SKILL", "TO", "DAYS", "LAST", "IN FORCE")
	for i := range list {
		h := &list[i]
		if c.json {
			if err := c.writeJSON(h, true); err != nil {
				return err
			}
			continue
		}
		inForce := "no"
		if h.InForce {
			inForce = "yes"
		}
		t.Add(h.ID, h.User, h.Skill, h.WriteRecipients(), fmt.Sprint(h.Days), h.Last.Format(time.DateOnly), inForce)
	}
	if c.json {
		return nil
	}
	return t.Write(c.out)
}

// habitsRevokeCommand is `vedette habits revoke`.
type habitsRevokeCommand struct {
	*app
	config string
	chosen records.RevokeOptions
	json   bool
}

func newHabitsRevokeCommand(a *app) *cobra.Command {
	c := &habitsRevokeCommand{app: a}
	cmd := &cobra.Command{
		Use:        "revoke [ID]",
		SuggestFor: []string{"delete", "forget", "erase"},
		Short:      "Revoke one habit, or all of a user",
		Long: `Revoke erases the approvals of one habit, named by its ID or how that begins, or of all
habits of a user. People are asked about such calls again, until three more approvals.

The ledger gets a record of each habit that was revoked, with the operator's name and
without skill and recipients. The database has one writer: stop the server first.`,
		Example: `  vedette habits revoke 3f9a02c4
  vedette habits revoke --user ann`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				c.chosen.ID = args[0]
			}
			named := cmd.Flags().Lookup("user").Changed
			if len(args) == 0 && !named || len(args) > 0 && args[0] == "" || named && c.chosen.User == "" {
				return usageError("name a habit by its ID, or a user with --user U; vedette habits list shows both")
			}
			return c.run(cmd.Context())
		},
	}
	addConfigFlag(cmd, &c.config)
	cmd.Flags().StringVar(&c.chosen.User, "user", "", "revoke habits of this `USER`")
	cmd.Flags().BoolVar(&c.json, "json", false, "print JSON")
	return cmd
}

func (c *habitsRevokeCommand) run(ctx context.Context) error {
	src, err := findHabits(c.app, c.config)
	if err != nil {
		return err
	}
	c.chosen.By = currentOperator()
	gone, err := src.RevokeHabits(ctx, c.chosen)
	if err != nil {
		return err
	}
	if c.json {
		return c.writeJSON(gone, false)
	}
	return c.printText("%d habits revoked, %d approvals erased\n", gone.Habits, gone.Approvals)
}

// findHabits returns the database and the keys of a configuration.
func findHabits(a *app, config string) (records.Source, error) {
	cfg, err := a.program().Load(config)
	if err != nil {
		return records.Source{}, err
	}
	return records.Source{Database: cfg.Ledger.Path, Keys: cfg.Keys.Dir, Driver: cfg.Ledger.Driver}, nil
}
