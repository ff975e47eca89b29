package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/vedette-dev/vedette/skills"
)

// Warning is something in a configuration that is allowed and probably not meant.
type Warning struct {
	// Code is a closed word, for programs.
	Code string
	// Pos is where it stands.
	Pos Position
	// Msg says what it comes to, Advice what to do.
	Msg, Advice string
}

// effects are the keys of a table by effect.
var effects = []string{"read", "create", "modify", "irreversible", "costs_money"}

// Idle reports whether no call is judged. The mode is then off for every effect,
// and no skill has another mode of its own.
func (s Sentinel) Idle() bool {
	for _, e := range effects {
		mode, own := s.Modes.Effect[e]
		if !own {
			mode = s.Mode
		}
		if mode != Off {
			return false
		}
	}
	for _, mode := range s.Modes.Skill {
		if mode != Off {
			return false
		}
	}
	return true
}

// ListAssistants returns the assistants by name; the default one where none is configured.
func (c *Config) ListAssistants() map[string]Assistant {
	if len(c.Assistants) == 0 {
		return map[string]Assistant{DefaultAssistant: {Description: "Dispatches agents and answers."}}
	}
	return maps.Clone(c.Assistants)
}

// Warnings returns the settings that do nothing, or more than their author may
// know. They are in the order of the file.
func (c *Config) Warnings() []Warning {
	var out []Warning
	for _, look := range []func() (Warning, bool){
		c.idleModes, c.idleKeys, c.shortReview, c.noCache, c.openUnjudged, c.oneAddress, c.idleAskBelow, c.idleProfile,
	} {
		if w, found := look(); found {
			out = append(out, w)
		}
	}
	out = append(out, c.manyWarnings()...)
	slices.SortStableFunc(out, func(a, b Warning) int {
		return cmp.Or(
			cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Column, b.Pos.Column), cmp.Compare(a.Msg, b.Msg),
		)
	})
	return out
}

// foundWarning is newWarningAt for a check that finds one warning at most.
func (c *Config) foundWarning(code, path, msg, advice string) (Warning, bool) {
	return c.newWarningAt(path, code, msg, advice), true
}

// isWritten reports whether the value at path stands in a file.
func (c *Config) isWritten(path string) bool {
	_, ok := c.Pos(path)
	return ok
}

// idleModes finds modes that turn the whole review off.
func (c *Config) idleModes() (Warning, bool) {
	if c.Sentinel.Mode == Off || !c.Sentinel.Idle() {
		return Warning{}, false
	}
	return c.foundWarning("review_idle", "sentinel.modes.effect",
		"sentinel.modes turns the review off for every effect: the rules decide alone",
		"leave out the effects that shall be judged, or say so with sentinel.mode")
}

// idleProfile finds a profile that leaves no call out.
func (c *Config) idleProfile() (Warning, bool) {
	if c.Sentinel.Profile == Strict || c.Sentinel.Idle() || c.CountLowRisk() > 0 {
		return Warning{}, false
	}
	return c.foundWarning("profile_unused", "sentinel.profile",
		"sentinel.profile is "+c.Sentinel.Profile+", and no skill is marked risk: low, so every call is still judged",
		"mark the skills whose plain calls need no model, or leave out sentinel.profile")
}

// CountLowRisk returns how many skills are marked risk: low.
func (c *Config) CountLowRisk() int {
	n := 0
	for _, s := range c.Skills {
		if s.Skill.Risk() == skills.LowRisk {
			n++
		}
	}
	return n
}

// idleKeys finds what shapes a review that judges nothing.
func (c *Config) idleKeys() (Warning, bool) {
	s := c.where.root.get("sentinel")
	if !c.Sentinel.Idle() || s == nil || s.kind != mappingNode {
		return Warning{}, false
	}
	var keys []string
	for _, e := range s.entries {
		if e.key != "mode" && e.key != "modes" {
			keys = append(keys, e.key)
		}
	}
	if len(keys) == 0 {
		return Warning{}, false
	}
	return c.foundWarning("review_unused", "sentinel."+keys[0],
		"the review is off, so this under sentinel does nothing: "+strings.Join(keys, ", "),
		"turn the review on with sentinel.mode, or take it out")
}

