package command

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// The exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitFindings    = 3
	exitIntegrity   = 5
	exitDenied      = 6
	exitInterrupted = 130
)

// failure ends a command with a code. Hint, where there is one, says what to do
// next.
type failure struct {
	code int
	err  error
	hint string
}

// Error returns the message without the hint.
func (f *failure) Error() string { return f.err.Error() }

// Unwrap returns the cause.
func (f *failure) Unwrap() error { return f.err }

// errTold is the cause of a failure that has already told everything.
var errTold = errors.New("")

// isTold reports whether everything of the failure is on the screen already.
func (f *failure) isTold() bool { return errors.Is(f.err, errTold) }

// asRun tells the errors of f apart from cobra's own. They are about the run, not the
// command line, so each is a failure with exitFailed unless f says otherwise.
func asRun(f func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := f(cmd, args)
		var known *failure
		if err == nil || errors.As(err, &known) {
			return err
		}
		var advised interface {
			error
			Advice() string
		}
		if errors.As(err, &advised) {
			return &failure{exitFailed, advised, advised.Advice()}
		}
		return &failure{code: exitFailed, err: err}
	}
}

// usageError is a mistake in the command line that cobra can't see.
func usageError(msg string) error { return &failure{code: exitUsage, err: errors.New(msg)} }

// exitCodes are the codes and what they say.
var exitCodes = []struct {
	code int
	says string
}{
	{exitOK, "it did what it was asked to. check and eval: every line was decided,\n" +
		"       whatever the decisions are"},
	{exitFailed, "it failed; check and eval: a line could not be read; eval: a case was not\n" +
		"       judged because a model was away or refused it, no case was judged at all,\n" +
		"       or there was none"},
	{exitUsage, "the command line is wrong: an unknown command, flag or value"},
	{exitFindings, "there are findings: validate found mistakes, doctor problems, lint\n" +
		"       something, test an expectation that isn't met, eval --fail-on-worse a worse\n" +
		"       decision, or replay --fail-on-change another one"},
	{exitIntegrity, "integrity: the ledger does not hold what was signed"},
	{exitDenied, "the one call that the command was to run was denied"},
	{exitInterrupted, "it was interrupted"},
}

func newExitCodesCommand(*app) *cobra.Command {
	long := "The exit status of every command:\n"
	for _, c := range exitCodes {
		long += fmt.Sprintf("\n  %3d  %s", c.code, c.says)
	}
	return &cobra.Command{
		Use: "exit-codes", Short: "What the exit status says", Long: long,
		Example: `  vedette ledger verify; test $? -eq 5 && echo "the ledger was tampered with"`,
	}
}

// wantOne wants exactly one argument; anything else is a wrong use, with says as
// its remedy.
func wantOne(says string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usageError(says)
		}
		return nil
	}
}
