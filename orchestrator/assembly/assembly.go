package assembly

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/limits"
	"github.com/vedette-dev/vedette/limits/redisstore"
	"github.com/vedette-dev/vedette/orchestrator/admission"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/pause"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/sentinel/store/keys"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/leak"
	"github.com/vedette-dev/vedette/skills/run/exec"
	"github.com/vedette-dev/vedette/skills/warrant"
)

// maxValue is the journal's bound for one value in bytes: arguments and results
// have up to 1 MiB each, which escapes of JSON can make six times as long.
const maxValue = 16 << 20

// Native is a skill that the program itself runs.
type Native struct {
	Spec skills.Spec
	Run  skills.RunFunc
}

// Options are what a program adds to the configuration.
type Options struct {
	Skills   []*skills.GoSkill
	Natives  []Native
	Approver sentinel.Approver
	// Readmit is sentinel.Options.Readmit.
	Readmit func(ctx context.Context, c sentinel.Call) error
	Observe func(sentinel.Event)
	// NoReview leaves the model review out; every decision says so.
	NoReview bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	Log *slog.Logger
	// Lookup resolves the hosts that skills go to; nil means the system's
	// resolver. What it answers is judged like the system's answers.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// Credentials finds credentials that the configuration leaves to the program
	// (credentials: {name: {program: true}}). Build refuses those without it.
	Credentials skills.CredentialResolver
	// ObserveLimits is told when the server of limits.store goes away and comes
	// back, for metrics. It must not block.
	ObserveLimits func(redisstore.Event)
	// ObserveReview is told of the review's requests, verdicts and breakers, for
	// metrics and traces.
	ObserveReview review.Observer
	// ObserveModel is told of each question of agents and orchestrator to a
	// model, when it is over, for metrics and traces. It must not block.
	ObserveModel func(context.Context, ModelEvent)
	// ObserveRecord is told of each record of a decision or an outcome, when it
	// is durable or could not be made so, for metrics. It must not block.
	ObserveRecord func(kind string, took time.Duration, err error)
	// TraceReview, if set, is called when a review begins; what it returns is
	// the context of all that belongs to it, and is told of its end.
	TraceReview func(context.Context) (context.Context, func(sentinel.Verdict, error))
	// ObserveLeak is told of calls that left goroutines running, for metrics.
	// It must not block.
	ObserveLeak func(leak.Leak)
	// Supervised leaves it to the caller to run the Services.
	Supervised bool
	// Maintain says when values whose retention is over are erased, after the
	// time at start; nil means every ten minutes.
	Maintain <-chan time.Time

	canSnapshot func(folder string) error // nil: it isn't tried
}

// Parts is everything that was built. Close releases it.
type Parts struct {
	Config     *config.Config
	Registry   *skills.Registry
	Checkpoint *sentinel.Checkpoint
	Roster     *llm.Roster
	Store      *store.Store
	Ledger     *ledger.Ledger
	Journal    *journal.Journal
	Keys       *keys.Keys
	Pauses     *pause.Switch
	// Review is the gate that asks models; nil where it is left out.
	Review *review.Gate

	limits   *counters
	ask      map[string]askable
	pools    []*admission.Pool
	held     []string // calls whose changes waited for a person when the process started
	recorder recorder
	upkeep   *maintenance
	birds    *maintenance // asks the review's models what is known
	leaks    *leak.Watch
	ticks    <-chan time.Time
	untold   chan struct{} // wakes the maintenance: the ledger isn't told yet of some refused proposals
	now      func() time.Time
	log      *slog.Logger
}

// Build opens the store and the keys and assembles a Checkpoint that can run
// skills. Calls that an earlier process left unfinished get an outcome in the
// ledger, unknown; until Close, values are erased as their retention ends.
// Mistakes in the configuration are returned all at once, each with
// its place in the file.
func Build(ctx context.Context, cfg *config.Config, o Options) (*Parts, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := checkResolver(cfg, o); err != nil {
		return nil, cfg.Locate(err)
	}
	p := &Parts{
		Config: cfg, now: o.Now, log: o.Log, ticks: o.Maintain, untold: make(chan struct{}, 1),
		leaks: leak.New(leak.Options{Log: o.Log, Report: o.ObserveLeak}),
	}
	o.Observe = p.watched(o.Observe)
	if err := p.open(ctx, o); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	if err := p.assemble(ctx, cfg, o); err != nil {
		return nil, errors.Join(cfg.Locate(err), p.Close())
	}
	if err := p.settleLayers(ctx); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	if err := p.settleInterrupted(ctx); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	p.limits.greet(ctx, o.Log)
	if !o.Supervised {
		p.maintain(ctx)
		p.watchCanaries(ctx)
	}
	return p, nil
}

