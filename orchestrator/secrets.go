package orchestrator

import (
	"slices"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/skills"
)

// hideSecrets are messages as the journal may have them, with the ids of the
// calls that are not whole any more. The orchestrator's own tools have nothing
// secret; a model that names a skill instead, or a tool that there isn't, may
// write what is.
func (t *turn) hideSecrets(list []llm.Message) (kept agents.Messages, hidden []string) {
	kept = slices.Clone(list)
	for i := range kept {
		kept[i].ToolCalls = slices.Clone(kept[i].ToolCalls)
		for j := range kept[i].ToolCalls {
			k := &kept[i].ToolCalls[j]
			if args, yes := t.redactArguments(k.Name, k.Arguments); yes {
				k.Arguments = args
				hidden = append(hidden, k.ID)
			}
		}
	}
	return kept, hidden
}

func (t *turn) redactArguments(name, args string) (shown string, hidden bool) {
	switch name {
	case toolGetSkill, toolDispatch, toolResults, toolUpdate, toolQuery, toolCancel:
		return args, false
	}
	if s, ok := t.parts.Registry.Get(name); ok {
		b, hidden := s.Redact([]byte(args))
		return string(b), hidden
	}
	for _, n := range t.parts.Registry.InScope(t.scope) {
		if s, ok := t.parts.Registry.Get(n); ok && s.Secretive() && args != "" {
			return skills.HiddenArgs, true
		}
	}
	return args, false
}
