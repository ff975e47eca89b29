package scripted

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// checkFormat accepts text and strict json_schema. A json_object request is
// refused: it constrains nothing but the syntax.
func (r *chatRequest) checkFormat() error {
	f := r.ResponseFormat
	if f == nil || f.Type == "text" && f.JSONSchema == nil {
		return nil
	}
	switch {
	case f.Type != "json_schema":
		return &fault{"unsupported_value", "response_format is not text or json_schema"}
	case f.JSONSchema == nil || !toolName(f.JSONSchema.Name):
		return invalid("response_format.json_schema has no usable name")
	case f.JSONSchema.Strict == nil || !*f.JSONSchema.Strict:
		return invalid("response_format.json_schema.strict is not true")
	}
	var s schemaNode
	if json.Unmarshal(f.JSONSchema.Schema, &s) != nil || s.typeName() != "object" || !s.strict(0) {
		return invalid("response_format.json_schema.schema is not strict: each object needs additionalProperties false and every property required")
	}
	return nil
}

// schemaNode is what strict mode looks at in a JSON Schema.
type schemaNode struct {
	Type                 jsontext.Value        `json:"type"`
	Properties           map[string]schemaNode `json:"properties"`
	Required             []string              `json:"required"`
	AdditionalProperties jsontext.Value        `json:"additionalProperties"`
	Items                *schemaNode           `json:"items"`
	AnyOf                []schemaNode          `json:"anyOf"`
	Defs                 map[string]schemaNode `json:"$defs"`
}

// typeName is the type if it is one word, as it must be for the whole schema.
func (s *schemaNode) typeName() string {
	var t string
	_ = json.Unmarshal(s.Type, &t) // a list or nothing is no single type
	return t
}

func (s *schemaNode) strict(depth int) bool {
	if depth > maxDepth {
		return false
	}
	if s.typeName() == "object" || s.Properties != nil {
		if string(s.AdditionalProperties) != "false" || len(s.Required) != len(s.Properties) {
			return false
		}
	}
	for name, p := range s.Properties {
		if !slices.Contains(s.Required, name) || !p.strict(depth+1) {
			return false
		}
	}
	for _, sub := range s.AnyOf {
		if !sub.strict(depth + 1) {
			return false
		}
	}
	for _, sub := range s.Defs {
		if !sub.strict(depth + 1) {
			return false
		}
	}
	return s.Items == nil || s.Items.strict(depth+1)
}

// checkModel holds what the services refuse for models that reason. The names
// are theirs, so a script's own names are free.
func (r *chatRequest) checkModel() error {
	name := strings.ToLower(r.Model[strings.LastIndexByte(r.Model, '/')+1:])
	reasons := strings.HasPrefix(name, "gpt-5") && !strings.Contains(name, "-chat")
	for _, p := range []string{"o1", "o3", "o4"} {
		reasons = reasons || name == p || strings.HasPrefix(name, p+"-")
	}
	switch {
	case !reasons:
		return nil
	case r.MaxTokens != nil:
		return &fault{"unsupported_parameter", "max_tokens is not supported by this model; use max_completion_tokens"}
	case r.Temperature != nil && *r.Temperature != 1:
		return &fault{"unsupported_value", "temperature other than 1 is not supported by this model"}
	case r.ReasoningEffort == "minimal" && name != "gpt-5" && !strings.HasPrefix(name, "gpt-5-"):
		return &fault{"unsupported_value", "reasoning_effort minimal is not supported by this model"}
	}
	return nil
}
