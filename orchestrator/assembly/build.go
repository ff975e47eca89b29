package assembly

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/anchors"
	"github.com/vedette-dev/vedette/orchestrator/maintenance"
	"github.com/vedette-dev/vedette/orchestrator/models"
	"github.com/vedette-dev/vedette/orchestrator/policies"
	"github.com/vedette-dev/vedette/orchestrator/records/story"
	"github.com/vedette-dev/vedette/orchestrator/sink"
	"github.com/vedette-dev/vedette/orchestrator/skillqueue"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/pause"
	"github.com/vedette-dev/vedette/sentinel/recorder"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/sentinel/scope"
	"github.com/vedette-dev/vedette/sentinel/slots"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/sentinel/store/keys"
	"github.com/vedette-dev/vedette/sentinel/unfinished"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/leak"
	"github.com/vedette-dev/vedette/skills/run/exec"
	"github.com/vedette-dev/vedette/skills/run/http"
	"github.com/vedette-dev/vedette/skills/warrant"
)

// maxValue is the journal's bound for one value in bytes. Arguments and results have up to
// 1 MiB each, which escapes of JSON can make six times as long.
const maxValue = 16 << 20

// Build opens the store and the keys and assembles a Checkpoint that can run
// skills. Calls that an earlier process left unfinished get an outcome in the
// ledger, unknown; until Close, values are erased as their retention ends.
// Mistakes in the configuration are returned all at once, each with
// its place in the file.
func Build(ctx context.Context, cfg *config.Config, o Options) (*Parts, error) {
	o = o.withDefaults()
	if err := checkResolver(cfg, o); err != nil {
		return nil, cfg.Locate(err)
	}
	p := &Parts{Config: cfg, Links: cfg.Answers.Links.Allow, log: o.Log, credentials: newCredentials(cfg, o)}
	p.leaks = leak.New(leak.Options{Log: o.Log, Report: o.ObserveLeak})
	if err := p.openStores(ctx, o); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	if err := p.buildCheckpoint(ctx, o); err != nil {
		return nil, errors.Join(cfg.Locate(err), p.Close())
	}
	if err := errors.Join(buildHandover(p, o), cfg.Locate(buildIntake(p, o))); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	p.buildUpkeep(o)
	if err := p.reload.keepFirst(ctx); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	if err := p.unfinished.SettleCommits(ctx); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	if err := p.unfinished.SettleInterrupted(ctx); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	p.counts.limiter.GreetStore(ctx)
	if !o.Supervised {
		if err := p.ResumeIntents(ctx); err != nil {
			return nil, errors.Join(err, p.Close())
		}
		p.startBackground(ctx)
	}
	return p, nil
}

// openStores brings up keys, store, ledger and journal, and what records in them.
func (p *Parts) openStores(ctx context.Context, o Options) (err error) {
	cfg := p.Config
	if err := store.CheckFolder(cfg.Ledger.Path); err != nil {
		return err
	}
	if p.Keys, err = keys.LoadOrCreate(cfg.Keys.Dir); err != nil {
		return err
	}
	if p.Store, err = openStore(ctx, store.Options{Path: cfg.Ledger.Path, Driver: cfg.Ledger.Driver}); err != nil {
		return fmt.Errorf("the database %s can't be opened: %w", cfg.Ledger.Path, err)
	}
	if err := p.Store.Migrate(ctx, "serve", trySchema); err != nil {
		return err
	}
	if p.Ledger, err = ledger.OpenWith(ctx, p.Store, p.Keys, ledger.Options{Now: o.Now}); err != nil {
		return err
	}
	if err := p.openAnchors(ctx, o); err != nil {
		return err
	}
	p.Journal, err = journal.Open(ctx, p.Store, journal.SingleKey(p.Keys.Journal()), journal.Options{
		Retention: cfg.Journal.Retention, MaxData: maxValue, Now: o.Now,
	})
	if err != nil {
		return err
	}
	if err := errors.Join(p.openSink(o), p.openInbox(ctx, o), p.openCouriers(ctx, o), policies.Prepare(ctx, p.Store)); err != nil {
		return err
	}
	if err := errors.Join(p.openTokens(ctx, o), p.openLabels(ctx, o)); err != nil {
		return err
	}
	p.Stories = story.New(story.Options{Store: p.Store, Ledger: p.Ledger, Journal: p.Journal, Now: o.Now})
	secret, err := p.Keys.LoadAgents()
	if err != nil {
		return err
	}
	agents, err := ledger.NewIdentities(ctx, p.Store, p.Ledger, secret)
	if err != nil {
		return err
	}
	p.recorder = recorder.New(recorder.Options{
		Store: p.Store, Ledger: p.Ledger, Journal: p.Journal, Retention: cfg.Journal.Retention, Now: o.Now, OnRecord: p.onRecord,
		Identities: agents, Observe: o.ObserveRecord,
	})
	if cfg.Judge.KeepsHabits() {
		p.habits = p.recorder.NewHabits(p.Keys.Digest(), o.Log)
	}
	return nil
}

