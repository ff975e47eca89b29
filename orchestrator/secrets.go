package orchestrator

import (
	"slices"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/skills"
)

// secretHider takes secret arguments out of a turn's calls.
type secretHider struct {
	registry *skills.Registry
	scope    skills.Scope // of the turn's agents
}

// hideSecrets returns messages as the journal may have them, and the ids of the calls that
// it changed. The orchestrator's own tools have nothing secret; a model that names a skill
// instead, or a tool that there isn't, may write what is.
func (h secretHider) hideSecrets(list []llm.Message) (kept agents.Messages, hidden []string) {
	kept = slices.Clone(list)
	for i := range kept {
		kept[i].ToolCalls = slices.Clone(kept[i].ToolCalls)
		for j := range kept[i].ToolCalls {
			k := &kept[i].ToolCalls[j]
			if args, yes := h.redactArguments(k.Name, k.Arguments); yes {
				k.Arguments = args
				hidden = append(hidden, k.ID)
			}
		}
	}
	return kept, hidden
}

// redactArguments hides what is secret in the arguments of one call.
func (h secretHider) redactArguments(name, args string) (shown string, hidden bool) {
	switch name {
	case toolGetSkill, toolDispatch, toolResults, toolUpdate, toolQuery, toolCancel:
		return args, false
	}
	if s, ok := h.registry.Get(name); ok {
		b, hidden := s.Redact([]byte(args))
		return string(b), hidden
	}
	for _, n := range h.registry.InScope(h.scope) {
		if s, ok := h.registry.Get(n); ok && s.Secretive() && args != "" {
			return skills.HiddenArgs, true
		}
	}
	return args, false
}
