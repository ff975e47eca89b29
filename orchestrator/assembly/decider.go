package assembly

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/permission"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/skills/warrant"
)

// DeciderOptions shape a Checkpoint that only decides.
type DeciderOptions struct {
	// NoReview leaves the model review out.
	NoReview bool
	// NoFS keeps symbolic links from being followed: for calls whose files
	// are on another machine.
	NoFS bool
	// Transport, where it is set, carries the requests of the model of that name. It is for
	// what records or answers them without a server. Nil means connections to the servers.
	Transport func(model string) http.RoundTripper
	// Natives adds the orchestrator's own skills: for calls that were recorded where it ran.
	Natives bool
	// WrapReview, where it is set, returns what stands in the place of the review.
	WrapReview func(*review.Gate) sentinel.Gate
	Now        func() time.Time
	Log        *slog.Logger
}

// Decider is a Checkpoint that decides and runs nothing: it has no store, no
// executor and no approver. The commands check, eval, explain, replay, test and validate use
// it.
type Decider struct {
	*sentinel.Checkpoint
	rules   *permission.Gate
	review  *review.Gate
	roster  *llm.Roster
	closers []func()
}

// Rules tells what every permission rule says of a call: see
// permission.Explained, which holds values.
func (d *Decider) Rules(ctx context.Context, c sentinel.Call) []permission.Explained {
	return d.rules.Explain(ctx, c)
}

// Review returns the gate that asks models, nil where it is left out. It keeps
// no answer and counts in no budget.
func (d *Decider) Review() *review.Gate { return d.review }

// Model returns a model by its name in the configuration.
func (d *Decider) Model(name string) (*llm.Client, bool) { return d.roster.Lookup(name) }

// LintRules looks through the permission rules of a configuration for those
// without effect.
func LintRules(cfg *config.Config) ([]permission.LintFinding, error) {
	reg, _, err := newRegistry(cfg, Options{})
	if err != nil {
		return nil, cfg.Locate(err)
	}
	found, err := permission.Lint(permission.Options{
		Rules: listRules(cfg), Default: string(cfg.PermissionsDefault), Registry: reg,
		Known: append(listOrchestratorCalls(), cfg.Proxy.KnownTools()...),
	})
	return found, cfg.Locate(err)
}

// Close drops the connections to models.
func (d *Decider) Close() {
	for _, c := range d.closers {
		c()
	}
}

// NewDecider builds the gates of a configuration. It opens no store and makes
// no key. Mistakes are returned all at once, each with its place.
func NewDecider(cfg *config.Config, o DeciderOptions) (*Decider, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	var natives []Native
	if o.Natives {
		for _, spec := range NativeSpecs() {
			natives = append(natives, Native{Spec: spec})
		}
	}
	reg, _, err := newRegistry(cfg, Options{Natives: natives})
	if err != nil {
		return nil, cfg.Locate(err)
	}
	roster, rosterErr := newRoster(cfg, o.Transport)
	env := newEnvironment(cfg, o.NoFS)
	gs, err := newGates(cfg, reg, roster, gateOptions{
		noReview: o.NoReview || rosterErr != nil, // without models the other gates can still tell their mistakes
		apart:    true, now: o.Now, log: o.Log, env: env, noUndo: listNoUndo(cfg, nil, o.Log),
	})
	shown, evidenceErr := newEvidenceOptions(cfg.Sentinel)
	if err := errors.Join(rosterErr, err, evidenceErr, checkIntents(cfg, roster, reg)); err != nil {
		return nil, cfg.Locate(err)
	}
	d := &Decider{roster: roster, closers: []func(){roster.Close}}
	d.keepGates(gs, o.WrapReview)
	d.Checkpoint, err = sentinel.New(sentinel.Options{Registry: reg, Gates: gs, Env: env, Evidence: shown, PolicyDigest: cfg.Digest(),
		Now: o.Now, Log: o.Log})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// keepGates keeps the gates that are asked beside the Checkpoint, and puts what stands in for the
// review into its place.
func (d *Decider) keepGates(gs []sentinel.Gate, wrap func(*review.Gate) sentinel.Gate) {
	for i, g := range gs {
		switch g := g.(type) {
		case *permission.Gate:
			d.rules = g
		case *review.Gate:
			if d.review = g; wrap != nil {
				gs[i] = wrap(g)
			}
		}
	}
}

// CheckDraft is Check for a configuration that may have mistakes. It returns the mistakes
// of the reading and, of what could be read, all that Check would find. What follows from a
// mistake is left out.
func CheckDraft(d *config.Draft) error {
	if d.Config == nil {
		return d.Err(nil)
	}
	_, verify, err := warrant.NewPair(warrant.Options{})
	if err != nil {
		return err
	}
	whole := *d.Config
	whole.Skills = slices.Concat(d.Config.Skills, d.Unsure)
	_, execErr := newExecutors(&whole, Options{}, nil, verify, nil)
	reg, _, regErr := newRegistry(d.Config, Options{})
	roster, rosterErr := newRoster(d.Config, nil)
	var gateErr, intentErr error
	if regErr == nil {
		intentErr = checkIntents(d.Config, roster, reg)
		_, gateErr = newGates(d.Config, reg, roster, gateOptions{
			noReview: rosterErr != nil, apart: true, log: slog.New(slog.DiscardHandler), env: newEnvironment(d.Config, false),
			elsewhere: d.Names, partial: d.Partial,
		})
	}
	if roster != nil {
		roster.Close()
	}
	return d.Err(d.Config.Locate(errors.Join(execErr, regErr, rosterErr, gateErr, intentErr, checkLimitStore(d.Config),
		checkApprovalPolicy(d.Config), checkChannels(d.Config), checkAnchors(d.Config), checkAlerts(d.Config))))
}

// Check builds everything that a configuration describes, the ways to run its
// skills included, and runs, opens and makes nothing. It returns every mistake,
// each with its place.
func Check(cfg *config.Config) error {
	_, verify, err := warrant.NewPair(warrant.Options{})
	if err != nil {
		return err
	}
	_, execErr := newExecutors(cfg, Options{}, nil, verify, nil)
	d, err := NewDecider(cfg, DeciderOptions{})
	if d != nil {
		d.Close()
	}
	return errors.Join(err, cfg.Locate(execErr), cfg.Locate(errors.Join(checkLimitStore(cfg), checkApprovalPolicy(cfg), checkChannels(cfg),
		checkAnchors(cfg), checkAlerts(cfg))))
}
