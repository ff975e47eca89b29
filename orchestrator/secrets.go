package orchestrator

import (
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/loop"
	"github.com/vedette-dev/vedette/skills"
)

// turnSecrets takes secret arguments out of a turn's calls. It implements
// loop.SecretSkills.
type turnSecrets struct {
	registry *skills.Registry
	scope    skills.Scope // of the turn's agents
}

// hideCall returns a call as the journal may have it. The orchestrator's own tools have nothing
// secret; a model that names a skill instead, or a tool that there isn't, may write what is.
func (h turnSecrets) hideCall(k llm.ToolCall) (kept llm.ToolCall, hidden bool) {
	switch k.Name {
	case toolGetSkill, toolDispatch, toolResults, toolUpdate, toolQuery, toolCancel:
		return k, false
	}
	shown, hidden := loop.Redact(h, k.Name, []byte(k.Arguments))
	if hidden {
		k.Arguments = string(shown)
	}
	return k, hidden
}

// FindSkill returns any skill of the process.
func (h turnSecrets) FindSkill(name string) (*skills.Skill, bool) { return h.registry.Get(name) }

// TakeSecrets reports whether any skill takes secrets that the turn's agents may have.
func (h turnSecrets) TakeSecrets() bool { return h.registry.TakesSecrets(h.scope) }
