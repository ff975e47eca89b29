package config

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-dev/vedette/skills"
)

// reservedDomain begins the names of the orchestrator's own calls. The program
// tells its calls by this beginning, so no file may declare a skill under it,
// whether or not there is such a call today.
const reservedDomain = "agent."

// orchestratorCalls are the calls that the program makes itself: the orchestrator, and
// the checkpoint. They pass the same rules as skills, so rules may name them.
var orchestratorCalls = []string{"agent.dispatch", "agent.update", "agent.extend", skills.CommitName}

// check does what no single value shows: references, rules, paths.
func (l *loader) check() {
	for name, m := range l.cfg.Models {
		m.Name = name
		l.cfg.Models[name] = m
	}
	l.checkRoles()
	l.checkRules()
	l.checkTests()
	l.checkListen()
	l.checkLimitStore()
	l.checkTelemetry()
	l.checkTargets()
	l.checkPrices()
	l.checkReview()
	l.resolvePaths()
	l.checkCredentials()
	l.checkRoots()
}

func (l *loader) checkRoles() {
	roles := l.get("roles")
	if roles == nil || roles.kind != mappingNode {
		return
	}
	for i := range roles.entries {
		e := &roles.entries[i]
		if _, known := l.cfg.Roles[e.key]; known {
			l.checkModelNames("roles."+e.key, e.val)
		}
	}
}

// checkModelNames refuses models that aren't under models, where one or a list
// of them is named.
func (l *loader) checkModelNames(path string, val *node) {
	if models := l.get("models"); models != nil && models.kind != mappingNode {
		return // reported, and which models there are isn't known
	}
	known := slices.Sorted(maps.Keys(l.cfg.Models))
	list := []*node{val}
	if val.kind == listNode {
		list = val.items
	}
	for _, n := range list {
		if n.kind != scalarNode || n.bad || n.scalarKind() != textScalar || n.text == "" || indexOf(known, n.text) >= 0 {
			continue
		}
		if n.outside {
			l.out.add(n.pos, "%s names a model that isn't under models", path)
			continue
		}
		l.out.add(n.pos, "%s: %s", path, unknown("model", n.text, known))
	}
}

func (l *loader) checkRules() {
	list := l.get("permissions")
	if list == nil || list.kind != listNode {
		return
	}
	known := l.knownSkills()
	ids := map[string]Position{}
	for i := range l.cfg.Permissions {
		r, n := &l.cfg.Permissions[i], list.items[i]
		r.Pos = n.pos
		if r.ID == "" {
			r.ID = "rule-" + strconv.Itoa(i+1)
		}
		at := n.pos
		if id := n.get("id"); id != nil {
			at = id.pos
		}
		if first, twice := ids[r.ID]; twice {
			l.out.add(at, "permissions[%d]: another rule has the id %q already, at %s; give one of them another id", i, r.ID, first)
		}
		ids[r.ID] = at
		if n.kind == mappingNode {
			l.checkModify(i, r, n)
		}
		if r.Skill != "" {
			l.checkPattern(n.get("skill"), known)
		}
	}
}

// checkModify refuses a rule that rewrites and doesn't say what, and the other
// way round.
func (l *loader) checkModify(i int, r *Rule, n *node) {
	list := n.get("modify")
	switch {
	case r.Then == Modify && list == nil:
		l.out.add(n.get("then").pos, "permissions[%d]: then is modify and nothing says what; add modify: [{set: …, to: …}]", i)
	case r.Then != Modify && r.Then != "" && list != nil:
		l.out.add(list.pos, "permissions[%d].modify is for rules that say then: modify", i)
	}
}

// checkPattern refuses a rule that no skill can meet.
func (l *loader) checkPattern(n *node, known []string) {
	pat := n.text
	domain, isDomain := strings.CutSuffix(pat, ".*")
	switch {
	case pat == "*":
		return
	case isDomain && skills.ValidName(domain+".x"):
	case !skills.ValidName(pat):
		l.out.add(n.pos, "skill must be a skill's name such as email.send, a domain such as email.*, or *; not %s", l.shown(n))
		return
	}
	if l.broken {
		return // a file that couldn't be read may have it
	}
	if !isDomain && !slices.Contains(known, pat) {
		l.out.add(n.pos, "%s", l.hideUnknown(n, "skill", pat, known))
	}
	if isDomain && !slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(k, domain+".") }) {
		domains := map[string]bool{}
		for _, k := range known {
			domains[k[:strings.LastIndexByte(k, '.')]+".*"] = true
		}
		l.out.add(n.pos, "the rule can match nothing: %s", l.hideUnknown(n, "domain", pat, slices.Sorted(maps.Keys(domains))))
	}
}

func (l *loader) hideUnknown(n *node, what, got string, known []string) string {
	if n.outside {
		return "unknown " + what + " given by the environment"
	}
	return unknown(what, got, known)
}

func (l *loader) checkListen() {
	n := l.section("server", "listen")
	if n == nil || n.bad || n.kind != scalarNode || l.cfg.Server.Listen != n.text {
		return
	}
	if _, _, ok := listenAddress(n.text); !ok {
		l.out.add(n.pos, "server.listen must be host:port such as 127.0.0.1:8420%s", notA(n))
	}
}

// section returns the value at two keys, nil where it isn't written.
func (l *loader) section(a, b string) *node {
	n := l.get(a)
	if n == nil || n.kind != mappingNode {
		return nil
	}
	return n.get(b)
}
