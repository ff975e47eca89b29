package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/policy"
)

func newTest(a *app) *cobra.Command {
	var path string
	var strict, asJSON bool
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
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.test(cmd.Context(), path, strict, asJSON)
		},
	}
	configFlag(cmd, &path)
	cmd.Flags().BoolVar(&strict, "strict", false, "fail for rules that no test exercises too")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) test(ctx context.Context, path string, strict, asJSON bool) error {
	cfg, err := a.load(path)
	if err != nil {
		return err
	}
	r, err := policy.Test(ctx, cfg)
	if err != nil {
		return invalid(path, err)
	}
	if asJSON {
		err = writeJSON(a.out, r, true)
	} else {
		err = a.tellTests(r)
	}
	switch {
	case err != nil:
		return err
	case r.Passed < r.Tests:
		return &failure{code: exitFindings, err: fmt.Errorf("%d of %d tests failed", r.Tests-r.Passed, r.Tests)}
	case strict && len(r.Unexercised) > 0:
		return &failure{code: exitFindings, err: fmt.Errorf("no test exercises %d of %d rules", len(r.Unexercised), len(cfg.Permissions))}
	case r.Tests == 0:
		a.note("there are no tests; write some under tests: in %s", path)
	}
	return nil
}

func (a *app) tellTests(r policy.Report) error {
	for _, f := range r.Failed {
		at := config.Position{File: f.File, Line: f.Line, Column: f.Column}
		if _, err := fmt.Fprintln(a.out, clean(fmt.Sprintf("FAIL %s: %s", at, f.Name))); err != nil {
			return err
		}
		for _, why := range f.Why {
			if _, err := fmt.Fprintln(a.out, "     "+clean(why)); err != nil {
				return err
			}
		}
	}
	for _, u := range r.Unexercised {
		at := config.Position{File: u.File, Line: u.Line, Column: u.Column}
		if _, err := fmt.Fprintln(a.out, clean(fmt.Sprintf("warning: %s: no test exercises rule %s", at, u.Rule))); err != nil {
			return err
		}
	}
	word := "PASS"
	if r.Passed < r.Tests {
		word = "FAIL"
	}
	_, err := fmt.Fprintf(a.out, "%s %d/%d\n", word, r.Passed, r.Tests)
	return err
}
