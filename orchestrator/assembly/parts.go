package assembly

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/limits"
	"github.com/vedette-dev/vedette/limits/redisstore"
	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/alerts"
	"github.com/vedette-dev/vedette/orchestrator/anchors"
	"github.com/vedette-dev/vedette/orchestrator/answers"
	"github.com/vedette-dev/vedette/orchestrator/handover"
	"github.com/vedette-dev/vedette/orchestrator/intents"
	"github.com/vedette-dev/vedette/orchestrator/maintenance"
	"github.com/vedette-dev/vedette/orchestrator/models"
	"github.com/vedette-dev/vedette/orchestrator/notify"
	"github.com/vedette-dev/vedette/orchestrator/records/story"
	"github.com/vedette-dev/vedette/orchestrator/sink"
	"github.com/vedette-dev/vedette/orchestrator/skillqueue"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/judge"
	"github.com/vedette-dev/vedette/sentinel/label"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/pause"
	"github.com/vedette-dev/vedette/sentinel/recorder"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/sentinel/store/keys"
	"github.com/vedette-dev/vedette/sentinel/unfinished"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/credential"
	"github.com/vedette-dev/vedette/skills/leak"
)

// habits remembers approvals for the checkpoint, and tells the judge of them.
type habits interface {
	judge.Habits
	sentinel.HabitKeeper
}

// Parts is everything that was built. Close releases it.
type Parts struct {
	// Config is what the parts were built of. What reloads have changed of it is in Running.
	Config *config.Config
	// Registry has all skills that the parts were built with, those too that a reload has withdrawn.
	Registry   *skills.Registry
	Checkpoint *sentinel.Checkpoint
	Roster     *llm.Roster
	Store      *store.Store
	Ledger     *ledger.Ledger
	Journal    *journal.Journal
	Keys       *keys.Keys
	Pauses     *pause.Switch
	// Inbox is where people answer; nil where approvals.inbox is off, or the program has an
	// Approver of its own.
	Inbox *approval.Inbox
	// Labels are what reviewers say of decisions.
	Labels *label.Labels
	// Tokens are who may call the HTTP API.
	Tokens *access.Tokens
	// Review is the gate that asks models; nil where it is left out.
	Review *review.Gate
	// Handover decides calls that other programs run themselves.
	Handover *handover.Handover
	// Intake takes users' texts to typed intents and their actions; nil where the configuration has no intent.
	Intake *intents.Pipeline
	// Stories tell what is kept of a call, to those who look into a decision.
	Stories *story.Teller
	// Archives close the ledger's database file and have another go on.
	Archives *ledger.Archiver
	// Links are the hosts that links in answers may lead to, by answers.links.
	Links answers.Allowed

	counts      counts
	models      map[string]*models.Model
	queues      map[string]*skillqueue.Queue
	recorder    *recorder.Recorder
	habits      habits // nil where judge.habits is off
	couriers    []*notify.Courier
	alerts      *alerts.Watcher
	anchors     *anchors.Set
	unfinished  *unfinished.Calls
	maintenance *maintenance.Maintenance
	sink        *sink.Sink // nil without ledger.sink
	leaks       *leak.Watch
	credentials *credential.Book
	reload      *reloader
	// intakeServices are what runs while texts are taken; none without intents.
	intakeServices []intents.Service
	background     []*maintenance.Background // what no supervisor runs
	log            *slog.Logger
}

// InFlight returns the calls that wait or run here, and those that were handed over and not reported yet.
func (p *Parts) InFlight() []sentinel.InFlight {
	list := p.Checkpoint.InFlight()
	if p.Handover != nil {
		list = append(list, p.Handover.InFlight()...)
	}
	return list
}

// Close ends the maintenance and closes the store, once what was submitted is durable. It
// closes the connections to models and to the server of the limits too.
func (p *Parts) Close() error {
	for _, b := range p.background {
		b.Stop()
	}
	if p.Handover != nil {
		p.Handover.Close()
	}
	if p.Intake != nil {
		p.Intake.Close()
	}
	if p.Pauses != nil {
		p.Pauses.Close()
	}
	p.leaks.Close()
	p.maintenance.RecordLast()
	if p.Roster != nil {
		p.Roster.Close()
	}
	err := p.counts.limiter.Close()
	if p.Store == nil {
		return err
	}
	if p.Checkpoint != nil && p.anchors != nil { // what failed to open has sent nothing, and sends nothing
		p.anchors.Finish(context.Background())
	}
	p.fillSink()
	return errors.Join(err, p.Store.Close())
}

