package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/cmd/vedette/setup"
	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/orchestrator/policy"
)

// testCommand is `vedette test`.
type testCommand struct {
	*app
	config       string
	strict, json bool
}

func newTestCommand(a *app) *cobra.Command {
	c := &testCommand{app: a}
	cmd := &cobra.Command{
		Use:   "test",
		Short: "Run the expectations that stand next to the rules",
		Long: `Test decides each call under tests: of the configuration with all rules and
without the model review, and compares what becomes of it with what is expected.
It runs no skill, follows no links and records nothing. It names the rules that
no test exercises: those that fitted no call of any test.

The exit status is 3 where an expectation isn't met; with --strict also where a
rule isn't exercised.`,
		Example: `  vedette test
  vedette test --config deploy/vedette.yaml --strict`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	addConfigFlag(cmd, &c.config)
	cmd.Flags().BoolVar(&c.strict, "strict", false, "fail for rules that no test exercises too")
	cmd.Flags().BoolVar(&c.json, "json", false, "print JSON")
	return cmd
}

func (c *testCommand) run(ctx context.Context) error {
	cfg, err := c.program().Load(c.config)
	if err != nil {
		return err
	}
	r, err := policy.Test(ctx, cfg)
	if err != nil {
		return setup.InvalidConfig(c.config, err)
	}
	if c.json {
		err = c.writeJSON(r, true)
	} else {
		err = c.printReport(r)
	}
	switch {
	case err != nil:
		return err
	case r.Passed < r.Tests:
		return &failure{code: exitFindings, err: fmt.Errorf("%d of %d tests failed", r.Tests-r.Passed, r.Tests)}
	case c.strict && len(r.Unexercised) > 0:
		return &failure{code: exitFindings, err: fmt.Errorf("no test exercises %d of %d rules", len(r.Unexercised), len(cfg.Permissions))}
	case r.Tests == 0:
		c.tellNote("there are no tests; write some under tests: in %s", c.config)
	}
	return nil
}

func (c *testCommand) printReport(r policy.Report) error {
	for _, f := range r.Failed {
		at := setup.FormatPlace(f.File, f.Line, f.Column)
		if _, err := fmt.Fprintln(c.out, terminal.Clean(fmt.Sprintf("FAIL %s: %s", at, f.Name))); err != nil {
			return err
		}
		for _, why := range f.Why {
			if _, err := fmt.Fprintln(c.out, "     "+terminal.Clean(why)); err != nil {
				return err
			}
		}
	}
	for _, u := range r.Unexercised {
		at := setup.FormatPlace(u.File, u.Line, u.Column)
		if _, err := fmt.Fprintln(c.out, terminal.Clean(fmt.Sprintf("warning: %s: no test exercises rule %s", at, u.Rule))); err != nil {
			return err
		}
	}
	word := "PASS"
	if r.Passed < r.Tests {
		word = "FAIL"
	}
	_, err := fmt.Fprintf(c.out, "%s %d/%d\n", word, r.Passed, r.Tests)
	return err
}
