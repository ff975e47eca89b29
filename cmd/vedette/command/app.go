package command

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vedette-dev/vedette/cmd/vedette/setup"
	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/orchestrator/cases"
)

// app is what the commands share: where they read and write.
type app struct {
	in       io.Reader
	out, err io.Writer
	color    bool // whether out takes colour
	prompt   bool // whether in is a person at a terminal
	// opts are what the program adds to every configuration: its Go skills.
	opts orchestrator.Options
	// endsItself says that an interrupted command bounds its own end, so that it is waited
	// for. No other command may take longer than patience; zero is the default.
	endsItself atomic.Bool
	// serves says that a signal is how the command ends as a rule: its own exit code counts then.
	serves   atomic.Bool
	patience time.Duration
}

// standardApp is the app of this process's own streams.
func standardApp() *app {
	return &app{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
		color: terminal.TakesColour(os.Stdout), prompt: terminal.IsTerminal(os.Stdin),
	}
}

// program is what configurations are read with. Its log tells people what they must
// know while a command runs.
func (a *app) program() setup.Program {
	log := a.opts.Log
	if log == nil {
		log = slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	return setup.Program{
		Skills: a.opts.Skills, Handlers: a.opts.Handlers, References: a.opts.References, NoReview: a.opts.NoReview, Log: log,
	}
}

// openCases opens the file that is named, or the standard input for -.
func (a *app) openCases(name string) (io.ReadCloser, error) {
	if name != "-" {
		return cases.Open(name)
	}
	if a.prompt {
		a.tellNote("reading from the terminal: one JSON object a line, end with Ctrl-D")
	}
	return io.NopCloser(a.in), nil
}

// askablePerson is the terminal, where there is one that can be asked and can answer.
func (a *app) askablePerson() io.Reader {
	if f, ok := a.out.(*os.File); ok && a.prompt && terminal.IsTerminal(f) {
		return a.in
	}
	return nil
}

// writeJSON writes v, one line where oneLine is set and indented otherwise.
func (a *app) writeJSON(v any, oneLine bool) error { return terminal.WriteJSON(a.out, v, oneLine) }

// printText prints for people.
func (a *app) printText(format string, args ...any) error {
	_, err := fmt.Fprintf(a.out, format, args...)
	return err
}

// tellNote writes one line for people.
func (a *app) tellNote(format string, args ...any) {
	_, _ = fmt.Fprintln(a.err, terminal.Clean(fmt.Sprintf(format, args...)))
}

// tellFailure writes a failure for people: every line of it escaped.
func (a *app) tellFailure(f *failure) {
	if !f.isTold() {
		for i, line := range strings.Split(strings.TrimSpace(f.Error()), "\n") {
			if i == 0 {
				line = "vedette: " + line
			}
			_, _ = fmt.Fprintln(a.err, terminal.Clean(strings.ReplaceAll(line, "\t", "  ")))
		}
	}
	if f.hint != "" {
		_, _ = fmt.Fprintln(a.err, "hint: "+terminal.Clean(f.hint))
	}
}

// argumentOr is the one argument, or def where there is none.
func argumentOr(args []string, def string) string {
	if len(args) == 0 {
		return def
	}
	return args[0]
}

// formatNumber is a number of things: 1 problem, 2 problems.
func formatNumber(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