// lastLines is how long the ledger's sink may take for its last lines.
const lastLines = 5 * time.Second

// fillSink writes what the ledger's sink lacks. What it can't write now the next process writes.
func (p *Parts) fillSink() {
	if p.sink == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastLines)
	defer cancel()
	_ = p.sink.CatchUp(ctx) // it is logged
}

// Sink returns how the ledger's sink is doing; ok is false without one.
func (p *Parts) Sink() (s sink.Stats, ok bool) {
	if p.sink == nil {
		return sink.Stats{}, false
	}
	return p.sink.Stats(), true
}

// FindCredential returns a user's credential of that name. The error says what is missing, and holds no value.
func (p *Parts) FindCredential(ctx context.Context, name, user string) (string, error) {
	return p.credentials.Credential(ctx, name, skills.Caller{User: user})
}

// noModel stands for the model of a role that names none, where the streaming proxy is what a program is for.
type noModel string

// Chat fails: there is no model.
func (n noModel) Chat(context.Context, llm.Request) (llm.Response, error) {
	return llm.Response{}, fmt.Errorf("roles.%s names no model; add one under models and name it there: %w", string(n),
		&llm.Error{Kind: llm.KindRequest})
}

// Model returns the model of a role: its chain, in order.
func (p *Parts) Model(role string) (agents.Model, error) {
	list, err := p.Roster.ForRole(role)
	if (err != nil || len(list) == 0) && p.Config.Proxy.IsOn() && len(p.Config.Roles[role]) == 0 {
		return noModel(role), nil
	}
	if err != nil || len(list) == 0 {
		return nil, fmt.Errorf("roles.%s names no model; add one under models and name it there", role)
	}
	chain := make(agents.Chain, len(list))
	for i, m := range list {
		chain[i] = p.models[m.Name()]
	}
	return chain, nil
}

// NamedModel returns a model by its name in the configuration.
func (p *Parts) NamedModel(name string) (agents.Model, bool) {
	m, ok := p.models[name]
	if !ok {
		return nil, false
	}
	return m, true
}

// Limits returns how the server of limits.store was reached so far, for metrics. ok is
// false where limits are counted in memory.
func (p *Parts) Limits() (s redisstore.Stats, ok bool) {
	if p.counts.server == nil {
		return redisstore.Stats{}, false
	}
	return p.counts.server.Stats(), true
}

// UnsyncedSpending returns how many questions' spending the server of limits.store has not
// heard yet: it was away. It is zero where limits are counted in memory.
func (p *Parts) UnsyncedSpending() int { return p.counts.limiter.Unsynced() }

// EndTurn forgets what was counted for a turn that is over.
func (p *Parts) EndTurn(ctx context.Context, g sentinel.Grant) {
	of := limits.Proposal{User: g.User(), Conversation: g.Conversation(), Turn: g.Turn(), Agent: g.ID()}
	if err := p.counts.limiter.EndTurn(ctx, of); err != nil {
		p.log.Warn("the counts of a turn could not be dropped", "error", err)
	}
	p.maintenance.RecordSoon(g.User(), g.Conversation())
}

// EndConversation forgets what was counted for the turns of a conversation that
// is at rest. Its calls of the last minutes stay counted.
func (p *Parts) EndConversation(ctx context.Context, user, conversation string) {
	if err := p.counts.limiter.EndConversation(ctx, limits.Proposal{User: user, Conversation: conversation}); err != nil {
		p.log.Warn("the counts of a conversation could not be dropped", "error", err)
	}
	p.maintenance.RecordSoon(user, conversation)
}

// EndHeldCalls withdraws the calls of a turn that a person is still asked about: see
// unfinished.Calls.EndHeld.
func (p *Parts) EndHeldCalls(ctx context.Context, conversation, turn, grant, reason string) error {
	return p.unfinished.EndHeld(ctx, conversation, turn, grant, reason)
}

// Spend counts what a turn or an agent had spent before the program started,
// under an id of its own. Where a server counts it knows.
func (p *Parts) Spend(ctx context.Context, who llm.Caller, tokens, cost int64) {
	if !limitNumbers(p.Config).Budgets.Any() {
		return
	}
	if err := p.counts.limiter.Recount(ctx, models.CountSpending(who, tokens, cost)); err != nil {
		p.log.Error("what was spent before the restart can't be counted", "error", err)
	}
}

