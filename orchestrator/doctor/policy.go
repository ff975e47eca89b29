package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/skills"
)

// examinePolicy says which defaults are in force, and warns of those that surprise.
func (e *exam) examinePolicy(context.Context) {
	if e.cfg.PermissionsDefault == config.Allow {
		e.ok("permissions", "permissions_default is allow: a call that no rule matches is for scope, guard, judge and review")
	} else {
		e.ok("permissions", "permissions_default is %s: a call that no rule matches is refused", e.cfg.PermissionsDefault)
	}
	e.reviewMode()
	if e.cfg.Judge.KeepsHabits() {
		e.ok("habits", "judge.habits is on: what a person approved for a user on three days is in doubt no more")
	}
	e.reportSurprises()
	e.checkFallback("sentinel.unavailable", e.cfg.Sentinel.Unavailable, false,
		"while no model can be reached, every call goes ahead unjudged, marked as degraded: the review fails open")
	e.checkFallback("sentinel.unjudgeable", e.cfg.Sentinel.Unjudgeable, true,
		"a call that no model can judge goes ahead, and the writer of its arguments can make it so")
}

func (e *exam) reviewMode() {
	s := e.cfg.Sentinel
	switch {
	case s.Mode == config.Off:
		e.warn("review", "sentinel.mode is off: the rules decide alone, but for what sentinel.modes names",
			"set sentinel.mode to enforce, or shadow to watch it first")
	case s.Idle():
		e.warn("review", "sentinel.modes turns the review off for every effect: the rules decide alone",
			"leave out of sentinel.modes what shall be judged")
	case s.Mode == config.Shadow:
		e.warn("review", "sentinel.mode is shadow: what the review says is recorded and not applied",
			"set sentinel.mode to enforce once its verdicts are good enough")
	case slices.Contains(listModes(s.Modes), config.Off) || slices.Contains(listModes(s.Modes), config.Shadow):
		e.warn("review", "sentinel.modes leaves calls out, or only records what the review says of them", "vedette validate names them")
	default:
		e.ok("review", "sentinel.mode is enforce: what the review rejects does not run")
	}
	e.reviewProfile()
	switch {
	case s.Mode == config.Off:
	case s.Evidence == "all":
		e.warn("evidence", "sentinel.evidence is all: the review is shown strangers' text, which can speak to its model",
			"set it to records, unless strangers can't write what skills return")
	case s.Evidence == "off":
		e.warn("evidence", "sentinel.evidence is off: the review is not told where the values of a call were seen",
			"set it to records, or provenance to show no text of results")
	}
	if s.Canaries.Every == 0 && s.Mode != config.Off {
		e.warn("canaries", "sentinel.canaries.every is 0s: a model that goes bad is not noticed, and none may settle the judge's doubts",
			"set it, such as 6h; each round is six questions to each model, and once a day 54 more")
	}
}

// reviewProfile says which calls the profile leaves to the rules.
func (e *exam) reviewProfile() {
	s, n := e.cfg.Sentinel, e.cfg.CountLowRisk()
	switch {
	case s.Idle():
	case s.Profile == config.Strict:
		e.ok("profile", "sentinel.profile is strict: it leaves no call to the rules alone")
	case n > 0:
		e.ok("profile", "sentinel.profile is %s: the rules alone decide plain calls of the skills marked risk: low, %d of %d",
			s.Profile, n, len(e.cfg.Skills))
	}
}

func listModes(m config.Modes) (out []config.Mode) {
	for _, list := range []map[string]config.Mode{m.Effect, m.Skill} {
		for _, mode := range list {
			out = append(out, mode)
		}
	}
	return out
}

// named are the warnings of a configuration that have a check of their own here.
var named = []string{"review_idle", "unjudgeable_allow"}

// reportSurprises tells what is written and does nothing, or more than it seems to.
func (e *exam) reportSurprises() {
	for _, w := range e.cfg.Warnings() {
		if !slices.Contains(named, w.Code) {
			e.warn("configuration", w.Pos.String()+": "+w.Msg, w.Advice)
		}
	}
}

// checkFallback warns of a table that lets through what can do harm. Where an attacker can
// choose the table's case, it warns of anything that is let through.
func (e *exam) checkFallback(path string, f config.Fallback, attackers bool, all string) {
	if e.cfg.Sentinel.Idle() {
		return
	}
	open := f.Open()
	everything := len(open) == 6
	if !attackers { // while no model can be reached, reads and creations may go ahead
		open = slices.DeleteFunc(open, func(row string) bool { return row == "read" || row == "create" })
	}
	switch {
	case everything:
		e.warn(path, all, "set at least modify, irreversible, costs_money and outward to ask or deny")
	case len(open) > 0 && attackers:
		e.warn(path, "calls that go ahead without a judgement, which the writer of their arguments can bring about: "+strings.Join(open, ", "),
			"set them to ask or deny")
	case len(open) > 0:
		e.warn(path, "calls that go ahead without a judgement: "+strings.Join(open, ", "), "set them to ask or deny")
	}
}

// examineApprovals says who would have to be asked.
func (e *exam) examineApprovals(context.Context) {
	rules, always := 0, 0
	for _, r := range e.cfg.Permissions {
		if r.Then == config.Ask {
			rules++
		}
	}
	for _, s := range e.cfg.Skills {
		if s.Skill.Spec().Approval == skills.ApproveAlways {
			always++
		}
	}
	if rules+always == 0 {
		e.ok("approvals", "no rule and no skill asks a person; only what could not be judged would")
		return
	}
	if e.cfg.Approvals.Inbox {
		e.ok("approvals", "%s a person; questions wait in the inbox: vedette approvals list", describeAsking(rules, always))
		return
	}
	e.warn("approvals", describeAsking(rules, always)+" a person, and the configuration names no person who is asked",
		"say approvals: {inbox: true}, or give the program an Approver; where no person can approve, ask is deny")
}

// describeAsking says how many rules and skills ask, with the verb.
func describeAsking(rules, skills int) string {
	var parts []string
	for _, p := range []struct {
		n    int
		noun string
	}{{rules, "rule"}, {skills, "skill"}} {
		switch p.n {
		case 0:
		case 1:
			parts = append(parts, "1 "+p.noun)
		default:
			parts = append(parts, fmt.Sprintf("%d %ss", p.n, p.noun))
		}
	}
	if rules+skills == 1 {
		return parts[0] + " asks"
	}
	return strings.Join(parts, " and ") + " ask"
}

// examineSkills warns of those whose arguments no author has told apart.
func (e *exam) examineSkills(context.Context) {
	var plain []string
	for _, s := range e.cfg.Skills {
		if len(s.Skill.DeclaredArgs()) > 0 && !s.Skill.Annotated() {
			plain = append(plain, s.Skill.Name())
		}
	}
	switch {
	case len(e.cfg.Skills) == 0:
		e.warn("skills", "there are none: every call is denied", "name skill files under skills.include")
	case len(plain) > 0:
		e.warn("skills", "without annotations every string may be a target: "+nameFirst(plain),
			"mark their arguments with x-target, x-content, x-path, x-url, x-shell or x-secret")
	default:
		e.ok("skills", "%d, all of them annotated or without arguments", len(e.cfg.Skills))
	}
}

// nameFirst names the first few.
func nameFirst(list []string) string {
	const few = 8
	if len(list) <= few {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:few], ", "), len(list)-few)
}