// shortReview finds a review that gives up before a model of it does. A model
// that works as well may need its time there, within reason.
func (c *Config) shortReview() (Warning, bool) {
	s := c.Sentinel
	if s.Idle() || !c.isWritten("sentinel.timeout") {
		return Warning{}, false
	}
	for _, name := range slices.Concat(c.Roles["sentinel"], s.Escalate.To) {
		path := "models." + name + ".timeout"
		t := c.Models[name].Timeout
		least := t
		if slices.Contains(slices.Concat(c.Roles["orchestrator"], c.Roles["agent"]), name) {
			least = t / 10
		}
		if c.isWritten(path) && s.Timeout < least {
			return c.foundWarning("review_timeout", "sentinel.timeout",
				fmt.Sprintf("sentinel.timeout, %s, ends each review before %s, %s, does", s.Timeout, path, t),
				"raise it, or lower the model's; the models of a chain share it")
		}
	}
	return Warning{}, false
}

// noCache finds the size of a cache that holds nothing.
func (c *Config) noCache() (Warning, bool) {
	if c.Sentinel.Idle() || c.Sentinel.CacheTTL != 0 || !c.isWritten("sentinel.cache_size") {
		return Warning{}, false
	}
	return c.foundWarning("cache_off", "sentinel.cache_size", "sentinel.cache_size does nothing: cache_ttl is 0s, so no answer is kept",
		"give cache_ttl a time, or take cache_size out")
}

// openUnjudged finds calls that go ahead without a judgement. The writer of their
// arguments can bring that about.
func (c *Config) openUnjudged() (Warning, bool) {
	open := c.Sentinel.Unjudgeable.Open()
	if c.Sentinel.Idle() || len(open) == 0 {
		return Warning{}, false
	}
	return c.foundWarning("unjudgeable_allow", "sentinel.unjudgeable."+open[0],
		"calls go ahead that no model could judge, and the writer of their arguments can make it so: sentinel.unjudgeable allows "+
			strings.Join(open, ", "),
		"set them to ask or deny")
}

// idleAskBelow finds a judge that never asks a person: what scores so low is
// denied already. Zero says that on purpose.
func (c *Config) idleAskBelow() (Warning, bool) {
	ask, deny := c.Judge.AskBelow, c.Judge.Threshold
	if ask == 0 || ask >= deny {
		return Warning{}, false
	}
	path := "judge.ask_below"
	if !c.isWritten(path) {
		path = "judge.threshold"
	}
	return c.foundWarning("ask_below_idle", path,
		fmt.Sprintf("judge.ask_below, %.2f, is less than judge.threshold, %.2f: the judge denies such calls and never asks a person",
			float64(ask)/100, float64(deny)/100),
		"raise ask_below above the threshold, lower the threshold, or set ask_below to 0")
}

// Open returns the rows that say allow.
func (f Fallback) Open() []string {
	var out []string
	for i, cell := range []Action{f.Read, f.Create, f.Modify, f.Irreversible, f.CostsMoney, f.Outward} {
		if cell == Allow {
			out = append(out, append(slices.Clone(effects), "outward")[i])
		}
	}
	return out
}

// oneAddress finds two servers that want one address.
func (c *Config) oneAddress() (Warning, bool) {
	if !sameAddress(c.Telemetry.Metrics.Listen, c.Server.Listen) {
		return Warning{}, false
	}
	return c.foundWarning("listen_twice", "telemetry.metrics.listen",
		"telemetry.metrics.listen is the address of server.listen too: only one of them can have it",
		"give metrics another port, such as 9464")
}

// sameAddress reports whether two servers couldn't both listen. A host that is
// every interface holds all others.
func sameAddress(a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	if errA != nil || errB != nil || portA != portB || portA == "0" {
		return false
	}
	return hostA == hostB || isEveryInterface(hostA) || isEveryInterface(hostB) || isLoopback(hostA) && isLoopback(hostB)
}

// isEveryInterface reports whether a server at host listens on every interface.
func isEveryInterface(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "" || err == nil && ip.IsUnspecified()
}

// isLoopback reports whether host is this machine alone.
func isLoopback(host string) bool { return host == "localhost" || host == "127.0.0.1" }

// manyWarnings returns the warnings of which a configuration may have several.
func (c *Config) manyWarnings() []Warning {
	return slices.Concat(c.missingRoots(), c.missingForbidden(), c.blankForbidden(), c.openUnavailable(),
		c.believedServers(), c.unisolatedShells(), c.directWrites(), c.unmeetableSkills(), c.writtenSecrets())
}

// newWarningAt makes a warning of the place where path is written.
func (c *Config) newWarningAt(path, code, msg, advice string) Warning {
	at, _ := c.Pos(path)
	return Warning{code, at, msg, advice}
}

