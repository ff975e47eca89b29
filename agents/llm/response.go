package llm

// Usage counts tokens as the server reported them; zero when it did not.
type Usage struct {
	Prompt     int
	Completion int
	Total      int
}

// Response is a model's answer: the first choice, and how many there were.
type Response struct {
	ID    string
	Model string
	// Choices is how many choices the server sent. More than one was not asked
	// for; the others are dropped unread.
	Choices int
	Content string
	// ToolCalls are in the order of the answer, none merged or dropped.
	ToolCalls []ToolCall
	// FinishReason is the server's word: stop, tool_calls, length,
	// content_filter. Act on ToolCalls only after stop or tool_calls.
	FinishReason string
	// Refusal is what a model says instead of a structured answer, or beside
	// one, which then must not be believed.
	Refusal string
	Usage   Usage
}
