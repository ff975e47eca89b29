package command

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
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

// load reads a configuration that must be right.
func load(path string) (*config.Config, error) {
	if err := readable(path, "name the configuration with --config FILE"); err != nil {
		return nil, err
	}
	cfg, err := config.Load(path, config.Options{})
	if err != nil {
		return nil, invalid(path, err)
	}
	return cfg, nil
}

func invalid(path string, err error) error {
	return &failure{exitFailed, fmt.Errorf("the configuration has mistakes\n%w", err), "vedette validate " + path + " checks it again"}
}

// decider builds the checkpoint of a configuration that decides and runs nothing.
func (a *app) decider(path string, o assembly.DeciderOptions) (*assembly.Decider, error) {
	cfg, err := load(path)
	if err != nil {
		return nil, err
	}
	o.Log = a.logger()
	d, err := assembly.NewDecider(cfg, o)
	if err != nil {
		return nil, invalid(path, err)
	}
	return d, nil
}

// logger tells people what they must know while a command runs.
func (a *app) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
}
