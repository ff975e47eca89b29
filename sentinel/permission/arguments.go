package permission

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/vedette-dev/vedette/skills"
)

// checkArguments refuses a condition that reads an argument which no skill of the
// rule takes. Such a condition would deny every call, or be true of none.
func (c *compiler) checkArguments(at string, read []namedPlace, r *rule) error {
	if c.reg == nil || c.coversUnregistered(r) {
		return nil
	}
	var about []*skills.Skill
	for _, name := range c.reg.Names() {
		if s, _ := c.reg.Get(name); r.covers(name) {
			about = append(about, s)
		}
	}
	var errs []error
	for _, arg := range read {
		if slices.ContainsFunc(about, func(s *skills.Skill) bool { return s.Declares(arg.name) || acceptsUndeclared(s) }) {
			continue
		}
		var declared []string
		for _, s := range about {
			declared = append(declared, s.DeclaredArgs()...)
		}
		msg := fmt.Sprintf("no skill of this rule has an argument %q", arg.name)
		if near := skills.Nearest(arg.name, declared); near != "" {
			msg += fmt.Sprintf("; did you mean %q?", near)
		}
		errs = append(errs, mistakeAt(at, arg.place, msg))
	}
	return errors.Join(errs...)
}

// acceptsUndeclared reports whether the skill's schema lets through top-level
// arguments that it doesn't declare.
func acceptsUndeclared(s *skills.Skill) bool {
	var root struct {
		Additional  any            `json:"additionalProperties"`
		Unevaluated any            `json:"unevaluatedProperties"`
		Patterns    map[string]any `json:"patternProperties"`
	}
	if json.Unmarshal(s.Parameters(), &root) != nil {
		return true
	}
	return len(root.Patterns) > 0 || root.Additional != false && root.Unevaluated != false
}

// readProperty returns what a skill's schema says plainly of a top-level argument.
func readProperty(s *skills.Skill, arg string) argProperty {
	var root struct {
		Required   []string                   `json:"required"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(s.Parameters(), &root) // it was compiled; what can't be read here is "anything"
	var p struct {
		Type json.RawMessage `json:"type"`
	}
	_ = json.Unmarshal(root.Properties[arg], &p)
	out := argProperty{required: slices.Contains(root.Required, arg)}
	var one string
	if json.Unmarshal(p.Type, &one) == nil && one != "" {
		out.types = []string{one}
	} else {
		_ = json.Unmarshal(p.Type, &out.types)
	}
	return out
}

// argProperty is what a schema says plainly of a top-level argument.
type argProperty struct {
	types    []string // none: anything
	required bool
}

// hasType reports whether the argument may have the JSON type t.
func (p argProperty) hasType(t string) bool { return len(p.types) == 0 || slices.Contains(p.types, t) }

// holdsText reports whether a text may stand in the argument.
func (p argProperty) holdsText() bool {
	return p.hasType("string") || p.hasType("array") || p.hasType("object")
}

// argumentTypes returns the JSON types that an argument can have in the skills of
// a rule. It returns none where one of the skills takes any type, or isn't known
// here.
func (c *compiler) argumentTypes(arg string, r *rule) []string {
	if c.reg == nil || c.coversUnregistered(r) {
		return nil
	}
	var out []string
	for _, name := range c.reg.Names() {
		s, _ := c.reg.Get(name)
		if !r.covers(name) || !s.Declares(arg) && !acceptsUndeclared(s) {
			continue
		}
		p := readProperty(s, arg)
		if len(p.types) == 0 {
			return nil
		}
		out = append(out, p.types...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
