package agents

import (
	"context"
	"errors"
	"time"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/internal/backoff"
)

// Chain is a Model that asks the next model when one can't answer. A request
// that is itself at fault, or a caller that left, is not tried again; a model
// that is configured without tools is passed over. A budget that is spent ends
// the chain: the next model would be asked on the same one. Where none answered
// and one was only out of reach, busy or broken for the moment, all are asked
// again, twice at most, after a pause that doubles from 200 ms or is what a
// server asked for, up to ten seconds. An empty Chain answers with an error.
type Chain []Model

// How often a Chain is tried, and the longest pause between two tries.
const (
	chainRounds   = 3
	chainPatience = 10 * time.Second
)

// newChainPauses are the pauses of a chain, spread so that many don't come again at once.
func newChainPauses() backoff.Pauses {
	return backoff.Pauses{First: 200 * time.Millisecond, Spread: backoff.Spread{Least: 50, Most: 100}}
}

// Chat asks the models in order and returns the first answer, or the last
// error.
func (c Chain) Chat(ctx context.Context, r llm.Request) (llm.Response, error) {
	for round := 1; ; round++ {
		resp, again, wait, err := c.askEachModel(ctx, r)
		if err == nil || !again || round == chainRounds || wait > chainPatience {
			return resp, err
		}
		wait = max(wait, newChainPauses().Pause(round-1))
		if end, ok := ctx.Deadline(); ok && time.Until(end) <= wait {
			return resp, err
		}
		if !backoff.Wait(ctx, wait) {
			return resp, err
		}
	}
}

// askEachModel asks the models in order until one answers. A spent budget or a bad request
// ends it. again says that another try may help, after wait, the shortest that a server asked for.
func (c Chain) askEachModel(ctx context.Context, r llm.Request) (resp llm.Response, again bool, wait time.Duration, err error) {
	err = errors.New("no model is configured for this role")
	for _, m := range c {
		if resp, err = m.Chat(ctx, r); err == nil {
			return resp, false, 0, nil
		}
		var e *llm.Error
		known := errors.As(err, &e)
		if ctx.Err() != nil || known && (e.Kind == llm.KindBudget || e.Kind == llm.KindRequest && e.Code != llm.CodeToolsUnsupported) {
			return llm.Response{}, false, 0, err
		}
		if known && isPassing(e.Kind) {
			if !again || e.RetryAfter < wait {
				wait = e.RetryAfter
			}
			again = true
		}
	}
	return llm.Response{}, again, wait, err
}

// isPassing reports whether a failure may be over in a moment.
func isPassing(k llm.Kind) bool {
	switch k {
	case llm.KindConnect, llm.KindServer, llm.KindRateLimited:
		return true
	}
	return false
}
