package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/vedette-dev/vedette/agents/llm"
)

// works reports whether a model works as an orchestrator or an agent, which do
// all that they do by calling functions.
func (e *exam) works(name string) bool {
	return slices.Contains(e.cfg.Roles["orchestrator"], name) || slices.Contains(e.cfg.Roles["agent"], name)
}

// tools asks for the call of a function. A server whose template for the model
// knows none leaves them out without a word, and the agent has no skill.
func (e *exam) tools(ctx context.Context, m *llm.Client) {
	limit := 300
	if m.Config().Reasoning {
		limit = 2000
	}
	r, err := m.Chat(ctx, llm.Request{MaxTokens: limit,
		Messages: []llm.Message{{Role: llm.RoleUser, Content: "Call the function " + probeName + " with the colour amber and the level 3."}},
		Tools:    []llm.Tool{{Name: probeName, Description: "Notes a colour and a level.", Parameters: json.RawMessage(probeSchema)}}})
	check := "tools " + m.Name()
	var f *llm.Error
	switch {
	case errors.As(err, &f) && f.Kind != llm.KindBadResponse:
		e.problem(check, "it refuses or fails a request with tools",
			"see whether the model's template knows tools and its server passes them on (llama.cpp: --jinja), "+
				"or give the roles orchestrator and agent another model")
	case err != nil || len(r.ToolCalls) == 0 || r.ToolCalls[0].Name != probeName:
		e.warn(check, "told to call a function, it called none: what calls none uses no skill",
			"see whether its server shows it tools (the model's template has to know them), or give the roles orchestrator and agent another model")
	default:
		e.ok(check, "it calls functions")
	}
}

// longQuestion is about the most tokens that a question of the review has.
const longQuestion = 10_000

// context says whether it would be noticed that a model was shown half a question.
func (e *exam) context(m *llm.Client) {
	check, size := "context "+m.Name(), m.Config().Context
	switch {
	case size == 0:
		e.warn(check, "models."+m.Name()+".context is not set: where its server cuts off what is too long, "+
			"the model judges the rest and no message says so",
			"write how many tokens it takes: the smaller one of what the server is set to and what the model was made for")
	case size < longQuestion:
		e.warn(check, fmt.Sprintf("%d tokens: a question of the review can have about %d, and what is longer is unjudgeable", size, longQuestion),
			"give it a longer context, or take another model where calls are long")
	default:
		e.ok(check, "%d tokens", size)
	}
}
