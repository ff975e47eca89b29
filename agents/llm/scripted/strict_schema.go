package scripted

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// checkStrict returns what keeps a JSON Schema from being a strict one.
func checkStrict(schema jsontext.Value) string {
	var s schemaNode
	switch {
	case json.Unmarshal(schema, &s) != nil:
		return "it can't be read"
	case s.typeName() != "object" || s.AnyOf != nil:
		return "its root is not of type object"
	}
	properties := 0
	return s.checkNode("root", 0, &properties)
}

// Limits of the services on a strict schema.
const (
	maxSchemaDepth      = 10
	maxSchemaProperties = 5000
)

// schemaNode is what strict mode looks at in a JSON Schema.
type schemaNode struct {
	Type                 jsontext.Value        `json:"type"`
	Properties           map[string]schemaNode `json:"properties"`
	Required             []string              `json:"required"`
	AdditionalProperties jsontext.Value        `json:"additionalProperties"`
	Items                *schemaNode           `json:"items"`
	AnyOf                []schemaNode          `json:"anyOf"`
	Defs                 map[string]schemaNode `json:"$defs"`
	Ref                  string                `json:"$ref"`
	Enum                 jsontext.Value        `json:"enum"`
	Const                jsontext.Value        `json:"const"`

	AllOf             jsontext.Value `json:"allOf"`
	OneOf             jsontext.Value `json:"oneOf"`
	Not               jsontext.Value `json:"not"`
	If                jsontext.Value `json:"if"`
	Then              jsontext.Value `json:"then"`
	Else              jsontext.Value `json:"else"`
	DependentRequired jsontext.Value `json:"dependentRequired"`
	DependentSchemas  jsontext.Value `json:"dependentSchemas"`
	PatternProperties jsontext.Value `json:"patternProperties"`
}

// typeName returns the type if it is one word, as it must be for the whole schema.
func (s *schemaNode) typeName() string {
	var t string
	_ = json.Unmarshal(s.Type, &t) // a list or nothing is no single type
	return t
}

// checkNode returns what is wrong at and below one place, empty if nothing is. Places are
// told by keywords, not by the names of properties.
func (s *schemaNode) checkNode(at string, depth int, properties *int) string {
	*properties += len(s.Properties)
	switch {
	case depth > maxSchemaDepth:
		return fmt.Sprintf("it is nested more than %d levels deep", maxSchemaDepth)
	case *properties > maxSchemaProperties:
		return fmt.Sprintf("it has more than %d properties", maxSchemaProperties)
	}
	for _, k := range []struct {
		word  string
		value jsontext.Value
	}{
		{"allOf", s.AllOf}, {"oneOf", s.OneOf}, {"not", s.Not}, {"if", s.If}, {"then", s.Then}, {"else", s.Else},
		{"dependentRequired", s.DependentRequired}, {"dependentSchemas", s.DependentSchemas}, {"patternProperties", s.PatternProperties},
	} {
		if k.value != nil {
			return k.word + " is not permitted, at " + at
		}
	}
	if s.Type == nil && s.Ref == "" && s.AnyOf == nil && s.Enum == nil && s.Const == nil {
		return "a schema has no type, at " + at
	}
	if s.typeName() == "object" || s.Properties != nil {
		if string(s.AdditionalProperties) != "false" {
			return "additionalProperties is required to be supplied and to be false, at " + at
		}
		if len(s.Required) != len(s.Properties) {
			return "required has to hold every property and nothing else, at " + at
		}
	}
	return s.checkNodesBelow(at, depth, properties)
}

// checkNodesBelow returns what is wrong below one place, empty if nothing is.
func (s *schemaNode) checkNodesBelow(at string, depth int, properties *int) string {
	for name, p := range s.Properties {
		if !slices.Contains(s.Required, name) {
			return "required has to hold every property and nothing else, at " + at
		}
		if msg := p.checkNode(at+".properties", depth+1, properties); msg != "" {
			return msg
		}
	}
	for i := range s.AnyOf {
		if msg := s.AnyOf[i].checkNode(at+".anyOf", depth+1, properties); msg != "" {
			return msg
		}
	}
	for _, d := range s.Defs {
		if msg := d.checkNode(at+".$defs", depth+1, properties); msg != "" {
			return msg
		}
	}
	if s.Items != nil {
		return s.Items.checkNode(at+".items", depth+1, properties)
	}
	return ""
}
