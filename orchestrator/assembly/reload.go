package assembly

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/policies"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/skills"
)

// Reload is what a reload came to.
type Reload struct {
	// Old and New are the digests of both configurations.
	Old, New string
	// Changes are empty where the new configuration says what the running one says.
	Changes []config.Change
}

// RefusedReload is the error of a reload that changed nothing. Its text has a line for each change.
type RefusedReload struct {
	// Loosening are changes that let more through, and that reload.allow_loosening would let in.
	// Restart are those that no running process takes up.
	Loosening, Restart []config.Change
}

// Error names what is in the way.
func (e *RefusedReload) Error() string {
	var lines []string
	for _, c := range e.Restart {
		lines = append(lines, c.String())
	}
	if len(lines) > 0 {
		lines = append([]string{"the configuration needs a restart, so nothing of it was taken up:"}, lines...)
	}
	if len(e.Loosening) > 0 {
		lines = append(lines, "the configuration lets more through, so nothing of it was taken up; restart the process, "+
			"or have it started with reload: {allow_loosening: true}:")
		for _, c := range e.Loosening {
			lines = append(lines, c.String())
		}
	}
	return strings.Join(lines, "\n")
}

// reloader exchanges what a running process decides by.
type reloader struct {
	parts   *Parts
	options gateOptions
	review  sentinel.Gate
	version string // of the program
	now     func() time.Time
	busy    sync.Mutex // one reload at a time

	running atomic.Pointer[config.Config]
	// withdrawn are skills that the process was built with and the running configuration has no more.
	withdrawn atomic.Pointer[map[string]bool]
}

// newReloader returns what exchanges the policy of parts whose skills and limits are built.
func newReloader(p *Parts, o Options) *reloader {
	r := &reloader{parts: p, now: o.Now, version: o.Version, options: gateOptions{
		habits: p.habits, noReview: o.NoReview, cacheTTL: p.Config.Sentinel.CacheTTL, now: o.Now, log: o.Log,
		env: newEnvironment(p.Config, false), purse: p.counts.purse, observer: o.ObserveReview,
		noUndo: listNoUndo(p.Config, o.canSnapshot, o.Log),
	}}
	r.running.Store(p.Config)
	r.withdrawn.Store(&map[string]bool{})
	return r
}

// take puts next in force, or refuses it. Gates and digest go in force together; what counts is on
// record before.
func (r *reloader) take(ctx context.Context, next *config.Config, by string) (Reload, error) {
	r.busy.Lock()
	defer r.busy.Unlock()
	running := r.running.Load()
	out := Reload{Old: running.Digest(), New: next.Digest(), Changes: r.compare(running, next)}
	if err := refuseChanges(running, out.Changes); err != nil {
		return out, errors.Join(err, r.record(ctx, sentinel.RecordReloadRefused, by, out, nil))
	}
	if len(out.Changes) == 0 && out.Old == out.New {
		r.running.Store(next) // its places may be others
		return out, nil
	}
	withdrawn := r.listWithdrawn(next)
	pol, err := r.buildPolicy(next, withdrawn)
	if err != nil {
		return out, next.Locate(err)
	}
	who, err := newApprovalPolicy(next)
	if err != nil {
		return out, next.Locate(err)
	}
	if err := r.record(ctx, sentinel.RecordReloaded, by, out, next); err != nil {
		return out, err
	}
	if err := r.exchange(next, pol, who, out.Old != out.New); err != nil {
		return out, err
	}
	r.withdrawn.Store(&withdrawn)
	r.running.Store(next)
	return out, nil
}

// compare returns what next changes, also against what the process was built with.
func (r *reloader) compare(running, next *config.Config) []config.Change {
	return append(config.Compare(running, next), r.listUnbuilt(next)...)
}

// exchange puts in force what was built of a configuration. judges says that it judges otherwise than the running
// one: with an equal one standing approvals and what is judged go on.
func (r *reloader) exchange(next *config.Config, pol sentinel.Policy, who *approval.Policy, judges bool) error {
	if err := r.parts.counts.limiter.SetCounts(limitNumbers(next)); err != nil {
		return err
	}
	// Who may answer comes first: a standing approval that is used under the new digest is held to it.
	if in := r.parts.Inbox; in != nil && !reflect.DeepEqual(r.running.Load().Approvals.Who, next.Approvals.Who) {
		in.SetPolicy(who)
	}
	if judges {
		return r.parts.Checkpoint.SetPolicy(pol)
	}
	return nil
}

// refuseChanges returns a *RefusedReload where any change can't be taken up.
func refuseChanges(running *config.Config, list []config.Change) error {
	no := &RefusedReload{}
	for _, c := range list {
		switch {
		case c.Kind == config.Tightens, c.Kind == config.Neutral:
		case c.Kind != config.Loosens:
			no.Restart = append(no.Restart, c)
		case !running.Reload.AllowLoosening:
			no.Loosening = append(no.Loosening, c)
		}
	}
	if len(no.Restart)+len(no.Loosening) == 0 {
		return nil
	}
	return no
}

