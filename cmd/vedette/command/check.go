package command

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/orchestrator/eval"
)

func newCheck(a *app) *cobra.Command {
	var path string
	var o assembly.DeciderOptions
	cmd := &cobra.Command{
		Use:   "check [FILE|-]",
		Short: "Decide proposed calls, one JSON object a line",
		Long: `Check reads one proposed call a line and writes one decision a line, in the
same order and at once. Check runs no skill, asks no person, records nothing and
counts no limit; a call that a person would have to approve stays ask.

A line that is no case gives {"id","error"}; the exit status is 1 then, and 0
where every line was decided, whatever the decisions.`,
		Example: `  vedette check calls.jsonl
  echo '{"granted_skills":["email.search"],"proposed_action":{"skill_name":"email.search","arguments":{"query":"x"}}}' | vedette check`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := a.decider(path, o)
			if err != nil {
				return err
			}
			defer d.Close()
			in, err := a.open(args)
			if err != nil {
				return err
			}
			defer func() { _ = in.Close() }() // it was only read
			return a.check(cmd, eval.NewEvaluator(eval.Options{Decider: d}), in)
		},
	}
	configFlag(cmd, &path)
	cmd.Flags().BoolVar(&o.NoReview, "no-review", false, "leave the model review out")
	return cmd
}

// open opens the file that is named, or the standard input.
func (a *app) open(args []string) (io.ReadCloser, error) {
	if len(args) == 0 || args[0] == "-" {
		if a.prompt {
			a.note("reading from the terminal: one JSON object a line, end with Ctrl-D")
		}
		return io.NopCloser(a.in), nil
	}
	if err := readable(args[0], "name a file of cases, or - for the standard input"); err != nil {
		return nil, err
	}
	f, err := os.Open(args[0])
	if err != nil {
		return nil, fmt.Errorf("%s can't be read: %w", args[0], cause(err))
	}
	return f, nil
}

func (a *app) check(cmd *cobra.Command, ev *eval.Evaluator, in io.Reader) error {
	var bad badLines
	err := ev.Each(cmd.Context(), in, 1, func(n int, r eval.Result) error {
		bad.add("", n, r)
		return writeLine(a.out, r.JSON())
	})
	if err != nil {
		return err
	}
	return bad.failure()
}

// badLines remembers what was no case.
type badLines struct {
	lines, bad int
	first      string
}

func (b *badLines) add(file string, n int, r eval.Result) {
	b.lines++
	if r.Err == nil {
		return
	}
	if b.bad++; b.bad == 1 {
		if file != "" {
			file += ", "
		}
		b.first = fmt.Sprintf("%sline %d: %s", file, n, r.Err.Message)
	}
}

// failure is nil where every line was a case.
func (b *badLines) failure() error {
	if b.bad == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d lines could not be read; the first is %s", b.bad, b.lines, b.first)
}
