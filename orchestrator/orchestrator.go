package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/admission"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/orchestrator/control"
	"github.com/vedette-dev/vedette/orchestrator/history"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// The limits of an Orchestrator.
const (
	maxQueued    = 4 // requests that wait for a conversation's turn to end
	maxRequest   = 64 << 10
	defaultTurn  = 10 * time.Minute
	defaultClose = 30 * time.Second
	defaultIdle  = 15 * time.Minute // after which a conversation's process ends
	maxRounds    = 40               // model calls a turn
)

// Options are what a program adds to the configuration.
type Options struct {
	// Skills are Go functions that join the configured skills.
	Skills []*skills.GoSkill
	// Approver asks people. Nil means the inbox where the configuration says approvals.inbox: true,
	// and otherwise that no person can approve.
	Approver sentinel.Approver
	// Handlers do what users ask for by intents, by the action's name, beside actions that a skill does. They are given an
	// intent.Trusted, in which no text of a user is. References says what users may refer to; nil goes by the
	// configuration.
	Handlers   map[string]assembly.IntentHandler
	References assembly.IntentResolver
	// ParserIsolation keeps the parsers of texts apart where intent.isolation doesn't say how: IsolateParsers, for which
	// main calls exec.MaybeChild and MaybeParser first, or in this process where it is empty.
	ParserIsolation string
	// Credentials finds users' credentials that the configuration leaves to the
	// program: see skills.CredentialResolver.
	Credentials skills.CredentialResolver
	// Observe is told of every decision and outcome. It must not block.
	Observe func(sentinel.Event)
	// OnAgent is told when an agent starts or ends. It must not block.
	OnAgent func(conversation string, r agents.Result)
	// NoReview leaves the model review out; decisions say so.
	NoReview bool
	// Metrics is a registry of the program's own where the metrics of
	// docs/metrics.md are registered until Close, besides those that
	// telemetry.metrics serves. Nil registers them nowhere else.
	Metrics prometheus.Registerer
	// Tracer is a provider of the program's own for spans, in place of
	// telemetry.traces. A request's span is part of the trace of Send's context.
	Tracer trace.TracerProvider
	// Log is told what an operator must know: that a model failed its canaries,
	// that calls go ahead unjudged, that something was started again. It holds no
	// values of calls. Nil is slog.Default(); to hear nothing, give a logger of
	// slog.DiscardHandler.
	Log *slog.Logger
}

// IsolateParsers is the value of Options.ParserIsolation that reads each text in a process of its own.
const IsolateParsers = assembly.IsolateParsers

// MaybeParser makes this process a parser of texts where it was started as one, and then doesn't return. Programs call it
// in main behind exec.MaybeChild.
func MaybeParser() { assembly.MaybeParser() }

// Orchestrator holds the conversations of one process. It is safe for
// concurrent use.
type Orchestrator struct {
	conversationNeeds
	opts     Options
	restorer *restorer
	openings openTable
	reloads  reloads
	health   health
	started  time.Time
	up       atomic.Bool // everything was built
	closing  sync.Once
}

// tuning are the times that tests shorten; zero means the default. at is
// called where they break the process.
type tuning struct {
	wait, idle, agent, help, wave, turn, room, pause, look time.Duration
	at                                                     func(place string)
	restarts                                               int              // of the app, in a minute
	now                                                    func() time.Time // the clock of waves
	transport                                              func(model string) http.RoundTripper
	after                                                  func(d time.Duration, run func()) (stop func() bool) // timers of all processes
}

// reachPlace tells a test that the process has come to a place where it may break.
func (u *tuning) reachPlace(place string) {
	if u.at != nil {
		u.at(place)
	}
}

// New builds everything that the configuration names, opens its store, and
// starts the supervision tree. Requests that an earlier process was working on
// are gone on with, in the background. Close releases it.
func New(ctx context.Context, cfg *config.Config, opts Options) (*Orchestrator, error) {
	return newTuned(ctx, cfg, opts, tuning{})
}

