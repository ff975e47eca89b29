package config

import (
	"fmt"
	"reflect"
	"slices"
)

// What the rules say of a call is the least of all that match it, and the default where none does;
// a rule whose condition breaks denies. So new rules let nothing more through where
//
//   - each running rule that lowers, or that a broken condition makes deny, is covered by a new one
//     that matches the same calls and says no more;
//   - where the running default is deny, each new rule that doesn't deny matches only what a running
//     rule matched.
//
// Rules that rewrite must be the same: what a rewrite lets through isn't known here.

// rank orders what rules say.
var rank = map[Action]int{Deny: 0, Defer: 1, Ask: 2, Allow: 3}

// compareRules compares the permission rules.
func (c *comparison) compareRules(path string) {
	before := len(c.out)
	old, oldRewrites := splitRules(c.running.Permissions)
	now, nowRewrites := splitRules(c.next.Permissions)
	if !reflect.DeepEqual(oldRewrites, nowRewrites) {
		c.add(Loosens, path, "has other rules that rewrite calls: what they let through isn't known")
	}
	for _, r := range old {
		c.compareRunningRule(r, now)
	}
	for _, r := range now {
		c.compareNewRule(r, old)
	}
	if len(c.out) == before {
		c.addNeutral(path)
	}
}

// compareRunningRule finds a rule of the running configuration that no new one covers.
func (c *comparison) compareRunningRule(r placedRule, now []placedRule) {
	if r.Then == Allow && r.When == "" || c.gone[r.Skill] {
		return // nothing was stopped by it, or what it is about is gone
	}
	covered := slices.ContainsFunc(now, func(n placedRule) bool {
		sameCalls := coversSkill(n.Skill, r.Skill) && coversUsers(n.Users, r.Users)
		return sameCalls && (n.When == r.When && rank[n.Then] <= rank[r.Then] || n.When == "" && n.Then == Deny)
	})
	if covered {
		return
	}
	msg := fmt.Sprintf("(%s %s) of the running configuration is gone, or says less now", r.Then, r.id)
	c.out = append(c.out, Change{Loosens, r.path, r.at, msg})
}

// compareNewRule tells what a rule does that the running configuration doesn't have.
func (c *comparison) compareNewRule(r placedRule, old []placedRule) {
	if slices.ContainsFunc(old, func(o placedRule) bool { return reflect.DeepEqual(o.Rule, r.Rule) }) {
		return
	}
	matched := func(o placedRule) bool {
		return coversSkill(o.Skill, r.Skill) && coversUsers(o.Users, r.Users) && (o.When == r.When || o.When == "")
	}
	if c.running.PermissionsDefault == Deny && r.Then != Deny && !slices.ContainsFunc(old, matched) {
		c.out = append(c.out, Change{Loosens, r.path, r.at, "matches calls that the running default denies"})
		return
	}
	c.out = append(c.out, Change{Tightens, r.path, r.at, "is new or changed, and lets nothing more through"})
}

// placedRule is a rule without what changes no decision, and where it stands.
type placedRule struct {
	Rule
	path, id string
	at       Position
}

// splitRules returns the rules that judge, and those that rewrite.
func splitRules(list []Rule) (judging []placedRule, rewriting []Rule) {
	for i, r := range list {
		p := placedRule{path: fmt.Sprintf("permissions[%d]", i), id: r.ID, at: r.Pos}
		r.ID, r.Reason, r.Pos = "", "", Position{}
		if p.Rule = r; r.Then == Modify {
			rewriting = append(rewriting, r)
		} else {
			judging = append(judging, p)
		}
	}
	return judging, rewriting
}
