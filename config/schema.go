package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/invopop/jsonschema"

	"slices"

	"github.com/vedette-dev/vedette/skills"
)

// envPattern matches a text that has a reference in it. Where a number or a
// word is wanted, an editor has to accept that too.
const envPattern = `\$\{`

// Schema returns the JSON Schema (draft-07) of the configuration file, for
// editors. The schema is made from the same tags that Load reads, and from
// descriptions. Load alone checks what takes more than one value (references, rules, paths).
func Schema() []byte {
	return editorSchema(reflect.TypeFor[Config](), "Vedette configuration", nil)
}

// SkillSchema returns the JSON Schema (draft-07) of a skill file, for editors.
// Such a file holds one skill, or a list of them under skills.
func SkillSchema() []byte {
	one := objectSchema(reflect.TypeFor[skillEntry]())
	return editorSchema(reflect.TypeFor[skillFile](), "Vedette skill file", one)
}

// editorSchema writes the schema of t, or of either t or other.
func editorSchema(t reflect.Type, title string, other *jsonschema.Schema) []byte {
	s := objectSchema(t)
	if other != nil {
		s = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{other, s}}
	}
	s.Version, s.Title = "http://json-schema.org/draft-07/schema#", title
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic("config: the editor schema is not JSON: " + err.Error()) // our own types
	}
	return append(b, '\n')
}

// objectSchema reflects a struct type and adds what the cfg tags and descriptions say.
func objectSchema(t reflect.Type) *jsonschema.Schema {
	r := jsonschema.Reflector{
		Anonymous: true, DoNotReference: true, ExpandedStruct: true, FieldNameTag: "yaml",
		RequiredFromJSONSchemaTags: true, Mapper: schemaOfType,
	}
	s := r.ReflectFromType(t)
	s.Version = ""
	constrainObject(s, t)
	return s
}

// schemaOfType gives the types that aren't in YAML what they are in Go.
func schemaOfType(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return &jsonschema.Schema{Type: "string", Pattern: `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$|` + envPattern}
	case reflect.TypeFor[Hundredths]():
		return orReference(&jsonschema.Schema{Type: "number", Minimum: "0", Maximum: "1"})
	case reflect.TypeFor[Cost]():
		return orReference(&jsonschema.Schema{Type: "number", Minimum: "0", Maximum: json.Number(strconv.Itoa(maxCost))})
	case reflect.TypeFor[Secret]():
		return &jsonschema.Schema{Type: "string"}
	case reflect.TypeFor[programSkills]():
		return knownSchema()
	case reflect.TypeFor[Constant]():
		return &jsonschema.Schema{}
	case reflect.TypeFor[Number]():
		return orReference(&jsonschema.Schema{Type: "number"})
	case reflect.TypeFor[json.RawMessage]():
		return &jsonschema.Schema{Type: "object"}
	case reflect.TypeFor[skills.Run]():
		one := uint64(1)
		s := &jsonschema.Schema{Type: "object", MinProperties: &one, MaxProperties: &one,
			Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema}
		for _, k := range runKinds {
			if k != notBuilt {
				s.Properties.Set(k, runKindSchema(k))
			}
		}
		return s
	}
	return nil
}

// orReference accepts ${NAME} in place of what s describes.
func orReference(s *jsonschema.Schema) *jsonschema.Schema {
	said := s.Description
	s.Description = ""
	return &jsonschema.Schema{Description: said, AnyOf: []*jsonschema.Schema{s, {Type: "string", Pattern: envPattern}}}
}

// constrainObject walks a schema and its Go type side by side.
func constrainObject(s *jsonschema.Schema, t reflect.Type) {
	for _, f := range fieldsOf(t) {
		p, ok := s.Properties.Get(f.name)
		if !ok {
			panic("config: the editor schema lacks " + f.name) // both read the same tags
		}
		if f.has(required | wanted) {
			s.Required = append(s.Required, f.name)
		}
		p.Description = descriptions[t.Name()+"."+f.name]
		said := p.Description
		p = constrainValue(p, t.Field(f.index).Type, f)
		if p.Description == "" {
			p.Description = said
		}
		s.Properties.Set(f.name, p)
	}
}

// constrainValue adds to the schema of one value what its field's tags say.
func constrainValue(p *jsonschema.Schema, t reflect.Type, f field) *jsonschema.Schema {
	switch {
	case p.Type == "object" && t.Kind() == reflect.Struct && p.Properties != nil && t != reflect.TypeFor[skills.Run]():
		constrainObject(p, t)
	case t.Kind() == reflect.Map:
		return constrainMap(p, t, f)
	case t.Kind() == reflect.Slice && p.Type == "array":
		if t.Elem().Kind() == reflect.Struct {
			constrainObject(p.Items, t.Elem())
		}
		if f.pattern != "" {
			p.Items.Pattern = patterns[f.pattern].re
		}
		if f.enum != nil {
			p.Items = constrainValue(p.Items, t.Elem(), field{enum: f.enum})
		}
		if f.has(noEmptyList) {
			one := uint64(1)
			p.MinItems = &one
		}
		if f.has(single) {
			return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, p}}
		}
	case f.enum != nil:
		for _, e := range f.enum {
			p.Enum = append(p.Enum, e)
		}
		return orReference(p)
	case f.pattern != "":
		p.Pattern = patterns[f.pattern].re
	case p.Type == "integer":
		p.Minimum, p.Maximum = json.Number(f.min), json.Number(f.max)
		return orReference(p)
	case p.Type == "boolean":
		return orReference(p)
	case t == reflect.TypeFor[time.Duration]():
		from := "From"
		if f.has(orNever) {
			from = "0s, or from"
		}
		p.Description = strings.TrimSuffix(p.Description, ".") + fmt.Sprintf(". %s %s to %s.", from, f.min, f.max)
	case f.has(positive):
		p.AnyOf[0].Minimum, p.AnyOf[0].ExclusiveMinimum = "", "0"
	}
	return p
}

// constrainMap adds to the schema of a map what its field's tags say.
func constrainMap(p *jsonschema.Schema, t reflect.Type, f field) *jsonschema.Schema {
	elem := p.AdditionalProperties
	if t.Elem().Kind() == reflect.Struct {
		constrainObject(elem, t.Elem())
	} else {
		elem = constrainValue(elem, t.Elem(), field{traits: f.traits & (single | noEmptyList), enum: f.enum})
	}
	switch f.keys {
	case "name":
		p.AdditionalProperties = elem
		p.PropertyNames = &jsonschema.Schema{Pattern: `^[A-Za-z0-9_-]{1,64}$`}
		return p
	case "skill":
		p.AdditionalProperties = elem
		return p
	}
	p.AdditionalProperties = jsonschema.FalseSchema
	p.Properties = jsonschema.NewProperties()
	for k := range strings.SplitSeq(f.keys, "|") {
		p.Properties.Set(k, elem)
	}
	return p
}

// knownSchema is the editor's schema of skills.known.
func knownSchema() *jsonschema.Schema {
	one := objectSchema(reflect.TypeFor[skillEntry]())
	one.Properties.Delete(runKey)
	one.Required = slices.DeleteFunc(one.Required, func(k string) bool { return k == runKey })
	return &jsonschema.Schema{Type: "array", Items: one}
}
