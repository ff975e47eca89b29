package scripted

import "github.com/vedette-dev/vedette/internal/plainjson"

// completion is the body of an answer.
type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   usage    `json:"usage"`
}

type choice struct {
	Index        int       `json:"index"`
	Message      spoken    `json:"message"`
	Logprobs     *struct{} `json:"logprobs"`
	FinishReason string    `json:"finish_reason"`
}

type spoken struct {
	Role      string       `json:"role"`
	Content   *string      `json:"content"`
	Refusal   *string      `json:"refusal"`
	ToolCalls []calledTool `json:"tool_calls,omitempty"`
}

type calledTool struct {
	ID       string         `json:"id"`
	Type     string         `json:"type"`
	Function calledFunction `json:"function"`
}

type calledFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// encodeAnswer writes an answer down as its request asked for it.
func (c *completion) encodeAnswer(r *chatRequest) (wireAnswer, error) {
	if r.Stream {
		parts, err := c.encodeEvents(r.StreamOptions != nil && r.StreamOptions.IncludeUsage)
		return wireAnswer{eventStream, parts}, err
	}
	b, err := plainjson.Marshal(c)
	return wireAnswer{"application/json", [][]byte{b}}, err
}
