package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/skills"
)

// ChangeKind is what a change of the configuration does to a running process.
type ChangeKind string

// The kinds of change. What is not known to be one of the first three needs a restart.
const (
	// Tightens lets less through than before, or the same.
	Tightens ChangeKind = "tightens"
	// Loosens lets more through, or may.
	Loosens ChangeKind = "loosens"
	// Neutral changes no decision.
	Neutral ChangeKind = "neutral"
	// NeedsRestart can't be exchanged in a running process.
	NeedsRestart ChangeKind = "needs_restart"
)

// Change is one difference between two configurations. It holds no value of either.
type Change struct {
	Kind ChangeKind
	// Path is where the difference is: "judge.threshold", "permissions[1]".
	Path string
	// Pos is the place in the new files, or in the running ones of what is gone.
	Pos Position
	Msg string
}

// String returns "file:line:column: path message".
func (c Change) String() string {
	if at := c.Pos.String(); at != "" {
		return at + ": " + c.Path + " " + c.Msg
	}
	return c.Path + " " + c.Msg
}

// Compare returns how next differs from the configuration that a process runs by. It errs on one
// side: a change is called tightening only where the new gates can't let any call through that the
// running ones stop, or ask about less.
func Compare(running, next *Config) []Change {
	c := &comparison{running: running, next: next, gone: map[string]bool{}}
	c.compareSkills()
	for _, path := range diffPaths(reflect.ValueOf(*running), reflect.ValueOf(*next), "") {
		if compare, live := liveKeys[path]; live {
			compare(c, path)
		} else {
			c.add(NeedsRestart, path, "can't be exchanged in a running process")
		}
	}
	return c.out
}

// comparison collects changes.
type comparison struct {
	running, next *Config
	gone          map[string]bool // skills that next has no more
	out           []Change
}

// liveKeys are what can be exchanged, and what tells a tightening from a loosening.
var liveKeys = map[string]func(c *comparison, path string){
	"permissions":                    (*comparison).compareRules,
	"permissions_default":            (*comparison).compareDefault,
	"tests":                          (*comparison).addNeutral,
	"skills.include":                 (*comparison).addNeutral, // what was read by it counts
	"skills.known":                   (*comparison).addNeutral,
	"orchestrator.prompt":            (*comparison).addNeutral,
	"guard.forbid_paths":             (*comparison).compareForbidden,
	"judge.own_domains":              (*comparison).compareDomains,
	"approvals.timeout":              (*comparison).compareAskTime,
	"reload.allow_loosening":         (*comparison).compareSwitch,
	"proxy.mode":                     (*comparison).compareProxyMode,
	"proxy.tools":                    (*comparison).addLoosening, // what a tool does decides about every call of it
	"proxy.notice":                   (*comparison).addNeutral,
	"proxy.hold":                     (*comparison).addNeutral,
	"proxy.on_block":                 (*comparison).addNeutral, // no blocked call leaves either way
	"proxy.incomplete":               (*comparison).compareIncomplete,
	"judge.threshold":                atMost(func(c *Config) int { return -int(c.Judge.Threshold) }),
	"judge.ask_below":                atMost(func(c *Config) int { return -int(c.Judge.AskBelow) }),
	"approvals.who":                  (*comparison).compareWho,
	"limits.agent.calls":             (*comparison).compareAgentCalls,
	"limits.turn.agents":             atMost(func(c *Config) int { return c.Limits.Turn.Agents }),
	"limits.turn.calls":              atMost(func(c *Config) int { return c.Limits.Turn.Calls }),
	"limits.conversation.calls":      atMost(func(c *Config) int { return c.Limits.Conversation.Calls }),
	"approvals.pending.user":         atMost(func(c *Config) int { return c.Approvals.Pending.User }),
	"approvals.pending.conversation": atMost(func(c *Config) int { return c.Approvals.Pending.Conversation }),
	"approvals.pending.process":      atMost(func(c *Config) int { return c.Approvals.Pending.Process }),
}

// add adds a change at the place where next has the path.
func (c *comparison) add(k ChangeKind, path, msg string) {
	at, _ := c.next.Pos(path)
	c.out = append(c.out, Change{k, path, at, msg})
}

