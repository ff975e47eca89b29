package assembly_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm/scripted"
	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel"
)

// examples are the configurations that are handed out, copied to where a
// workspace may lie.
func examples(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("../../examples")))
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err == nil && e.Name() == "vedette.yaml" {
			found[filepath.Base(filepath.Dir(p))] = p
		}
		return err
	}))
	return found
}

// programs are the examples that bring skills of their own.
var programs = map[string][]string{
	"quickstart": {"mail.send"}, "chat-backend": {"mail.send"}, "custom-gate": {"mail.send"}, "first-hour": {"bank.pay"},
	"intent-service": nil,
}

// nothing is an environment in which nothing is set.
func nothing(string) (string, bool) { return "", false }

// Every example is valid as it stands, with nothing set in the environment; each
// model says what it can and what it holds.
func TestExamplesAreValid(t *testing.T) {
	found := examples(t)
	for _, name := range []string{"assistant", "starter", "local-model"} {
		require.Contains(t, found, name)
	}
	for name, file := range found {
		t.Run(name, func(t *testing.T) {
			known, ofProgram := programs[name]
			o := config.Options{Env: nothing, KnownSkills: known} // a program's skills are Go functions
			cfg, err := config.Load(file, o)
			require.NoError(t, err)
			if !ofProgram {
				require.NoError(t, assembly.Check(cfg))
			}
			require.True(t, ofProgram || len(cfg.Skills) > 0)
			for _, m := range cfg.Models {
				require.Positive(t, m.Context, "models.%s.context", m.Name)
			}
		})
	}
}

// The starter shows OpenAI, OpenRouter and a local server.
func TestStarterShowsThreeProviders(t *testing.T) {
	cfg, err := config.Load(examples(t)["starter"], config.Options{Env: nothing})
	require.NoError(t, err)
	var hosts []string
	for _, m := range cfg.Models {
		hosts = append(hosts, m.BaseURL)
	}
	slices.Sort(hosts)
	require.Equal(t,
		[]string{"http://127.0.0.1:8080/v1", "https://api.openai.com/v1", "https://api.openai.com/v1", "https://openrouter.ai/api/v1"}, hosts)
}

// The local models are asked in the words that their servers know: a strict
// schema, no reasoning effort, and the limit under the name that each reads.
func TestLocalModelsAreAskedAsTheyUnderstand(t *testing.T) {
	script, err := scripted.Load([]byte(`rules: [{when: {format: json_schema}, reply: {content: '{"decision":"reject","reason":"no"}'}}]`))
	require.NoError(t, err)
	for role, limit := range map[string]string{"llama": "max_completion_tokens", "ollama": "max_tokens"} {
		t.Run(role, func(t *testing.T) {
			srv, err := scripted.Serve(t.Context(), script, scripted.Options{})
			require.NoError(t, err)
			defer srv.Close()
			file := examples(t)["local-model"]
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Contains(t, string(text), "sentinel: llama}")
			require.NoError(t, os.WriteFile(file, bytes.Replace(text, []byte("sentinel: llama}"), []byte("sentinel: "+role+"}"), 1), 0o600))
			cfg, err := config.Load(file, config.Options{Env: func(k string) (string, bool) {
				return srv.BaseURL(), k == "LLAMA_BASE_URL" || k == "OLLAMA_BASE_URL"
			}})
			require.NoError(t, err)
			d, err := assembly.NewDecider(cfg, assembly.DeciderOptions{})
			require.NoError(t, err)
			defer d.Close()
			c, err := d.NewCall(sentinel.Proposal{Skill: "files.search", Args: json.RawMessage(`{"query":"budget"}`),
				Grant: grant(t, "find the budget", "files.*")})
			require.NoError(t, err)
			dec, err := d.Decide(t.Context(), c)
			require.NoError(t, err)
			require.Equal(t, sentinel.GateReview, dec.BlockedBy, dec.Explanation())

			asked := srv.Received()
			require.Len(t, asked, 1)
			require.Equal(t, cfg.Models[role].Model, asked[0].Model)
			require.Equal(t, "json_schema", asked[0].Format)
			require.Empty(t, asked[0].Header.Get("Authorization"))
			var keys map[string]json.RawMessage
			require.NoError(t, json.Unmarshal(asked[0].Body, &keys))
			require.Contains(t, keys, limit)
			require.NotContains(t, keys, "reasoning_effort")
			for _, other := range []string{"max_completion_tokens", "max_tokens"} {
				require.True(t, other == limit || keys[other] == nil, "%s was sent", other)
			}
		})
	}
}
