package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/cmd/vedette/setup"
	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/orchestrator/policy"
)

// lintCommand is `vedette lint`.
type lintCommand struct {
	*app
	config string
	json   bool
}

func newLintCommand(a *app) *cobra.Command {
	c := &lintCommand{app: a}
	cmd := &cobra.Command{
		Use:   "lint",
		Short: "Find rules that do nothing and effects that look too mild",
		Long: `Lint looks through a valid configuration for what is allowed and looks wrong:
rules that can't match, that another rule always decides in place of, that stand
twice, or that allow where allow is the default; skills that nothing opens where
the default is deny; and skills whose declared effect looks milder than their
name or the way they run.

It errs on the side of silence. The exit status is 3 where there are findings.`,
		Example: `  vedette lint
  vedette lint --config deploy/vedette.yaml --json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return c.run() },
	}
	addConfigFlag(cmd, &c.config)
	cmd.Flags().BoolVar(&c.json, "json", false, "print JSON")
	return cmd
}

func (c *lintCommand) run() error {
	cfg, err := c.program().Load(c.config)
	if err != nil {
		return err
	}
	found, err := policy.Lint(cfg)
	if err != nil {
		return setup.InvalidConfig(c.config, err)
	}
	if c.json {
		err = c.writeJSON(struct {
			File     string           `json:"file"`
			Findings []policy.Finding `json:"findings"`
		}{c.config, found}, true)
	} else {
		err = c.printFindings(found)
	}
	if err != nil || len(found) == 0 {
		return err
	}
	return &failure{code: exitFindings, err: fmt.Errorf("%s in %s", formatNumber(len(found), "finding"), c.config)}
}

func (c *lintCommand) printFindings(found []policy.Finding) error {
	for _, f := range found {
		at := setup.FormatPlace(f.File, f.Line, f.Column)
		if _, err := fmt.Fprintln(c.out, terminal.Clean(fmt.Sprintf("%s: %s (%s)", at, f.Message, f.Code))); err != nil {
			return err
		}
	}
	return nil
}
