package agents

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/skills"
)

// Recaller is an Invoker that knows what became of the calls of an earlier
// process. An agent with Rounds asks it about calls whose secret arguments were
// not kept, rather than propose them without: shown are the arguments with what
// was secret hidden. Recall runs nothing. It stands for the call's proposal: it
// takes its number and answers like Invoke, with an error that tells the model
// to propose the call again where it was never decided.
type Recaller interface {
	Recall(ctx context.Context, skill string, shown json.RawMessage) (skills.Result, error)
}

// recall asks the Invoker about a call that can't be proposed any more.
func recall(ctx context.Context, inv Invoker, name string, shown []byte) (skills.Result, error) {
	if r, ok := inv.(Recaller); ok {
		return r.Recall(ctx, name, shown)
	}
	return skills.Result{}, &skills.Failure{
		Code: "interrupted", Unknown: true, Err: errors.New("the process ended while the call was under way"),
	}
}

// skill returns the skill of that name, also one that the agent does not have.
func (w *worker) skill(name string) *skills.Skill {
	for _, s := range w.skills {
		if s.Name() == name {
			return s
		}
	}
	if w.a.o.Lookup != nil {
		if s, ok := w.a.o.Lookup(name); ok {
			return s
		}
	}
	return nil
}

// redact returns a call's arguments without their secrets. Only the call's skill and
// the model that wrote the arguments may see the secrets. Where no skill fits the call,
// no schema marks its secrets: redact hides all of it if any skill of the agent takes secrets.
func (w *worker) redact(name string, args []byte) (shown []byte, hidden bool) {
	if s := w.skill(name); s != nil {
		return s.Redact(args)
	}
	if slices.ContainsFunc(w.skills, (*skills.Skill).Secretive) && len(args) > 0 {
		return []byte(skills.HiddenArgs), true
	}
	return args, false
}

// concealed is a call as the journal may have it.
func (w *worker) concealed(k llm.ToolCall) (kept llm.ToolCall, hidden bool) {
	switch k.Name {
	case ToolRequestHelp:
		return k, false
	case ToolUseSkill:
		if name, args, err := proposal(k.Arguments); err == nil {
			shown, hidden := w.redact(name, args)
			if hidden {
				k.Arguments = encode(map[string]any{"skill": name, "arguments": json.RawMessage(shown)})
			}
			return k, hidden
		}
	}
	name := k.Name
	if name == ToolUseSkill {
		name = ""
	}
	shown, hidden := w.redact(name, []byte(k.Arguments))
	if hidden {
		k.Arguments = string(shown)
	}
	return k, hidden
}

// conceal takes the secrets out of a round that is to be kept. What was still
// to be proposed is marked where it is not whole any more.
func (w *worker) conceal(r *Round) {
	r.Messages = slices.Clone(r.Messages)
	for i := range r.Messages {
		m := &r.Messages[i]
		m.ToolCalls = slices.Clone(m.ToolCalls)
		for j, k := range m.ToolCalls {
			m.ToolCalls[j], _ = w.concealed(k)
		}
	}
	r.Queue = slices.Clone(r.Queue)
	for i, k := range r.Queue {
		kept, hidden := w.concealed(k)
		r.Queue[i] = kept
		if hidden {
			r.Hidden = append(r.Hidden, k.ID)
		}
	}
}
