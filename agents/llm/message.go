package llm

// Roles of a Message.
const (
	RoleSystem    = "system"
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

// Message is one entry of a conversation.
type Message struct {
	Role    string
	Content string
	// Name tells speakers of one role apart; optional.
	Name string
	// ToolCalls are what an assistant message asked for.
	ToolCalls []ToolCall
	// ToolCallID says which call a message of role tool answers.
	ToolCallID string
}

// ToolCall is one function call that a model asks for. Arguments is the model's
// string, byte for byte as decoded from the answer; it may be no JSON at all,
// and two calls of one answer may carry the same ID.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string
}
