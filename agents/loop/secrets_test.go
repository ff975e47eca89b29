package loop

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/skills"
)

// vaults are an owner's skills: known by name, of which it may have some that take secrets.
type vaults struct {
	known map[string]*skills.Skill
	takes bool
}

func (v vaults) FindSkill(name string) (*skills.Skill, bool) { s, ok := v.known[name]; return s, ok }
func (v vaults) TakeSecrets() bool                           { return v.takes }

// A call's secrets are what its skill's schema marks. A call that fits no skill may have
// been meant for any that the owner has.
func TestRedact(t *testing.T) {
	vault, err := skills.Compile(skills.Spec{
		Name: "vault.open", Effect: skills.Create, Run: skills.Run{Kind: "template"},
		Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"},"key":{"type":"string","x-secret":true}}}`),
	})
	require.NoError(t, err)
	known := map[string]*skills.Skill{"vault.open": vault}
	for name, row := range map[string]struct {
		skill, args string
		takes       bool
		want        string
	}{
		"a secret":            {"vault.open", `{"n":1,"key":"x"}`, false, `{"key":"[secret]","n":1}`},
		"none":                {"vault.open", `{"n":1}`, true, `{"n":1}`},
		"misspelt":            {"vault.opne", `{"n":1}`, true, skills.HiddenArgs},
		"misspelt, no matter": {"vault.opne", `{"n":1}`, false, `{"n":1}`},
		"nothing to hide":     {"vault.opne", "", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			shown, hidden := Redact(vaults{known, row.takes}, row.skill, []byte(row.args))
			require.Equal(t, row.want, string(shown))
			require.Equal(t, row.want != row.args, hidden)
		})
	}
}

// What is kept is a copy: the model goes on reading its own words.
func TestHiddenMessagesAreCopies(t *testing.T) {
	list := []llm.Message{{Role: llm.RoleUser, Content: "x"},
		{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{ID: "1", Arguments: "a"}, {ID: "2", Arguments: "b"}}}}
	hide := func(k llm.ToolCall) (llm.ToolCall, bool) {
		if k.ID == "1" {
			return k, false
		}
		k.Arguments = "hidden"
		return k, true
	}
	kept, ids := HideMessages(list, hide)
	require.Equal(t, []string{"2"}, ids)
	require.Equal(t, "hidden", kept[1].ToolCalls[1].Arguments)
	require.Equal(t, "a", kept[1].ToolCalls[0].Arguments)
	require.Equal(t, "b", list[1].ToolCalls[1].Arguments)
	calls, ids := HideCalls(list[1].ToolCalls, hide)
	require.Equal(t, []string{"2"}, ids)
	require.Equal(t, []llm.ToolCall{{ID: "1", Arguments: "a"}, {ID: "2", Arguments: "hidden"}}, calls)
}
