package command

import (
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/cmd/vedette/setup"
	"github.com/vedette-dev/vedette/orchestrator/control"
	"github.com/vedette-dev/vedette/orchestrator/records"
)

const defaultConfig = "vedette.yaml"

func addConfigFlag(cmd *cobra.Command, into *string) {
	cmd.Flags().StringVar(into, "config", defaultConfig, "configuration `FILE`")
}

// places are the flags that say where a database and its keys are.
type places struct{ config, db, key, keys string }

// addProcessFlags adds the flags that find a running process.
func (p *places) addProcessFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.config, "config", defaultConfig, "configuration `FILE` of the process")
	cmd.Flags().StringVar(&p.db, "db", "", "database `FILE` of the process, in place of the configuration's")
}

// findSource takes from the configuration what no flag named.
func (p *places) findSource(program setup.Program, needKey, needKeys bool) (records.Source, error) {
	s := records.Source{Database: p.db, PublicKey: p.key, Keys: p.keys}
	if s.PublicKey == "" && s.Keys != "" {
		s.PublicKey = filepath.Join(s.Keys, "ledger.pub")
	}
	switch {
	case s.Database != "" && (s.PublicKey != "" || !needKey) && (s.Keys != "" || !needKeys):
		return s, nil
	case s.Database != "" && needKeys:
		return s, usageError("with --db, name the key folder with --keys FOLDER")
	case s.Database != "":
		return s, usageError("with --db, name the public key with --key FILE")
	}
	cfg, err := program.Load(p.config)
	if err != nil {
		return s, &failure{exitFailed, err, "name the configuration with --config FILE, or the database with --db FILE"}
	}
	s.Database = cfg.Ledger.Path
	if s.Keys == "" {
		s.Keys = cfg.Keys.Dir
	}
	if s.PublicKey == "" {
		s.PublicKey = filepath.Join(s.Keys, "ledger.pub")
	}
	return s, nil
}

// findProcess returns a client of the process that the flags find.
func (p *places) findProcess(program setup.Program) (*processClient, error) {
	s, err := p.findSource(program, false, false)
	if err != nil {
		return nil, err
	}
	return &processClient{setup.Dial(s.Database), s.Database}, nil
}

// processClient asks the process that runs on a database.
type processClient struct {
	*control.Client
	database string
}

// adviseOn adds what to do where no process answers.
func (c *processClient) adviseOn(err error) error {
	if errors.Is(err, control.ErrNotRunning) {
		return &failure{exitFailed, err, "it is found by its database, " + c.database + "; name another with --config FILE or --db FILE"}
	}
	return err
}