// newTuned is New with the times that tests shorten.
func newTuned(ctx context.Context, cfg *config.Config, opts Options, tune tuning) (*Orchestrator, error) {
	if opts.Log == nil {
		opts.Log = slog.Default()
	}
	tune.agent, tune.help = cmp.Or(tune.agent, cfg.Agents.Timeout), cmp.Or(tune.help, cfg.Agents.HelpTimeout)
	tune.wave = cmp.Or(tune.wave, cfg.Agents.WaveTimeout, agents.DefaultTimeout*2)
	tune.wait, tune.idle, tune.turn = cmp.Or(tune.wait, defaultWait), cmp.Or(tune.idle, defaultIdle), cmp.Or(tune.turn, defaultTurn)
	if tune.now == nil {
		tune.now = time.Now
	}
	tune.pause, tune.look = cmp.Or(tune.pause, defaultPause), cmp.Or(tune.look, defaultLook)
	o := &Orchestrator{opts: opts, started: time.Now()}
	o.reloads = reloads{log: opts.Log, now: time.Now, from: o.started.UTC()}
	o.health.now = time.Now
	o.log, o.tune = opts.Log, tune
	o.pools = newPools(cfg.Limits, cmp.Or(tune.room, agentWait))
	o.openings.pool = o.pools.conversations
	o.watcher = agentWatcher{opts.OnAgent, opts.Log}
	o.ending.log, o.ending.done = opts.Log, make(chan struct{})
	o.restorer = &restorer{turnNeeds: &o.turnNeeds}
	o.recovery = o.restorer
	tel, err := o.newTelemetry(ctx, cfg)
	if err != nil {
		return nil, err
	}
	o.tel = tel
	if err := o.buildParts(ctx, cfg); err != nil {
		return nil, errors.Join(err, o.closeTelemetry(ctx))
	}
	o.up.Store(true)
	return o, nil
}

// buildParts makes the parts and starts the tree.
func (o *Orchestrator) buildParts(ctx context.Context, cfg *config.Config) error {
	opts := o.opts
	ao := assembly.Options{
		Skills: opts.Skills, Natives: listNativeSkills(o.runNative), Approver: opts.Approver, Observe: o.onEvent, Readmit: o.readmitCall,
		NoReview: opts.NoReview, Log: opts.Log, Supervised: true, Credentials: opts.Credentials,
		Transport: o.tune.transport, Version: moduleVersion(debug.ReadBuildInfo()), Handlers: opts.Handlers, References: opts.References,
		ParserIsolation: opts.ParserIsolation,
	}
	o.tel.Observe(&ao)
	parts, err := assembly.Build(ctx, cfg, ao)
	if err != nil {
		return err
	}
	o.parts, o.models.parts, o.spending.parts = parts, parts, parts
	if err := o.openHistory(ctx); err != nil {
		return errors.Join(err, parts.Close())
	}
	if o.models.orchestrator, err = parts.Model("orchestrator"); err != nil {
		return errors.Join(err, parts.Close())
	}
	if o.models.agents, err = parts.Model("agent"); err != nil {
		return errors.Join(err, parts.Close())
	}
	if err := o.startTree(ctx); err != nil {
		return errors.Join(err, o.Close(ctx))
	}
	if err := parts.ResumeIntents(ctx); err != nil { // onEvent needs all of the above
		return errors.Join(err, o.Close(ctx))
	}
	return nil
}

// openHistory opens what is kept of conversations, and ends what a killed process had
// begun to purge. No conversation is opened before that.
func (o *Orchestrator) openHistory(ctx context.Context) error {
	parts := o.parts
	kept, err := history.Open(ctx, parts.Store, parts.Journal, history.Options{Ledger: parts.Ledger, Forget: parts.ForgetRows})
	if err != nil {
		return err
	}
	o.journal = turnJournal{History: kept, parts: parts, log: o.log}
	n, err := kept.FinishPurges(ctx)
	if n != (history.Purged{}) {
		o.log.Warn("an interrupted purge was finished", "values", n.Values, "conversations", n.Conversations)
	}
	if errors.Is(err, history.ErrPending) {
		o.log.Warn("values were purged, but a reader of the database holds old pages; stop it and purge again")
		return nil
	}
	return err
}

// startTree brings up the tree.
func (o *Orchestrator) startTree(ctx context.Context) error {
	ctx, cancel := withDeadline(ctx, time.Minute)
	defer cancel()
	o.sys = otp.NewSystem(otp.SystemOptions{Logger: o.log, OnEvent: o.tel.Supervision, AfterFunc: o.tune.after})
	app, err := o.sys.Start(ctx, o.buildTree())
	if err == nil {
		otp.Monitor(app, o.ending.onTreeEnd)
	}
	return err
}

