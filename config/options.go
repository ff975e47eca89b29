package config

import (
	"io/fs"
	"path/filepath"
	"time"

	"github.com/vedette-dev/vedette/skills"
)

// Limits on what is read.
const (
	// MaxFile is the greatest size of one file in bytes.
	MaxFile = 1 << 20
	// MaxFiles is the greatest number of files in one configuration.
	MaxFiles = 1000
	// MaxIncludes is the greatest depth of includes.
	MaxIncludes = 64
)

// Options configures Load and Parse; its zero value is useful.
type Options struct {
	// Env looks up ${NAME}. If nil, os.LookupEnv.
	Env func(name string) (string, bool)
	// FS holds the files that a configuration given to Parse includes. Their names
	// are relative to the folder of Parse's name. If nil, Parse refuses includes.
	// Load reads from disk and ignores it.
	FS fs.FS
	// Dir is the folder that other paths of a configuration given to Parse are
	// relative to. If empty, the working directory. Load ignores it.
	Dir string
	// KnownSkills are skills that are registered elsewhere, such as in Go. Rules
	// may name them, and no file may declare them again. The calls of the
	// orchestrator (agent.dispatch and its like) are among them anyway.
	KnownSkills []string
	// Program are the skills that the program registers, such as GoSkill.Skill of
	// those in orchestrator.Options. They are checked and judged like skills of a
	// file, and Config.Skills holds them with Known set. What stands of them under
	// skills.known must agree: see skills.Agree.
	Program []*skills.Skill
	// Protect are more files and folders that must not lie inside a guard
	// root. The running executable is always among them.
	Protect []string
}

// Default returns the configuration that holds with no file at all: no models,
// no skills, no roots, safe everywhere. Its paths are relative to the working
// directory.
func Default() *Config {
	c := defaultConfig()
	abs := func(p string) string {
		if full, err := filepath.Abs(p); err == nil {
			return full
		}
		return p // no working directory: the open of the file will say so
	}
	c.Ledger.Path = abs(c.Ledger.Path)
	if c.Ledger.Sink != "" {
		c.Ledger.Sink = abs(c.Ledger.Sink)
	}
	c.Keys.Dir = abs(c.Keys.Dir)
	c.where = newIndex("")
	return c
}

// defaultConfig returns the configuration of an empty file.
func defaultConfig() *Config {
	return &Config{
		Version:            1,
		PermissionsDefault: Allow,
		Judge:              Judge{Threshold: 30, AskBelow: 50, Habits: "off"},
		Sentinel:           sentinelDefaults(),
		Limits:             limitDefaults(),
		Agents:             Agents{Timeout: time.Minute, HelpTimeout: 5 * time.Minute, WaveTimeout: 2 * time.Minute},
		Approvals:          Approvals{Timeout: 5 * time.Minute, Pending: Pending{User: 20, Conversation: 5, Process: 10_000}},
		Ledger:             Ledger{Driver: "sqlite", Path: "vedette.db", Values: ValuesKeys},
		Journal:            Journal{Retention: 7 * 24 * time.Hour},
		Keys:               Keys{Dir: "vedette-keys"},
		Server:             serverDefaults(),
		Proxy:              proxyDefaults(),
		Telemetry:          telemetryDefaults(),
	}
}

// modelDefaults are the defaults of one entry under models.
func modelDefaults() Model {
	return Model{Timeout: time.Minute, Tools: true, JSONSchema: true, MaxResponse: 8 << 20, Concurrency: 64}
}

// MaxPrompt is the greatest size in bytes of the file that sentinel.prompt names.
const MaxPrompt = 16 << 10
