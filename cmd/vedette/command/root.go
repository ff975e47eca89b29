package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/orchestrator"
)

// app is what the commands share: where they read and write.
type app struct {
	in       io.Reader
	out, err io.Writer
	color    bool // whether out takes colour
	prompt   bool // whether in is a person at a terminal
	// opts are what the program adds to every configuration: its Go skills.
	opts orchestrator.Options
}

// standard is the app of this process's own streams.
func standard() *app {
	return &app{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
		color: colourful(os.Stdout), prompt: isTerminal(os.Stdin),
	}
}

// constructors make the subcommands, in the order of the help.
func constructors() []func(*app) *cobra.Command {
	return []func(*app) *cobra.Command{
		newDemo, newCheck, newEval, newExplain, newTest, newLint, newValidate, newDoctor,
		newLedger, newJournal, newTop, newPause, newVersion, newExitCodes,
	}
}

func newRoot(a *app) *cobra.Command {
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
	root.SetFlagErrorFunc(flagError)
	for _, c := range constructors() {
		root.AddCommand(c(a))
	}
	help := newHelp(root)
	root.SetHelpCommand(help)
	root.AddCommand(help)
	settle(root)
	return root
}

// settle tells, for cmd and all under it, what goes wrong in a run from what is
// wrong with the command line.
func settle(cmd *cobra.Command) {
	if cmd.RunE != nil {
		cmd.RunE = running(cmd.RunE)
	}
	for _, c := range cmd.Commands() {
		settle(c)
	}
}

func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:     "help [command]",
		Short:   "Help about a command",
		Example: "  vedette help ledger list",
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err != nil {
				return unknownCommand(root, args[0])
			}
			if len(rest) > 0 {
				return unknownCommand(c, rest[0])
			}
			c.InitDefaultHelpFlag()
			return c.Help()
		},
	}
}

// patience is how long an interrupted command may take to end by itself.
const patience = 2 * time.Second

// run runs one command line and returns its exit code. When ctx ends, a command
// that doesn't return, because its input doesn't, is left behind.
func run(ctx context.Context, args []string, a *app) int {
	code := make(chan int, 1)
	go func() { code <- execute(ctx, args, a) }()
	select {
	case c := <-code:
		return c
	case <-ctx.Done():
	}
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-code:
	case <-t.C:
	}
	return exitInterrupted
}

func execute(ctx context.Context, args []string, a *app) (code int) {
	defer func() {
		if r := recover(); r != nil { // the value may hold what was read
			_, _ = fmt.Fprintf(a.err, "vedette: the command broke (%T); please report it\n", r)
			code = exitFailed
		}
	}()
	root := newRoot(a)
	root.SetArgs(args)
	cmd, err := root, unknownTop(root, args)
	if err == nil {
		cmd, err = root.ExecuteContextC(ctx)
	}
	if err == nil {
		return exitOK
	}
	if ctx.Err() != nil {
		return exitInterrupted
	}
	var f *failure
	if !errors.As(err, &f) { // cobra's own: nothing has run
		f = &failure{code: exitUsage, err: err}
	}
	if f.code == exitUsage && f.hint == "" {
		f.hint = "run " + cmd.CommandPath() + " --help"
	}
	a.tell(f)
	return f.code
}

// tell writes a failure for people: every line of it escaped.
func (a *app) tell(f *failure) {
	if !errors.Is(f.err, errTold) {
		for i, line := range strings.Split(strings.TrimSpace(f.Error()), "\n") {
			if i == 0 {
				line = "vedette: " + line
			}
			_, _ = fmt.Fprintln(a.err, clean(strings.ReplaceAll(line, "\t", "  ")))
		}
	}
	if f.hint != "" {
		_, _ = fmt.Fprintln(a.err, "hint: "+clean(f.hint))
	}
}

// note writes one line for people.
func (a *app) note(format string, args ...any) {
	_, _ = fmt.Fprintln(a.err, clean(fmt.Sprintf(format, args...)))
}