// openAnchors compares the ledger with what its anchors keep. The ledger is open by then, and nothing is decided.
func (p *Parts) openAnchors(ctx context.Context, o Options) error {
	list, err := NewAnchors(p.Config)
	if err != nil {
		return err
	}
	p.anchors = anchors.New(anchors.Options{Ledger: p.Ledger, Now: o.Now, Log: o.Log}, list...)
	return p.anchors.Compare(ctx)
}

// openSink makes what writes records to files. Where the ledger holds values, the lines have the users'
// requests.
func (p *Parts) openSink(o Options) (err error) {
	l := p.Config.Ledger
	if l.Sink == "" {
		return nil
	}
	so := sink.Options{Folder: l.Sink, Ledger: p.Ledger, Log: o.Log}
	if l.Values == config.ValuesFull {
		so.Intents = &p.Journal.Reader
	}
	p.sink, err = sink.Open(so)
	return err
}

// openTokens reads who may call the HTTP API. Store and ledger are open by then.
func (p *Parts) openTokens(ctx context.Context, o Options) (err error) {
	p.Tokens, err = access.OpenTokens(ctx, access.TokenOptions{
		Store: p.Store, Ledger: p.Ledger, Key: p.Keys.Digest(), Now: o.Now, Log: o.Log,
	})
	return err
}

// openPauses brings up the kill switch: of all processes where they share a
// server, of this one otherwise.
func (p *Parts) openPauses(ctx context.Context, o Options) (err error) {
	po := pause.Options{Now: o.Now, Log: o.Log, Supervised: o.Supervised}
	if p.counts.server != nil {
		po.Shared = p.counts.server.Hash("pauses")
	}
	p.Pauses, err = pause.Open(ctx, p.Store, p.Ledger, po)
	return err
}

// buildCheckpoint builds skills, limits and gates, and the checkpoint of them.
func (p *Parts) buildCheckpoint(ctx context.Context, o Options) error {
	cfg := p.Config
	sign, verify, err := warrant.NewPair(warrant.Options{Now: o.Now})
	if err != nil {
		return err
	}
	o.canSnapshot = exec.ProbeOnce(ctx, snapshotFolder(cfg))
	execs, natives, err := p.buildSkills(o, verify)
	if err != nil {
		return err
	}
	if p.counts, err = newCounts(cfg, o); err != nil {
		return err
	}
	gs, err := p.buildGates(o)
	if err != nil {
		return err
	}
	p.buildModels(o)
	away, err := newAwayTable(cfg)
	if err != nil {
		return err
	}
	shown, err := newEvidenceOptions(cfg.Sentinel)
	if err != nil {
		return err
	}
	if err := p.openPauses(ctx, o); err != nil {
		return err
	}
	p.Checkpoint, err = sentinel.New(sentinel.Options{
		Registry: p.Registry, Gates: gs, Env: newEnvironment(cfg, false), Limiter: p.newLimiter(o), LimitsAway: away,
		Approver: p.chooseApprover(o), AskTimeout: cfg.Approvals.Timeout, Readmit: o.Readmit,
		Pending: sentinel.PendingLimits(cfg.Approvals.Pending),
		Ended:   func(principal string) bool { return p.Tokens != nil && p.Tokens.Ended(principal) },
		Pauser:  p.Pauses, Recorder: p.recorder, History: p.recorder, Marks: p.recorder, Habits: p.habits, Follows: newLayers(cfg),
		Issuer: sign, Executors: execs, Queues: p.buildQueues(execs, natives),
		DigestKey: p.Keys.Digest(), Values: sentinel.ValuesMode(cfg.Ledger.Values), Evidence: shown,
		PolicyDigest: cfg.Digest(),
		Observe:      p.watchLeaks(watchIntake(p, o.Observe)), Now: o.Now, Log: o.Log,
	})
	return err
}

// buildSkills compiles the skills, makes what runs them, and brings up the clients of
// models.
func (p *Parts) buildSkills(o Options, verify skills.Redeemer) (map[string]skills.Executor, map[string]skills.RunFunc, error) {
	reg, natives, err := newRegistry(p.Config, o)
	if err != nil {
		return nil, nil, err
	}
	warnOfUnregistered(p.Config, o)
	p.Registry = reg
	tokens, err := p.newTokenSigner()
	if err != nil {
		return nil, nil, err
	}
	execs, execErr := newExecutors(p.Config, o, natives, verify, http.SignWith(tokens, o.Now))
	roster, rosterErr := newRoster(p.Config, o.Transport)
	p.Roster = roster
	return execs, natives, errors.Join(execErr, rosterErr)
}

// buildGates builds the gates, and keeps the review.
func (p *Parts) buildGates(o Options) ([]sentinel.Gate, error) {
	p.reload = newReloader(p, o)
	gs, err := newGates(p.Config, p.Registry, p.Roster, p.reload.options)
	if err != nil {
		return nil, err
	}
	for i, g := range gs {
		if r, ok := g.(*review.Gate); ok {
			p.Review, gs[i] = r, review.NewTraced(r, o.TraceReview)
		}
		p.reload.review = gs[i] // the last one
	}
	return gs, nil
}

