package review

import (
	_ "embed" // the prompts are files, so that a change of wording is a change of version
	"encoding/json"
	"strings"

	"github.com/vedette-dev/vedette/agents/llm"
)

// PromptVersion names the wording and layout of the question. It stands in
// Verdict.Meta under "prompt".
const PromptVersion = "v1"

//go:embed prompts/v1.txt
var promptText string

//go:embed prompts/v1-again.txt
var againText string

//go:embed prompts/schema.json
var answerSchema string

// schemaName is what the answer's schema is called on the wire.
const schemaName = "sentinel_decision"

// Limits of an answer in tokens. A reasoning model spends most of its on
// thoughts that nobody sees.
const (
	answerTokens    = 150
	reasoningTokens = 2000
)

// question builds the request for a document. Asking again changes the system
// message alone: an answer that could not be used may hold an attacker's words,
// so it is not sent back.
func question(document string, reasoning, again bool) llm.Request {
	system := strings.TrimSpace(promptText)
	if again {
		system += "\n\n" + strings.TrimSpace(againText)
	}
	tokens := answerTokens
	if reasoning {
		tokens = reasoningTokens
	}
	temperature := 0.0
	return llm.Request{
		Messages: []llm.Message{
			{Role: llm.RoleSystem, Content: system},
			{Role: llm.RoleUser, Content: document},
		},
		Schema:      &llm.Schema{Name: schemaName, Schema: json.RawMessage(strings.TrimSpace(answerSchema))},
		Temperature: &temperature, MaxTokens: tokens,
	}
}
