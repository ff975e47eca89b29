package skills

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// keywords of JSON Schema 2020-12, and what their value holds: a schema, a
// list or a map of schemas, or plain data. The validator accepts a misspelt
// keyword in silence, which would widen; so we know them all and refuse the
// rest.
var keywords = map[string]byte{
	"$schema": 'd', "$ref": 'd', "$comment": 'd', "$defs": 'm', "definitions": 'm',
	"allOf": 'l', "anyOf": 'l', "oneOf": 'l', "not": 's', "if": 's', "then": 's', "else": 's',
	"dependentSchemas": 'm', "prefixItems": 'l', "items": 's', "contains": 's', "properties": 'm',
	"patternProperties": 'm', "additionalProperties": 's', "propertyNames": 's',
	"unevaluatedItems": 's', "unevaluatedProperties": 's',
	"type": 'd', "enum": 'd', "const": 'd', "multipleOf": 'd', "maximum": 'd', "exclusiveMaximum": 'd',
	"minimum": 'd', "exclusiveMinimum": 'd', "maxLength": 'd', "minLength": 'd', "pattern": 'd',
	"maxItems": 'd', "minItems": 'd', "uniqueItems": 'd', "maxContains": 'd', "minContains": 'd',
	"maxProperties": 'd', "minProperties": 'd', "required": 'd', "dependentRequired": 'd',
	"title": 'd', "description": 'd', "default": 'd', "deprecated": 'd', "readOnly": 'd', "writeOnly": 'd',
	"examples": 'd', "format": 'd', "contentEncoding": 'd', "contentMediaType": 'd', "contentSchema": 's',
}

// formats the validator asserts; another name would assert nothing.
var formats = map[string]bool{
	"date-time": true, "date": true, "time": true, "duration": true, "email": true, "idn-email": true,
	"hostname": true, "idn-hostname": true, "ipv4": true, "ipv6": true, "uri": true, "uri-reference": true,
	"iri": true, "iri-reference": true, "uri-template": true, "uuid": true, "json-pointer": true,
	"relative-json-pointer": true, "regex": true, "period": true, "semver": true,
}

// lintSchema returns a *PathError for every keyword and annotation that means
// nothing, with the one that was probably meant.
func lintSchema(s any, path string) []error {
	m, ok := s.(map[string]any)
	if !ok {
		if _, isBool := s.(bool); isBool {
			return nil
		}
		return []error{&PathError{path, "must be a schema: an object, true or false"}}
	}
	var errs []error
	for _, k := range slices.Sorted(maps.Keys(m)) {
		errs = append(errs, lintKeyword(m, k, path+"."+k)...)
	}
	return errs
}

func lintKeyword(m map[string]any, k, at string) []error {
	v := m[k]
	if strings.HasPrefix(k, "x-") {
		return lintAnnotation(k, v, at)
	}
	switch keywords[k] {
	case 'd':
		if k == "$schema" && at != "parameters.$schema" {
			return []error{&PathError{at, "stands inside the schema; one dialect holds for the whole of it, so write it at the top"}}
		}
		if _, isBool := v.(bool); isBool && k == "required" {
			return []error{&PathError{at, "is true or false in draft-03 alone; name the argument in the list required of the object around it"}}
		}
		if f, ok := v.(string); ok && k == "format" && !formats[f] {
			return []error{&PathError{at, unknownWord("format", f, slices.Sorted(maps.Keys(formats)))}}
		}
		return nil
	case 's':
		return lintSchema(v, at)
	case 'l':
		list, ok := v.([]any)
		if !ok {
			return []error{&PathError{at, "must be a list of schemas"}}
		}
		var errs []error
		for i, e := range list {
			errs = append(errs, lintSchema(e, fmt.Sprintf("%s[%d]", at, i))...)
		}
		return errs
	case 'm':
		sub, ok := v.(map[string]any)
		if !ok {
			return []error{&PathError{at, "must be an object of schemas"}}
		}
		var errs []error
		for _, n := range slices.Sorted(maps.Keys(sub)) {
			errs = append(errs, lintSchema(sub[n], at+"."+n)...)
		}
		return errs
	}
	switch k {
	case "$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "$vocabulary":
		return []error{&PathError{at, k + " is not supported; refer to #/$defs/name instead"}}
	}
	if now, foreign := foreignWords[k]; foreign {
		return []error{&PathError{at, fmt.Sprintf("unknown schema keyword %q, %s", k, now)}}
	}
	return []error{&PathError{at, unknownWord("schema keyword", k, slices.Sorted(maps.Keys(keywords)))}}
}

// foreignWords are keywords of other dialects, and what says the same here.
var foreignWords = map[string]string{
	"nullable":    `a word of OpenAPI; write type: [string, "null"] with the type that it has`,
	"divisibleBy": `a word of draft-03; did you mean "multipleOf"?`,
	"extends":     `a word of draft-03; did you mean "allOf", a list of schemas?`,
	"disallow":    `a word of draft-03; did you mean "not"?`,
	"id":          "a word of draft-04; refer to #/$defs/name instead",
}

func lintAnnotation(k string, v any, at string) []error {
	if _, known := annotationBits[k]; !known {
		// Other tools' x- keywords are allowed; a near miss of ours is a typo.
		if near := Nearest(k, slices.Sorted(maps.Keys(annotationBits))); near != "" {
			return []error{&PathError{at, fmt.Sprintf("unknown annotation %q; did you mean %q?", k, near)}}
		}
		return nil
	}
	if _, ok := v.(bool); !ok {
		return []error{&PathError{at, "must be true or false"}}
	}
	return nil
}

func unknownWord(what, got string, known []string) string {
	msg := fmt.Sprintf("unknown %s %q", what, got)
	if near := Nearest(got, known); near != "" {
		msg += fmt.Sprintf("; did you mean %q?", near)
	}
	return msg
}