// listUnbuilt returns what the process was not built with: skills that nothing runs here, and files
// that nothing protects.
func (r *reloader) listUnbuilt(next *config.Config) (out []config.Change) {
	built := map[string]string{}
	for _, s := range r.parts.Config.Skills {
		built[s.Skill.Name()] = s.Skill.Digest()
	}
	for _, s := range next.Skills {
		if gone := (*r.withdrawn.Load())[s.Skill.Name()]; built[s.Skill.Name()] == "" || gone && built[s.Skill.Name()] != s.Skill.Digest() {
			out = append(out, config.Change{
				Kind: config.NeedsRestart, Path: config.SkillPath(s.Skill.Name(), ""), Pos: s.Pos, Msg: "has nothing that runs it in this process",
			})
		}
	}
	for _, f := range next.Files {
		if !slices.Contains(r.parts.Config.Files, f) {
			out = append(out, config.Change{
				Kind: config.NeedsRestart, Path: "skills.include", Pos: config.Position{File: f},
				Msg: "reads a file that this process doesn't keep programs from writing",
			})
		}
	}
	return out
}

// listWithdrawn returns the skills that the process was built with and next has no more.
func (r *reloader) listWithdrawn(next *config.Config) map[string]bool {
	out := map[string]bool{}
	for _, s := range r.parts.Config.Skills {
		out[s.Skill.Name()] = true
	}
	for _, s := range next.Skills {
		delete(out, s.Skill.Name())
	}
	return out
}

// buildPolicy builds the rule gates of a configuration. The review is the one that runs: it has
// breakers, answers and spending. What the guard protects at the start stays protected.
func (r *reloader) buildPolicy(next *config.Config, withdrawn map[string]bool) (sentinel.Policy, error) {
	guarded := *next
	guarded.Files = r.parts.Config.Files
	guarded.SkillFiles.Include = slices.Concat(r.parts.Config.SkillFiles.Include, next.SkillFiles.Include)
	o := r.options
	o.withdrawn = withdrawn
	gs, err := newRuleGates(&guarded, r.parts.Registry, o)
	if err != nil {
		return sentinel.Policy{}, err
	}
	return sentinel.Policy{
		Gates: append(gs, r.review), AskTimeout: next.Approvals.Timeout,
		Pending: sentinel.PendingLimits(next.Approvals.Pending), Digest: next.Digest(),
	}, nil
}

// maxRecordedChanges is how many paths of changes a record names.
const maxRecordedChanges = 100

// record writes down a reload, or its refusal. What comes in force is kept with it; nil keeps nothing.
func (r *reloader) record(ctx context.Context, kind, by string, out Reload, inForce *config.Config) error {
	b := struct {
		V       int            `json:"v"`
		By      string         `json:"by"`
		Old     string         `json:"old"`
		New     string         `json:"new"`
		Counts  map[string]int `json:"changes"`
		Changed []string       `json:"changed"`
	}{1, by, out.Old, out.New, map[string]int{}, []string{}}
	for _, c := range out.Changes {
		b.Counts[string(c.Kind)]++
		if len(b.Changed) < maxRecordedChanges {
			b.Changed = append(b.Changed, c.Path)
		}
	}
	raw, err := json.Marshal(b)
	if err != nil {
		return err
	}
	err = r.parts.Store.Submit(ctx, func(tx *store.Tx) error {
		_, err := r.parts.Ledger.AppendTx(tx, ledger.Entry{ID: sentinel.NewID(), Time: r.now(), Kind: kind, Body: raw})
		if err != nil || inForce == nil {
			return err
		}
		return r.keepPolicy(tx, inForce)
	})
	if err != nil {
		return fmt.Errorf("the reload can't be written down: %w", err)
	}
	return nil
}

// keepFirst keeps what the process starts with.
func (r *reloader) keepFirst(ctx context.Context) error {
	return r.parts.Store.Submit(ctx, func(tx *store.Tx) error { return r.keepPolicy(tx, r.parts.Config) })
}

// keepPolicy keeps what the digest of a configuration stands for.
func (r *reloader) keepPolicy(tx *store.Tx, cfg *config.Config) error {
	in := policies.InForce{Text: cfg.PolicyText(), Program: r.version, At: r.now()}
	if gate := r.parts.Review; gate != nil {
		for _, one := range gate.Prompts() {
			in.Prompts = append(in.Prompts, policies.Prompt{Model: one.Model, Version: one.Version, Text: one.Text})
		}
	}
	return policies.KeepTx(tx, in)
}

// leaveOutWithdrawn returns a scope without the skills that the running configuration has no more.
func (r *reloader) leaveOutWithdrawn(s skills.Scope) skills.Scope {
	gone := *r.withdrawn.Load()
	if len(gone) == 0 {
		return s
	}
	names := slices.DeleteFunc(r.parts.Registry.InScope(s), func(name string) bool { return gone[name] })
	out, err := skills.NewScope(names...)
	if err != nil { // the registry's own names
		return skills.Scope{}
	}
	return out
}
