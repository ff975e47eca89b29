package intake

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/vedette-dev/vedette/internal/plainjson"
	"github.com/vedette-dev/vedette/sentinel/intent"
	"github.com/vedette-dev/vedette/skills"
)

// argumentFields are the fields of an intent that arguments of skills are made of. A field that isn't set gives nil, and
// its argument is left out.
var argumentFields = map[string]func(intent.Trusted) any{
	"action":          func(t intent.Trusted) any { return t.Action().String() },
	"topic":           func(t intent.Trusted) any { return orNil(t.Topic().String()) },
	"expertise":       func(t intent.Trusted) any { return listOrNil(t.Expertise()) },
	"first_expertise": func(t intent.Trusted) any { return firstOrNil(t.Expertise()) },
	"references":      func(t intent.Trusted) any { return listOrNil(t.References()) },
	"first_reference": func(t intent.Trusted) any { return firstOrNil(t.References()) },
	"budget": func(t intent.Trusted) any {
		if m, ok := t.Constraints().Budget(); ok {
			return json.Number(m.Amount())
		}
		return nil
	},
	"currency": func(t intent.Trusted) any {
		m, _ := t.Constraints().Budget()
		return orNil(m.Currency())
	},
	"max_results":  func(t intent.Trusted) any { return numberOrNil(t.Constraints().MaxResults()) },
	"max_length":   func(t intent.Trusted) any { return numberOrNil(t.Constraints().MaxLength()) },
	"deadline":     func(t intent.Trusted) any { return orNil(t.Constraints().Deadline().String()) },
	"domains":      func(t intent.Trusted) any { return listOrNil(t.Constraints().Domains()) },
	"first_domain": func(t intent.Trusted) any { return firstOrNil(t.Constraints().Domains()) },
	"entities": func(t intent.Trusted) any {
		out := map[string][]string{}
		for _, e := range t.Constraints().Entities() {
			out[e.Kind()] = append(out[e.Kind()], e.Name())
		}
		if len(out) == 0 {
			return nil
		}
		return out
	},
	"intent_id": func(t intent.Trusted) any { return t.ID() },
}

// isForTurns reports whether an action does nothing itself: it is what a turn is allowed.
func (a Action) isForTurns() bool { return a.Handler == nil && a.Skill == "" && len(a.Grants) > 0 }

// ArgumentFields lists the names that Action.Arguments may have for values. "entity.KIND" is the first entity of a kind.
func ArgumentFields() []string { return slices.Sorted(maps.Keys(argumentFields)) }

// entityField begins the name of a field that is an entity.
const entityField = "entity."

// readField returns a field of an intent; ok is false where there is no such field.
func readField(t intent.Trusted, name string) (value any, ok bool) {
	if kind, found := cutPrefix(name, entityField); found {
		for _, e := range t.Constraints().Entities() {
			if e.Kind() == kind {
				return e.Name(), true
			}
		}
		return nil, true
	}
	read, ok := argumentFields[name]
	if !ok {
		return nil, false
	}
	return read(t), true
}

func cutPrefix(s, prefix string) (string, bool) {
	if len(s) > len(prefix) && s[:len(prefix)] == prefix {
		return s[len(prefix):], true
	}
	return "", false
}

// buildArguments makes a skill's arguments of an intent.
func buildArguments(t intent.Trusted, by map[string]string) (json.RawMessage, error) {
	out := map[string]any{}
	for argument, field := range by {
		value, ok := readField(t, field)
		if !ok {
			return nil, fmt.Errorf("an intent has no field %q", field)
		}
		if value != nil {
			out[argument] = value
		}
	}
	return plainjson.Marshal(out)
}

// CheckActions refuses actions that nothing or too much does, and arguments that are made of no field. The error joins
// *skills.PathError values with paths such as actions.pay.skill.
func CheckActions(voc *intent.Vocabulary, reg *skills.Registry, actions map[string]Action) error {
	c := actionsCheck{voc, reg}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(actions)) {
		a, at := actions[name], "actions."+name
		if _, err := voc.Action(name); err != nil {
			errs = append(errs, &skills.PathError{Path: at, Msg: "is no action of the vocabulary"})
		}
		switch {
		case a.isForTurns():
		case (a.Handler == nil) == (a.Skill == ""):
			errs = append(errs, &skills.PathError{Path: at, Msg: "needs a skill or a Go handler, and not both"})
		case a.Skill != "":
			errs = append(errs, c.checkSkill(at, a))
		}
		if _, err := skills.NewScope(a.Grants...); err != nil {
			errs = append(errs, &skills.PathError{Path: at + ".grants", Msg: err.Error()})
		}
	}
	return errors.Join(errs...)
}

type actionsCheck struct {
	voc *intent.Vocabulary
	reg *skills.Registry
}

// checkSkill refuses a skill that isn't there, and arguments that it doesn't declare.
func (c actionsCheck) checkSkill(at string, a Action) error {
	s, known := c.reg.Get(a.Skill)
	if !known {
		return &skills.PathError{Path: at + ".skill", Msg: fmt.Sprintf("no skill is called %q", a.Skill) + didYouMean(a.Skill, c.reg.Names())}
	}
	var errs []error
	for _, argument := range slices.Sorted(maps.Keys(a.Arguments)) {
		path, field := at+".arguments."+argument, a.Arguments[argument]
		if !s.Declares(argument) {
			errs = append(errs, &skills.PathError{Path: path, Msg: fmt.Sprintf("the skill %s declares no such argument", a.Skill)})
		}
		kind, isEntity := cutPrefix(field, entityField)
		switch {
		case isEntity && !slices.Contains(c.voc.Kinds(), kind):
			msg := fmt.Sprintf("there are no entities of the kind %q", kind) + didYouMean(kind, c.voc.Kinds())
			errs = append(errs, &skills.PathError{Path: path, Msg: msg})
		case !isEntity && argumentFields[field] == nil:
			msg := fmt.Sprintf("an intent has no field %q", field) + didYouMean(field, ArgumentFields())
			errs = append(errs, &skills.PathError{Path: path, Msg: msg})
		}
	}
	return errors.Join(errs...)
}

// didYouMean names the known word that was probably meant.
func didYouMean(got string, known []string) string {
	if near := skills.Nearest(got, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func numberOrNil(n int) any {
	if n == 0 {
		return nil
	}
	return n
}

func listOrNil[T interface{ String() string }](list []T) any {
	if len(list) == 0 {
		return nil
	}
	out := make([]string, len(list))
	for i, one := range list {
		out[i] = one.String()
	}
	return out
}

func firstOrNil[T interface{ String() string }](list []T) any {
	if len(list) == 0 {
		return nil
	}
	return list[0].String()
}
