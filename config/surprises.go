package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/vedette-dev/vedette/skills"
)

// manyWarnings are those of which a configuration may have several.
func (c *Config) manyWarnings() []Warning {
	return slices.Concat(c.silentServer(), c.missingRoots(), c.missingForbidden(), c.blankForbidden(), c.openUnavailable(),
		c.believedServers(), c.unisolatedShells(), c.directWrites(), c.unmeetable(), c.writtenSecrets())
}

func (c *Config) warnAt(path, code, msg, advice string) Warning {
	at, _ := c.Pos(path)
	return Warning{code, at, msg, advice}
}

// silentServer finds an address on which nothing listens yet.
func (c *Config) silentServer() []Warning {
	if !c.written("server.listen") {
		return nil
	}
	return []Warning{c.warnAt("server.listen", "server_unused", "server.listen does nothing yet: this version has no HTTP server",
		"take it out, or leave it for the version that has one")}
}

// missingRoots finds roots that are no folders.
func (c *Config) missingRoots() []Warning {
	var out []Warning
	for i, root := range c.Guard.Roots {
		if info, err := os.Stat(root); err != nil || !info.IsDir() {
			out = append(out, c.warnAt(fmt.Sprintf("guard.roots[%d]", i), "root_missing",
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
			out = append(out, c.warnAt(fmt.Sprintf("guard.forbid_paths[%d]", i), "forbid_missing",
				fmt.Sprintf("guard.forbid_paths[%d] matches nothing: the folder that it begins in is not there", i),
				"begin it with **/ for any folder; a relative pattern begins in the configuration's folder, not in a root"))
		}
	}
	return out
}

// blankForbidden finds patterns with blanks around them, which belong to the name
// that is forbidden: a file is rarely called so.
func (c *Config) blankForbidden() []Warning {
	var out []Warning
	for i := range c.Guard.ForbidPaths {
		if c.blankEnds(i) {
			path := fmt.Sprintf("guard.forbid_paths[%d]", i)
			out = append(out, c.warnAt(path, "forbid_blanks", path+" begins or ends with a blank: it forbids only a name with that blank",
				"take the blank out"))
		}
	}
	return out
}

func (c *Config) blankEnds(i int) bool {
	n, _ := c.where.find(fmt.Sprintf("guard.forbid_paths[%d]", i))
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
		out = append(out, c.warnAt(path, "unavailable_allow",
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
			out = append(out, c.warnAt(path, "output_trusted",
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
			out = append(out, c.warnAt(path+".isolation", "shell_unconfined",
				path+".isolation is none: a person is asked about every command line that does more than read",
				"set isolation to auto, and list the folders that the program needs under read and write"))
		case skills.Undeclared:
			if kind == "http" {
				out = append(out, c.warnAt(path, "shell_elsewhere",
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
			out = append(out, c.warnAt(path+".write_mode", "write_direct",
				path+".write_mode is direct: what a command line removes or overwrites is gone, and no person sees it before",
				"take it out, so that changes are listed before they are true"))
		case o.WriteMode == "" && strings.HasPrefix(o.Isolation, "landlock"):
			out = append(out, c.warnAt(path+".isolation", "write_direct",
				path+".isolation has no snapshots: a person is asked about every command line that does more than read",
				"set isolation to auto"))
		}
	}
	return out
}

// unmeetable finds skills that require what they don't let through.
func (c *Config) unmeetable() []Warning {
	var out []Warning
	for _, s := range c.Skills {
		for _, name := range s.Skill.RequiredUndeclared() {
			path := SkillPath(s.Skill.Name(), "parameters.required")
			out = append(out, c.warnAt(path, "required_unknown",
				fmt.Sprintf("%s names %s, which is no property: every call is refused", path, quote(name)),
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
		out = append(out, c.warnAt(path, "secret_written",
			path+" holds a secret in the file, where others read it and backups keep it", "take it from the environment: ${NAME}"))
	}
	for name := range c.Models {
		if path := "models." + name + ".api_key"; c.literal(path) {
			warn(path)
		}
	}
	if c.literal("limits.store.url") && hasPassword(c.Limits.Store.URL.Reveal()) {
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
			if path := SkillPath(s.Skill.Name(), "run."+run.Kind+".headers."+name); secretHeader(name) && c.literal(path) {
				warn(path)
			}
		}
		if path := SkillPath(s.Skill.Name(), "run."+run.Kind+".url"); hasPassword(o.URL) && c.literal(path) {
			warn(path)
		}
		if path := SkillPath(s.Skill.Name(), "run."+run.Kind+".smtp.password"); o.SMTP.Password != "" && c.literal(path) {
			warn(path)
		}
	}
	return out
}

// literal reports whether a text stands in the file as it is.
func (c *Config) literal(path string) bool {
	n, _ := c.where.find(path)
	return n != nil && n.kind == scalarNode && !n.outside && strings.TrimSpace(n.text) != "" && !strings.Contains(n.raw, "${")
}

func secretHeader(name string) bool {
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