// addGone adds a change at the place where the running configuration had the path.
func (c *comparison) addGone(k ChangeKind, path, msg string) {
	at, _ := c.running.Pos(path)
	c.out = append(c.out, Change{k, path, at, msg})
}

func (c *comparison) addNeutral(path string) { c.add(Neutral, path, "changed") }

func (c *comparison) addLoosening(path string) {
	c.add(Loosens, path, "changed, and may let more through")
}

// compareProxyMode compares what the proxy does with what it decides.
func (c *comparison) compareProxyMode(path string) {
	switch c.next.Proxy.Mode {
	case ProxyEnforce:
		c.add(Tightens, path, "is enforce")
	case ProxyOff:
		c.add(NeedsRestart, path, "can't be turned off in a running process")
	default:
		c.add(Loosens, path, "forwards every call")
	}
}

func (c *comparison) compareIncomplete(path string) {
	if c.next.Proxy.Incomplete == "block" {
		c.add(Tightens, path, "is block")
		return
	}
	c.add(Loosens, path, "has calls judged that were blocked")
}

// atMost compares numbers of which the smaller one lets less through.
func atMost(number func(*Config) int) func(*comparison, string) {
	return func(c *comparison, path string) {
		if number(c.next) < number(c.running) {
			c.add(Tightens, path, "lets less through")
			return
		}
		c.add(Loosens, path, "lets more through")
	}
}

// compareAgentCalls compares how many calls an agent may propose, with and without a number in its dispatch.
func (c *comparison) compareAgentCalls(path string) {
	was, is := c.running.Limits.Agent, c.next.Limits.Agent
	if is.Default() > was.Default() || is.Ceiling() > was.Ceiling() {
		c.add(Loosens, path, "lets more through")
		return
	}
	c.add(Tightens, path, "lets less through")
}

// compareAskTime compares how long people have. Counts are kept as long as the start said, so a
// longer time needs a restart.
func (c *comparison) compareAskTime(path string) {
	if c.next.Approvals.Timeout < c.running.Approvals.Timeout {
		c.add(Tightens, path, "is shorter")
		return
	}
	c.add(NeedsRestart, path, "can't be made longer in a running process")
}

func (c *comparison) compareDefault(path string) {
	if c.next.PermissionsDefault == Deny {
		c.add(Tightens, path, "is deny")
		return
	}
	c.add(Loosens, path, "allows what no rule matches")
}

func (c *comparison) compareSwitch(path string) {
	if c.next.Reload.AllowLoosening {
		c.add(Loosens, path, "is turned on: what the process started with counts")
		return
	}
	c.add(Tightens, path, "is turned off")
}

// compareForbidden finds forbidden paths that are forbidden no more.
func (c *comparison) compareForbidden(path string) {
	before := len(c.out)
	for i, p := range c.running.Guard.ForbidPaths {
		if !slices.Contains(c.next.Guard.ForbidPaths, p) {
			c.addGone(Loosens, fmt.Sprintf("%s[%d]", path, i), "is gone: calls may touch these paths")
		}
	}
	if len(c.out) == before {
		c.add(Tightens, path, "forbids what it forbade")
	}
}

// compareDomains finds domains that vouch for addresses and didn't.
func (c *comparison) compareDomains(path string) {
	before := len(c.out)
	for i, d := range c.next.Judge.OwnDomains {
		if !slices.Contains(c.running.Judge.OwnDomains, d) {
			c.add(Loosens, fmt.Sprintf("%s[%d]", path, i), "is new: it vouches for addresses")
		}
	}
	if len(c.out) == before {
		c.add(Tightens, path, "vouches for fewer addresses")
	}
}

// compareWho compares who may answer. All rules that match a call hold together, so new ones let no more people
// answer, and no fewer suffice, where each running rule is covered by one that matches the same calls and
// says no less.
func (c *comparison) compareWho(path string) {
	before := len(c.out)
	for i, r := range c.running.Approvals.Who {
		if !slices.ContainsFunc(c.next.Approvals.Who, r.isCoveredBy) {
			c.addGone(Loosens, fmt.Sprintf("%s[%d]", path, i), "of the running configuration is gone, or says less now")
		}
	}
	if len(c.out) == before {
		c.add(Tightens, path, "lets no more people answer, and no fewer suffice")
	}
}

