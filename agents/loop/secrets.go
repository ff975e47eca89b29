package loop

import (
	"slices"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/skills"
)

// SecretSkills knows the skills whose secrets stand in a loop's calls.
type SecretSkills interface {
	// FindSkill returns the skill of that name, also one that the owner doesn't have.
	FindSkill(name string) (*skills.Skill, bool)
	// TakeSecrets reports whether any skill that the owner has takes secrets.
	TakeSecrets() bool
}

// Redact returns a call's arguments without their secrets. Only the call's skill and
// the model that wrote the arguments may see the secrets. Where no skill fits the call,
// no schema marks its secrets: Redact hides all of it if any skill of the owner takes secrets.
func Redact(known SecretSkills, name string, args []byte) (shown []byte, hidden bool) {
	if s, ok := known.FindSkill(name); ok {
		return s.Redact(args)
	}
	if len(args) > 0 && known.TakeSecrets() {
		return []byte(skills.HiddenArgs), true
	}
	return args, false
}

// HideCalls returns calls as the journal may have them, and the ids of those that hide
// changed.
func HideCalls(list []llm.ToolCall, hide func(llm.ToolCall) (kept llm.ToolCall, hidden bool)) (kept []llm.ToolCall, ids []string) {
	kept = slices.Clone(list)
	for i, k := range list {
		var hidden bool
		if kept[i], hidden = hide(k); hidden {
			ids = append(ids, k.ID)
		}
	}
	return kept, ids
}

// HideMessages is HideCalls for the calls in messages. The messages themselves are not
// changed.
func HideMessages(list []llm.Message, hide func(llm.ToolCall) (kept llm.ToolCall, hidden bool)) (kept Messages, ids []string) {
	kept = slices.Clone(list)
	for i := range kept {
		calls, hidden := HideCalls(kept[i].ToolCalls, hide)
		kept[i].ToolCalls, ids = calls, append(ids, hidden...)
	}
	return kept, ids
}
