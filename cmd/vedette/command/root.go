package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// newCommands are the makers of the subcommands, in the order of the help.
func newCommands() []func(*app) *cobra.Command {
	return []func(*app) *cobra.Command{
		newDemoCommand, newChatCommand, newCheckCommand, newEvalCommand, newExplainCommand, newTestCommand, newLintCommand,
		newValidateCommand, newDoctorCommand, newIntentCommand,
		newServeCommand, newTokenCommand, newApprovalsCommand, newNotifyCommand, newHookCommand, newProxyCommand,
		newLedgerCommand, newReplayCommand, newJournalCommand, newHabitsCommand, newStatusCommand, newTopCommand, newPauseCommand,
		newVersionCommand, newExitCodesCommand,
	}
}

func newRootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "vedette",
		Short: "A checkpoint between agents and what they do",
		Long: `Vedette puts one checkpoint between agents and their skills: no call has an
effect before it was decided, and every decision can be read and verified.`,
		Example: `  vedette validate
  echo '{"granted_skills":["email.send"],"proposed_action":{"skill_name":"email.send","arguments":{}}}' | vedette check
  vedette ledger list --outcome deny`,
		SilenceErrors: true, SilenceUsage: true,
		SuggestionsMinimumDistance: 2,
		CompletionOptions:          cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(explainFlagError)
	for _, c := range newCommands() {
		root.AddCommand(c(a))
	}
	help := newHelpCommand(root)
	root.SetHelpCommand(help)
	root.AddCommand(help)
	tellRunsApart(root)
	return root
}

// tellRunsApart wraps cmd and all commands under it with asRun.
func tellRunsApart(cmd *cobra.Command) {
	if cmd.RunE != nil {
		cmd.RunE = asRun(cmd.RunE)
	}
	for _, c := range cmd.Commands() {
		tellRunsApart(c)
	}
}

func newHelpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:     "help [command]",
		Short:   "Help about a command",
		Example: "  vedette help ledger list",
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err != nil {
				return unknownCommandError(root, args[0])
			}
			if len(rest) > 0 {
				return unknownCommandError(c, rest[0])
			}
			c.InitDefaultHelpFlag()
			return c.Help()
		},
	}
}

// patience is how long an interrupted command may take to end by itself.
const patience = 2 * time.Second

// runLine runs one command line and returns its exit code. When ctx ends, a command
// that doesn't return, because its input doesn't, is left behind. One that bounds its
// own end never is: it still has work to finish, and to say what it cut off.
func runLine(ctx context.Context, args []string, a *app) int {
	code := make(chan int, 1)
	go func() { code <- executeLine(ctx, args, a) }()
	select {
	case c := <-code:
		return c
	case <-ctx.Done():
	}
	if a.serves.Load() {
		return <-code
	}
	if a.endsItself.Load() {
		<-code
		return exitInterrupted
	}
	t := time.NewTimer(cmp.Or(a.patience, patience))
	defer t.Stop()
	select {
	case <-code:
	case <-t.C:
	}
	return exitInterrupted
}

func executeLine(ctx context.Context, args []string, a *app) (code int) {
	defer func() {
		if r := recover(); r != nil { // the value may hold what was read
			_, _ = fmt.Fprintf(a.err, "vedette: the command broke (%T); please report it\n", r)
			code = exitFailed
		}
	}()
	root := newRootCommand(a)
	root.SetArgs(args)
	cmd, err := root, findUnknown(root, args)
	if err == nil {
		cmd, err = root.ExecuteContextC(ctx)
	}
	if err == nil {
		return exitOK
	}
	if ctx.Err() != nil && !a.serves.Load() {
		return exitInterrupted
	}
	var f *failure
	if !errors.As(err, &f) { // cobra's own: nothing has run
		f = &failure{code: exitUsage, err: err}
	}
	if f.code == exitUsage && f.hint == "" {
		f.hint = "run " + cmd.CommandPath() + " --help"
	}
	a.tellFailure(f)
	return f.code
}
