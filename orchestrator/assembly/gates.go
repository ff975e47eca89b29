package assembly

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/config"
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

// environment is what paths in calls are resolved against.
func environment(cfg *config.Config, noFS bool) touch.Env {
	env := touch.Env{NoFS: noFS}
	if len(cfg.Guard.Roots) > 0 {
		env.Root = cfg.Guard.Roots[0]
	}
	if home, err := os.UserHomeDir(); err == nil {
		env.Home = home
	}
	for _, exe := range binary() {
		env.Program = exe
		if real, err := filepath.EvalSymlinks(exe); err == nil {
			env.Program = real
		}
	}
	return env
}

type gateOptions struct {
	noReview bool
	cacheTTL time.Duration // of the review; zero asks each time
	apart    bool          // the review asks about each call by itself
	now      func() time.Time
	log      *slog.Logger
	env      touch.Env
	purse    review.Purse    // nil where nothing is counted
	observer review.Observer // nil observes nothing
	noUndo   []string        // skills whose command lines write where no snapshot can be had
	// elsewhere are skills of which nothing but the name is known, and partial
	// says that there are more: what can't be read of a configuration.
	elsewhere []string
	partial   bool
}

// gates builds the six gates in their order. Every mistake is reported.
func gates(cfg *config.Config, reg *skills.Registry, roster *llm.Roster, o gateOptions) ([]sentinel.Gate, error) {
	sc, err1 := scope.New(scope.Options{Registry: reg, Now: o.now})
	perm, err2 := permission.New(permission.Options{
		Rules: rules(cfg), Default: string(cfg.PermissionsDefault), Registry: reg,
		Known: append(orchestratorCalls(), o.elsewhere...), Partial: o.partial, Now: o.now,
	})
	g, err3 := guard.New(guard.Options{
		Roots: cfg.Guard.Roots, Forbid: cfg.Guard.ForbidPaths, Protect: protected(cfg), Sources: sources(cfg),
		Keys: secret(cfg), AllowHosts: cfg.Guard.AllowHosts, Env: o.env, NoUndo: o.noUndo,
	})
	j, err4 := judge.New(judge.Options{Threshold: hundredths(cfg.Judge.Threshold), AskBelow: hundredths(cfg.Judge.AskBelow),
		Roots: cfg.Guard.Roots, Env: o.env})
	rev, err5 := reviewGate(cfg, roster, o)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return nil, err
	}
	return []sentinel.Gate{schema.New(), sc, perm, g, j, rev}, nil
}

// hundredths keeps a configured zero apart from an option left out.
func hundredths(h config.Hundredths) int {
	if h == 0 {
		return judge.Off
	}
	return int(h)
}

// orchestratorCalls are the program's own skills: rules may name them also
// where nothing is there to make them, as in check.
func orchestratorCalls() []string {
	return []string{"agent.dispatch", "agent.update", "agent.extend", skills.CommitName}
}

func rules(cfg *config.Config) []permission.Rule {
	out := make([]permission.Rule, len(cfg.Permissions)) // not nil: no rules means the default
	for i, r := range cfg.Permissions {
		out[i] = permission.Rule{ID: r.ID, Skill: r.Skill, Users: r.Users, When: r.When, Then: string(r.Then), Reason: r.Reason}
		for _, m := range r.Modify {
			out[i].Modify = append(out[i].Modify, rewrite(m))
		}
	}
	return out
}

func rewrite(m config.Rewrite) permission.Op {
	return permission.Op{
		Set: m.Set, To: json.RawMessage(m.To), Clamp: m.Clamp, Min: json.Number(m.Min), Max: json.Number(m.Max),
		Redact: m.Redact, Text: m.Text, Pattern: m.Pattern, With: m.With, Append: m.Append, Remove: m.Remove,
		Narrow: m.Narrow, Keep: m.Keep,
	}
}

