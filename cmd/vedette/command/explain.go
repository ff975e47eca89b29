package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/orchestrator/cases"
	"github.com/vedette-dev/vedette/orchestrator/policy"
)

// explainCommand is `vedette explain`.
type explainCommand struct {
	*app
	config         string
	noReview, json bool
}

func newExplainCommand(a *app) *cobra.Command {
	c := &explainCommand{app: a}
	cmd := &cobra.Command{
		Use:   "explain CALL.json|-",
		Short: "Show every gate's working on one proposed call",
		Long: `Explain decides one proposed call, one JSON object as check reads them, and shows
how it came about: what the call would touch, what each rule says of it and why,
the judge's sum, and what would change the outcome. Explain runs no skill, asks no
person and records nothing.

Explain prints the arguments, except those that are x-secret: the output is for a
person who already has the call, not for a log. The exit status is 0 whatever the
decision.`,
		Example: `  vedette explain call.json
  head -1 cases.jsonl | vedette explain - --no-review --json`,
		Args: wantOne("name one file with a call, or - for the standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.run(cmd.Context(), args[0])
		},
	}
	addConfigFlag(cmd, &c.config)
	cmd.Flags().BoolVar(&c.noReview, "no-review", false, "leave the model review out")
	cmd.Flags().BoolVar(&c.json, "json", false, "print JSON")
	return cmd
}

func (c *explainCommand) run(ctx context.Context, file string) error {
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
	line, err := c.readCase(file)
	if err != nil {
		return err
	}
	e, err := policy.Explain(ctx, cfg, d, line)
	var bad *cases.Error
	switch {
	case errors.As(err, &bad):
		return &failure{
			exitFailed, fmt.Errorf("%s (%s)", bad.Message, bad.Code),
			"explain reads one JSON object as check does: vedette help check",
		}
	case err != nil:
		return err
	case c.json:
		return c.writeJSON(e, true)
	}
	return explanationText{e, c.color}.writeText(c.out)
}

// readCase reads the whole input: one object, over as many lines as it likes.
func (c *explainCommand) readCase(file string) ([]byte, error) {
	in, err := c.openCases(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }() // it was only read
	b, err := io.ReadAll(io.LimitReader(in, cases.MaxLine+1))
	if err != nil {
		return nil, err
	}
	if len(b) > cases.MaxLine {
		return nil, fmt.Errorf("the call is longer than %d bytes", cases.MaxLine)
	}
	return []byte(strings.TrimSpace(string(b))), nil
}
