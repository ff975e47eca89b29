package permission

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/vedette-dev/vedette/skills"
)

// argsExist refuses a condition that reads an argument which none of the
// rule's skills can be sent: it would deny every call, or be true of none.
func (c *compiler) argsExist(at string, read []namedPlace, r *rule) error {
	if c.reg == nil || c.elsewhere(r) {
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
		if slices.ContainsFunc(about, func(s *skills.Skill) bool { return s.Declares(arg.name) || open(s) }) {
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

// open reports whether the skill's schema lets through top-level arguments
// that it doesn't declare.
func open(s *skills.Skill) bool {
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
