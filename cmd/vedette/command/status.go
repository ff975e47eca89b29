package command

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/orchestrator"
)

// statusCommand is `vedette status`.
type statusCommand struct {
	*app
	places
	json bool
}

func newStatusCommand(a *app) *cobra.Command {
	c := &statusCommand{app: a}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "How a running process is, and which policy it runs by",
		Long: `Status shows how a running process is: its version, the policy in force and since when, what
became of the last reload of its configuration, conversations, calls in flight, questions to people,
the review's models, and health.

With --json the fields are
  pid, version, now, started, draining
  policy         digest, since, file
  reload         the last one: at, by (file, signal), outcome (applied, unchanged, refused, failed),
                 old, new, changes, error; absent where none was
  pauses         those in force
  conversations  open, at_work
  calls          in_flight, and of these held, awaiting_places, queued, running
  approvals      questions without an end; absent without an inbox
  review         model, breaker, last_failure, canary
  anchors        of the ledger: anchor, kind, kept, behind (records), failures, problem, sent; absent
                 without any
  health         name and state (ok, degraded, failed, off)
Fields may be added; none of these changes its meaning.

The process is found by its database. Its owner and root may look.`,
		Example: "  vedette status\n  vedette status --config /etc/vedette/vedette.yaml\n  vedette status --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print JSON")
	c.addProcessFlags(cmd)
	return cmd
}

func (c *statusCommand) run(ctx context.Context) error {
	process, err := c.findProcess(c.program())
	if err != nil {
		return err
	}
	var s orchestrator.Status
	if err := process.Status(ctx, &s); err != nil {
		return process.adviseOn(err)
	}
	if c.json {
		return c.writeJSON(s, false)
	}
	return c.printText("%s\n", strings.Join(statusLines(s), "\n"))
}

const (
	statusWidth  = 100
	statusIndent = 15
)

// statusText collects lines: a word at the left, and what it is at the right.
type statusText struct{ lines []string }

// add adds a text, broken into lines of statusWidth.
func (t *statusText) add(word, format string, args ...any) {
	for i, line := range wrapText(terminal.Clean(fmt.Sprintf(format, args...)), statusWidth-statusIndent) {
		if i > 0 {
			word = ""
		}
		t.lines = append(t.lines, strings.TrimRight(fmt.Sprintf("%-*s%s", statusIndent, word, line), " "))
	}
}

// statusLines is a status as lines of text.
func statusLines(s orchestrator.Status) []string {
	t := &statusText{}
	t.add("vedette", "%s, pid %d, up %s", s.Version, s.PID, formatAge(s.Now.Sub(s.Started)))
	if s.Draining {
		t.add("", "DRAINING: what was begun is finished, nothing new is begun")
	}
	t.add("health", "%s", describeHealth(s.Health))
	t.add("policy", "%s", s.Policy.Digest)
	t.add("", "in force since %s", strings.TrimRight(formatMoment(s.Policy.Since)+", "+s.Policy.File, ", "))
	t.addReload(s.Reload)
	t.add("conversations", "%d open, %d at work", s.Conversations.Open, s.Conversations.AtWork)
	t.add("calls", "%d in flight: %d held for a person, %d awaiting places, %d queued, %d running",
		s.Calls.InFlight, s.Calls.Held, s.Calls.AwaitingPlaces, s.Calls.Queued, s.Calls.Running)
	if s.Approvals != nil {
		t.add("approvals", "%d without an end", *s.Approvals)
	}
	for _, m := range s.Anchors {
		text := fmt.Sprintf("%s: %d records kept, %d behind", m.Anchor, m.Kept, m.Behind)
		if m.Failures > 0 {
			text += fmt.Sprintf(", FAILED %d times: %s", m.Failures, m.Problem)
		}
		t.add("anchor", "%s", text)
	}
	for _, m := range s.Review {
		text := fmt.Sprintf("%s: breaker %s", m.Model, m.Breaker)
		if m.LastFailure != "" {
			text += ", last failure " + m.LastFailure
		}
		if m.Canary != "" {
			text += ", canaries " + m.Canary
		}
		t.add("review", "%s", text)
	}
	for _, p := range s.Pauses {
		t.add("PAUSED", "%s, since %s by %s", nameTarget(p.Target), formatMoment(p.Since), p.By)
	}
	return t.lines
}

// addReload adds what became of the last reload.
func (t *statusText) addReload(r *orchestrator.ReloadStatus) {
	if r == nil {
		t.add("last reload", "none since the start")
		return
	}
	outcome := r.Outcome
	if r.Error != "" {
		outcome = strings.ToUpper(outcome)
	}
	t.add("last reload", "%s, by %s, %s", outcome, r.By, formatMoment(r.At))
	about := r.Changes
	if r.Error != "" {
		about = strings.Split(strings.TrimSpace(r.Error), "\n")
	}
	for _, line := range about {
		t.add("", "%s", line)
	}
}

// describeHealth names the parts that are not well.
func describeHealth(list []orchestrator.Check) string {
	var out []string
	for _, state := range []string{orchestrator.CheckFailed, orchestrator.CheckDegraded} {
		var names []string
		for _, c := range list {
			if c.State == state {
				names = append(names, c.Name)
			}
		}
		if len(names) > 0 {
			slices.Sort(names)
			out = append(out, strings.ToUpper(state)+": "+strings.Join(names, ", "))
		}
	}
	if len(out) == 0 {
		return orchestrator.CheckOK
	}
	return strings.Join(out, "; ")
}

func formatMoment(t time.Time) string { return t.Local().Format(time.DateTime) }

// wrapText breaks a text into lines of width characters at most, between words where it can.
func wrapText(s string, width int) (out []string) {
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			out, line = append(out, line), ""
		}
		for ; utf8.RuneCountInString(word) > width; word = string([]rune(word)[width:]) { // a path may have no space
			out = append(out, string([]rune(word)[:width]))
		}
		if line += " " + word; line[1:] == word {
			line = word
		}
	}
	return append(out, line)
}
