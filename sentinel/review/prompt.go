package review

import (
	"crypto/sha256"
	_ "embed" // the prompts are files, so that a change of wording is a change of version
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/vedette-dev/vedette/agents/llm"
)

// PromptVersion names the wording and layout of the question. It, or the
// version of Options.Prompt, stands in Verdict.Meta under "prompt".
const PromptVersion = "v5"

// withoutEvidence ends the version of a prompt that says nothing of evidence.
const withoutEvidence = "-noevidence"

// customPrefix and customDigits make the version of an operator's own criteria.
const (
	customPrefix = "custom-"
	customDigits = 12
)

var (
	//go:embed prompts/v5.txt
	criteriaText string
	//go:embed prompts/v5-keys.txt
	keysText string
	//go:embed prompts/v5-trace.txt
	traceText string
	//go:embed prompts/v5-flow.txt
	flowText string
	//go:embed prompts/v5-intent.txt
	intentText string
	//go:embed prompts/v5-evidence.txt
	evidenceText string
	//go:embed prompts/v5-answer.txt
	answerText string
	//go:embed prompts/v5-answer-reasoning.txt
	answerReasoningText string
	//go:embed prompts/v5-answer-graded.txt
	answerGradedText string
	//go:embed prompts/v5-answer-graded-reasoning.txt
	answerGradedReasoningText string
	//go:embed prompts/v5-json.txt
	jsonText string
	//go:embed prompts/v5-object.txt
	objectText string
	//go:embed prompts/v5-tool.txt
	toolText string
	//go:embed prompts/v5-again.txt
	againText string

	//go:embed prompts/schema.json
	plainSchema string
	//go:embed prompts/schema-reasoning.json
	reasoningSchema string
	//go:embed prompts/schema-graded.json
	gradedSchema string
	//go:embed prompts/schema-graded-reasoning.json
	gradedReasoningSchema string
)

// schemaName is what the answer's schema, or the function that answers, is
// called on the wire.
const schemaName = "sentinel_decision"

// Limits of an answer in tokens. A reasoning model spends most tokens on thoughts
// that the answer doesn't show.
const (
	answerTokens    = 150
	reasonedTokens  = 400 // with a reasoning before it
	reasoningTokens = 2000
)

// shape is which fields an answer has.
type shape struct {
	graded    bool // should_run, after the decision
	reasoning bool // reasoning, before the decision
}

// describeShape returns the shape in words and as a JSON Schema. The schema's properties stand
// in the order in which they are to be written.
func (s shape) describeShape() (words, schema string) {
	switch {
	case s.graded && s.reasoning:
		words, schema = answerGradedReasoningText, gradedReasoningSchema
	case s.graded:
		words, schema = answerGradedText, gradedSchema
	case s.reasoning:
		words, schema = answerReasoningText, reasoningSchema
	default:
		words, schema = answerText, plainSchema
	}
	return strings.TrimSpace(words), strings.TrimSpace(schema)
}

// form is how one model is asked, and what it may answer. It does not change.
type form struct {
	shape       shape
	rejectBelow int
	// way is how the model is held to the shape: empty is json_schema, the
	// others are llm.ViaTool and llm.ViaJSONObject.
	way           string
	system, again string
	schema        json.RawMessage
	tokens        int
}

// newForm writes the system message for a model: the criteria, what they don't
// say of this configuration's document, and how to answer. It is the same for
// every call, so that servers can keep it.
func newForm(o Options, model llm.Config) form {
	f := form{shape: shape{graded: o.Graded, reasoning: o.Reasoning}, rejectBelow: o.RejectBelow, way: model.Schemaless, tokens: answerTokens}
	switch {
	case model.Reasoning:
		f.tokens = reasoningTokens
	case o.Reasoning:
		f.tokens = reasonedTokens
	}
	words, schema := f.shape.describeShape()
	f.schema = json.RawMessage(schema)
	parts := []string{strings.TrimSpace(criteriaText)}
	if o.Prompt != "" {
		parts[0] = strings.TrimSpace(o.Prompt)
	}
	if o.Keys {
		parts = append(parts, strings.TrimSpace(keysText))
	}
	if o.Trace > 0 {
		parts = append(parts, strings.TrimSpace(traceText))
	}
	if o.Flows > 0 {
		parts = append(parts, strings.TrimSpace(flowText))
	}
	if o.Intents {
		parts = append(parts, strings.TrimSpace(intentText))
	}
	if o.showsEvidence() {
		parts = append(parts, strings.TrimSpace(evidenceText))
	}
	switch f.way {
	case llm.ViaTool:
		words += " " + strings.TrimSpace(toolText)
	case llm.ViaJSONObject:
		words += " " + strings.TrimSpace(objectText) + "\n" + schema
	default:
		words += " " + strings.TrimSpace(jsonText)
	}
	f.system = strings.Join(append(parts, words), "\n\n")
	f.again = f.system + "\n\n" + strings.TrimSpace(againText)
	return f
}

// buildRequest builds the request for a document. Asking again changes the system
// message alone: an answer that could not be used may hold an attacker's words,
// so it is not sent back.
func (f form) buildRequest(document string, again bool) llm.Request {
	system := f.system
	if again {
		system = f.again
	}
	temperature := 0.0
	return llm.Request{
		Messages: []llm.Message{
			{Role: llm.RoleSystem, Content: system},
			{Role: llm.RoleUser, Content: document},
		},
		Schema:      &llm.Schema{Name: schemaName, Schema: f.schema},
		Temperature: &temperature, MaxTokens: f.tokens,
	}
}

// promptVersion names the criteria that are asked with.
func (o Options) promptVersion() string {
	switch {
	case o.Prompt == "" && !o.showsEvidence():
		return PromptVersion + withoutEvidence
	case o.Prompt == "":
		return PromptVersion
	}
	sum := sha256.Sum256([]byte(o.Prompt))
	return customPrefix + hex.EncodeToString(sum[:])[:customDigits]
}
