package orchestrator

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/orchestrator/control"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// door shows the Orchestrator to its owner.
type door struct {
	parts  *assembly.Parts
	log    *slog.Logger
	top    func() Top
	status func(context.Context) Status
}

// Pauses returns the pauses that hold.
func (d door) Pauses() []control.Pause { return d.parts.Pauses.List() }

// Top returns what the process is doing.
func (d door) Top() any { return d.top() }

// Status returns how the process is.
func (d door) Status(ctx context.Context) any { return d.status(ctx) }

// InFlight returns the calls that wait for a person, for places or for their skill, that run, or that
// were handed over and not reported.
func (d door) InFlight() []sentinel.InFlight { return d.parts.InFlight() }

// Pause stops the work of a skill, a user or all, and logs who did it.
func (d door) Pause(ctx context.Context, t control.Target, by string) (control.Pause, error) {
	if t.Skill != "" && !d.isKnownSkill(t.Skill) {
		return control.Pause{}, fmt.Errorf("%w: %q%s", control.ErrUnknown, t.Skill, d.suggestSkill(t.Skill))
	}
	if t.User != "" && !idForm.MatchString(t.User) {
		return control.Pause{}, fmt.Errorf("%w: %q is no user's id, so nothing would stop; it has letters, digits and . _ : @ - alone",
			control.ErrTarget, t.User)
	}
	p, err := d.parts.Pauses.Pause(ctx, t, by)
	if p.Scope() != "" {
		d.log.Warn("work was paused", "scope", p.Scope(), "by", by)
	}
	return p, err
}

// isKnownSkill reports whether a skill, or a domain, is one of this process. A typo
// must not look like a pause.
func (d door) isKnownSkill(skill string) bool {
	s, err := skills.NewScope(skill)
	return err != nil || slices.ContainsFunc(d.parts.Registry.Names(), s.Allows) // what is no name is told as such
}

// suggestSkill names the skill, or the domain of skills, that a misspelt name was meant to be.
func (d door) suggestSkill(got string) string {
	names, domains := d.parts.Registry.Names(), []string(nil)
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

// Lift ends a pause, and logs who did it.
func (d door) Lift(ctx context.Context, t control.Target, by string) (bool, error) {
	ok, err := d.parts.Pauses.Lift(ctx, t, by)
	if ok {
		d.log.Warn("a pause was lifted", "scope", t.Scope(), "by", by)
	}
	return ok, err
}

// ListApprovals returns the approvals that the filter chooses.
func (d door) ListApprovals(ctx context.Context, f control.ApprovalFilter) ([]control.ApprovalItem, error) {
	if d.parts.Inbox == nil {
		return nil, control.ErrNoInbox
	}
	return d.parts.Inbox.List(ctx, f)
}

// ShowApproval returns one approval with what a person must see.
func (d door) ShowApproval(ctx context.Context, begin string) (control.ApprovalCard, error) {
	if d.parts.Inbox == nil {
		return control.ApprovalCard{}, control.ErrNoInbox
	}
	return d.parts.Inbox.Show(ctx, begin)
}

// ListTokens returns the tokens of the HTTP API.
func (d door) ListTokens(context.Context) ([]control.Token, error) { return d.parts.Tokens.List(), nil }

// CreateToken makes a token, and logs who did it.
func (d door) CreateToken(ctx context.Context, w control.WantedToken, by string) (control.MadeToken, error) {
	made, err := d.parts.Tokens.Create(ctx, w, by)
	if err == nil {
		d.log.Warn("a token was made", "token", made.ID, "name", made.Name, "by", by)
	}
	return made, err
}

// RevokeToken ends a token, and logs who did it.
func (d door) RevokeToken(ctx context.Context, begin, by string) (control.Token, error) {
	t, err := d.parts.Tokens.Revoke(ctx, begin, by)
	if err == nil {
		d.log.Warn("a token was revoked", "token", t.ID, "name", t.Name, "by", by)
	}
	return t, err
}

// ReadStory tells all that is kept of a call, with values. It logs who asked; the ledger has it too.
func (d door) ReadStory(ctx context.Context, id string, who control.StoryReader) (control.Story, error) {
	s, err := d.parts.Stories.TellWithValues(ctx, id, who)
	if err == nil && s.Opened != nil {
		d.log.Info("values of a call were shown", "decision", s.About.Decision, "by", who.By, "via", who.Via)
	}
	return s, err
}

// ArchiveLedger closes the ledger's database file and has another go on.
func (d door) ArchiveLedger(ctx context.Context, by string) (control.Archived, error) {
	return d.parts.Archives.Archive(ctx, by, nil)
}

// AnswerApproval takes a person's answer.
func (d door) AnswerApproval(ctx context.Context, a control.ApprovalAnswer) (control.ApprovalItem, error) {
	if d.parts.Inbox == nil {
		return control.ApprovalItem{}, control.ErrNoInbox
	}
	return d.parts.Inbox.Answer(ctx, a)
}

// StandApproval takes a person's yes, and leaves a standing approval.
func (d door) StandApproval(ctx context.Context, a control.ApprovalAnswer, t control.StandingTerms) (control.Standing, error) {
	if d.parts.Inbox == nil {
		return control.Standing{}, control.ErrNoInbox
	}
	return d.parts.Inbox.Stand(ctx, a, t)
}

// ListStanding returns the standing approvals that the filter chooses.
func (d door) ListStanding(ctx context.Context, f control.StandingFilter) ([]control.Standing, error) {
	if d.parts.Inbox == nil {
		return nil, control.ErrNoInbox
	}
	return d.parts.Inbox.ListStanding(ctx, f)
}

// RevokeStanding ends a standing approval.
func (d door) RevokeStanding(ctx context.Context, id, by, via string) (control.Standing, error) {
	if d.parts.Inbox == nil {
		return control.Standing{}, control.ErrNoInbox
	}
	return d.parts.Inbox.Revoke(ctx, id, by, via)
}

// PutLabel takes what a reviewer says of a decision.
func (d door) PutLabel(ctx context.Context, s control.LabelSaid) (control.Label, error) {
	return d.parts.Labels.Put(ctx, s)
}

// ListLabels returns the labels that the filter chooses.
func (d door) ListLabels(ctx context.Context, f control.LabelFilter) ([]control.Label, error) {
	return d.parts.Labels.List(ctx, f)
}

// ListDisputes returns the decisions of which reviewers said different things.
func (d door) ListDisputes(ctx context.Context, viewer string, limit int) ([]control.LabelDispute, error) {
	return d.parts.Labels.Disputes(ctx, viewer, limit)
}

// ExportLabels makes cases of labelled decisions, and logs who has read their values.
func (d door) ExportLabels(ctx context.Context, part control.LabelledPart, by, via string) (control.LabelledCases, error) {
	page, err := d.parts.ExportLabels(ctx, part, by, via)
	if err == nil {
		d.log.Warn("values of labelled calls were read", "cases", len(page.Cases), "by", by)
	}
	return page, err
}
