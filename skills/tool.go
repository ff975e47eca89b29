package skills

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// ToolSpec is a tool that another program declares to a model. Name, Description and Parameters are that
// program's word; the rest is the operator's.
type ToolSpec struct {
	// Name is what the program calls it: "Bash", "mcp__git__push".
	Name        string
	Description string
	// Parameters is its JSON Schema. What in it asserts nothing here is left out, x- annotations too.
	Parameters json.RawMessage
	Effect     Effect
	Reaches    Reach
	Approval   Approval
	Sensitive  bool
	Disabled   bool
	// Marks are the annotations of top-level arguments, by their names.
	Marks map[string]Annotation
	// Named says that the operator wrote the very name of the tool. Otherwise no record holds it.
	Named bool
}

// origin says which parts of a skill are another program's word.
type origin struct {
	claimed bool            // its parameters are
	unnamed bool            // its name is too
	shown   map[string]bool // arguments that the operator wrote the names of
}

// claimedWord begins the description of a tool, so that no reader takes it for the operator's.
const claimedWord = "A tool of the client's program, which calls it %q and describes it so: %s"

// CompileTool returns the skill that stands for a tool: see NameTool. Its schema is closed as a skill's.
// The error is that of a name that is too long, or of a schema that can't be read.
func CompileTool(t ToolSpec) (*Skill, error) {
	name, ok := NameTool(t.Name)
	if !ok {
		return nil, &PathError{"name", "is missing or too long"}
	}
	parameters, err := adaptParameters(t.Parameters, t.Marks)
	if err != nil {
		return nil, err
	}
	spec := Spec{
		Name: name, Effect: t.Effect, Reaches: t.Reaches, Approval: t.Approval, Sensitive: t.Sensitive, Disabled: t.Disabled,
		Output: Untrusted, Parameters: parameters, Run: Run{Kind: "go"},
	}
	spec.Description = fmt.Sprintf(claimedWord, t.Name, cmp.Or(t.Description, "it doesn't"))
	s, err := Compile(spec)
	if err != nil {
		return nil, err
	}
	s.origin = origin{claimed: true, unnamed: !t.Named, shown: map[string]bool{}}
	for name := range t.Marks {
		s.origin.shown[name] = true
	}
	return s, nil
}

// maxToolDepth bounds how deep a tool's schema may nest.
const maxToolDepth = 64

// adaptParameters makes a program's schema one that Compile takes.
func adaptParameters(raw json.RawMessage, marks map[string]Annotation) (json.RawMessage, error) {
	if len(raw) > MaxSchema {
		return nil, &PathError{"parameters", "is too long"}
	}
	root := map[string]any{}
	if len(raw) > 0 && string(raw) != "null" {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if d.Decode(&root) != nil || root == nil || d.More() {
			return nil, &PathError{"parameters", "is no JSON object"}
		}
	}
	root["type"] = "object"
	a := adapter{}
	a.adaptSchema(root, 0, true)
	if a.deep {
		return nil, &PathError{"parameters", "nests too deep"}
	}
	if _, said := root["$schema"]; !said && a.older {
		root["$schema"] = "http://json-schema.org/draft-07/schema#"
	}
	a.markArguments(root, marks)
	out, err := json.Marshal(root)
	return out, err
}

// adapter rewrites a schema in place.
type adapter struct {
	deep  bool
	older bool // it has words of draft-07
}

func (a *adapter) adaptSchema(v any, depth int, root bool) {
	m, ok := v.(map[string]any)
	if !ok || a.deep {
		return
	}
	if depth > maxToolDepth {
		a.deep = true
		return
	}
	if uri, ok := m["$schema"].(string); ok && root {
		if _, known := dialectAge(uri); !known {
			delete(m, "$schema")
		}
	}
	if m["nullable"] == true {
		if t, ok := m["type"].(string); ok {
			m["type"] = []any{t, "null"}
		}
	}
	if _, ok := m["items"].([]any); ok || m["dependencies"] != nil {
		a.older = true
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if !a.keepsKeyword(k, m[k], root) {
			delete(m, k)
			continue
		}
		a.adaptBelow(k, m[k], depth+1)
	}
}

// keepsKeyword reports whether a keyword says something that Compile reads.
func (a *adapter) keepsKeyword(k string, v any, root bool) bool {
	switch k {
	case "format": // programs rarely assert it, and so would every call of a model that doesn't
		return false
	case "$schema":
		return root
	case "pattern":
		p, ok := v.(string)
		_, err := regexp.Compile(p)
		return ok && err == nil
	case "required":
		_, isList := v.([]any)
		return isList
	case "dependencies", "additionalItems":
		return true
	}
	_, known := keywords[k]
	return known
}

func (a *adapter) adaptBelow(k string, v any, depth int) {
	switch v := v.(type) {
	case map[string]any:
		switch {
		case k == "dependencies", keywords[k] == 'm':
			if k == "patternProperties" {
				maps.DeleteFunc(v, func(p string, _ any) bool { _, err := regexp.Compile(p); return err != nil })
			}
			for _, n := range slices.Sorted(maps.Keys(v)) {
				a.adaptSchema(v[n], depth, false)
			}
		case k == "additionalItems", keywords[k] == 's':
			a.adaptSchema(v, depth, false)
		}
	case []any:
		if keywords[k] == 'l' || k == "items" {
			for _, e := range v {
				a.adaptSchema(e, depth, false)
			}
		}
	}
}

// markArguments writes the operator's annotations into the schema.
func (a *adapter) markArguments(root map[string]any, marks map[string]Annotation) {
	props, _ := root["properties"].(map[string]any)
	for name, m := range marks {
		p, ok := props[name].(map[string]any)
		if !ok {
			continue
		}
		for word, bit := range annotationBits {
			if m.Has(bit) {
				p[word] = true
			}
		}
	}
}

// ErrMark says that a word is no annotation.
var ErrMark = errors.New("is no annotation; there are content, path, right, secret, shell, target and url")

// ParseMark returns the annotation of that name, without x-.
func ParseMark(word string) (Annotation, error) {
	if a, ok := annotationBits["x-"+word]; ok && word != "" {
		return a, nil
	}
	return 0, ErrMark
}
