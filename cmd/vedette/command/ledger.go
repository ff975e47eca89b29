package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// places is where the ledger, the key that verifies it and the keys that open
// the journal are.
type places struct {
	config, db, key, keys string
	load                  func(path string) (*config.Config, error)
}

func newLedger(a *app) *cobra.Command {
	p := &places{load: a.load}
	cmd := asGroup(&cobra.Command{
		Use:   "ledger",
		Short: "Read and verify the record of decisions",
		Long: `The ledger holds every decision and what became of it: codes, names and numbers,
no argument values. The commands read the database beside a running server.

The database and the keys are those of the configuration, or what --db, --key and
--keys name: then no configuration is read.`,
		Example: `  vedette ledger list --outcome deny --since 24h
  vedette ledger show 0199a1b2-c3d4
  vedette ledger verify --head heads/monday.txt`,
	}, newLedgerList(a, p), newLedgerShow(a, p), newLedgerVerify(a, p), newLedgerHead(a, p))
	f := cmd.PersistentFlags()
	f.StringVar(&p.config, "config", defaultConfig, "configuration `FILE`")
	f.StringVar(&p.db, "db", "", "database `FILE`, in place of the configuration's")
	f.StringVar(&p.key, "key", "", "public key `FILE` (ledger.pub), in place of the configuration's")
	f.StringVar(&p.keys, "keys", "", "key `FOLDER`, in place of the configuration's")
	return cmd
}

// fill takes from the configuration what no flag named.
func (p *places) fill(needKey, needKeys bool) error {
	if p.key == "" && p.keys != "" {
		p.key = filepath.Join(p.keys, "ledger.pub")
	}
	if p.db != "" && (p.key != "" || !needKey) && (p.keys != "" || !needKeys) {
		return nil
	}
	if p.db != "" && needKeys {
		return usage("with --db, name the key folder with --keys FOLDER")
	}
	if p.db != "" {
		return usage("with --db, name the public key with --key FILE")
	}
	cfg, err := p.load(p.config)
	if err != nil {
		var f *failure
		if errors.As(err, &f) && f.code == exitFailed {
			f.hint = "name the configuration with --config FILE, or the database with --db FILE"
		}
		return err
	}
	p.db = cfg.Ledger.Path
	if p.keys == "" {
		p.keys = cfg.Keys.Dir
	}
	if p.key == "" {
		p.key = filepath.Join(p.keys, "ledger.pub")
	}
	return nil
}

// publicKey reads the key that verifies the ledger.
func (p *places) publicKey() (string, error) {
	if err := readable(p.key, "name the ledger's public key with --key FILE; it is ledger.pub in the key folder"); err != nil {
		return "", err
	}
	b, err := os.ReadFile(p.key)
	if err != nil {
		return "", fmt.Errorf("%s can't be read: %w", p.key, cause(err))
	}
	return string(b), nil
}

func (p *places) reader(ctx context.Context) (*ledger.Reader, error) {
	r, err := ledger.OpenReader(ctx, p.db)
	return r, p.explain(err)
}

// explain adds what to do about a database that can't be read.
func (p *places) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrNoFile):
		return &failure{
			exitFailed, fmt.Errorf("%s: no such database", p.db),
			"it is made when Vedette first decides a call; name another with --config FILE or --db FILE",
		}
	case errors.Is(err, ledger.ErrNoLedger):
		return &failure{exitFailed, fmt.Errorf("%s holds no ledger", p.db), "name Vedette's database with --config FILE or --db FILE"}
	}
	return &failure{exitFailed, err, "name Vedette's database with --config FILE or --db FILE"}
}

// when reads a moment: RFC 3339, a day, or how long ago.
func when(flag, s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, usage(fmt.Sprintf(
		"--%s %q: say a time such as 2026-01-02T15:04:05Z, a day such as 2026-01-02, or how long ago such as 24h", flag, s))
}

const timeLayout = "2006-01-02T15:04:05.000Z"