// Close stops all conversations and closes the store; requests under way end
// with ErrClosed. Calls that are under way get until ctx ends, 30 s where it
// has no deadline. Later calls return nil.
func (o *Orchestrator) Close(ctx context.Context) (err error) {
	o.closing.Do(func() {
		o.ending.closed.Store(true)
		ctx, cancel := withDeadline(ctx, defaultClose)
		defer cancel()
		if o.sys != nil {
			err = o.sys.Stop(ctx)
		}
		o.ending.onTreeEnd(otp.Down{Reason: otp.Shutdown(nil)}) // where there never was a tree
		err = errors.Join(err, o.parts.Close())
		if terr := o.closeTelemetry(ctx); terr != nil { // nothing depends on it
			o.log.Warn("the last spans were not sent in time")
		}
	})
	return err
}

// Parts gives access to what was assembled: the checkpoint, the ledger, the
// journal.
func (o *Orchestrator) Parts() *assembly.Parts { return o.parts }

// onEvent tells agents that a person is being asked, so that their clock
// stands still, and passes the event on.
func (o *Orchestrator) onEvent(e sentinel.Event) {
	g := e.Call.Grant()
	v, _ := e.Decision.Verdict(sentinel.GateApproval)
	switch {
	case e.Kind == sentinel.RecordHeld, e.Kind == sentinel.EventReopened:
		markHeld(e.Context)
		o.tellConversation(g.Conversation(), heldCall{g.ID(), true})
	case e.Kind == sentinel.EventLeftHeld, e.Kind == sentinel.RecordDecision && v.State != sentinel.NotReached:
		o.tellConversation(g.Conversation(), heldCall{g.ID(), false})
	}
	o.tel.Event(e)
	o.eventLogs.tellDecision(e)
	if o.opts.Observe != nil {
		o.opts.Observe(e)
	}
}

// userSkills are the names of all skills that agents can be given.
func (o *Orchestrator) userSkills() []string {
	var names []string
	for _, n := range o.parts.Registry.Names() {
		if !isNativeSkill(n) {
			names = append(names, n)
		}
	}
	return names
}

// withDeadline gives a context that has no deadline one of d.
func withDeadline(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d)
}

// Load returns how full the process is, in the order in which work meets the pools, for
// metrics. Of models and skills there are those that are busy, or ever refused.
func (o *Orchestrator) Load() []admission.Stats {
	busy := slices.DeleteFunc(o.listModelsAndSkills(), func(s admission.Stats) bool { return s.Used == 0 && s.Waiting == 0 && s.Refused == 0 })
	return append(o.pools.listStats(), busy...)
}

// listModelsAndSkills returns how busy all models and all skills with a queue are.
func (o *Orchestrator) listModelsAndSkills() (out []admission.Stats) {
	for _, m := range o.parts.Models() {
		out = append(out, m.Stats())
	}
	for _, q := range o.parts.Queues() {
		out = append(out, q.Stats())
	}
	return out
}

// Reachable returns why vedette pause and vedette top can't reach this process, nil
// if they can. Without them work goes on, and only the program can pause it, through
// Parts. So the program should tell its operator.
func (o *Orchestrator) Reachable(ctx context.Context) error {
	db := o.parts.Config.Ledger.Path
	_, err := control.Dial(control.SocketPath(db), control.DatabaseOwner(db)).Pauses(ctx)
	return err
}

// Done is closed when the Orchestrator works no more: after Close, or because
// its supervision gave up. A program that lives by it watches Done and asks Err.
func (o *Orchestrator) Done() <-chan struct{} { return o.ending.done }

// Err returns ErrEnded, with the reason, once the supervision has given up. It returns nil
// while the Orchestrator works and where Close has ended it.
func (o *Orchestrator) Err() error {
	return o.ending.treeError()
}

// Top returns what the process is doing. It waits for no actor.
func (o *Orchestrator) Top() Top {
	looks := map[string]*conversationStatus{}
	for _, l := range o.statuses.listStatuses(o.sys) {
		looks[l.conversation] = l
	}
	return Top{
		PID: os.Getpid(), Now: time.Now(), Started: o.started, Pauses: o.parts.Pauses.List(),
		InFlight: o.parts.InFlight(), Tasks: o.sys.Tasks(), Leaked: o.sys.Leaked(), Tree: listProcesses(o.sys.Snapshot(), looks, nil),
		Draining: o.ending.draining.Load(), CanaryFailed: o.parts.CanaryFailed(),
	}
}

