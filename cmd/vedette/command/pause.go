package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/orchestrator/control"
)

// pauseCommand is `vedette pause`.
type pauseCommand struct {
	*app
	places
	target     control.Target
	lift, json bool
}

func newPauseCommand(a *app) *cobra.Command {
	c := &pauseCommand{app: a}
	cmd := &cobra.Command{
		Use:   "pause",
		Short: "Stop the work of a user, of a skill, or all of it",
		Long: `Pause tells the running process to refuse every call of a user, of a skill or at
all, also those that a person has approved, or that wait for others of their skill,
and have not started. What runs already runs on; it is listed. A pause holds until it is lifted, also over a
restart, and both are on record. Without a target, the pauses in force are shown.

The process is found by its database. Its owner and root may pause and lift, and on
Linux nothing that it has started itself. What listens there is believed only if
it is this user's or root's; root also believes the owner of the database.`,
		Example: `  vedette pause --all
  vedette pause --user ann
  vedette pause --skill 'email.*' --config /etc/vedette/vedette.yaml
  vedette pause --lift --all
  vedette pause`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range []string{"all", "user", "skill"} { // --user "$U" with an empty U names no user to pause
				if fl := cmd.Flags().Lookup(name); fl.Changed && (fl.Value.String() == "" || fl.Value.String() == "false") {
					return usageError("--" + name + " is given and names nothing")
				}
			}
			return c.run(cmd.Context())
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&c.target.All, "all", false, "all work")
	fl.StringVar(&c.target.User, "user", "", "the work of this `USER`")
	fl.StringVar(&c.target.Skill, "skill", "", "calls of this `SKILL`, or of a domain: 'email.*'")
	fl.BoolVar(&c.lift, "lift", false, "lift the pause")
	fl.BoolVar(&c.json, "json", false, "print what the process answers as JSON")
	c.addProcessFlags(cmd)
	return cmd
}

func (c *pauseCommand) run(ctx context.Context) error {
	none := c.target == control.Target{}
	if !none && c.target.Scope() == "" || none && c.lift {
		return usageError("name one of --all, --user USER and --skill SKILL")
	}
	process, err := c.findProcess(c.program())
	if err != nil {
		return err
	}
	switch {
	case none:
		list, err := process.Pauses(ctx)
		if err != nil {
			return process.adviseOn(err)
		}
		return c.printPauses(list)
	case c.lift:
		res, err := process.Lift(ctx, c.target)
		if err != nil {
			return process.adviseOn(err)
		}
		return c.printLifted(res)
	}
	res, err := process.Pause(ctx, c.target)
	if err != nil {
		return process.adviseOn(err)
	}
	return c.printPaused(res)
}
