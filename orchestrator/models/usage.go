package models

import (
	"errors"

	"github.com/vedette-dev/vedette/agents/llm"
)

// readUsage returns the tokens that the server told. Where it told none, they are
// estimated: a question that was refused or never arrived came to nothing, and one that
// got no answer in time came to its text.
func readUsage(r llm.Request, resp llm.Response, err error) (in, out int64, estimated bool) {
	if u := resp.Usage; u.Prompt > 0 || u.Completion > 0 || u.Total > 0 {
		in, out = int64(max(u.Prompt, 0)), int64(max(u.Completion, 0))
		return in, max(out, int64(u.Total)-in), false // some count reasoning in the total alone
	}
	var e *llm.Error
	if errors.As(err, &e) {
		switch e.Kind {
		case llm.KindTimeout, llm.KindCanceled, llm.KindNotJSON, llm.KindBadResponse, llm.KindTooLarge:
			return estimatePrompt(&r, 4), 0, true
		}
		return 0, 0, false
	}
	said := len(resp.Content) + len(resp.Refusal)
	for _, k := range resp.ToolCalls {
		said += len(k.Name) + len(k.Arguments)
	}
	return estimatePrompt(&r, 4), int64(said/4) + 1, true
}

// estimatePrompt estimates a question's tokens from its bytes: about four each in
// English, so three is on the safe side.
func estimatePrompt(r *llm.Request, perToken int) int64 {
	n := 0
	for i := range r.Messages {
		m := &r.Messages[i]
		n += len(m.Content) + len(m.Name) + 4*perToken
		for _, k := range m.ToolCalls {
			n += len(k.Name) + len(k.Arguments) + 4*perToken
		}
	}
	for _, t := range r.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Parameters) + 4*perToken
	}
	return int64((n + perToken - 1) / perToken)
}
