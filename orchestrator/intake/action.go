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

// checkActions refuses actions that nothing or too much does, and arguments that are made of no field.
func checkActions(o Options) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(o.Actions)) {
		a, at := o.Actions[name], "actions."+name
		if _, err := o.Vocabulary.Action(name); err != nil {
			errs = append(errs, &skills.PathError{Path: at, Msg: "is no action of the vocabulary"})
		}
		if (a.Handler == nil) == (a.Skill == "") {
			errs = append(errs, &skills.PathError{Path: at, Msg: "needs a skill or a Go handler, and not both"})
			continue
		}
		if a.Skill != "" {
			errs = append(errs, checkSkill(o, at, a))
		}
	}
	return errors.Join(errs...)
}

// checkSkill refuses a skill that isn't there, and arguments that it doesn't declare.
func checkSkill(o Options, at string, a Action) error {
	s, known := o.Checkpoint.Registry().Get(a.Skill)
	if !known {
		msg := fmt.Sprintf("no skill is called %q", a.Skill)
		if near := skills.Nearest(a.Skill, o.Checkpoint.Registry().Names()); near != "" {
			msg += fmt.Sprintf("; did you mean %q?", near)
		}
		return &skills.PathError{Path: at + ".skill", Msg: msg}
	}
	var errs []error
	for _, argument := range slices.Sorted(maps.Keys(a.Arguments)) {
		path := at + ".arguments." + argument
		if !s.Declares(argument) {
			errs = append(errs, &skills.PathError{Path: path, Msg: fmt.Sprintf("the skill %s declares no such argument", a.Skill)})
		}
		if kind, isEntity := cutPrefix(a.Arguments[argument], entityField); isEntity {
			if !slices.Contains(o.Vocabulary.Kinds(), kind) {
				errs = append(errs, &skills.PathError{Path: path, Msg: fmt.Sprintf("there are no entities of the kind %q", kind)})
			}
		} else if argumentFields[a.Arguments[argument]] == nil {
			msg := fmt.Sprintf("an intent has no field %q", a.Arguments[argument])
			if near := skills.Nearest(a.Arguments[argument], ArgumentFields()); near != "" {
				msg += fmt.Sprintf("; did you mean %q?", near)
			}
			errs = append(errs, &skills.PathError{Path: path, Msg: msg})
		}
	}
	return errors.Join(errs...)
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
