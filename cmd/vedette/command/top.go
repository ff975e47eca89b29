package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"golang.org/x/text/width"

	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/orchestrator/control"
	"github.com/vedette-dev/vedette/sentinel"
)

type topFlags struct {
	places
	json, once bool
	every      time.Duration
}

func newTop(a *app) *cobra.Command {
	f := topFlags{places: places{load: a.load}}
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
  in_flight                     calls that wait for a person or for their skill, or
                                run
  tasks, leaked                 goroutines under way, and those that did not stop
  tree                          processes: id, type, state, restart, restarts,
                                mailbox, tasks, since, last_exit, children; and of
                                conversations' servers phase, phase_since, turn, of
                                agents phase, which is their state
Fields may be added; none of these changes its meaning.

The process is found by its database. Its owner and root may look.`,
		Example: "  vedette top\n  vedette top --db ./vedette.db --once\n  vedette top --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.top(cmd.Context(), &f) },
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.json, "json", false, "print one moment as JSON")
	fl.BoolVar(&f.once, "once", false, "print one moment")
	fl.DurationVar(&f.every, "every", time.Second, "how often it is drawn, 100ms at least")
	f.flags(cmd)
	return cmd
}

func (a *app) top(ctx context.Context, f *topFlags) error {
	if f.every < 100*time.Millisecond {
		return usage("--every must be 100ms at least")
	}
	c, err := f.process()
	if err != nil {
		return err
	}
	now, err := moment(ctx, c)
	if err != nil {
		return f.unreached(err)
	}
	screen, live := a.out.(*os.File)
	switch {
	case f.json:
		return writeJSON(a.out, now, false)
	case f.once || !live || !isTerminal(screen):
		_, err := io.WriteString(a.out, strings.Join(a.frame(now), "\n")+"\n")
		return err
	}
	return a.watch(ctx, f, c, screen)
}

func moment(ctx context.Context, c *control.Client) (t orchestrator.Top, err error) {
	return t, c.Top(ctx, &t)
}

// The sequences that turn to a second screen and back.
const (
	screenOn  = "\x1b[?1049h\x1b[?25l"
	screenOff = "\x1b[?25h\x1b[?1049l"
	home      = "\x1b[H\x1b[2J"
)

// watch draws until it is interrupted or the process is gone.
func (a *app) watch(ctx context.Context, f *topFlags, c *control.Client, screen *os.File) (err error) {
	if _, err := io.WriteString(screen, screenOn); err != nil {
		return err
	}
	defer func() { _, _ = io.WriteString(screen, screenOff) }()
	tick := time.NewTicker(f.every)
	defer tick.Stop()
	for {
		now, err := moment(ctx, c)
		if ctx.Err() != nil {
			return nil // that is how it ends
		}
		if err != nil {
			return f.unreached(err)
		}
		lines := a.frame(now)
		if cols, rows, serr := term.GetSize(int(screen.Fd())); serr == nil {
			lines = fit(lines, cols, rows)
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

// fit cuts lines to a screen, so that none of them goes on in the next row and
// pushes the first ones out.
func fit(lines []string, cols, rows int) []string {
	if rows > 2 && len(lines) > rows-1 {
		hidden := len(lines) - (rows - 2)
		lines = append(lines[:rows-2:rows-2], fmt.Sprintf("… and %d more lines; --once shows all", hidden))
	}
	if cols < 2 {
		return lines
	}
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = cut(l, cols)
	}
	return out
}

// sequence is what sets a colour: it takes no room.
var sequences = regexp.MustCompile("\x1b\\[[0-9;]*m")

// cut shortens a line to so many columns, the last of them a mark where it is
// longer. Colours stay.
func cut(line string, cols int) string {
	if columns(sequences.ReplaceAllString(line, "")) <= cols {
		return line
	}
	var b strings.Builder
	left, ended := cols-1, false
	for len(line) > 0 {
		if at := sequences.FindStringIndex(line); at != nil && at[0] == 0 {
			b.WriteString(line[:at[1]])
			line = line[at[1]:]
			continue
		}
		_, n := utf8.DecodeRuneInString(line)
		if left -= columns(line[:n]); left < 0 && !ended {
			ended = true
			b.WriteString("…")
		}
		if !ended {
			b.WriteString(line[:n])
		}
		line = line[n:]
	}
	return b.String()
}

// columns is how many columns a text takes on a terminal.
func columns(s string) (n int) {
	for _, r := range s {
		switch kind := width.LookupRune(r).Kind(); {
		case unicode.In(r, unicode.Mn, unicode.Me): // stands above or around another
		case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}

// frame is one moment as lines of text.
func (a *app) frame(t orchestrator.Top) []string {
	head := fmt.Sprintf("vedette %d   up %s   %d processes   %d tasks   %d calls in flight",
		t.PID, age(t.Now.Sub(t.Started)), count(t.Tree), t.Tasks, len(t.InFlight))
	if t.Leaked > 0 {
		head += fmt.Sprintf("   %d goroutines that did not stop", t.Leaked)
	}
	if t.Draining {
		head += "\nDRAINING: what was begun is finished, nothing new is begun"
	}
	for _, m := range t.CanaryFailed {
		head += "\nDEGRADED: model " + clean(m) + " of the review fails its canaries"
	}
	for _, p := range t.Pauses {
		head += fmt.Sprintf("\nPAUSED: %s, since %s by %s", what(p.Target), p.Since.Local().Format(time.DateTime), clean(p.By))
	}
	tb := table{colour: a.color, right: map[int]bool{2: true, 3: true, 4: true, 5: true}}
	tb.add("PROCESS", "STATE", "RESTARTS", "MAILBOX", "TASKS", "AGE", "KIND", "AT", "LAST EXIT")
	calls := map[string][]sentinel.InFlight{}
	for _, c := range t.InFlight {
		key := c.Conversation + "\x00" + c.Agent
		calls[key] = append(calls[key], c)
	}
	rows(&tb, t, t.Tree, 0, "", calls)
	var b strings.Builder
	_ = tb.write(&b) // a Builder takes all
	return strings.Split(head+"\n\n"+strings.TrimRight(b.String(), "\n"), "\n")
}

func count(list []orchestrator.ProcessInfo) (n int) {
	for _, p := range list {
		n += 1 + count(p.Children)
	}
	return n
}

// rows adds the processes below one another, an agent with the call it is at.
func rows(tb *table, t orchestrator.Top, list []orchestrator.ProcessInfo, depth int, conversation string,
	calls map[string][]sentinel.InFlight,
) {
	for _, p := range list {
		at := conversation
		if id, ok := strings.CutPrefix(p.ID, "conversation-"); ok {
			at = id
		}
		call := ""
		agent, isAgent := strings.CutPrefix(p.ID, "agent-")
		if p.ID == "server" { // the conversation's own calls
			agent, isAgent = "orchestrator", true
		}
		if mine := calls[at+"\x00"+agent]; isAgent && len(mine) > 0 {
			call = mine[0].Skill + " " + strings.ReplaceAll(mine[0].Phase, "_", " ") + " " + age(t.Now.Sub(mine[0].Since))
		}
		now := strings.ReplaceAll(p.Phase, "_", " ")
		if !p.PhaseSince.IsZero() && p.Phase != "idle" {
			now += " " + age(t.Now.Sub(p.PhaseSince))
		}
		if call != "" { // what it is at says more
			now = call
		}
		tb.add(strings.Repeat("  ", depth)+clean(p.ID), p.State, strconv.Itoa(p.Restarts), strconv.Itoa(p.Mailbox),
			strconv.Itoa(p.Tasks), age(t.Now.Sub(p.Since)), p.Restart+" "+p.Type, now, clean(p.LastExit))
		rows(tb, t, p.Children, depth+1, at, calls)
	}
}
