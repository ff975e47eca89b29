// Package schema is the gate that holds a call's arguments to the JSON Schema
// of its skill.
//
//	gate := schema.New()
//	v, err := gate.Check(ctx, call) // schema.invalid where an argument does not fit
//
// The package isn't stable: docs/api.md lists those that are.
//
// A call of an unknown skill has no schema: the gate answers Skipped, and the
// scope gate denies it. Everything that is wrong is reported at once, so that
// a model can repair its call in one try.
//
// The Reason counts the mistakes and names each by pointer and keyword; only
// declared names stand in it. The validator's own words may quote what was
// sent and go to Detail. What not to do: don't copy Detail into a record or a
// log.
package schema

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// CodeInvalid is the gate's one code: the arguments do not fit the schema.
const CodeInvalid = "schema.invalid"

// How many mistakes a verdict spells out, and how long its Detail gets in
// bytes. The count in Reason is always the whole one.
const (
	MaxListed = 8
	MaxDetail = 4 << 10
)

// Gate validates arguments. It has no state; the zero value works.
type Gate struct{}

// New returns the gate.
func New() *Gate { return &Gate{} }

// Name returns "schema".
func (*Gate) Name() string { return sentinel.GateSchema }

// Check allows a call whose arguments fit its skill's schema and denies any
// other with CodeInvalid. It never returns an error.
func (*Gate) Check(_ context.Context, c sentinel.Call) (sentinel.Verdict, error) {
	skill := c.Skill()
	if skill == nil {
		return sentinel.Verdict{
			Gate: sentinel.GateSchema, State: sentinel.Skipped, Reason: "the skill is unknown, so it has no schema",
		}, nil
	}
	errs := skill.Validate(c.Parsed())
	if len(errs) == 0 {
		v := sentinel.Pass()
		v.Gate = sentinel.GateSchema
		return v, nil
	}
	return refuseInvalid(c, errs), nil
}

func refuseInvalid(c sentinel.Call, errs []skills.SchemaError) sentinel.Verdict {
	var list, detail strings.Builder
	var evidence []sentinel.Evidence
	for i, e := range errs {
		pointer := safePointer(c, e.Pointer)
		if i < MaxListed {
			if i > 0 {
				list.WriteString(", ")
			}
			list.WriteString(formatPlace(pointer) + " " + e.Keyword)
			evidence = append(evidence, sentinel.Evidence{Signal: e.Keyword, Args: declaredNames(c.Skill(), pointer)})
		}
		if line := e.Error(); detail.Len()+len(line) < MaxDetail {
			if i > 0 {
				detail.WriteByte('\n')
			}
			detail.WriteString(line)
		}
	}
	if more := len(errs) - MaxListed; more > 0 {
		fmt.Fprintf(&list, " and %d more", more)
	}
	v := sentinel.Refuse(CodeInvalid, fmt.Sprintf("%s: %s", countErrors(len(errs)), list.String()))
	v.Gate = sentinel.GateSchema
	v.Detail = detail.String()
	v.Evidence = evidence
	v.WhatYouCanDo = "correct the arguments to fit the skill's parameters and call it again"
	return v
}

func countErrors(n int) string {
	if n == 1 {
		return "1 error"
	}
	return strconv.Itoa(n) + " errors"
}

// formatPlace names the root too, whose pointer is empty.
func formatPlace(pointer string) string {
	if pointer == "" {
		return "arguments"
	}
	return pointer
}

// safePointer cuts the pointer before a key of digits alone. A list's index
// and an undeclared key look the same in a pointer, and the latter may be an
// account or card number that the model sent as a key.
func safePointer(c sentinel.Call, pointer string) string {
	var at any = c.Parsed()
	end := 0
	for end < len(pointer) {
		next := end + 1 + len(pointer[end+1:])
		if i := strings.IndexByte(pointer[end+1:], '/'); i >= 0 {
			next = end + 1 + i
		}
		part := unescapePart(pointer[end+1 : next])
		switch v := at.(type) {
		case map[string]any:
			if isDigits(part) && (end > 0 || !c.Skill().Declares(part)) {
				return pointer[:end]
			}
			at = v[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(v) {
				return pointer[:end]
			}
			at = v[i]
		default:
			return pointer[:end]
		}
		end = next
	}
	return pointer
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func unescapePart(part string) string {
	if !strings.Contains(part, "~") {
		return part
	}
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
}

// declaredNames returns the declared argument that the pointer leads into.
func declaredNames(s *skills.Skill, pointer string) []string {
	if pointer == "" {
		return nil
	}
	name, _, _ := strings.Cut(pointer[1:], "/")
	if name = unescapePart(name); s.Declares(name) {
		return []string{name}
	}
	return nil
}
