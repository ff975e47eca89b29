package skills

import (
	"encoding/json"
	"slices"
	"strings"
)

// simpleSchema says of arguments that they surely fit, faster than the library does. There is
// one for schemas of types, names, lists and fixed words alone. What it doesn't say yes to,
// the library judges: it alone says no.
type simpleSchema struct {
	types    simpleTypes
	props    map[string]*simpleSchema
	required []string
	items    *simpleSchema // nil: nothing is said of elements
	words    []string      // the values that are allowed; nil: all
}

// simpleTypes is a set of JSON types.
type simpleTypes uint8

const (
	typeString simpleTypes = 1 << iota
	typeNumber
	typeInteger
	typeBoolean
	typeNull
	typeObject
	typeArray
)

var simpleTypeNames = map[string]simpleTypes{
	"string": typeString, "number": typeNumber | typeInteger, "integer": typeInteger, "boolean": typeBoolean,
	"null": typeNull, "object": typeObject, "array": typeArray,
}

// schemaRemarks are keywords that say nothing of what fits.
var schemaRemarks = []string{"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment"}

// newSimpleSchema reads a schema after closeObjects. It returns nil for a schema with any
// keyword that it doesn't know, and for one without a type.
func newSimpleSchema(m map[string]any) *simpleSchema {
	p := &simpleSchema{}
	for k, v := range m {
		if slices.Contains(schemaRemarks, k) || strings.HasPrefix(k, "x-") {
			continue
		}
		if !p.readKeyword(k, v) {
			return nil
		}
	}
	if p.types == 0 {
		return nil
	}
	return p
}

// readKeyword takes one keyword, and reports whether it is known.
func (p *simpleSchema) readKeyword(k string, v any) bool {
	switch v := v.(type) {
	case string:
		p.types |= simpleTypeNames[v]
		return k == "type" && p.types != 0
	case bool: // of keys that aren't named the library judges, either way
		return k == "additionalProperties"
	case []any:
		return p.readList(k, v)
	case map[string]any:
		switch k {
		case "properties":
			return p.readProperties(v)
		case "items":
			p.items = newSimpleSchema(v)
			return p.items != nil
		}
	}
	return false
}

func (p *simpleSchema) readList(k string, list []any) bool {
	words := make([]string, 0, len(list))
	for _, e := range list {
		s, ok := e.(string)
		if !ok {
			return false
		}
		words = append(words, s)
	}
	switch k {
	case "required":
		p.required = words
		return true
	case "enum":
		p.words = words
		return true
	case "type":
		for _, w := range words {
			p.types |= simpleTypeNames[w]
		}
		return true
	}
	return false
}

func (p *simpleSchema) readProperties(m map[string]any) bool {
	p.props = make(map[string]*simpleSchema, len(m))
	for name, v := range m {
		sub, ok := v.(map[string]any)
		if !ok {
			return false
		}
		if p.props[name] = newSimpleSchema(sub); p.props[name] == nil {
			return false
		}
	}
	return true
}

// surelyFits reports whether v fits and holds no key that the schema doesn't name. False
// says nothing.
func (p *simpleSchema) surelyFits(v any) bool {
	switch v := v.(type) {
	case string:
		return p.types&typeString != 0 && (p.words == nil || slices.Contains(p.words, v))
	case map[string]any:
		return p.types&typeObject != 0 && p.words == nil && p.surelyFitsObject(v)
	case json.Number:
		return p.words == nil && (p.types&typeNumber != 0 || p.types&typeInteger != 0 && isWholeNumber(string(v)))
	case bool:
		return p.types&typeBoolean != 0 && p.words == nil
	case nil:
		return p.types&typeNull != 0 && p.words == nil
	case []any:
		if p.types&typeArray == 0 || p.words != nil || p.items == nil {
			return false
		}
		for _, e := range v {
			if !p.items.surelyFits(e) {
				return false
			}
		}
		return true
	}
	return false
}

func (p *simpleSchema) surelyFitsObject(m map[string]any) bool {
	for _, name := range p.required {
		if _, ok := m[name]; !ok {
			return false
		}
	}
	for name, v := range m {
		if sub := p.props[name]; sub == nil || !sub.surelyFits(v) {
			return false
		}
	}
	return true
}

// isWholeNumber reports whether a number is written as digits alone.
func isWholeNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	return s != "" && strings.Trim(s, "0123456789") == ""
}
