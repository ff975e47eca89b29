package config_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
)

const intentYAML = "version: 1\nmodels: {small: {model: m, base_url: http://127.0.0.1:1/v1}}\nintent:\n"

// What isn't written has its default, and without intents nothing has one.
func TestIntentDefaults(t *testing.T) {
	c, err := config.Parse("vedette.yaml", []byte(intentYAML+
		"  actions: {pay: {words: pay}}\n  parsers: {local: {model: small}}\n  policy: {actions: [pay], budgets: {EUR: 99.50}}\n"),
		config.Options{})
	require.NoError(t, err)
	i := c.Intent
	require.True(t, i.IsOn())
	require.Equal(t, []string{"en"}, i.Languages)
	require.Equal(t, config.IntentParser{Model: "small", Trust: 75, Timeout: 10 * time.Second}, i.Parsers["local"])
	require.Equal(t, config.Hundredths(10), i.Policy.SoftTolerance)
	require.Equal(t, map[string]config.Number{"EUR": "99.50"}, i.Policy.Budgets)
	require.Equal(t, []any{80, 40, "medium", 5 * time.Minute, "when_needed", "approve", 16 << 10, "digest", "short"},
		[]any{int(i.Detector.BlockAt), int(i.Detector.FlagAt), i.Confirm.From, i.Confirm.Timeout, i.Approve, i.Hard, i.MaxText, i.Texts,
			i.Addresses})
	require.Empty(t, i.Isolation, "serve and programs of one's own have their own")

	none, err := config.Parse("vedette.yaml", []byte("version: 1\n"), config.Options{})
	require.NoError(t, err)
	require.Zero(t, none.Intent)
	require.False(t, none.Intent.IsOn())
	require.Equal(t, config.Default().Digest(), none.Digest())
	require.NotEqual(t, none.Digest(), c.Digest())
	c, err = config.Parse("vedette.yaml", []byte(intentYAML+
		"  actions: {pay: {words: pay}}\n  policy: {actions: [pay], soft_tolerance: 0}\n"), config.Options{})
	require.NoError(t, err)
	require.Zero(t, c.Intent.Policy.SoftTolerance, "none is what is written")
}

// A conversation that no assistant leads is held as strictly as the strictest of them, unless the operator says otherwise.
func TestConversationsWithoutAssistant(t *testing.T) {
	for name, row := range map[string]struct{ conversations, assistants, want string }{
		"no assistants":   {"", "", "off"},
		"none that asks":  {"", "assistants: {a: {}, b: {intent: off}}\n", "off"},
		"advisory":        {"", "assistants: {a: {}, b: {intent: advisory}}\n", "advisory"},
		"the strictest":   {"", "assistants: {a: {intent: advisory}, b: {intent: required}, c: {intent: off}}\n", "required"},
		"what is written": {"  conversations: off\n", "assistants: {b: {intent: required}}\n", "off"},
		"stricter":        {"  conversations: required\n", "assistants: {b: {intent: advisory}}\n", "required"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := config.Parse("vedette.yaml", []byte(intentYAML+"  actions: {pay: {words: pay}}\n  policy: {actions: [pay]}\n"+
				row.conversations+row.assistants), config.Options{})
			require.NoError(t, err)
			require.Equal(t, row.want, c.ConversationIntent())
		})
	}
	require.Equal(t, "off", config.Default().ConversationIntent())
}

