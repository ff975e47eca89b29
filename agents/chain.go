package agents

import (
	"context"
	"errors"

	"github.com/vedette-dev/vedette/agents/llm"
)

// Chain is a Model that asks the next model when one can't answer. A request
// that is itself at fault, or a caller that left, is not tried again; a model
// that is configured without tools is passed over. A budget that is spent ends
// the chain: the next model would be asked on the same one. An empty Chain answers with
// an error.
type Chain []Model

// Chat asks the models in order and returns the first answer, or the last
// error.
func (c Chain) Chat(ctx context.Context, r llm.Request) (llm.Response, error) {
	err := errors.New("no model is configured for this role")
	for _, m := range c {
		var resp llm.Response
		if resp, err = m.Chat(ctx, r); err == nil {
			return resp, nil
		}
		var e *llm.Error
		if ctx.Err() != nil || errors.As(err, &e) && (e.Kind == llm.KindBudget || e.Kind == llm.KindRequest && e.Code != llm.CodeToolsUnsupported) {
			break
		}
	}
	return llm.Response{}, err
}
