package config_test

import (
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
)

const assistantModels = "version: 1\nmodels: {fast: {model: m, base_url: 'http://127.0.0.1/v1'}}\n"

// An assistant that names what isn't there is refused, with its place and what was meant.
func TestAssistantMistakes(t *testing.T) {
	for name, c := range map[string]struct{ yaml, want string }{
		"model": {"assistants: {vera: {roster: {orchestrator: fats}}}",
			`v.yaml:3:44: assistants.vera.roster.orchestrator: unknown model "fats"; did you mean "fast"?`},
		"role":  {"assistants: {vera: {roster: {agents: fast}}}", `v.yaml:3:30: unknown key "agents"; did you mean "agent"?`},
		"skill": {"assistants: {vera: {skills: [mail.snd]}}", `v.yaml:3:30: unknown skill "mail.snd"; did you mean "mail.send"?`},
		"tier's skill": {"assistants: {vera: {tiers: [{group: a, skills: [mail.snd]}]}}",
			`v.yaml:3:49: unknown skill "mail.snd"; did you mean "mail.send"?`},
		"group twice": {"assistants: {vera: {tiers: [{group: a}, {group: a}]}}", `v.yaml:3:49: assistants.vera.tiers names the group "a" twice`},
		"two prompts": {"assistants: {vera: {prompt: a, prompt_file: b.txt}}",
			`v.yaml:3:45: assistants.vera has a prompt and a prompt_file; remove one`},
		"no file": {"assistants: {vera: {prompt_file: b.txt}}",
			`v.yaml:3:34: assistants.vera.prompt_file "b.txt": there is no file system to read it from`},
		"locale": {"assistants: {vera: {locale: 'in German'}}",
			`v.yaml:3:29: assistants.vera.locale must be a language, and a region, such as de-AT, not "in German"`},
		"limit": {"assistants: {vera: {limits: {agents: 0}}}",
			`v.yaml:3:38: assistants.vera.limits.agents must be a whole number from 1 to 10000, not "0"`},
		"typo": {"assistants: {vera: {promt: x}}", `v.yaml:3:21: unknown key "promt"; did you mean "prompt"?`},
		"name": {"assistants: {'a b': {prompt: x}}", `v.yaml:3:14: assistants: the name "a b" may hold letters, digits, _ and - only`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.Parse("v.yaml", []byte(assistantModels+c.yaml), config.Options{KnownSkills: []string{"mail.send"}})
			require.EqualError(t, err, c.want)
		})
	}
}

// A tier takes the place of what it names, and a prompt may be a file.
func TestAssistants(t *testing.T) {
	fsys := fstest.MapFS{
		"prompts/vera.txt": {Data: []byte("You are ${VERA}.\n")},
	}
	const source = assistantModels + `assistants:
  vera:
    prompt_file: prompts/vera.txt
    roster: {agent: fast}
    skills: [mail.*]
    groups: [gold, staff]
    limits: {requests: 10, agents: 2}
    tiers: [{group: gold, limits: {agents: 4, window: 2h}, skills: [mail.send]}]
`
	c, err := config.Parse("v.yaml", []byte(source), config.Options{FS: fsys, KnownSkills: []string{"mail.send"}})
	require.NoError(t, err)
	a := c.ListAssistants()["vera"]
	require.Equal(t, "You are ${VERA}.\n", a.Prompt)
	require.True(t, a.Allows("gold"))
	require.False(t, a.Allows("free"))
	require.Equal(t, a, a.ForGroup("free"))
	gold := a.ForGroup("gold")
	require.Equal(t, config.AssistantLimits{Requests: 10, Window: 2 * time.Hour, Agents: 4}, gold.Limits)
	require.Equal(t, []string{"mail.send"}, gold.Skills)
	require.Equal(t, []string{"fast"}, gold.Roster["agent"])
	d, err := config.Parse("v.yaml", []byte("version: 1\n"), config.Options{})
	require.NoError(t, err)
	require.Contains(t, d.ListAssistants(), config.DefaultAssistant)
	require.Equal(t, 30*time.Minute, d.Server.Chat.Idle)
}
