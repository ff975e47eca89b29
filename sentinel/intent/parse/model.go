package parse

import (
	"context"
	"errors"

	"github.com/vedette-dev/vedette/agents/llm"
)

// Model is a model that parsers ask: an *llm.Client, or one with bounds around it.
type Model interface {
	Name() string
	Config() llm.Config
	Chat(ctx context.Context, r llm.Request) (llm.Response, error)
}

// Bounds of an answer.
const (
	answerTokens    = 600
	reasoningTokens = 3000
	// maxAnswer bounds an answer in bytes.
	maxAnswer = 64 << 10
)

// answerError is an answer that is none.
type answerError struct{ code Code }

func (e *answerError) Error() string { return string(e.code) }

// Ask asks a model and returns what it answered, whole. An answer that was refused, cut, or given in another way than asked
// for is an error, as is one of more than 64 KiB.
func Ask(ctx context.Context, m Model, q Question) (string, error) {
	c := m.Config()
	r := llm.Request{
		Messages:  []llm.Message{{Role: llm.RoleSystem, Content: q.System}, {Role: llm.RoleUser, Content: q.User}},
		Schema:    &llm.Schema{Name: q.Name, Schema: q.Schema},
		MaxTokens: q.Tokens,
	}
	if c.Reasoning {
		r.MaxTokens = reasoningTokens
	} else {
		zero := 0.0
		r.Temperature = &zero
	}
	resp, err := m.Chat(ctx, r)
	if err != nil {
		return "", err
	}
	switch {
	case resp.FinishReason == llm.CodeContentFilter || resp.Refusal != "":
		return "", &answerError{Refused}
	case resp.FinishReason == llm.CodeLength:
		return "", &answerError{Cut}
	case resp.Choices > 1:
		return "", &answerError{Schema}
	}
	content := resp.Content
	if c.Schemaless == llm.ViaTool {
		if len(resp.ToolCalls) != 1 || resp.ToolCalls[0].Name != q.Name {
			return "", &answerError{Schema}
		}
		content = resp.ToolCalls[0].Arguments
	} else if len(resp.ToolCalls) > 0 {
		return "", &answerError{Schema}
	}
	if len(content) > maxAnswer {
		return "", &answerError{Schema}
	}
	return content, nil
}

// codeOfAsking names the error of Ask.
func codeOfAsking(ctx context.Context, err error) (Code, bool) {
	var a *answerError
	var e *llm.Error
	switch {
	case errors.As(err, &a):
		return a.code, true
	case errors.As(err, &e):
		return codeOfModel(ctx, err), true
	}
	return "", false
}
