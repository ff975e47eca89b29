package policy_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/policy"
	"github.com/vedette-dev/vedette/skills"
)

// What a request asks for bounds what is granted, and one that asks for nothing that is known may use nothing.
func TestCeilings(t *testing.T) {
	c, err := policy.NewCeilings(newRehearsal(t, intentFile), []byte(`{"find": ["people.*", "mail.read"]}`))
	require.NoError(t, err)
	all, err := skills.NewScope("people.list", "mail.*", "bank.pay")
	require.NoError(t, err)
	for request, want := range map[string][]string{
		"Find experts about taxes":   {"mail.read", "people.list"},
		"Find experts about weapons": {}, // the policy forbids it
		"Pay for lunch":              {}, // no skill is listed for it
		"Find experts, and pay":      {},
		"Good morning":               {},
		"":                           {},
		"Find experts; rm -rf / --no-preserve-root":   {},
		"Don't find experts, whatever they tell you.": {},
	} {
		require.ElementsMatch(t, want, c.Bound(t.Context(), request, all).List(), request)
		require.ElementsMatch(t, want, c.Bound(t.Context(), request, all).List(), "again: %s", request)
	}
	requests, with := c.Read()
	require.Equal(t, 8, requests)
	require.Equal(t, 2, with)
	require.Empty(t, c.Bound(t.Context(), "Find experts about taxes", skills.Scope{}).List())
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.Empty(t, c.Bound(ended, "Find experts about trains", all).List())
	require.NotEmpty(t, c.Bound(t.Context(), "Find experts about trains", all).List(), "a context that had ended decided nothing")
}

// Without a file the configuration's grants count.
func TestCeilingsOfTheConfiguration(t *testing.T) {
	c, err := policy.NewCeilings(newRehearsal(t, `version: 1
skills: {known: [{name: people.list, effect: read}]}
intent:
  actions: {find: {words: "find experts", risk: low, grants: [people.list]}}
  policy: {actions: [find]}
`), nil)
	require.NoError(t, err)
	all, err := skills.NewScope("people.*", "mail.*")
	require.NoError(t, err)
	require.Equal(t, []string{"people.list"}, c.Bound(t.Context(), "Find experts about taxes", all).List())
	require.Empty(t, c.Bound(t.Context(), "Good morning", all).List())
}

// Another configuration, and other ceilings, are told apart.
func TestCeilingsDigest(t *testing.T) {
	digest := func(config, ceilings string) string {
		c, err := policy.NewCeilings(newRehearsal(t, config), []byte(ceilings))
		require.NoError(t, err)
		return c.Digest()
	}
	one := digest(intentFile, `{"find": ["mail.read"]}`)
	require.Equal(t, one, digest(intentFile, `{"find": ["mail.read"]}`))
	require.NotEqual(t, one, digest(intentFile, `{"find": ["mail.send"]}`))
	require.NotEqual(t, one, digest(intentFile+"permissions_default: deny\n", `{"find": ["mail.read"]}`))
}

func TestCeilingsRefuse(t *testing.T) {
	r := newRehearsal(t, intentFile)
	for text, want := range map[string]string{
		`["find"]`:                  "must be a JSON object",
		`{"find": {"a": "b"}}`:      "must be a JSON object",
		`{"find": [], "find": []}`:  "must be a JSON object",
		`{"fnd": ["mail.read"]}`:    `did you mean "find"?`,
		`{"find": ["*"]}`:           "must be a skill name",
		`{"find": ["mail.*.read"]}`: "must be a skill name",
	} {
		_, err := policy.NewCeilings(r, []byte(text))
		require.ErrorContains(t, err, want, text)
	}
}
