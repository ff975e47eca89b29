package assembly

import (
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/intents"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/guard"
	"github.com/vedette-dev/vedette/sentinel/judge"
	"github.com/vedette-dev/vedette/sentinel/permission"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/sentinel/schema"
	"github.com/vedette-dev/vedette/sentinel/scope"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// gateOptions are what the gates need beside the configuration.
type gateOptions struct {
	noReview bool
	cacheTTL time.Duration // of the review; zero asks each time
	apart    bool          // the review asks about each call by itself
	now      func() time.Time
	log      *slog.Logger
	env      touch.Env
	purse    review.Purse    // nil where nothing is counted
	observer review.Observer // nil observes nothing
	habits   judge.Habits    // nil where none are kept
	flows    int             // how many skills are marked sensitive
	noUndo   []string        // skills whose command lines write where no snapshot can be had
	// withdrawn are skills of the registry that the configuration has no more.
	withdrawn map[string]bool
	// elsewhere are skills of which nothing but the name is known. partial says that there
	// are more, which can't be read of the configuration.
	elsewhere []string
	partial   bool
}

// newGates builds the six inner gates in their order, without limits and approval. It
// reports every mistake.
func newGates(cfg *config.Config, reg *skills.Registry, roster *llm.Roster, o gateOptions) ([]sentinel.Gate, error) {
	rules, err1 := newRuleGates(cfg, reg, o)
	o.flows = countSensitive(reg)
	rev, err2 := newReviewGate(cfg, roster, o)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	return append(rules, rev), nil
}

// newRuleGates builds the five gates that go by rules alone.
func newRuleGates(cfg *config.Config, reg *skills.Registry, o gateOptions) ([]sentinel.Gate, error) {
	j, err4 := judge.New(judge.Options{Threshold: thresholdOrOff(cfg.Judge.Threshold), AskBelow: thresholdOrOff(cfg.Judge.AskBelow),
		Roots: cfg.Guard.Roots, Env: o.env, OwnDomains: cfg.Judge.OwnDomains, Habits: o.habits})
	so := scope.Options{Registry: reg, Withdrawn: o.withdrawn, Now: o.now}
	if j != nil {
		so.Words = j
	}
	sc, err1 := scope.New(so)
	perm, err2 := permission.New(permission.Options{
		Rules: listRules(cfg), Default: string(cfg.PermissionsDefault), Registry: reg,
		Known: slices.Concat(listOrchestratorCalls(), o.elsewhere, cfg.Proxy.KnownTools()), Partial: o.partial, Now: o.now,
	})
	g, err3 := guard.New(guard.Options{
		Roots: cfg.Guard.Roots, Forbid: cfg.Guard.ForbidPaths, Protect: listProtected(cfg), Sources: listSkillSources(cfg),
		Keys: listSecret(cfg), AllowHosts: cfg.Guard.AllowHosts, Env: o.env, NoUndo: o.noUndo,
	})
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	return []sentinel.Gate{schema.New(), sc, perm, g, j}, nil
}

// thresholdOrOff keeps a configured zero apart from an option left out.
func thresholdOrOff(h config.Hundredths) int {
	if h == 0 {
		return judge.Off
	}
	return int(h)
}

// skillUpdate is the skill of a message from the orchestrator to an agent.
const skillUpdate = "agent.update"

// listOrchestratorCalls returns the program's own skills. Rules may name them also where
// nothing is there to make them, as in check.
func listOrchestratorCalls() []string {
	return []string{scope.SkillDispatch, skillUpdate, scope.SkillExtend, intents.ElevateSkill, skills.CommitName}
}

// listRules returns the permission rules; no rules means the default.
func listRules(cfg *config.Config) []permission.Rule {
	out := make([]permission.Rule, len(cfg.Permissions)) // not nil
	for i, r := range cfg.Permissions {
		out[i] = permission.Rule{ID: r.ID, Skill: r.Skill, Users: r.Users, When: r.When, Then: string(r.Then), Reason: r.Reason}
		for _, m := range r.Modify {
			out[i].Modify = append(out[i].Modify, newRewrite(m))
		}
	}
	return out
}

func newRewrite(m config.Rewrite) permission.Op {
	return permission.Op{
		Set: m.Set, To: json.RawMessage(m.To), Clamp: m.Clamp, Min: json.Number(m.Min), Max: json.Number(m.Max),
		Redact: m.Redact, Text: m.Text, Pattern: m.Pattern, With: m.With, Append: m.Append, Remove: m.Remove,
		Narrow: m.Narrow, Keep: m.Keep,
	}
}
