package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/skills"
)

const secret = "hunter2-canary"

func vault(t testing.TB, name string) *skills.Skill {
	s, err := skills.Compile(skills.Spec{
		Name: name, Effect: skills.Create, Run: skills.Run{Kind: "template"},
		Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"},"key":{"type":"string","x-secret":true}}}`),
	})
	require.NoError(t, err)
	return s
}

// secretCalls are calls with a secret in them, as models write them.
func secretCalls() []llm.ToolCall {
	args := fmt.Sprintf(`{"n":1,"key":%q}`, secret)
	inner, _ := json.Marshal(args)
	raw := func(text string) llm.ToolCall { return llm.ToolCall{Name: ToolUseSkill, Arguments: text} }
	return []llm.ToolCall{
		use("", "vault.open", args),
		use("", "vault.open", string(inner)), // JSON in a string
		use("", "vault.opne", args),          // no such skill
		use("", "other.vault", args),         // not the agent's
		use("", "vault.open", `{"n":1,"key":"x","key":"`+secret+`"}`),
		use("", "vault.open", `{"n":1,"kee":"`+secret+`"}`),
		raw(`{"skill":"vault.open","n":1,"key":"` + secret + `"}`), // without arguments
		raw(`{"skill":"vault.open","arguments":{"key":"` + secret), // cut off
		{Name: "vault.open", Arguments: args},                      // by its own name
		{Name: "vault_open", Arguments: args},                      // by one that there isn't
	}
}

// recalls is an Invoker that is asked about calls of before.
type recalls struct {
	desk
	asked []proposed
}

func (r *recalls) Recall(_ context.Context, skill string, shown json.RawMessage) (skills.Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, proposed{skill, string(shown)})
	return skills.Result{Content: "was done", Trust: skills.Trusted}, nil
}

// What a schema marks as secret reaches the desk and goes back to the model that
// wrote it; the transcript and the rounds that are kept hold it hidden, however
// the model wrote it.
func TestSecretsHidden(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		list := secretCalls()
		open := use("", "sheep.count", `{"n": 7, "n": 8}`)
		m, d, book := script(calls(append(list, open)...), says("done")), &recalls{}, &notebook{}
		o := Options{
			Model: m, Invoker: d, Journal: book, Calls: 20, Skills: []*skills.Skill{vault(t, "vault.open"), skill(t, "sheep.count")},
			Lookup: func(name string) (*skills.Skill, bool) { return vault(t, "other.vault"), name == "other.vault" },
		}
		a, res := r.run(o)
		require.Equal(t, Completed, res.State)
		require.Equal(t, 11, res.Calls)

		for i, p := range d.proposals()[:10] {
			require.Contains(t, p.Args, secret, "call %d reaches the desk as it was written", i)
		}
		told, err := json.Marshal(m.requests()[1].Messages)
		require.NoError(t, err)
		require.Contains(t, string(told), secret, "the model reads its own words")

		shown, err := json.Marshal(a.Snapshot())
		require.NoError(t, err)
		require.NotContains(t, string(shown), secret)
		require.Contains(t, string(shown), `{\"n\": 7, \"n\": 8}`, "what is not secret is shown as it was written")
		require.NotContains(t, string(book.rounds[0]), secret)
		rounds := book.read(t, 1)
		require.Len(t, rounds[0].Hidden, 10)
		last := rounds[0].Queue[10]
		require.Equal(t, open.Arguments, last.Arguments, "and can be proposed from there")
		require.NotContains(t, rounds[0].Hidden, last.ID)

		again := &recalls{}
		o.Invoker, o.Rounds, o.Journal = again, rounds, &notebook{}
		o.Model = script(says("done"))
		a, res = r.run(o)
		require.Equal(t, 11, res.Calls, "each has the number that it had")
		require.Equal(t, []proposed{{"sheep.count", `{"n": 7, "n": 8}`}}, again.proposals(), "nothing is proposed without its secret")
		require.Len(t, again.asked, 10)
		require.Equal(t, proposed{"vault.open", `{"key":"[secret]","n":1}`}, again.asked[0])
		require.Contains(t, fmt.Sprint(a.Snapshot().Transcript), "was done")
	})
}

// A call of a skill that the agent does not have is judged by that skill's own
// schema, also where nothing of the agent's is secret.
func TestSecretsOfOtherSkills(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		book := &notebook{}
		a, _ := r.run(Options{
			Model: script(calls(secretCalls()[3]), says("done")), Journal: book, Skills: []*skills.Skill{skill(t, "sheep.count")},
			Lookup: func(name string) (*skills.Skill, bool) { return vault(t, "other.vault"), name == "other.vault" },
		})
		shown := fmt.Sprint(a.Snapshot().Transcript)
		require.NotContains(t, shown, secret)
		require.Contains(t, shown, `{"key":"[secret]","n":1}`)
		require.NotContains(t, string(book.rounds[0]), secret)
	})
}

// An Invoker that can't tell what became of such a call leaves it unknown, and
// it is not proposed.
func TestSecretsWithoutRecall(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		book := &notebook{}
		o := Options{
			Model: script(calls(secretCalls()[0]), says("done")), Journal: book, Skills: []*skills.Skill{vault(t, "vault.open")},
		}
		_, _ = r.run(o)
		d := &desk{}
		m := script(says("done"))
		o.Model, o.Invoker, o.Journal, o.Rounds = m, d, nil, book.read(t, 1)
		_, res := r.run(o)
		require.Equal(t, Completed, res.State)
		require.Empty(t, d.proposals())
		require.Contains(t, toolMessages(m.requests()[0])[0].Content, "not known whether it had an effect")
	})
}

// Rounds of before anything was hidden are gone on with, those of a later form
// are not.
func TestRoundVersions(t *testing.T) {
	for v, ok := range map[int]bool{0: false, 1: true, 2: true, 3: false} {
		err := checkRounds([]Round{{V: v, Number: 1}})
		require.Equal(t, ok, err == nil, "version %d", v)
	}
}
