package exec

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-dev/vedette/skills/internal/decode"
)

// The kernel takes at most 128 KiB in one argument. The sum is kept well below what it takes
// in all.
const (
	maxArgument  = 128<<10 - 1
	maxArguments = 1 << 20
)

// readPlaceholder returns the name in an element that is `{{name}}` as a whole.
func readPlaceholder(a string) (name string, ok bool) {
	inner, ok := strings.CutPrefix(a, "{{")
	if !ok {
		return "", false
	}
	inner, ok = strings.CutSuffix(inner, "}}")
	if !ok || inner == "" || strings.ContainsAny(inner, "{}") {
		return "", false
	}
	return inner, true
}

// expandArgv replaces the placeholders in argv by args. Each value stays one
// element whatever it holds. Errors wrap skills.ErrNoEffect and name the
// argument alone.
func expandArgv(argv []string, args map[string]any, allowDash bool) ([]string, error) {
	out := make([]string, 0, len(argv))
	size, guarded := 0, allowDash
	for _, a := range argv {
		name, ok := readPlaceholder(a)
		if !ok {
			guarded = guarded || a == "--"
			out, size = append(out, a), size+len(a)+1
			continue
		}
		values, err := listElements(name, args[name])
		if err != nil {
			return nil, err
		}
		for _, v := range values {
			if err := checkValue(name, v, guarded); err != nil {
				return nil, err
			}
			out, size = append(out, v), size+len(v)+1
		}
		if size > maxArguments {
			return nil, decode.Refuse("the arguments are longer than %d bytes together", maxArguments)
		}
	}
	return out, nil
}

func checkValue(name, v string, guarded bool) error {
	switch {
	case strings.ContainsRune(v, 0):
		return decode.Refuse("argument %q holds a NUL", name)
	case len(v) > maxArgument:
		return decode.Refuse("argument %q is longer than %d bytes", name, maxArgument)
	case !guarded && strings.HasPrefix(v, "-"):
		return decode.Refuse(`argument %q starts with "-" and would be read as an option`, name)
	}
	return nil
}

// listElements returns the elements that a value becomes: none where it is absent.
func listElements(name string, v any) ([]string, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case string:
		return []string{v}, nil
	case json.Number:
		return []string{v.String()}, nil
	case bool:
		return []string{strconv.FormatBool(v)}, nil
	case []any:
		var out []string
		for _, e := range v {
			if _, nested := e.([]any); nested {
				return nil, decode.Refuse("argument %q is a list of lists", name)
			}
			one, err := listElements(name, e)
			if err != nil {
				return nil, err
			}
			out = slices.Concat(out, one)
		}
		return out, nil
	}
	return nil, decode.Refuse("argument %q is an object, which is no program's argument", name)
}

// parseArguments reads the top-level arguments of an order, numbers as written.
func parseArguments(args string) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader([]byte(args)))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		return nil, decode.Refuse("the arguments are not an object")
	}
	return m, nil
}
