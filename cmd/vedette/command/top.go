package command

import (
	"context"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/orchestrator"
)

// topCommand is `vedette top`.
type topCommand struct {
	*app
	places
	json, once bool
	every      time.Duration
}

func newTopCommand(a *app) *cobra.Command {
	c := &topCommand{app: a}
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch the tree of a running process",
		Long: `Top shows the supervision tree of a running process: every process with its state,
its restarts, the messages and tasks that wait for it, its age, what it is at (the
phase of a conversation, the state of an agent, the call it makes), and why the
one before it ended. On a terminal it goes on until it is interrupted; otherwise, and
with --once or --json, it shows one moment.

With --json the fields are
  pid, now, started, draining   the process
  pauses                        those in force
  canary_failed                 models of the review that are wrong about what is known
  in_flight                     calls and their phase: awaiting_approval,
                                awaiting_places (a person said yes, and their turn
                                and agent wait for room), queued (others of their
                                skill come first), running
  tasks, leaked                 goroutines under way, and those that did not stop
  tree                          processes: id, type, state, restart, restarts,
                                mailbox, tasks, since, last_exit, children; and of
                                conversations' servers phase, phase_since, turn, of
                                agents phase, which is their state
Fields may be added; none of these changes its meaning.

The process is found by its database. Its owner and root may look.`,
		Example: "  vedette top\n  vedette top --db ./vedette.db --once\n  vedette top --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	fl := cmd.Flags()
	fl.BoolVar(&c.json, "json", false, "print one moment as JSON")
	fl.BoolVar(&c.once, "once", false, "print one moment")
	fl.DurationVar(&c.every, "every", time.Second, "how often it is drawn, 100ms at least")
	c.addProcessFlags(cmd)
	return cmd
}

func (c *topCommand) run(ctx context.Context) error {
	if c.every < 100*time.Millisecond {
		return usageError("--every must be 100ms at least")
	}
	process, err := c.findProcess(c.program())
	if err != nil {
		return err
	}
	now, err := process.askMoment(ctx)
	if err != nil {
		return process.adviseOn(err)
	}
	screen, live := c.out.(*os.File)
	switch {
	case c.json:
		return c.writeJSON(now, false)
	case c.once || !live || !terminal.IsTerminal(screen):
		_, err := io.WriteString(c.out, strings.Join(frameLines(now, c.color), "\n")+"\n")
		return err
	}
	return c.watchScreen(ctx, process, screen)
}

func (c *processClient) askMoment(ctx context.Context) (t orchestrator.Top, err error) {
	err = c.Top(ctx, &t)
	return t, err
}

// The sequences that turn to a second screen and back.
const (
	screenOn  = "\x1b[?1049h\x1b[?25l"
	screenOff = "\x1b[?25h\x1b[?1049l"
	home      = "\x1b[H\x1b[2J"
)

// watchScreen draws until it is interrupted or the process is gone.
func (c *topCommand) watchScreen(ctx context.Context, process *processClient, screen *os.File) (err error) {
	if _, err := io.WriteString(screen, screenOn); err != nil {
		return err
	}
	defer func() { _, _ = io.WriteString(screen, screenOff) }()
	tick := time.NewTicker(c.every)
	defer tick.Stop()
	for {
		now, err := process.askMoment(ctx)
		if ctx.Err() != nil {
			return nil // that is how it ends
		}
		if err != nil {
			return process.adviseOn(err)
		}
		lines := frameLines(now, c.color)
		if cols, rows, serr := terminal.Size(screen); serr == nil {
			lines = terminal.FitScreen(lines, cols, rows, "--once shows all")
		}
		if _, err := io.WriteString(screen, home+strings.Join(lines, "\r\n")); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