// buildModels makes the roster's models askable. Where no budget is configured nothing
// bounds their spending.
func (p *Parts) buildModels(o Options) {
	var budgets models.Budgets
	if limitNumbers(p.Config).Budgets.Any() {
		budgets = p.counts.limiter
	}
	p.models = newModels(p.Config, p.Roster, budgets, o.ObserveModel, o.Log)
}

// buildQueues makes a queue for every skill but natives, which are messages to a
// conversation's own process.
func (p *Parts) buildQueues(execs map[string]skills.Executor, natives map[string]skills.RunFunc) map[string]sentinel.Queue {
	p.queues = map[string]*skillqueue.Queue{}
	out := map[string]sentinel.Queue{}
	for name, e := range execs {
		if natives[name] == nil && e != nil {
			p.queues[name] = skillqueue.New(name, p.Config.Limits.Skill.Concurrency)
			out[name] = p.queues[name]
		}
	}
	return out
}

// newLimiter returns what the checkpoint counts proposals with.
func (p *Parts) newLimiter(o Options) sentinel.Limiter {
	return slots.New(slots.Options{
		Counts: p.counts.limiter, Breakers: p.counts.limiter, Log: o.Log,
		AgentSkills: []string{scope.SkillDispatch, scope.SkillExtend, skillUpdate},
	})
}

// newTokenSigner signs what goes along with an effect that leaves the process. The key
// id is a hash of the public key, so that receivers can hold several.
func (p *Parts) newTokenSigner() (*warrant.HTTPSigner, error) {
	sum := sha256.Sum256(p.Keys.WarrantPublic())
	return warrant.NewHTTPSigner(p.Keys.Warrant(), hex.EncodeToString(sum[:8]))
}

// watchLeaks returns an observer that passes on to observe. It has each call that ran
// looked after once the call has its outcome.
func (p *Parts) watchLeaks(observe func(sentinel.Event)) func(sentinel.Event) {
	return func(e sentinel.Event) {
		if e.Kind == sentinel.RecordOutcome {
			p.leaks.Ended(e.Call.ID())
		}
		if observe != nil {
			observe(e)
		}
	}
}

// buildUpkeep makes what settles unfinished calls and what forgets, on the checkpoint.
func (p *Parts) buildUpkeep(o Options) {
	uo := unfinished.Options{Store: p.Store, Ledger: p.Ledger, Checkpoint: p.Checkpoint, Now: o.Now, Log: o.Log}
	if _, ok := p.Registry.Get(skills.CommitName); ok {
		uo.Layers = newLayers(p.Config)
	}
	p.unfinished = unfinished.New(uo)
	mo := maintenance.Options{
		Values: p.Journal, Warrants: p.Store, Refusals: p.Checkpoint, Questions: p.unfinished,
		Handed: p.Handover, Ticks: o.Maintain, Now: o.Now, Log: o.Log,
	}
	mo.Queue = p.Labels
	p.Archives = ledger.NewArchiver(ledger.ArchiverOptions{
		Store: p.Store, Ledger: p.Ledger, Keys: p.Keys, Now: o.Now, Log: o.Log,
		MaxBytes: int64(p.Config.Ledger.Archive.MaxBytes), MaxAge: p.Config.Ledger.Archive.MaxAge,
	})
	mo.Archive = p.Archives
	if p.Inbox != nil {
		mo.Approvals, mo.ApprovalsKept = p.Inbox, p.Config.Journal.Retention
	}
	p.maintenance = maintenance.New(mo)
}

// startBackground runs the maintenance, and asks the review's models what is known, until
// Close.
func (p *Parts) startBackground(ctx context.Context) {
	p.background = append(p.background, maintenance.Start(ctx, p.log, "maintain", p.maintenance.Run))
	if p.sink != nil {
		p.background = append(p.background, maintenance.Start(ctx, p.log, "write the ledger's sink", p.sink.Run))
	}
	for _, s := range p.intakeServices {
		p.background = append(p.background, maintenance.Start(ctx, p.log, "take intents", s.Run))
	}
	if p.asksCanaries() {
		p.background = append(p.background, maintenance.Start(ctx, p.log, "ask canaries", p.runCanaries))
	}
	for _, c := range p.anchors.Couriers() {
		p.background = append(p.background, maintenance.Start(ctx, p.log, "anchor", c.Run))
	}
	if p.alerts != nil {
		p.background = append(p.background, maintenance.Start(ctx, p.log, "watch the log", p.alerts.Run))
	}
	for _, c := range p.couriers {
		p.background = append(p.background, maintenance.Start(ctx, p.log, "notify", c.Run))
	}
}

// ResumeIntents goes on with the requests of intents that an earlier process left. Its events come at once, so with Options.Supervised
// the program calls it once it can hear them, before the first request. Otherwise Build does. The error is the store's.
func (p *Parts) ResumeIntents(ctx context.Context) error {
	if p.Intake == nil {
		return nil
	}
	return p.Intake.Resume(ctx)
}
