// Package setup reads a configuration for a command. It names all mistakes at once,
// builds gates that only decide, and finds the process that runs on the database.
//
//	p := setup.Program{Skills: mySkills}
//	cfg, err := p.Load("vedette.yaml")
//	d, err := p.NewDecider(cfg, "vedette.yaml", false)
//	defer d.Close()
//
// Errors that an operator can do something about are *advice.Error.
//
// What not to do: don't read a configuration past Program.Load. It would not know the
// skills of the program.
package setup

import (
	"cmp"
	"log/slog"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/internal/advice"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/orchestrator/control"
	"github.com/vedette-dev/vedette/skills"
)

// Program is what a program adds to every configuration.
type Program struct {
	// Skills are the program's Go skills.
	Skills []*skills.GoSkill
	// Handlers and References are the program's own for intents: see orchestrator.Options.
	Handlers   map[string]assembly.IntentHandler
	References assembly.IntentResolver
	// NoReview leaves the model review out, whatever a command says.
	NoReview bool
	// Log gets what people must know while a command runs.
	Log *slog.Logger
}

// ConfigOptions add the program's skills: they are judged like what a file declares.
func (p Program) ConfigOptions() config.Options {
	o := config.Options{Program: make([]*skills.Skill, len(p.Skills))}
	for i, g := range p.Skills {
		o.Program[i] = g.Skill()
	}
	return o
}

// CheckReadable returns an *advice.Error where a configuration can't be read.
func CheckReadable(path string) error {
	return advice.CheckReadable(path, "name the configuration with --config FILE")
}

// Load reads a configuration that must be right. The error is an *advice.Error and
// names all mistakes at once, those of later checks too.
func (p Program) Load(path string) (*config.Config, error) {
	if err := CheckReadable(path); err != nil {
		return nil, err
	}
	cfg, err := config.Load(path, p.ConfigOptions())
	if err != nil {
		return nil, InvalidConfig(path, cmp.Or(assembly.CheckDraft(config.Inspect(path, p.ConfigOptions())), err))
	}
	return cfg, nil
}

// Reader returns Load of one path, for those that read it again.
func (p Program) Reader(path string) func() (*config.Config, error) {
	return func() (*config.Config, error) { return p.Load(path) }
}

// InvalidConfig returns the *advice.Error of a configuration with mistakes.
func InvalidConfig(path string, err error) error { return advice.InvalidConfig(path, err) }

// NewDecider builds the gates of a configuration that decide and run nothing. The
// caller closes them.
func (p Program) NewDecider(cfg *config.Config, path string, noReview bool) (*assembly.Decider, error) {
	d, err := assembly.NewDecider(cfg, assembly.DeciderOptions{Log: p.Log, NoReview: noReview || p.NoReview})
	if err != nil {
		return nil, InvalidConfig(path, err)
	}
	return d, nil
}

// Dial returns a client of the process that runs on a database. It connects with its
// first request.
func Dial(database string) *control.Client {
	return control.Dial(control.SocketPath(database), control.DatabaseOwner(database))
}

// FormatPlace writes a place in a configuration as file:line:column, without what is 0.
func FormatPlace(file string, line, column int) string {
	return config.Position{File: file, Line: line, Column: column}.String()
}
