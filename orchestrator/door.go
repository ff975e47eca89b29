package orchestrator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/orchestrator/control"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/pause"
	"github.com/vedette-dev/vedette/skills"
)

// Reachable returns why vedette pause and vedette top can't reach this process, nil
// if they can. Without them work goes on, and only the program can pause it, through
// Parts. So the program should tell its operator.
func (o *Orchestrator) Reachable(ctx context.Context) error {
	db := o.parts.Config.Ledger.Path
	_, err := control.Dial(control.SocketPath(db), control.DatabaseOwner(db)).Pauses(ctx)
	return err
}

// door shows the Orchestrator to its owner.
type door struct{ o *Orchestrator }

func (d door) Pauses() []pause.Pause { return d.o.parts.Pauses.List() }

// Top returns what the process is doing.
func (d door) Top() any { return d.o.Top() }

func (d door) InFlight() []sentinel.InFlight { return d.o.parts.Checkpoint.InFlight() }

func (d door) Pause(ctx context.Context, t pause.Target, by string) (pause.Pause, error) {
	if t.Skill != "" && !d.known(t.Skill) {
		return pause.Pause{}, fmt.Errorf("%w: %q%s", pause.ErrUnknown, t.Skill, d.suggestSkill(t.Skill))
	}
	if t.User != "" && !idForm.MatchString(t.User) {
		return pause.Pause{}, fmt.Errorf("%w: %q is no user's id, so nothing would stop; it has letters, digits and . _ : @ - alone",
			pause.ErrTarget, t.User)
	}
	p, err := d.o.parts.Pauses.Pause(ctx, t, by)
	if p.Scope() != "" {
		d.o.log.Warn("work was paused", "scope", p.Scope(), "by", by)
	}
	return p, err
}

// known reports whether a skill, or a domain, is one of this process. A typo
// must not look like a pause.
func (d door) known(skill string) bool {
	s, err := skills.NewScope(skill)
	return err != nil || slices.ContainsFunc(d.o.parts.Registry.Names(), s.Allows) // what is no name is told as such
}

// suggestSkill names the skill, or the domain of skills, that a misspelt name was meant to be.
func (d door) suggestSkill(got string) string {
	names, domains := d.o.parts.Registry.Names(), []string(nil)
	for _, name := range names {
		domain, _, _ := strings.Cut(name, ".")
		domains = append(domains, domain+".*")
	}
	domains = slices.Compact(domains) // the names are sorted
	if near := skills.Nearest(got, append(names, domains...)); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return "; there are " + strings.Join(domains, ", ")
}

func (d door) Lift(ctx context.Context, t pause.Target, by string) (bool, error) {
	ok, err := d.o.parts.Pauses.Lift(ctx, t, by)
	if ok {
		d.o.log.Warn("a pause was lifted", "scope", t.Scope(), "by", by)
	}
	return ok, err
}
