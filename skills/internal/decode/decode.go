// Package decode reads the options of a way to run a skill, and the arguments of one order.
// The packages below skills/run and skills/builtin use it.
//
// Options come from an operator. Every key must be known, in the very case it
// is declared in, and stand once; every mistake is reported at its own path, so
// that all of them can be mended in one go. encoding/json would fold case, keep
// the last of two keys and stop at the first error.
//
// Do not use Args to validate: arguments were validated against the skill's
// schema, and what doesn't fit the Go type here is only refused.
package decode

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/vedette-dev/vedette/skills"
)

// Start checks what every constructor of an Executor is given. It returns the path at which
// the options of that kind stand ("run.http").
func Start(s *skills.Skill, r skills.Redeemer, kind string) (string, error) {
	if s == nil {
		return "", &skills.PathError{Path: "run", Msg: "there is no compiled skill"}
	}
	if r == nil {
		return "", &skills.PathError{Path: "run", Msg: "there is nothing that redeems warrants, so nothing may run"}
	}
	if got := s.Spec().Run.Kind; got != kind {
		return "", &skills.PathError{Path: "run", Msg: fmt.Sprintf("is of kind %q where %q is needed", got, kind)}
	}
	return "run." + kind, nil
}

// Options decodes raw into v, a pointer to a struct with json tags. It returns joined
// *skills.PathError values below the path at. Missing keys keep what v holds. Types that
// implement json.Unmarshaler decode themselves.
func Options(raw json.RawMessage, at string, v any) error {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	d := jsontext.NewDecoder(strings.NewReader(string(raw)))
	if err := d.SkipValue(); err != nil {
		return &skills.PathError{Path: at, Msg: "is not valid JSON, or has a key twice"}
	}
	return decodeValue(raw, at, reflect.ValueOf(v).Elem())
}

func decodeValue(raw json.RawMessage, at string, v reflect.Value) error {
	if string(raw) == "null" {
		return &skills.PathError{Path: at, Msg: "is empty; give it a value or leave it out"}
	}
	if _, own := v.Addr().Interface().(json.Unmarshaler); own {
		return decodeScalar(raw, at, v)
	}
	switch v.Kind() {
	case reflect.Struct:
		return decodeObject(raw, at, v)
	case reflect.Slice:
		return decodeList(raw, at, v)
	case reflect.Map:
		return decodeTable(raw, at, v)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return decodeValue(raw, at, v.Elem())
	}
	return decodeScalar(raw, at, v)
}

func decodeObject(raw json.RawMessage, at string, v reflect.Value) error {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return &skills.PathError{Path: at, Msg: "must be an object of options"}
	}
	fields := map[string]int{}
	for i := range v.NumField() {
		if name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ","); name != "" && name != "-" {
			fields[name] = i
		}
	}
	known := slices.Sorted(maps.Keys(fields))
	var errs []error
	for _, k := range slices.Sorted(maps.Keys(m)) {
		i, ok := fields[k]
		if !ok {
			errs = append(errs, Unknown(at+"."+k, "option", k, known))
			continue
		}
		errs = append(errs, decodeValue(m[k], at+"."+k, v.Field(i)))
	}
	return errors.Join(errs...)
}

func decodeList(raw json.RawMessage, at string, v reflect.Value) error {
	var l []json.RawMessage
	if json.Unmarshal(raw, &l) != nil {
		return &skills.PathError{Path: at, Msg: "must be a list"}
	}
	out := reflect.MakeSlice(v.Type(), len(l), len(l))
	var errs []error
	for i, e := range l {
		errs = append(errs, decodeValue(e, fmt.Sprintf("%s[%d]", at, i), out.Index(i)))
	}
	v.Set(out)
	return errors.Join(errs...)
}

func decodeTable(raw json.RawMessage, at string, v reflect.Value) error {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return &skills.PathError{Path: at, Msg: "must be an object"}
	}
	out := reflect.MakeMapWithSize(v.Type(), len(m))
	var errs []error
	for _, k := range slices.Sorted(maps.Keys(m)) {
		e := reflect.New(v.Type().Elem()).Elem()
		errs = append(errs, decodeValue(m[k], at+"."+k, e))
		out.SetMapIndex(reflect.ValueOf(k), e)
	}
	v.Set(out)
	return errors.Join(errs...)
}

