package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/cmd/vedette/setup"
	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/orchestrator/doctor"
)

// doctorCommand is `vedette doctor`.
type doctorCommand struct {
	*app
	config  string
	json    bool
	options doctor.Options
}

func newDoctorCommand(a *app) *cobra.Command {
	c := &doctorCommand{app: a}
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
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	addConfigFlag(cmd, &c.config)
	cmd.Flags().BoolVar(&c.json, "json", false, "print JSON")
	cmd.Flags().BoolVar(&c.options.Offline, "offline", false, "ask no model and no server")
	return cmd
}

func (c *doctorCommand) run(ctx context.Context) error {
	if err := setup.CheckReadable(c.config); err != nil {
		return err
	}
	o := c.options
	o.Program = c.program().ConfigOptions().Program
	printer := findingPrinter{app: c.app, name: leastCheck}
	if !c.json {
		o.Found = printer.onFinding
	}
	r := doctor.Examine(ctx, c.config, o)
	err := printer.err
	if c.json {
		err = c.writeJSON(r, false)
	} else if err == nil {
		err = c.printText("%s, %s\n", formatNumber(r.Problems, "problem"), formatNumber(r.Warnings, "warning"))
	}
	switch {
	case ctx.Err() != nil: // what is known by then was told
		return ctx.Err()
	case err != nil:
		return err
	case r.OK:
		return nil
	case c.json:
		return &failure{code: exitFindings, err: errTold}
	}
	return &failure{code: exitFindings, err: errors.New(formatNumber(r.Problems, "problem"))}
}

// The widths of the columns before their texts are known.
const (
	leastCheck = len("sentinel.unavailable")
	leastTook  = len("12345 ms")
)

// findingPrinter prints findings as they come: one a line, with what to do below it.
// Columns stand below each other as far as earlier findings show their widths.
type findingPrinter struct {
	*app
	name int // the longest of a check by now
	err  error
}

func (e *findingPrinter) onFinding(f doctor.Finding) {
	if e.err != nil {
		return
	}
	e.name = max(e.name, utf8.RuneCountInString(terminal.Clean(f.Check)))
	t := terminal.Table{Colour: e.color, Right: map[int]bool{2: true}, Least: []int{len(doctor.Problem), e.name, leastTook}}
	lines := strings.Split(f.Message, "\n")
	t.Add(string(f.Status), f.Check, fmt.Sprintf("%.0f ms", f.TookMS), lines[0])
	for _, more := range lines[1:] {
		t.Add("", "", "", more)
	}
	if f.Advice != "" {
		t.Add("", "", "", "-> "+f.Advice)
	}
	e.err = t.Write(e.out)
}
