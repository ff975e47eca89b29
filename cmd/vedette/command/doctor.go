package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

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
what to do. Findings are printed as they come, those of models last; an interrupt
ends with what is known by then, with --json too.

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
	o.Program = a.configOptions().Program
	told := examTeller{app: a, name: leastCheck}
	if !asJSON {
		o.Found = told.found
	}
	r := doctor.Examine(ctx, path, o)
	err := told.err
	if asJSON {
		err = writeJSON(a.out, r, false)
	} else if err == nil {
		err = a.say("%s, %s\n", number(r.Problems, "problem"), number(r.Warnings, "warning"))
	}
	switch {
	case ctx.Err() != nil: // what is known by then was told
		return ctx.Err()
	case err != nil:
		return err
	case r.OK:
		return nil
	case asJSON:
		return &failure{code: exitFindings, err: errTold}
	}
	return &failure{code: exitFindings, err: errors.New(number(r.Problems, "problem"))}
}

// The widths of the columns before their texts are known.
const (
	leastCheck = len("sentinel.unavailable")
	leastTook  = len("12345 ms")
)

// examTeller prints findings as they come: one a line, with what to do below it.
// Columns stand below each other as far as what came before tells their widths.
type examTeller struct {
	*app
	name int // the longest of a check by now
	err  error
}

func (e *examTeller) found(f doctor.Finding) {
	if e.err != nil {
		return
	}
	e.name = max(e.name, utf8.RuneCountInString(clean(f.Check)))
	t := table{colour: e.color, right: map[int]bool{2: true}, least: []int{len(doctor.Problem), e.name, leastTook}}
	lines := strings.Split(f.Message, "\n")
	t.add(string(f.Status), f.Check, fmt.Sprintf("%.0f ms", f.TookMS), lines[0])
	for _, more := range lines[1:] {
		t.add("", "", "", more)
	}
	if f.Advice != "" {
		t.add("", "", "", "-> "+f.Advice)
	}
	e.err = t.write(e.out)
}

func number(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
