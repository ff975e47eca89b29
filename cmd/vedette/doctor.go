package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/orchestrator/doctor"
)

func newDoctor(a *app) *cobra.Command {
	var path string
	var asJSON bool
	var o doctor.Options
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look at a deployment and say what to do about its problems",
		Long: `Doctor checks the configuration, asks every model of a role a small question,
those of orchestrator and agents for a tool call and those of the review for an
answer in a strict schema and for their verdict on six calls of known verdict
(canaries), and looks at the prompt, the database and the
ledger in it, pauses, the server of the limits, clocks, permissions of files,
guard.roots and sandboxing. Each finding is ok, a warning or a problem, and says
what to do.

The questions cost some thousand tokens, which no budget counts. It makes no key
and no database, and works beside a running process. The exit status is 3 where
there is a problem; warnings don't change it.`,
		Example: `  vedette doctor
  vedette doctor --config /etc/vedette/vedette.yaml --json
  vedette doctor --offline`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context(), path, o, asJSON) },
	}
	configFlag(cmd, &path)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&o.Offline, "offline", false, "ask no model and no server")
	return cmd
}

func (a *app) doctor(ctx context.Context, path string, o doctor.Options, asJSON bool) error {
	if err := readable(path, "name the configuration with --config FILE"); err != nil {
		return err
	}
	r := doctor.Examine(ctx, path, o)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var err error
	if asJSON {
		err = writeJSON(a.out, r, false)
	} else {
		err = a.tellExam(r)
	}
	switch {
	case err != nil:
		return err
	case r.OK:
		return nil
	case asJSON:
		return &failure{code: exitFindings, err: errTold}
	}
	return &failure{code: exitFindings, err: errors.New(number(r.Problems, "problem"))}
}

// tellExam prints one finding a line, with what to do below it.
func (a *app) tellExam(r doctor.Report) error {
	t := table{colour: a.color, right: map[int]bool{2: true}}
	for _, f := range r.Findings {
		lines := strings.Split(f.Message, "\n")
		t.add(string(f.Status), f.Check, fmt.Sprintf("%.0f ms", f.TookMS), lines[0])
		for _, more := range lines[1:] {
			t.add("", "", "", more)
		}
		if f.Advice != "" {
			t.add("", "", "", "-> "+f.Advice)
		}
	}
	if err := t.write(a.out); err != nil {
		return err
	}
	return a.say("%s, %s\n", number(r.Problems, "problem"), number(r.Warnings, "warning"))
}

func number(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