// open brings up keys, store, ledger and journal.
func (p *Parts) open(ctx context.Context, o Options) (err error) {
	cfg := p.Config
	if p.Keys, err = keys.LoadOrCreate(cfg.Keys.Dir); err != nil {
		return err
	}
	if p.Store, err = store.Open(ctx, store.Options{Path: cfg.Ledger.Path, Driver: cfg.Ledger.Driver}); err != nil {
		return fmt.Errorf("the database %s can't be opened: %w", cfg.Ledger.Path, err)
	}
	signer, err := ledger.NewSigner(p.Keys.Ledger())
	if err != nil {
		return err
	}
	if p.Ledger, err = ledger.Open(ctx, p.Store, signer, ledger.Options{Now: o.Now}); err != nil {
		return err
	}
	p.Journal, err = journal.Open(ctx, p.Store, journal.SingleKey(p.Keys.Journal()), journal.Options{
		Retention: cfg.Journal.Retention, MaxData: maxValue, Now: o.Now,
	})
	if err != nil {
		return err
	}
	p.recorder = recorder{p.Store, p.Ledger, p.Journal, cfg.Journal.Retention, o.Now}
	return nil
}

// openPauses brings up the kill switch: of all processes where they share a
// server, of this one otherwise.
func (p *Parts) openPauses(ctx context.Context, o Options) (err error) {
	po := pause.Options{Now: o.Now, Log: o.Log, Supervised: o.Supervised}
	if p.limits.redis != nil {
		po.Shared = p.limits.redis.Hash("pauses")
	}
	p.Pauses, err = pause.Open(ctx, p.Store, p.Ledger, po)
	return err
}

func (p *Parts) assemble(ctx context.Context, cfg *config.Config, o Options) error {
	sign, verify, err := warrant.NewPair(warrant.Options{Now: o.Now})
	if err != nil {
		return err
	}
	o.canSnapshot = canSnapshot(ctx, cfg)
	reg, natives, err := registry(cfg, o)
	if err != nil {
		return err
	}
	warnOfUnregistered(cfg, o)
	p.Registry = reg
	tokens, err := p.tokens()
	if err != nil {
		return err
	}
	execs, execErr := buildExecutors(cfg, o, natives, verify, token(tokens, o.Now))
	roster, rosterErr := newRoster(cfg, nil)
	p.Roster = roster
	if err := errors.Join(execErr, rosterErr); err != nil {
		return err
	}
	if p.limits, err = newCounters(cfg, o); err != nil {
		return err
	}
	gs, err := gates(cfg, reg, roster, gateOptions{
		noReview: o.NoReview, cacheTTL: cfg.Sentinel.CacheTTL, now: o.Now, log: o.Log, env: environment(cfg, false),
		purse: p.limits.purse(), observer: o.ObserveReview, noUndo: listNoUndo(cfg, o.canSnapshot, o.Log),
	})
	if err != nil {
		return err
	}
	for i, g := range gs {
		if r, ok := g.(*review.Gate); ok {
			p.Review, gs[i] = r, traced(r, o.TraceReview)
		}
	}
	p.ask = p.models(cfg, o.ObserveModel)
	away, err := awayTable(cfg)
	if err != nil {
		return err
	}
	if err := p.openPauses(ctx, o); err != nil {
		return err
	}
	p.Checkpoint, err = sentinel.New(sentinel.Options{
		Registry: reg, Gates: gs, Env: environment(cfg, false), Limiter: limiter{p.limits, o.Log}, LimitsAway: away,
		Approver: o.Approver, AskTimeout: cfg.Approvals.Timeout, Readmit: o.Readmit,
		Pending: sentinel.PendingLimits(cfg.Approvals.Pending),
		Pauser:  p.Pauses, Recorder: timed(p.recorder, o), History: p.recorder, Follows: exec.Layers{State: snapshotFolder(cfg)},
		Issuer: sign, Executors: execs, Queues: p.queues(cfg, execs, natives),
		DigestKey: p.Keys.Digest(), Values: sentinel.ValuesMode(cfg.Ledger.Values), PolicyDigest: cfg.Digest(),
		Observe: o.Observe, Now: o.Now, Log: o.Log,
	})
	return err
}

// tokens signs what goes along with an effect that leaves the process. The key
// id is a hash of the public key, so that receivers can hold several.
func (p *Parts) tokens() (*warrant.HTTPSigner, error) {
	sum := sha256.Sum256(p.Keys.WarrantPublic())
	return warrant.NewHTTPSigner(p.Keys.Warrant(), hex.EncodeToString(sum[:8]))
}

