package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/policy"
)

func newLint(a *app) *cobra.Command {
	var path string
	var asJSON bool
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
		RunE: func(*cobra.Command, []string) error { return a.lint(path, asJSON) },
	}
	configFlag(cmd, &path)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) lint(path string, asJSON bool) error {
	cfg, err := a.load(path)
	if err != nil {
		return err
	}
	found, err := policy.Lint(cfg)
	if err != nil {
		return invalid(path, err)
	}
	if asJSON {
		err = writeJSON(a.out, struct {
			File     string           `json:"file"`
			Findings []policy.Finding `json:"findings"`
		}{path, found}, true)
	} else {
		err = a.tellFindings(found)
	}
	if err != nil || len(found) == 0 {
		return err
	}
	n := "1 finding"
	if len(found) != 1 {
		n = fmt.Sprintf("%d findings", len(found))
	}
	return &failure{code: exitFindings, err: fmt.Errorf("%s in %s", n, path)}
}

func (a *app) tellFindings(found []policy.Finding) error {
	for _, f := range found {
		at := config.Position{File: f.File, Line: f.Line, Column: f.Column}
		if _, err := fmt.Fprintln(a.out, clean(fmt.Sprintf("%s: %s (%s)", at, f.Message, f.Code))); err != nil {
			return err
		}
	}
	return nil
}
