package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/orchestrator/cases"
	"github.com/vedette-dev/vedette/orchestrator/eval"
)

// checkCommand is `vedette check`.
type checkCommand struct {
	*app
	config   string
	noReview bool
}

func newCheckCommand(a *app) *cobra.Command {
	c := &checkCommand{app: a}
	cmd := &cobra.Command{
		Use:   "check [FILE|-]",
		Short: "Decide proposed calls, one JSON object a line",
		Long: `Check reads one proposed call a line and writes one decision a line, in the
same order and at once. Check runs no skill, asks no person, records nothing and
counts no limit; a call that a person would have to approve stays ask.

A line has
  proposed_action    required: skill_name, and arguments, an object
  granted_skills     what the agent holds: skills, or a domain such as email.*
  original_request   the user's words, which the call is compared with
  agent_mission      what the agent was told to do
  user, agent_id     whom the agent works for, and its name
  earlier_requests   what the user said before that, oldest first
  history            what skills returned before: a list of skill_name, arguments,
                     result, trust, which is untrusted where none is given, and
                     turn, which is 0 for this turn and -1 for the one before
  id                 a text or a number, which the answer repeats
Other keys of a line are ignored.

A line that is no case gives {"id","error"}; the exit status is 1 then, and 0
where every line was decided, whatever the decisions.`,
		Example: `  vedette check calls.jsonl
  echo '{"granted_skills":["email.search"],"proposed_action":{"skill_name":"email.search","arguments":{"query":"x"}}}' | vedette check`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.run(cmd.Context(), argumentOr(args, "-"))
		},
	}
	addConfigFlag(cmd, &c.config)
	cmd.Flags().BoolVar(&c.noReview, "no-review", false, "leave the model review out")
	return cmd
}

func (c *checkCommand) run(ctx context.Context, file string) error {
	program := c.program()
	cfg, err := program.Load(c.config)
	if err != nil {
		return err
	}
	d, err := program.NewDecider(cfg, c.config, c.noReview)
	if err != nil {
		return err
	}
	defer d.Close()
	in, err := c.openCases(file)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	var faults cases.Faults
	err = eval.NewEvaluator(eval.Options{Decider: d}).Each(ctx, in, 1, func(n int, r eval.Result) error {
		faults.Add("", n, r.Err)
		return terminal.WriteLine(c.out, r.JSON())
	})
	if err != nil {
		return err
	}
	return faults.Err()
}
