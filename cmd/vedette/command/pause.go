package command

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/orchestrator/control"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/pause"
)

type pauseFlags struct {
	places
	target     pause.Target
	lift, json bool
}

func newPause(a *app) *cobra.Command {
	f := pauseFlags{places: places{load: a.load}}
	cmd := &cobra.Command{
		Use:   "pause",
		Short: "Stop the work of a user, of a skill, or all of it",
		Long: `Pause tells the running process to refuse every call of a user, of a skill or at
all, also those that a person has approved, or that wait for others of their skill,
and have not started. What runs already runs on; it is listed. A pause holds until it is lifted, also over a
restart, and both are on record. Without a target, the pauses in force are shown.

The process is found by its database. Its owner and root may pause and lift, and on
Linux nothing that it has started itself. What listens there is believed only if
it is this user's or root's; root also believes the owner of the database.`,
		Example: `  vedette pause --all
  vedette pause --user ann
  vedette pause --skill 'email.*' --config /etc/vedette/vedette.yaml
  vedette pause --lift --all
  vedette pause`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range []string{"all", "user", "skill"} { // --user "$U" with an empty U names no user to pause
				if fl := cmd.Flags().Lookup(name); fl.Changed && (fl.Value.String() == "" || fl.Value.String() == "false") {
					return usage("--" + name + " is given and names nothing")
				}
			}
			return a.pause(cmd.Context(), &f)
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.target.All, "all", false, "all work")
	fl.StringVar(&f.target.User, "user", "", "the work of this `USER`")
	fl.StringVar(&f.target.Skill, "skill", "", "calls of this `SKILL`, or of a domain: 'email.*'")
	fl.BoolVar(&f.lift, "lift", false, "lift the pause")
	fl.BoolVar(&f.json, "json", false, "print what the process answers as JSON")
	f.flags(cmd)
	return cmd
}

// flags are those that find a running process.
func (p *places) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.config, "config", defaultConfig, "configuration `FILE` of the process")
	cmd.Flags().StringVar(&p.db, "db", "", "database `FILE` of the process, in place of the configuration's")
}

// process returns a client of the process that the flags find.
func (p *places) process() (*control.Client, error) {
	if err := p.fill(false, false); err != nil {
		return nil, err
	}
	return control.Dial(control.SocketPath(p.db), control.DatabaseOwner(p.db)), nil
}

// unreached adds what to do where no process answers.
func (p *places) unreached(err error) error {
	if errors.Is(err, control.ErrNotRunning) {
		return &failure{exitFailed, err, "it is found by its database, " + p.db + "; name another with --config FILE or --db FILE"}
	}
	return err
}

func (a *app) pause(ctx context.Context, f *pauseFlags) error {
	none := f.target == pause.Target{}
	if !none && f.target.Scope() == "" || none && f.lift {
		return usage("name one of --all, --user USER and --skill SKILL")
	}
	c, err := f.process()
	if err != nil {
		return err
	}
	switch {
	case none:
		list, err := c.Pauses(ctx)
		if err != nil {
			return f.unreached(err)
		}
		return a.pauses(f, list)
	case f.lift:
		res, err := c.Lift(ctx, f.target)
		if err != nil {
			return f.unreached(err)
		}
		return a.lifted(f, res)
	}
	res, err := c.Pause(ctx, f.target)
	if err != nil {
		return f.unreached(err)
	}
	return a.paused(f, res)
}

func (a *app) paused(f *pauseFlags, res control.Paused) error {
	if res.Warning != "" {
		a.note("warning: %s", res.Warning)
	}
	if f.json {
		return writeJSON(a.out, res, false)
	}
	if err := a.say("%s is paused since %s\nlift it with: vedette pause --lift %s\n",
		what(res.Pause.Target), res.Pause.Since.Local().Format(time.DateTime), flagOf(res.Pause.Target)); err != nil {
		return err
	}
	if len(res.InFlight) == 0 {
		return a.say("no call is in flight\n")
	}
	if err := a.say("\nin flight; what runs runs on, what waits will not start\n"); err != nil {
		return err
	}
	return a.calls(res.InFlight, time.Now())
}

// calls shows calls in flight.
func (a *app) calls(list []sentinel.InFlight, now time.Time) error {
	t := table{colour: a.color}
	t.add("CALL", "SKILL", "PHASE", "AGE", "AGENT", "CONVERSATION", "USER")
	for _, c := range list {
		t.add(c.CallID, c.Skill, c.Phase, age(now.Sub(c.Since)), c.Agent, c.Conversation, c.User)
	}
	return t.write(a.out)
}

func (a *app) lifted(f *pauseFlags, res control.Lifted) error {
	if f.json {
		return writeJSON(a.out, res, false)
	}
	if !res.Lifted {
		a.note("%s is not paused", what(f.target))
	} else if err := a.say("%s is no longer paused\n", what(f.target)); err != nil {
		return err
	}
	if len(res.Left) == 0 {
		return nil
	}
	if err := a.say("still paused\n"); err != nil {
		return err
	}
	return a.pauses(f, res.Left)
}

func (a *app) pauses(f *pauseFlags, list []pause.Pause) error {
	if f.json {
		if list == nil {
			list = []pause.Pause{}
		}
		return writeJSON(a.out, list, false)
	}
	if len(list) == 0 {
		return a.say("nothing is paused\n")
	}
	t := table{colour: a.color}
	t.add("PAUSED", "NAME", "SINCE", "BY")
	for _, p := range list {
		t.add(p.Scope(), p.User+p.Skill, p.Since.Local().Format(time.DateTime), p.By)
	}
	return t.write(a.out)
}

func what(t pause.Target) string {
	switch t.Scope() {
	case pause.ScopeUser:
		return "user " + clean(t.User)
	case pause.ScopeSkill:
		return "skill " + clean(t.Skill)
	}
	return "all work"
}

func flagOf(t pause.Target) string {
	switch t.Scope() {
	case pause.ScopeUser:
		return "--user " + quoted(t.User)
	case pause.ScopeSkill:
		return "--skill " + quoted(t.Skill)
	}
	return "--all"
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9._:@/-]+$`)

// quoted is a name as a shell takes it for one word.
func quoted(s string) string {
	if s = clean(s); plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// age is a duration as people read it.
func age(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// say prints for people.
func (a *app) say(format string, args ...any) error {
	_, err := fmt.Fprintf(a.out, format, args...)
	return err
}