func reviewGate(cfg *config.Config, roster *llm.Roster, o gateOptions) (sentinel.Gate, error) {
	switch {
	case o.noReview:
		return sentinel.Skip(sentinel.GateReview, "left out by --no-review"), nil
	case !reviews(cfg.Sentinel):
		return sentinel.Skip(sentinel.GateReview, "sentinel.mode is off"), nil
	case len(cfg.Roles["sentinel"]) == 0:
		return nil, &skills.PathError{
			Path: "roles.sentinel", Msg: `names no model for the review; name one, or say sentinel: {mode: "off"}`,
		}
	}
	models, err := roster.ForRole("sentinel")
	if err != nil {
		return nil, err
	}
	unavailable, err1 := table("sentinel.unavailable", cfg.Sentinel.Unavailable)
	unjudgeable, err2 := table("sentinel.unjudgeable", cfg.Sentinel.Unjudgeable)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	second, err := escalate(cfg, roster)
	if err != nil {
		return nil, err
	}
	b := cfg.Sentinel.Breaker
	return review.New(question(review.Options{
		Models: models, Unavailable: unavailable, Unjudgeable: unjudgeable,
		Timeout: cfg.Sentinel.Timeout, Breaker: review.Breaker{Failures: b.Failures, Window: b.Window, OpenFor: b.OpenFor},
		Concurrency: cfg.Sentinel.Concurrency, Retries: cfg.Sentinel.Retries, Terms: terms(cfg), Escalate: second,
		CacheTTL: o.cacheTTL, Apart: o.apart, CacheSize: cfg.Sentinel.CacheSize, Purse: o.purse, RulesFor: cfg.Sentinel.Budget.RulesFor,
		Observer: o.observer, Log: o.log, Now: o.now,
	}, cfg.Sentinel))
}

// escalate names whom a second opinion comes from.
func escalate(cfg *config.Config, roster *llm.Roster) (review.Escalate, error) {
	e := cfg.Sentinel.Escalate
	effects := func(names []string) []skills.Effect {
		out := make([]skills.Effect, len(names))
		for i, n := range names {
			out[i] = skills.Effect(n)
		}
		return out
	}
	out := review.Escalate{Rejected: effects(e.Rejected), Approved: effects(e.Approved)}
	for i, name := range e.To {
		m, known := roster.Lookup(name)
		if !known {
			return out, &skills.PathError{Path: fmt.Sprintf("sentinel.escalate.to[%d]", i), Msg: fmt.Sprintf("no model is named %q", name)}
		}
		out.To = append(out.To, m)
	}
	return out, nil
}

// terms are what holds between the review and each model.
func terms(cfg *config.Config) map[string]review.Terms {
	out := make(map[string]review.Terms, len(cfg.Models))
	for name, m := range cfg.Models {
		out[name] = review.Terms{
			RequestsPerMinute: m.RequestsPerMinute,
			Price:             review.Price{Input: int64(m.Price.Input), Output: int64(m.Price.Output)},
		}
	}
	return out
}

func table(path string, f config.Fallback) (review.Table, error) {
	t := review.Table{}
	var errs []error
	for _, c := range []struct {
		row  string
		cell config.Action
	}{
		{string(skills.Read), f.Read}, {string(skills.Create), f.Create}, {string(skills.Modify), f.Modify},
		{string(skills.Irreversible), f.Irreversible}, {string(skills.CostsMoney), f.CostsMoney}, {review.Outward, f.Outward},
	} {
		o, err := sentinel.ParseOutcome(string(c.cell))
		if err != nil {
			errs = append(errs, &skills.PathError{Path: path + "." + c.row, Msg: err.Error()})
		}
		t[c.row] = o
	}
	return t, errors.Join(errs...)
}

func newRoster(cfg *config.Config, transport func(model string) http.RoundTripper) (*llm.Roster, error) {
	models := make(map[string]llm.Config, len(cfg.Models))
	for name, m := range cfg.Models {
		tools := m.Tools
		models[name] = llm.Config{
			Name: name, Model: m.Model, BaseURL: m.BaseURL, APIKey: m.APIKey.Reveal(), Timeout: m.Timeout, Reasoning: m.Reasoning,
			Effort: m.Effort, Context: m.Context, SupportsTools: &tools, Schemaless: m.Schemaless,
			LegacyMaxTokens: m.LegacyMaxTokens, MaxResponse: int64(m.MaxResponse),
		}
	}
	return llm.NewRoster(llm.RosterConfig{Models: models, Roles: cfg.Roles, HTTP: llm.NewPool(warm(cfg)), Transport: transport})
}

// warm is how many connections to one server stay open between requests. The review
// and the agents may have as many requests under way. So no request dials again
// because the client closed the connection before.
func warm(cfg *config.Config) int {
	n := 0
	for _, m := range cfg.Models {
		n = max(n, m.Concurrency)
	}
	return n + cfg.Sentinel.Concurrency
}