// missingRoots finds roots that are no folders.
func (c *Config) missingRoots() []Warning {
	var out []Warning
	for i, root := range c.Guard.Roots {
		if info, err := os.Stat(root); err != nil || !info.IsDir() {
			out = append(out, c.newWarningAt(fmt.Sprintf("guard.roots[%d]", i), "root_missing",
				fmt.Sprintf("guard.roots[%d] is no folder: every path argument is refused, or resolves to nothing", i),
				"make the folder, or correct the path"))
		}
	}
	return out
}

// missingForbidden finds patterns that can match nothing, since the folder that
// they begin in isn't there. A relative one begins in the configuration's folder.
func (c *Config) missingForbidden() []Warning {
	var out []Warning
	for i, p := range c.Guard.ForbidPaths {
		base, rest := doublestar.SplitPattern(p)
		if strings.HasPrefix(p, "**/") || rest == "" || c.blankEnds(i) || !filepath.IsAbs(filepath.FromSlash(base)) {
			continue
		}
		if _, err := os.Stat(filepath.FromSlash(base)); os.IsNotExist(err) {
			out = append(out, c.newWarningAt(fmt.Sprintf("guard.forbid_paths[%d]", i), "forbid_missing",
				fmt.Sprintf("guard.forbid_paths[%d] matches nothing: the folder that it begins in is not there", i),
				"begin it with **/ for any folder; a relative pattern begins in the configuration's folder, not in a root"))
		}
	}
	return out
}

// blankForbidden finds patterns with blanks around them. The blanks belong to the
// forbidden name, and a file is rarely called so.
func (c *Config) blankForbidden() []Warning {
	var out []Warning
	for i := range c.Guard.ForbidPaths {
		if c.blankEnds(i) {
			path := fmt.Sprintf("guard.forbid_paths[%d]", i)
			out = append(out, c.newWarningAt(path, "forbid_blanks", path+" begins or ends with a blank: it forbids only a name with that blank",
				"take the blank out"))
		}
	}
	return out
}

// blankEnds reports whether a forbidden pattern begins or ends with a blank.
func (c *Config) blankEnds(i int) bool {
	n, _ := c.where.findConfigPath(fmt.Sprintf("guard.forbid_paths[%d]", i))
	return n != nil && n.kind == scalarNode && strings.TrimSpace(n.text) != n.text
}

// openUnavailable finds grave calls that go ahead while no model can be reached.
func (c *Config) openUnavailable() []Warning {
	if c.Sentinel.Idle() {
		return nil
	}
	var out []Warning
	for _, row := range c.Sentinel.Unavailable.Open() {
		if row == "read" || row == "create" {
			continue
		}
		path := "sentinel.unavailable." + row
		out = append(out, c.newWarningAt(path, "unavailable_allow",
			path+" is allow: while no model can be reached such calls go ahead unjudged", "set it to ask, defer or deny"))
	}
	return out
}

// believedServers finds skills whose results come from a server and are believed.
func (c *Config) believedServers() []Warning {
	var out []Warning
	for _, s := range c.Skills {
		if s.Skill.Spec().Run.Kind == "http" && s.Skill.Spec().Output == skills.Trusted {
			path := SkillPath(s.Skill.Name(), "output")
			out = append(out, c.newWarningAt(path, "output_trusted",
				path+" is trusted, and the results come from a server: whatever it answers can name the target of a later call",
				"take it out, unless no one else can write what the server answers"))
		}
	}
	return out
}

// unisolatedShells finds skills that take a command line which nothing holds.
func (c *Config) unisolatedShells() []Warning {
	var out []Warning
	for _, s := range c.Skills {
		if !s.Skill.TakesShell() {
			continue
		}
		kind := s.Skill.Spec().Run.Kind
		path := SkillPath(s.Skill.Name(), "run."+kind)
		switch s.Skill.Confinement() {
		case skills.Unconfined:
			out = append(out, c.newWarningAt(path+".isolation", "shell_unconfined",
				path+".isolation is none: a person is asked about every command line that does more than read",
				"set isolation to auto, and list the folders that the program needs under read and write"))
		case skills.Undeclared:
			if kind == "http" {
				out = append(out, c.newWarningAt(path, "shell_elsewhere",
					path+" sends command lines to a service, and Vedette can't see what holds them there",
					"run them in a sandbox there, and say isolation: external"))
			}
		}
	}
	return out
}