// isCoveredBy reports whether what a rule keeps out is kept out by another.
func (r WhoRule) isCoveredBy(by WhoRule) bool {
	sameCalls := coversSkill(cmp.Or(by.Skill, "*"), cmp.Or(r.Skill, "*")) && (by.Effect == "" || by.Effect == r.Effect) &&
		coversUsers(by.Users, r.Users)
	samePeople := len(r.Approvers) == 0 || len(by.Approvers) > 0 && !slices.ContainsFunc(by.Approvers, func(name string) bool {
		return !slices.Contains(r.Approvers, name)
	})
	return sameCalls && samePeople && by.Min >= r.Min && (by.ExcludeRequester || !r.ExcludeRequester)
}

// compareSkills compares skills by their digests, which cover the whole declaration.
func (c *comparison) compareSkills() {
	before := map[string]LoadedSkill{}
	for _, s := range c.running.Skills {
		before[s.Skill.Name()] = s
		c.gone[s.Skill.Name()] = true
	}
	for _, s := range c.next.Skills {
		name := s.Skill.Name()
		old, known := before[name]
		delete(c.gone, name)
		switch {
		case !known:
			c.out = append(c.out, Change{Loosens, SkillPath(name, ""), s.Pos, "is new"})
		case old.Known != s.Known || old.Skill.Digest() != s.Skill.Digest():
			c.out = append(c.out, Change{NeedsRestart, SkillPath(name, ""), s.Pos, "is declared otherwise; what runs it can't be exchanged"})
		}
	}
	for _, s := range c.running.Skills {
		if name := s.Skill.Name(); c.gone[name] {
			c.out = append(c.out, Change{Tightens, SkillPath(name, ""), s.Pos, "is gone: its calls are denied"})
		}
	}
}

// diffPaths returns the paths of what differs: keys of mappings one by one, lists as a whole.
func diffPaths(a, b reflect.Value, at string) (out []string) {
	switch {
	case a.Kind() == reflect.Struct && hasKeys(a.Type()):
		for i := range a.NumField() {
			f := a.Type().Field(i)
			key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			switch {
			case key != "-" && key != "":
				out = append(out, diffPaths(a.Field(i), b.Field(i), joinConfigPath(at, key))...)
			case at != "" && f.IsExported() && !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()):
				out = append(out, at) // made of what is written there, such as the text of a file
			}
		}
	case a.Kind() == reflect.Map:
		for _, k := range sortedKeys(a, b) {
			path, x, y := joinConfigPath(at, k), a.MapIndex(reflect.ValueOf(k)), b.MapIndex(reflect.ValueOf(k))
			if !x.IsValid() || !y.IsValid() {
				out = append(out, path)
				continue
			}
			out = append(out, diffPaths(x, y, path)...)
		}
	case !reflect.DeepEqual(a.Interface(), b.Interface()):
		out = append(out, at)
	}
	return out
}

// hasKeys reports whether a struct is a mapping of keys in a file.
func hasKeys(t reflect.Type) bool {
	for i := range t.NumField() {
		if _, ok := t.Field(i).Tag.Lookup("yaml"); ok {
			return true
		}
	}
	return false
}

// sortedKeys returns the keys of two maps of texts.
func sortedKeys(a, b reflect.Value) []string {
	var out []string
	for _, m := range []reflect.Value{a, b} {
		for _, k := range m.MapKeys() {
			out = append(out, k.String())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// coversSkill reports whether a pattern of skills matches all that another does.
func coversSkill(outer, inner string) bool {
	if outer == "*" || outer == inner {
		return true
	}
	o, err1 := skills.NewScope(outer)
	i, err2 := skills.NewScope(inner)
	if err1 != nil || err2 != nil {
		return false
	}
	ok, _ := i.Within(o)
	return ok
}

// coversUsers reports whether patterns of users match all that others do.
func coversUsers(outer, inner []string) bool {
	if len(outer) == 0 || len(inner) == 0 {
		return len(outer) == 0
	}
	return !slices.ContainsFunc(inner, func(u string) bool { return !slices.Contains(outer, u) })
}
