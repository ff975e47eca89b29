package command

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/cmd/vedette/setup"
	"github.com/vedette-dev/vedette/internal/terminal"
)

// validateCommand is `vedette validate`.
type validateCommand struct {
	*app
	json bool
}

func newValidateCommand(a *app) *cobra.Command {
	c := &validateCommand{app: a}
	cmd := &cobra.Command{
		Use:   "validate [FILE]",
		Short: "Find every mistake of a configuration",
		Long: `Validate reads a configuration with its skill files, builds the gates and the ways
to run its skills, and tells every mistake at once as file:line:column: message.
It opens no database and reaches no model and no Redis server. The exit status is 3 where there are mistakes. Warnings are
for what is allowed and may surprise; they don't change the status.`,
		Example: `  vedette validate
  vedette validate deploy/vedette.yaml --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return c.run(argumentOr(args, defaultConfig))
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print JSON")
	return cmd
}

func (c *validateCommand) run(file string) error {
	v, err := c.program().Validate(file)
	if err != nil {
		return err
	}
	if c.json {
		if err := c.writeJSON(v, true); err != nil {
			return err
		}
	}
	switch {
	case !v.Valid:
		return c.tellMistakes(v)
	case c.json:
		return nil
	}
	return c.printValid(v)
}

func (c *validateCommand) tellMistakes(v setup.Validation) error {
	for _, m := range v.Mistakes {
		for _, line := range strings.Split(m.String(), "\n") {
			_, _ = fmt.Fprintln(c.err, terminal.Clean(line))
		}
	}
	return &failure{code: exitFindings, err: fmt.Errorf("%s in %s", formatNumber(len(v.Mistakes), "mistake"), v.File)}
}

func (c *validateCommand) printValid(v setup.Validation) error {
	total := 0
	var by, roles []string
	for _, e := range slices.Sorted(maps.Keys(v.Skills)) {
		total += v.Skills[e]
		by = append(by, fmt.Sprintf("%d %s", v.Skills[e], e))
	}
	for _, r := range slices.Sorted(maps.Keys(v.Roles)) {
		roles = append(roles, r+": "+strings.Join(v.Roles[r], ", "))
	}
	t := terminal.Table{}
	t.Add("skills", strings.TrimSuffix(fmt.Sprintf("%d (%s)", total, strings.Join(by, ", ")), " ()"))
	t.Add("rules", fmt.Sprint(v.Rules))
	t.Add("roles", cmp.Or(strings.Join(roles, "; "), "none"))
	t.Add("review", v.Review+v.ReviewButFor)
	t.Add("limits", v.Limits)
	if err := t.Write(c.out); err != nil {
		return err
	}
	for _, w := range v.Warnings {
		if _, err := fmt.Fprintln(c.out, terminal.Clean(w.String())); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(c.out, terminal.Clean(v.File)+" is valid")
	return err
}
