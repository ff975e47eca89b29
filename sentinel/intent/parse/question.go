package parse

import (
	"crypto/sha256"
	_ "embed" // the prompt is a file, so that a change of wording is a change of version
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/internal/plainjson"
	"github.com/vedette-dev/vedette/sentinel/intent"
)

//go:embed prompt.txt
var promptText string

// PromptVersion names the wording of the question to models.
func PromptVersion() string {
	sum := sha256.Sum256([]byte(promptText))
	return "intent-" + hex.EncodeToString(sum[:4])
}

// schemaName is what the answer's schema is called on the wire.
const schemaName = "intent"

// noneAction is what a model answers where the text asks for no action.
const noneAction = "none"

// Words are what a model is told of the vocabulary. They are plain data, so that they can be sent to another process.
type Words struct {
	// Actions are the actions with what they do, in an operator's words.
	Actions    []Described         `json:"actions"`
	Expertise  []string            `json:"expertise,omitempty"`
	Entities   map[string][]string `json:"entities,omitempty"`
	Currencies []string            `json:"currencies"`
	// Currency is that of amounts without one; empty for none.
	Currency   string   `json:"currency,omitempty"`
	References []string `json:"references,omitempty"`
}

// Described is a name with what it stands for.
type Described struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// Question is what a model is asked: for one JSON object of a strict schema.
type Question struct {
	// Name is what the schema is called on the wire.
	Name         string
	System, User string
	Schema       json.RawMessage
	// Tokens bounds the answer of a model that doesn't reason.
	Tokens int
}

// newQuestion writes the question about a text.
func newQuestion(w Words, text string, today time.Time) (Question, error) {
	user, err := plainjson.Marshal(struct {
		Today string `json:"today"`
		Text  string `json:"text"`
	}{today.Format(time.DateOnly), strings.ToValidUTF8(text, "\uFFFD")})
	if err != nil {
		return Question{}, err
	}
	schema, err := json.Marshal(w.schema())
	return Question{Name: schemaName, Tokens: answerTokens, System: w.system(), User: string(user), Schema: schema}, err
}

// system writes the first message: the same for every text, so that servers can keep it.
func (w Words) system() string {
	var actions strings.Builder
	for _, a := range w.Actions {
		actions.WriteString("- " + a.Name)
		if a.Description != "" {
			actions.WriteString(": " + strings.Join(strings.Fields(a.Description), " "))
		}
		actions.WriteByte('\n')
	}
	currency := ""
	if w.Currency != "" {
		currency = "; " + w.Currency + " where the text names none"
	}
	references := "nothing here, so leave the list empty"
	if len(w.References) > 0 {
		references = strings.Join(w.References, ", ")
	}
	return strings.NewReplacer("{{actions}}\n", actions.String(), "{{currency}}", currency, "{{references}}", references).Replace(promptText)
}

type object = map[string]any

// schema is the strict JSON Schema of an answer.
func (w Words) schema() object {
	actions := make([]string, 0, len(w.Actions)+1)
	for _, a := range w.Actions {
		actions = append(actions, a.Name)
	}
	optional := func(s object) object { return object{"anyOf": []object{s, {"type": "null"}}} }
	list := func(item object) object { return object{"type": "array", "items": item} }
	text := object{"type": "string"}
	constraints := object{
		"budget": optional(strict(object{"amount": object{"type": "number"}, "currency": object{"type": "string", "enum": w.Currencies}},
			"amount", "currency")),
		"max_results": optional(object{"type": "integer"}), "max_length": optional(object{"type": "integer"}),
		"deadline": optional(text), "domains": list(text),
	}
	names := []string{"budget", "max_results", "max_length", "deadline", "domains"}
	if len(w.Entities) > 0 {
		constraints["entities"] = list(w.entitySchema())
		names = append(names, "entities")
	}
	fields := object{
		"action": object{"type": "string", "enum": append(actions, noneAction)}, "topic": text, "references": list(text),
		"constraints": strict(constraints, names...), "confidence": object{"type": "number"},
	}
	required := []string{"action", "topic", "references", "constraints", "confidence"}
	if len(w.Expertise) > 0 {
		fields["expertise"] = list(object{"type": "string", "enum": w.Expertise})
		required = append(required, "expertise")
	}
	return strict(fields, required...)
}

// entitySchema is the schema of one entity: a kind with one of its names.
func (w Words) entitySchema() object {
	var kinds []object
	one := func(names ...string) object { return object{"type": "string", "enum": names} }
	for _, kind := range slices.Sorted(maps.Keys(w.Entities)) {
		kinds = append(kinds, strict(object{"kind": one(kind), "name": one(w.Entities[kind]...)}, "kind", "name"))
	}
	if len(kinds) == 1 {
		return kinds[0]
	}
	return object{"anyOf": kinds}
}

// strict is the schema of an object with exactly these fields.
func strict(fields object, required ...string) object {
	return object{"type": "object", "additionalProperties": false, "required": required, "properties": fields}
}

// readAnswer reads what a model answered as a draft.
func readAnswer(content string) (intent.Draft, error) {
	return intent.ReadDraft([]byte(strings.Trim(content, " \t\r\n")))
}