// Running returns the configuration that is in force.
func (p *Parts) Running() *config.Config { return p.reload.running.Load() }

// Compare returns what a configuration would change, as Reload goes by it.
func (p *Parts) Compare(next *config.Config) []config.Change {
	return p.reload.compare(p.Running(), next)
}

// Reload puts another configuration in force: gates and policy digest count for the next decision and
// for every call that is held or has not started. Who did it is on record, with both digests. The
// error is a *RefusedReload where it lets more through or needs a restart. Every error leaves the
// configuration in force that was.
func (p *Parts) Reload(ctx context.Context, next *config.Config, by string) (Reload, error) {
	return p.reload.take(ctx, next, by)
}

// LeaveOutWithdrawn returns a scope without skills that reloads have taken out of the configuration.
func (p *Parts) LeaveOutWithdrawn(s skills.Scope) skills.Scope { return p.reload.leaveOutWithdrawn(s) }

// TryStore writes a row of its own: whether work could be written down now.
func (p *Parts) TryStore(ctx context.Context, now time.Time) error {
	return p.Store.Submit(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(sqlTry, now.Unix())
		return err
	})
}

// trySchema is named after package serve, which began it.
var trySchema = []string{`CREATE TABLE serve_health (one INTEGER NOT NULL PRIMARY KEY, at INTEGER NOT NULL) STRICT`}

const sqlTry = `INSERT INTO serve_health (one, at) VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET at = excluded.at`

// Recorded is one record of the ledger, as Newest returns it.
type Recorded = recorder.Entry

// Newest returns the newest records of a user's conversation: see recorder.Recorder.Newest.
func (p *Parts) Newest(ctx context.Context, conversation, user string, before *int64, limit int) ([]Recorded, error) {
	return p.recorder.Newest(ctx, conversation, user, before, limit)
}

// Models returns the models that agents and the orchestrator ask, by name.
func (p *Parts) Models() []*models.Model { return listByName(p.models) }

// Queues returns where calls wait for their skills, by the skill's name.
func (p *Parts) Queues() []*skillqueue.Queue { return listByName(p.queues) }

// listByName returns the values in the order of their names.
func listByName[T any](m map[string]T) []T {
	out := make([]T, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[name])
	}
	return out
}

// Anchors says how the anchors of the ledger do, in the order of the configuration.
func (p *Parts) Anchors() []anchors.Status { return p.anchors.Status() }

// CanaryFailed returns the review's models that are wrong about calls whose
// verdict is known.
func (p *Parts) CanaryFailed() []string {
	if p.Review == nil {
		return nil
	}
	return p.Review.State().FailedCanaries()
}

// Service is work that goes on beside the calls, for a supervisor to run. Run returns nil
// once ctx has ended. Any other end is a failure, and the supervisor runs it again.
type Service struct {
	// Group says what it belongs to: store, limits, review, intent, anchors or notify.
	Group, ID string
	Run       func(ctx context.Context) error
}

// Services returns what the caller runs while the Parts are in use, in the order of
// starts within a group. Without Options.Supervised the Parts run all services
// themselves.
func (p *Parts) Services() []Service {
	list := []Service{
		{"store", "writer", p.Store.Run},
		{"store", "maintenance", p.maintenance.Run},
	}
	if p.sink != nil {
		list = append(list, Service{"store", "sink", p.sink.Run})
	}
	if p.counts.server != nil {
		list = append(list, Service{"limits", "pauses", p.Pauses.Follow})
	}
	if p.asksCanaries() {
		list = append(list, Service{"review", "canaries", p.runCanaries})
	}
	for _, s := range p.intakeServices {
		list = append(list, Service{"intent", s.ID, s.Run})
	}
	for _, c := range p.anchors.Couriers() {
		list = append(list, Service{"anchors", "anchor-" + c.Name(), c.Run})
	}
	if p.alerts != nil {
		list = append(list, Service{"notify", "alerts", p.alerts.Run})
	}
	for _, c := range p.couriers {
		list = append(list, Service{"notify", "channel-" + c.Status().Channel, c.Run})
	}
	return list
}

// asksCanaries reports whether the review's models are asked about calls whose
// verdict is known.
func (p *Parts) asksCanaries() bool {
	return p.Review != nil && p.Config.Sentinel.Canaries.Every > 0
}

// runCanaries asks the review's models until ctx ends.
func (p *Parts) runCanaries(ctx context.Context) error {
	return p.Review.RunCanaries(ctx, p.Config.Sentinel.Canaries.Every)
}
