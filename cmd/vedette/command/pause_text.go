package command

import (
	"regexp"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/orchestrator/control"
)

// printPaused shows a new pause, and the calls in flight.
func (c *pauseCommand) printPaused(res control.Paused) error {
	if res.Warning != "" {
		c.tellNote("warning: %s", res.Warning)
	}
	if c.json {
		return c.writeJSON(res, false)
	}
	if err := c.printText("%s is paused since %s\nlift it with: vedette pause --lift %s\n",
		nameTarget(res.Pause.Target), res.Pause.Since.Local().Format(time.DateTime), targetFlag(res.Pause.Target)); err != nil {
		return err
	}
	if len(res.InFlight) == 0 {
		return c.printText("no call is in flight\n")
	}
	if err := c.printText("\nin flight; what runs runs on, what waits will not start\n"); err != nil {
		return err
	}
	return c.printInFlight(res, time.Now())
}

// printInFlight shows calls in flight.
func (c *pauseCommand) printInFlight(res control.Paused, now time.Time) error {
	t := terminal.Table{Colour: c.color}
	t.Add("CALL", "SKILL", "PHASE", "AGE", "AGENT", "CONVERSATION", "USER")
	for _, call := range res.InFlight {
		t.Add(call.CallID, call.Skill, call.Phase, formatAge(now.Sub(call.Since)), call.Agent, call.Conversation, call.User)
	}
	return t.Write(c.out)
}

// printLifted shows that a pause was lifted, and those that are left.
func (c *pauseCommand) printLifted(res control.Lifted) error {
	if c.json {
		return c.writeJSON(res, false)
	}
	if !res.Lifted {
		c.tellNote("%s is not paused", nameTarget(c.target))
	} else if err := c.printText("%s is no longer paused\n", nameTarget(c.target)); err != nil {
		return err
	}
	if len(res.Left) == 0 {
		return nil
	}
	if err := c.printText("still paused\n"); err != nil {
		return err
	}
	return c.printPauses(res.Left)
}

// printPauses shows pauses in force.
func (c *pauseCommand) printPauses(list []control.Pause) error {
	if c.json {
		if list == nil {
			list = []control.Pause{}
		}
		return c.writeJSON(list, false)
	}
	if len(list) == 0 {
		return c.printText("nothing is paused\n")
	}
	t := terminal.Table{Colour: c.color}
	t.Add("PAUSED", "NAME", "SINCE", "BY")
	for _, p := range list {
		t.Add(p.Scope(), p.User+p.Skill, p.Since.Local().Format(time.DateTime), p.By)
	}
	return t.Write(c.out)
}

func nameTarget(t control.Target) string {
	switch t.Scope() {
	case control.ScopeUser:
		return "user " + terminal.Clean(t.User)
	case control.ScopeSkill:
		return "skill " + terminal.Clean(t.Skill)
	}
	return "all work"
}

func targetFlag(t control.Target) string {
	switch t.Scope() {
	case control.ScopeUser:
		return "--user " + quoteWord(t.User)
	case control.ScopeSkill:
		return "--skill " + quoteWord(t.Skill)
	}
	return "--all"
}

// plainWord is what a shell takes for one word as it is.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9._:@/-]+$`)

// quoteWord is a name as a shell takes it for one word.
func quoteWord(s string) string {
	if s = terminal.Clean(s); plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// formatAge is a duration as people read it.
func formatAge(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