// Status returns how the process is. It waits for no actor.
func (o *Orchestrator) Status(ctx context.Context) Status { return readStatus(ctx, o) }

// Health returns how each part is. It may take as long as a write to the store.
func (o *Orchestrator) Health(ctx context.Context) []Check { return o.health.look(ctx, o) }

// Reload reads the configuration again with load and puts it in force; by says what asked for it: file,
// signal, or a word of the program's. Rules, forbidden paths, thresholds and skills that are gone count
// for the next decision and for every call that is held or has not started. Turns under way keep their
// prompts; later ones have the new. The record of it is durable before.
//
// The error is a *RefusedReload where the configuration lets more through than the running one, or
// changes what no running process exchanges; otherwise load's, or the store's. After any of them the
// configuration before stays in force, and Health and Status say so.
func (o *Orchestrator) Reload(ctx context.Context, by string, load func() (*config.Config, error)) (ReloadStatus, error) {
	return o.reloads.reload(ctx, o.parts, by, load)
}

// wakeConversation starts the conversation's process where it is not running: a
// request that was under way is gone on with.
func (o *Orchestrator) wakeConversation(ctx context.Context, id, user string) error {
	conv := &Conversation{&o.conversationNeeds, ConversationOptions{ID: id, User: user}}
	_, err := conv.callProcess(ctx, claim{user})
	return err
}

const (
	drainLook = 10 * time.Millisecond // how often a drain looks whether work has ended
	cutTime   = 5 * time.Second       // what is cut off has this long to end
)

// Drain ends the work and closes the Orchestrator. From now on requests are
// refused with ErrDraining, also those that were waiting for another to end and
// were not begun; the ones that were begun have until ctx ends, 30 s where it
// has no deadline. What has not ended by then is cut off: its callers get
// ErrClosed, and it is reported. Reply goes on answering meanwhile.
func (o *Orchestrator) Drain(ctx context.Context) (d Drained, err error) {
	began := time.Now()
	o.ending.draining.Store(true)
	ctx, cancel := withDeadline(ctx, defaultClose)
	defer cancel()
	look := time.NewTicker(drainLook)
	defer look.Stop()
	for calm := 0; calm < 2 && ctx.Err() == nil; { // seen twice: a request may have been on its way in
		if turns, calls := o.underWay(); len(turns) == 0 && len(calls) == 0 {
			calm++
		} else {
			calm = 0
		}
		select {
		case <-ctx.Done():
		case <-look.C:
		}
	}
	d.Turns, d.Calls = o.underWay()
	for _, t := range d.Turns {
		o.log.Warn("a request is cut off; the next start goes on with it", "conversation", t.Conversation, "turn", t.Turn, "phase", t.Phase)
	}
	for _, c := range d.Calls {
		o.log.Warn("a call is cut off", "call", c.CallID, "skill", c.Skill, "agent", c.Agent, "conversation", c.Conversation, "phase", c.Phase)
	}
	closing, stop := context.WithTimeout(context.WithoutCancel(ctx), cutTime)
	defer stop()
	err = o.Close(closing)
	d.Took = time.Since(began)
	return d, err
}

// underWay is what has not ended and would lose something by an end.
func (o *Orchestrator) underWay() (turns []CutTurn, calls []sentinel.InFlight) {
	for _, l := range o.statuses.listStatuses(o.sys) {
		if l.turn == "" && l.phase != statusReading {
			continue
		}
		t := CutTurn{Conversation: l.conversation, Request: l.request, Turn: l.turn, Phase: l.phase, Since: l.since}
		for _, a := range l.listAgents() {
			if !a.State.Done() {
				t.Agents = append(t.Agents, a)
			}
		}
		turns = append(turns, t)
	}
	return turns, slices.DeleteFunc(o.parts.Checkpoint.InFlight(), func(f sentinel.InFlight) bool {
		return f.AwaitsOthers() || f.Phase == sentinel.PhaseApproval && assembly.IsIntentQuestion(f.Skill) // it waits on after the next start
	})
}
