package assembly

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/models"
)

// newRoster builds the clients of all configured models.
func newRoster(cfg *config.Config, transport func(model string) http.RoundTripper) (*llm.Roster, error) {
	models := make(map[string]llm.Config, len(cfg.Models))
	for name, m := range cfg.Models {
		tools := m.Tools
		models[name] = llm.Config{
			Name: name, Model: m.Model, BaseURL: m.BaseURL, APIKey: m.APIKey.Reveal(), Timeout: m.Timeout, Reasoning: m.Reasoning,
			Effort: m.Effort, Context: m.Context, SupportsTools: &tools, Schemaless: m.Schemaless,
			LegacyMaxTokens: m.LegacyMaxTokens, MaxResponse: int64(m.MaxResponse),
			Unstreamed: m.Stream == "off",
		}
	}
	return llm.NewRoster(llm.RosterConfig{Models: models, Roles: cfg.Roles, HTTP: llm.NewPool(countWarm(cfg)), Transport: transport})
}

// countWarm returns how many connections to one server stay open between requests. The review
// and the agents may have as many requests under way. So no request dials again
// because the client closed the connection before.
func countWarm(cfg *config.Config) int {
	n := 0
	for _, m := range cfg.Models {
		n = max(n, m.Concurrency)
	}
	return n + cfg.Sentinel.Concurrency
}

// newModels makes the roster's clients models that agents and the orchestrator ask.
// Without budgets nothing bounds their spending.
func newModels(
	cfg *config.Config, roster *llm.Roster, budgets models.Budgets, observe func(context.Context, models.Event), log *slog.Logger,
) map[string]*models.Model {
	out := map[string]*models.Model{}
	for _, name := range slices.Sorted(maps.Keys(cfg.Models)) {
		client, ok := roster.Lookup(name)
		if !ok {
			continue
		}
		m := cfg.Models[name]
		out[name] = models.New(models.Options{
			Client: client, Concurrency: m.Concurrency, Timeout: m.Timeout, MaxTokens: m.MaxTokens, Budgets: budgets,
			Price: models.Price{Input: int64(m.Price.Input), Output: int64(m.Price.Output)}, Observe: observe, Log: log,
		})
	}
	return out
}
