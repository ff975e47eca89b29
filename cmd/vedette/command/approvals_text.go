package command

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/cmd/vedette/setup"
	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/orchestrator/records"
)

// printItems shows approvals, a line each.
func (p *inboxPlace) printItems(list []setup.ApprovalItem, asJSON bool, now time.Time) error {
	if asJSON {
		for _, i := range list {
			if err := p.writeJSON(i, true); err != nil {
				return err
			}
		}
		return nil
	}
	if len(list) == 0 {
		p.tellNote("no approval matches")
		return nil
	}
	t := terminal.Table{Colour: p.color}
	t.Add("ID", "STATE", "BATCH", "AGE", "LEFT", "YES", "SKILL", "EFFECT", "AGENT", "CONVERSATION", "USER", "BY")
	for _, i := range list {
		left := ""
		if i.State == setup.ApprovalPending {
			left = formatAge(i.Expires.Sub(now))
		}
		t.Add(i.ID, string(i.State), formatBatch(i), formatAge(now.Sub(i.Asked)), left, fmt.Sprintf("%d/%d", i.Yes, i.Needed), i.Skill,
			string(i.Effect), i.Agent, i.Conversation, i.User, i.By)
	}
	return t.Write(p.out)
}

// formatBatch says which call of its turn an approval is about.
func formatBatch(i setup.ApprovalItem) string {
	if i.Of == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d", i.Place, i.Of)
}

// printCard shows an approval with all that a person must see, and how to answer it.
func (p *inboxPlace) printCard(c setup.ApprovalCard) error {
	if err := p.printQuestion(c); err != nil || c.State != setup.ApprovalPending {
		return err
	}
	return p.printText("\nanswer with\n  vedette approvals approve %s --digest %s\n  vedette approvals deny %s --digest %s --feedback 'WHY'\n",
		c.ID, c.Digest[:min(len(c.Digest), setup.ApprovalDigits)], c.ID, c.Digest[:min(len(c.Digest), setup.ApprovalDigits)])
}

// printQuestion shows an approval with all that a person must see.
func (a *app) printQuestion(c setup.ApprovalCard) error {
	t := terminal.Table{Colour: a.color}
	t.Add("approval", c.ID)
	t.Add("state", strings.TrimSpace(string(c.State)+" "+c.Code))
	if c.Of > 1 {
		t.Add("batch", formatBatch(c.Item)+" calls of this turn that wait")
	}
	t.Add("conversation", c.Conversation)
	t.Add("asked", c.Asked.Format(records.TimeLayout))
	t.Add("expires", c.Expires.Format(records.TimeLayout))
	t.Add("yes", fmt.Sprintf("%d of %d that are needed", c.Yes, c.Needed))
	t.Add("digest", c.Digest)
	if err := t.Write(a.out); err != nil {
		return err
	}
	if err := a.printSheet(c.Sheet); err != nil {
		return err
	}
	for _, g := range c.Answers {
		line := fmt.Sprintf("%s  %s by %s", g.At.Format(records.TimeLayout), g.Word, g.By)
		if g.Void {
			line += ", to a question that has changed since: it does not count"
		}
		if g.Feedback != "" {
			line += ": " + g.Feedback
		}
		if err := a.printText("%s\n", terminal.Clean(line)); err != nil {
			return err
		}
	}
	return nil
}

// printSheet shows the call. Its text is escaped already; what is not shown as itself is
// escaped all the same.
func (a *app) printSheet(s *setup.ApprovalSheet) error {
	if s == nil {
		return a.printText("\nwhat was shown is erased\n")
	}
	if err := a.printText("\n"); err != nil {
		return err
	}
	for line := range strings.Lines(s.Text) {
		if err := a.printText("%s\n", terminal.Clean(strings.TrimSuffix(line, "\n"))); err != nil {
			return err
		}
	}
	for _, d := range s.Doubts {
		if err := a.printText("  %-8s %s\n", "doubt", terminal.Clean(strings.TrimSpace(d.Signal+" "+strings.Join(d.Args, ", ")))); err != nil {
			return err
		}
	}
	return a.printText("\n")
}

// printAnswered says what came of an answer.
func (p *inboxPlace) printAnswered(i setup.ApprovalItem) error {
	switch i.State {
	case setup.ApprovalSuperseded:
		return p.printText("%s does not run as it was; with %s's arguments it runs if the rules let it\n", i.ID, terminal.Clean(i.By))
	case setup.ApprovalPending:
		return p.printText("%s: yes, %d of the %d that are needed\n", i.ID, i.Yes, i.Needed)
	case setup.ApprovalApproved:
		return p.printText("%s is approved by %s; it runs if the rules still let it\n", i.ID, terminal.Clean(i.By))
	}
	return p.printText("%s is denied by %s; it does not run\n", i.ID, terminal.Clean(i.By))
}

// printChange shows a line of watch.
func (c *approvalsWatchCommand) printChange(i setup.ApprovalItem) error {
	if c.json {
		return c.writeJSON(i, true)
	}
	line := []string{time.Now().Format(time.TimeOnly), string(i.State), i.ID, i.Skill, string(i.Effect)}
	if b := formatBatch(i); b != "" {
		line = append(line, b)
	}
	line = append(line, "agent "+i.Agent, "conversation "+i.Conversation, "user "+i.User)
	if i.By != "" {
		line = append(line, "by "+i.By)
	}
	return c.printText("%s\n", terminal.Clean(strings.Join(line, "  ")))
}

// isMeant asks the person at the terminal whether they mean their answer.
func (c *answerCommand) isMeant() bool {
	if f, ok := c.in.(*os.File); ok {
		terminal.DiscardTyped(f) // what was typed before the call was shown is no answer to it
	}
	_, _ = fmt.Fprintf(c.err, "say %s to this call? [y/N] ", c.word)
	line, _ := bufio.NewReader(c.in).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true
	}
	return false
}