func TestIntentMistakes(t *testing.T) {
	for name, row := range map[string]struct{ yaml, want string }{
		"no actions": {"  policy: {actions: [pay]}\n", `vedette.yaml:3:1: intent.actions is missing`},
		"no actions for an assistant": {"  actions: {}\n  policy: {actions: [pay]}\nassistants: {a: {intent: required}}\n",
			`vedette.yaml:6:26: assistants.a.intent needs the actions that users can ask for`},
		"no policy":      {"  actions: {pay: {words: pay}}\n", `intent.policy is missing: nothing would be allowed`},
		"a misspelt key": {"  acions: {}\n", `vedette.yaml:4:3: unknown key "acions"; did you mean "actions"?`},
		"a risk": {"  actions: {pay: {risk: grave}}\n  policy: {actions: [pay]}\n",
			`intent.actions.pay.risk must be one of low, medium, high, not "grave"`},
		"a language": {"  languages: [it]\n  actions: {pay: {words: pay}}\n  policy: {actions: [pay]}\n",
			`intent.languages[0] must be one of en, de, es, fr, not "it"`},
		"a model": {"  actions: {pay: {words: pay}}\n  parsers: {local: {model: smal}}\n  policy: {actions: [pay]}\n",
			`vedette.yaml:5:28: intent.parsers.local.model: unknown model "smal"; did you mean "small"?`},
		"too much trust": {"  actions: {pay: {words: pay}}\n  parsers: {local: {model: small, trust: 1}}\n  policy: {actions: [pay]}\n",
			`intent.parsers.local.trust must be above 0 and below 1`},
		"no trust": {"  actions: {pay: {words: pay}}\n  parsers: {local: {model: small, trust: 0}}\n  policy: {actions: [pay]}\n",
			`intent.parsers.local.trust must be above 0 and below 1`},
		"a skill": {"  actions: {pay: {skill: pay.now}}\n  policy: {actions: [pay]}\n",
			`intent.actions.pay.skill: unknown skill "pay.now"`},
		"arguments alone": {"  actions: {pay: {arguments: {a: topic}}}\n  policy: {actions: [pay]}\n",
			`intent.actions.pay.arguments are for a skill`},
		"a currency": {"  currency: JPY\n  actions: {pay: {words: pay}}\n  policy: {actions: [pay]}\n",
			`intent.currency: unknown currency "JPY"; known are EUR, USD, GBP, CHF`},
		"a family": {"  detector: {families: {sqll: block}}\n  actions: {pay: {words: pay}}\n  policy: {actions: [pay]}\n",
			`unknown key "sqll"; did you mean "sql"?`},
		"two classifiers": {"  detector: {classifier: {model: small, url: 'https://x.example'}}\n" +
			"  actions: {pay: {words: pay}}\n  policy: {actions: [pay]}\n",
			`vedette.yaml:4:26: intent.detector.classifier needs one place to ask; write model or url`},
		"a classifier's token": {"  detector: {classifier: {model: small, token: abc}}\n" +
			"  actions: {pay: {words: pay}}\n  policy: {actions: [pay]}\n",
			`intent.detector.classifier.token is for a url`},
		"a mode": {"  detector: {families: {sql: blok}}\n  actions: {pay: {words: pay}}\n  policy: {actions: [pay]}\n",
			`intent.detector.families.sql must be one of block, flag, ignore, not "blok"; did you mean "block"?`},
		"a text too large": {"  max_text: 2000000\n  actions: {pay: {words: pay}}\n  policy: {actions: [pay]}\n",
			`intent.max_text must be a whole number from 1 to 1048576`},
		"conversations": {"  conversations: always\n  actions: {pay: {words: pay}}\n  policy: {actions: [pay]}\n",
			`intent.conversations must be one of required, advisory, off, not "always"`},
		"a constraint": {"  actions: {pay: {words: pay}}\n  policy: {actions: [pay], constraints: [{when: 'true', then: never}]}\n",
			`intent.policy.constraints[0].then must be one of soft, hard, blocked`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.Parse("vedette.yaml", []byte(intentYAML+row.yaml), config.Options{})
			require.Error(t, err)
			require.Contains(t, err.Error(), row.want)
		})
	}
}

// A change of intents needs a restart.
func TestIntentReload(t *testing.T) {
	parse := func(text string) *config.Config {
		c, err := config.Parse("vedette.yaml", []byte(intentYAML+"  actions: {pay: {words: pay}}\n"+text), config.Options{})
		require.NoError(t, err)
		return c
	}
	for _, c := range config.Compare(parse("  policy: {actions: [pay]}\n"), parse("  policy: {actions: [pay], max_results: 3}\n")) {
		require.Equal(t, config.NeedsRestart, c.Kind)
		require.Equal(t, "intent.policy.max_results", c.Path)
	}
}