// decodeScalar decodes one value. The decoder's own message is left out: it may
// quote the value, which may be a password.
func decodeScalar(raw json.RawMessage, at string, v reflect.Value) error {
	err := json.Unmarshal(raw, v.Addr().Interface())
	var say interface{ Hint() string }
	switch {
	case err == nil:
		return nil
	case errors.As(err, &say):
		return &skills.PathError{Path: at, Msg: say.Hint()}
	}
	return &skills.PathError{Path: at, Msg: "must be " + describeWanted(raw, v.Kind())}
}

// describeWanted says what is wanted in place of raw. Where its form shows which mistake
// about units was made, the words tell how it is written; they quote nothing.
func describeWanted(raw json.RawMessage, kind reflect.Kind) string {
	isNumber := len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
	switch {
	case kind == reflect.String && isNumber:
		return `a text: put a number in quotes ("30"), and write a time with its unit (30s)`
	case kind == reflect.String:
		return "a text"
	case kind == reflect.Bool:
		return "true or false"
	case len(raw) > 1 && raw[0] == '"' && raw[1] >= '0' && raw[1] <= '9':
		return "a whole number without quotes or a unit: 1 GiB is 1073741824"
	}
	return "a whole number"
}

// maxListed is how many known words an error lists.
const maxListed = 8

// Unknown returns the error for a word that is none of known, with the one that
// was probably meant; where none comes near, with all of them as far as they are few.
func Unknown(at, what, got string, known []string) error {
	msg := fmt.Sprintf("unknown %s %q", what, got)
	if near := skills.Nearest(got, known); near != "" {
		msg += fmt.Sprintf("; did you mean %q?", near)
	} else if len(known) > 0 && len(known) <= maxListed {
		msg += "; known are " + strings.Join(known, ", ")
	}
	return &skills.PathError{Path: at, Msg: msg}
}

// OneOf returns an error unless got is one of known. An empty got is none.
func OneOf(at, what, got string, known ...string) error {
	if slices.Contains(known, got) {
		return nil
	}
	return Unknown(at, what, got, known)
}

// Args decodes the canonical arguments of an order into v. Its error wraps
// skills.ErrNoEffect and holds no value.
func Args(args string, v any) error {
	if json.Unmarshal([]byte(args), v) != nil {
		return fmt.Errorf("%w: the arguments do not have the types that this skill needs", skills.ErrNoEffect)
	}
	return nil
}

// Refuse returns an error that wraps skills.ErrNoEffect: the arguments were
// looked at, and nothing was done.
func Refuse(format string, a ...any) error {
	return fmt.Errorf("%w: %w", skills.ErrNoEffect, fmt.Errorf(format, a...))
}

// Operation checks that a built-in skill is named as one of the domain's own specs, by its
// last part. It checks too that the declaration is no milder: a skill that writes can't be
// declared as one that reads. It returns that last part.
func Operation(s *skills.Skill, known []skills.Spec) (string, error) {
	op := lastPart(s.Name())
	names := make([]string, len(known))
	for i, k := range known {
		names[i] = lastPart(k.Name)
		if names[i] != op {
			continue
		}
		var errs []error
		if effectRank(s.Effect()) < effectRank(k.Effect) {
			errs = append(errs, &skills.PathError{Path: "effect",
				Msg: fmt.Sprintf("is %s, but what it does is %s; say that or more", s.Effect(), k.Effect)})
		}
		if k.Reaches == skills.Others && s.Reaches() != skills.Others {
			errs = append(errs, &skills.PathError{Path: "reaches", Msg: "must be others: this skill reaches other people"})
		}
		return op, errors.Join(errs...)
	}
	return "", Unknown("name", "built-in operation", op, names)
}

func lastPart(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

func effectRank(e skills.Effect) int { return slices.Index(skills.Effects(), e) }
