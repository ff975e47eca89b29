package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Reference returns docs/reference.md: every key of the configuration and of skill
// files. Each has its type, its values and its meaning. They are made from the
// same schemas that editors read.
func Reference() []byte {
	var b strings.Builder
	b.WriteString("# Reference\n\n" +
		"Every key of `vedette.yaml` and of a skill file. `*` stands for a name, `[]` for an entry of a list. The page is made\n" +
		"from the code: `go test ./config -run 'TestReference|TestSchemaGolden' -update` writes it and the editors' schemas again.\n")
	for _, part := range []struct {
		title string
		raw   []byte
	}{{"vedette.yaml", Schema()}, {"A skill file", SkillSchema()}} {
		var s map[string]any
		if json.Unmarshal(part.raw, &s) != nil {
			panic("config: a schema that was just made is not JSON") // our own
		}
		if list, ok := s["anyOf"].([]any); ok { // one skill, or a list of them
			s, _ = list[0].(map[string]any)
		}
		b.WriteString("\n## " + part.title + "\n\n| key | type | values | meaning |\n|---|---|---|---|\n")
		writeKeys(&b, s, "")
	}
	return []byte(b.String())
}

// writeKeys writes a row for each key of an object and of what is in it.
func writeKeys(b *strings.Builder, s map[string]any, at string) {
	props, _ := s["properties"].(map[string]any)
	for _, k := range slices.Sorted(maps.Keys(props)) {
		p, ok := props[k].(map[string]any)
		if !ok {
			continue
		}
		path := joinConfigPath(at, k)
		said, _ := p["description"].(string)
		kind, values := describeType(p)
		if list, ok := s["required"].([]any); ok && slices.Contains(list, any(k)) {
			said = strings.TrimSpace("Required. " + said)
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", path, kind, values, strings.ReplaceAll(said, "|", `\|`))
		if strings.HasSuffix(path, "skills.known") {
			continue // the keys of a skill file
		}
		writeKeys(b, p, path)
		if items, ok := p["items"].(map[string]any); ok {
			writeKeys(b, items, path+"[]")
		}
		if rest, ok := p["additionalProperties"].(map[string]any); ok {
			writeKeys(b, rest, path+".*")
		}
	}
}

// describeType says what a value is and which it may be.
func describeType(p map[string]any) (kind, values string) {
	if list, ok := p["anyOf"].([]any); ok {
		first, _ := list[0].(map[string]any)
		second, _ := list[len(list)-1].(map[string]any)
		kind, values = describeType(first)
		if second["type"] == "array" {
			other, _ := describeType(second)
			kind += " or " + other
		}
		return strings.TrimPrefix(kind, "any or "), values
	}
	kind, _ = p["type"].(string)
	if items, ok := p["items"].(map[string]any); ok && kind == "array" {
		of, _ := describeType(items)
		kind = "list of " + of
	}
	switch {
	case p["const"] == false:
		return "false", ""
	case kind == "":
		kind = "any"
	case kind == "string" && strings.HasPrefix(fmt.Sprint(p["pattern"]), "^([0-9]+("):
		kind = "duration"
	}
	var words []string
	for _, w := range listOf(p["enum"]) {
		words = append(words, fmt.Sprintf("`%v`", w))
	}
	least, hasLeast := p["minimum"]
	most, hasMost := p["maximum"]
	if hasLeast && hasMost {
		words = append(words, fmt.Sprintf("%s to %s", plainNumber(least), plainNumber(most)))
	}
	return kind, strings.Join(words, ", ")
}

// listOf returns v as a list, nil where it is none.
func listOf(v any) []any {
	list, _ := v.([]any)
	return list
}

// plainNumber writes a number without needless zeros.
func plainNumber(v any) string {
	f, _ := v.(float64)
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", f), "0"), ".")
}
