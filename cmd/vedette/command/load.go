package command

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/skills"
)

const defaultConfig = "vedette.yaml"

func configFlag(cmd *cobra.Command, into *string) {
	cmd.Flags().StringVar(into, "config", defaultConfig, "configuration `FILE`")
}

// readable tells a file that can't be read from one that is wrong.
func readable(path, hint string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &failure{exitFailed, fmt.Errorf("%s: no such file", path), hint}
	case err != nil:
		return &failure{exitFailed, fmt.Errorf("%s can't be read: %w", path, cause(err)), hint}
	case info.IsDir():
		return &failure{exitFailed, fmt.Errorf("%s is a folder, not a file", path), hint}
	}
	return nil
}

// cause is an error without the path that its message repeats.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// load reads a configuration that must be right, with the skills of the program.
func (a *app) load(path string) (*config.Config, error) {
	if err := readable(path, "name the configuration with --config FILE"); err != nil {
		return nil, err
	}
	cfg, err := config.Load(path, a.configOptions())
	if err != nil { // all mistakes at once, those of later checks too
		return nil, invalid(path, cmp.Or(assembly.CheckDraft(config.Inspect(path, a.configOptions())), err))
	}
	return cfg, nil
}

// configOptions add what the program registers: it is judged like what a file
// declares.
func (a *app) configOptions() config.Options {
	o := config.Options{Program: make([]*skills.Skill, len(a.opts.Skills))}
	for i, g := range a.opts.Skills {
		o.Program[i] = g.Skill()
	}
	return o
}

func invalid(path string, err error) error {
	return &failure{exitFailed, fmt.Errorf("the configuration has mistakes\n%w", err), "vedette validate " + path + " checks it again"}
}

// decider builds the checkpoint of a configuration that decides and runs nothing.
func (a *app) decider(path string, o assembly.DeciderOptions) (*assembly.Decider, error) {
	cfg, err := a.load(path)
	if err != nil {
		return nil, err
	}
	return a.deciderOf(cfg, path, o)
}

func (a *app) deciderOf(cfg *config.Config, path string, o assembly.DeciderOptions) (*assembly.Decider, error) {
	o.Log, o.NoReview = a.logger(), o.NoReview || a.opts.NoReview
	d, err := assembly.NewDecider(cfg, o)
	if err != nil {
		return nil, invalid(path, err)
	}
	return d, nil
}

// logger tells people what they must know while a command runs.
func (a *app) logger() *slog.Logger {
	if a.opts.Log != nil {
		return a.opts.Log
	}
	return slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
}