// registry compiles every skill there is and finds names that stand twice.
func registry(cfg *config.Config, o Options) (*skills.Registry, map[string]skills.RunFunc, error) {
	list, err := declared(cfg, o)
	if err != nil {
		return nil, nil, err
	}
	run := map[string]skills.RunFunc{}
	for _, n := range o.Natives {
		s, err := skills.Compile(n.Spec)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, s)
		run[s.Name()] = n.Run
	}
	if needsCommit(cfg) {
		s, err := skills.Compile(exec.CommitSpec())
		if err != nil {
			return nil, nil, err
		}
		list = append(list, s)
	}
	reg, err := skills.NewRegistry(list...)
	return reg, run, err
}

// declared are the skills of the configuration and of the program. One that the
// configuration only knows is the program's where that registers it, and what
// both say of it must agree.
func declared(cfg *config.Config, o Options) ([]*skills.Skill, error) {
	program := make(map[string]*skills.Skill, len(o.Skills))
	for _, g := range o.Skills {
		program[g.Skill().Name()] = g.Skill()
	}
	var list []*skills.Skill
	var errs []error
	for _, s := range cfg.Skills {
		runs := program[s.Skill.Name()]
		switch {
		case !s.Known || runs == nil:
			list = append(list, s.Skill)
		default:
			errs = append(errs, cfg.LocateSkill(s.Skill.Name(), skills.Agree(s.Skill, runs)))
		}
	}
	for _, g := range o.Skills {
		list = append(list, g.Skill())
	}
	return list, errors.Join(errs...)
}

// warnOfUnregistered tells of skills that the program was to register.
func warnOfUnregistered(cfg *config.Config, o Options) {
	for _, s := range cfg.Skills {
		if s.Known && !slices.ContainsFunc(o.Skills, func(g *skills.GoSkill) bool { return g.Skill().Name() == s.Skill.Name() }) {
			o.Log.Warn("a skill under skills.known is registered by no part of the program: its calls can't run; register it in Options.Skills",
				"skill", s.Skill.Name())
		}
	}
}

// Close ends the maintenance and closes the store, once what was submitted is
// durable, and the connections to models and to the server of the limits.
func (p *Parts) Close() error {
	p.upkeep.stop()
	p.birds.stop()
	if p.Pauses != nil {
		p.Pauses.Close()
	}
	p.leaks.Close()
	p.tellLast()
	if p.Roster != nil {
		p.Roster.Close()
	}
	err := p.limits.close()
	if p.Store == nil {
		return err
	}
	return errors.Join(err, p.Store.Close())
}

// Model returns the model of a role: its chain, in order.
func (p *Parts) Model(role string) (agents.Model, error) {
	list, err := p.Roster.ForRole(role)
	if err != nil || len(list) == 0 {
		return nil, fmt.Errorf("roles.%s names no model; add one under models and name it there", role)
	}
	chain := make(agents.Chain, len(list))
	for i, m := range list {
		chain[i] = p.ask[m.Name()]
	}
	return chain, nil
}

// NamedModel returns a model by its name in the configuration.
func (p *Parts) NamedModel(name string) (agents.Model, bool) {
	m, ok := p.ask[name]
	if !ok {
		return nil, false
	}
	return m, true
}

// Limits returns how the server of limits.store was reached so far, for
// metrics; ok is false where limits are counted in memory.
func (p *Parts) Limits() (s redisstore.Stats, ok bool) {
	if p.limits == nil || p.limits.redis == nil {
		return redisstore.Stats{}, false
	}
	return p.limits.redis.Stats(), true
}

// EndTurn forgets what was counted for a turn that is over.
func (p *Parts) EndTurn(ctx context.Context, g sentinel.Grant) {
	err := p.limits.endTurn(ctx, limits.Proposal{User: g.User(), Conversation: g.Conversation(), Turn: g.Turn(), Agent: g.ID()})
	if err != nil {
		p.log.Warn("the counts of a turn could not be dropped", "error", err)
	}
	p.hurrySuppressed(g.User(), g.Conversation())
}

// EndConversation forgets what was counted for the turns of a conversation that
// is at rest. Its calls of the last minutes stay counted.
func (p *Parts) EndConversation(ctx context.Context, user, conversation string) {
	if err := p.limits.endConversation(ctx, limits.Proposal{User: user, Conversation: conversation}); err != nil {
		p.log.Warn("the counts of a conversation could not be dropped", "error", err)
	}
	p.hurrySuppressed(user, conversation)
}
