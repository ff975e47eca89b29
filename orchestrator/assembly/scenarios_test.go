package assembly_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm/scripted"
	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

const scenarioFolder = "../../sentinel/review/testdata/"

// The ten scenarios, under the example's configuration and a scripted review,
// go through the whole checkpoint. The ninth is stopped by scope as given, and
// by the review where scope would let it pass.
func TestScenariosThroughTheCheckpoint(t *testing.T) {
	script, err := os.ReadFile(scenarioFolder + "scenarios.script.yaml")
	require.NoError(t, err)
	sc, err := scripted.Load(script)
	require.NoError(t, err)
	srv, err := scripted.Serve(t.Context(), sc, scripted.Options{})
	require.NoError(t, err)
	defer srv.Close()
	dir := t.TempDir() // the module may lie where no workspace may be, such as below /root
	require.NoError(t, os.CopyFS(dir, os.DirFS("../../examples/assistant")))
	cfg, err := config.Load(filepath.Join(dir, "vedette.yaml"), config.Options{Env: func(k string) (string, bool) {
		return srv.BaseURL(), k == "OPENAI_BASE_URL"
	}})
	require.NoError(t, err)
	d, err := assembly.NewDecider(cfg, assembly.DeciderOptions{NoFS: true})
	require.NoError(t, err)
	defer d.Close()

	stopped := map[string]string{"9": sentinel.GateScope}
	for _, s := range readScenarios(t) {
		t.Run(s.ID, func(t *testing.T) {
			scope, err := skills.NewScope(s.Scope...)
			require.NoError(t, err)
			g, err := sentinel.NewGrant(sentinel.GrantOptions{
				ID: "g", User: "u", Conversation: "c", Agent: s.Agent, Mission: s.Mission, MissionBy: sentinel.ByOrchestrator,
				Request: s.Request, Scope: scope,
			})
			require.NoError(t, err)
			c, err := d.NewCall(sentinel.Proposal{Skill: s.Skill, Args: s.Arguments, Grant: g})
			require.NoError(t, err)
			dec, err := d.Decide(t.Context(), c)
			require.NoError(t, err)
			if s.Expected == "approve" {
				require.Equal(t, sentinel.Allow, dec.Outcome, dec.Explanation())
				return
			}
			gate := stopped[s.ID]
			if gate == "" {
				gate = sentinel.GateReview
			}
			require.Equal(t, sentinel.Deny, dec.Outcome)
			require.Equal(t, gate, dec.BlockedBy, dec.Explanation())
		})
	}
}

type scenario struct {
	ID, Mission, Agent, Skill, Expected string
	Request                             *string
	Scope                               []string
	Arguments                           json.RawMessage
}

func readScenarios(t *testing.T) []scenario {
	t.Helper()
	b, err := os.ReadFile(scenarioFolder + "scenarios.json")
	require.NoError(t, err)
	var f struct{ Scenarios []scenario }
	require.NoError(t, json.Unmarshal(b, &f))
	require.Len(t, f.Scenarios, 11)
	return f.Scenarios
}
