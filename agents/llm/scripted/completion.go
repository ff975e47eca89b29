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

// choice is one choice of a completion.
type choice struct {
	Index        int       `json:"index"`
	Message      spoken    `json:"message"`
	Logprobs     *struct{} `json:"logprobs"`
	FinishReason string    `json:"finish_reason"`
}

// spoken is the message of a choice.
type spoken struct {
	Role      string       `json:"role"`
	Content   *string      `json:"content"`
	Refusal   *string      `json:"refusal"`
	ToolCalls []calledTool `json:"tool_calls,omitempty"`
}

// calledTool is a tool call of a message.
type calledTool struct {
	ID       string         `json:"id"`
	Type     string         `json:"type"`
	Function calledFunction `json:"function"`
}

// calledFunction is the name and the arguments of a tool call.
type calledFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// encodeAnswer encodes an answer as its request asked for it: one document, or events.
func (c *completion) encodeAnswer(r *chatRequest) (wireAnswer, error) {
	if r.Stream {
		parts, err := c.encodeEvents(r.StreamOptions != nil && r.StreamOptions.IncludeUsage)
		return wireAnswer{eventStream, parts}, err
	}
	b, err := plainjson.Marshal(c)
	return wireAnswer{"application/json", [][]byte{b}}, err
}