// directWrites finds skills whose command lines write to their folders at once.
func (c *Config) directWrites() []Warning {
	var out []Warning
	for _, s := range c.Skills {
		run := s.Skill.Spec().Run
		var o struct {
			Write     []string `json:"write"`
			WriteMode string   `json:"write_mode"`
			Isolation string   `json:"isolation"`
		}
		if run.Kind != "exec" || !s.Skill.TakesShell() || json.Unmarshal(run.Options, &o) != nil || len(o.Write) == 0 {
			continue
		}
		path := SkillPath(s.Skill.Name(), "run.exec")
		switch {
		case o.WriteMode == "direct":
			out = append(out, c.newWarningAt(path+".write_mode", "write_direct",
				path+".write_mode is direct: what a command line removes or overwrites is gone, and no person sees it before",
				"take it out, so that changes are listed before they are true"))
		case o.WriteMode == "" && strings.HasPrefix(o.Isolation, "landlock"):
			out = append(out, c.newWarningAt(path+".isolation", "write_direct",
				path+".isolation has no snapshots: a person is asked about every command line that does more than read",
				"set isolation to auto"))
		}
	}
	return out
}

// unmeetableSkills finds skills that require what they don't let through.
func (c *Config) unmeetableSkills() []Warning {
	var out []Warning
	for _, s := range c.Skills {
		for _, name := range s.Skill.RequiredUndeclared() {
			path := SkillPath(s.Skill.Name(), "parameters.required")
			out = append(out, c.newWarningAt(path, "required_unknown",
				fmt.Sprintf("%s names %s, which is no property: every call is refused", path, quoteWord(name)),
				"correct the name, or declare the property"))
		}
	}
	return out
}

// writtenSecrets finds secrets that stand in a file and don't come from the
// environment. No message shows one.
func (c *Config) writtenSecrets() []Warning {
	var out []Warning
	warn := func(path string) {
		out = append(out, c.newWarningAt(path, "secret_written",
			path+" holds a secret in the file, where others read it and backups keep it", "take it from the environment: ${NAME}"))
	}
	for name := range c.Models {
		if path := "models." + name + ".api_key"; c.standsInFile(path) {
			warn(path)
		}
	}
	if c.standsInFile("limits.store.url") && hasPassword(c.Limits.Store.URL.Reveal()) {
		warn("limits.store.url")
	}
	for _, s := range c.Skills {
		run := s.Skill.Spec().Run
		var o struct {
			URL     string            `json:"url"`
			Headers map[string]string `json:"headers"`
			SMTP    struct {
				Password string `json:"password"`
			} `json:"smtp"`
		}
		_ = json.Unmarshal(run.Options, &o) // its package reports what is wrong with them
		for name := range o.Headers {
			if path := SkillPath(s.Skill.Name(), "run."+run.Kind+".headers."+name); isSecretHeader(name) && c.standsInFile(path) {
				warn(path)
			}
		}
		if path := SkillPath(s.Skill.Name(), "run."+run.Kind+".url"); hasPassword(o.URL) && c.standsInFile(path) {
			warn(path)
		}
		if path := SkillPath(s.Skill.Name(), "run."+run.Kind+".smtp.password"); o.SMTP.Password != "" && c.standsInFile(path) {
			warn(path)
		}
	}
	return out
}

// standsInFile reports whether a text stands in the file as it is.
func (c *Config) standsInFile(path string) bool {
	n, _ := c.where.findConfigPath(path)
	return n != nil && n.kind == scalarNode && !n.outside && strings.TrimSpace(n.text) != "" && !strings.Contains(n.raw, "${")
}

// isSecretHeader reports whether a header of that name holds a secret as a rule.
func isSecretHeader(name string) bool {
	name = strings.ToLower(name)
	words := []string{"authorization", "token", "secret", "api-key", "apikey", "password"}
	return name == "cookie" || slices.ContainsFunc(words, func(w string) bool { return strings.Contains(name, w) })
}

// hasPassword reports whether an address holds user:password@.
func hasPassword(address string) bool {
	_, rest, ok := strings.Cut(address, "://")
	host, _, _ := strings.Cut(rest, "/")
	at := strings.LastIndexByte(host, '@')
	return ok && at > 0 && strings.Contains(host[:at], ":") && !strings.HasSuffix(host[:at], ":")
}

// ConversationIntent is what the trusted intent of a request is to conversations that no assistant leads: required, advisory or off.
// Without intent.conversations it is the strictest that any assistant has, so no way past an assistant is a wider one.
func (c *Config) ConversationIntent() string {
	if c.Intent.Conversations != "" {
		return c.Intent.Conversations
	}
	strictest := "off"
	for _, a := range c.Assistants {
		if a.Intent == "required" || a.Intent == "advisory" && strictest == "off" {
			strictest = a.Intent
		}
	}
	return strictest
}
