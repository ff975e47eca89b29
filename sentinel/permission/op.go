package permission

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/touch"
)

// Op is one declared rewrite of one top-level argument. Exactly one of Set, Clamp,
// Redact, Append, Remove and Narrow names the argument. The fields listed behind
// it say how. Skills that don't declare the argument are left alone.
//
// Applied to its own result an Op changes nothing more: Append adds no text that
// ends the argument already. An argument that isn't there is left out, but for
// Set.
type Op struct {
	// Set gives the argument the value To, a JSON value but null.
	Set string
	To  json.RawMessage
	// Clamp holds a number between Min and Max, of which one may be empty.
	Clamp    string
	Min, Max json.Number
	// Redact puts With in the place of Text, or of what the RE2 expression Pattern
	// matches. It does so in every text in the argument. With is no template.
	Redact  string
	Text    string
	Pattern string
	With    string
	// Append adds Text to the end of the argument.
	Append string
	// Remove takes the argument out.
	Remove string
	// Narrow keeps of a list of texts those that the RE2 expression Keep
	// matches. Where none is left the call is denied.
	Narrow string
	Keep   string
}

// The words of an Op.
const (
	opSet    = "set"
	opClamp  = "clamp"
	opRedact = "redact"
	opAppend = "append"
	opRemove = "remove"
	opNarrow = "narrow"
)

// op is an Op that was checked and compiled.
type op struct {
	kind, arg string
	value     any // of set
	min, max  bound
	literal   string         // of redact
	pattern   *regexp.Regexp // of redact and narrow
	text      string         // what is put in, or appended
}

type bound struct {
	set   bool
	at    float64
	value json.Number
}

// The reasons why an Op can't be applied. They hold no value.
var (
	errNoNumber = errors.New("the argument is no number")
	errNoText   = errors.New("the argument is no text")
	errNoList   = errors.New("the argument is no list of texts")
	errNoneLeft = errors.New("nothing of the argument is left")
	errTooLong  = errors.New("the argument would become too long")
)

// applyTo returns what the op makes of a value; keep is false where it takes the
// argument out. It never changes v in place: all gates share it.
func (o *op) applyTo(v any, present bool) (out any, keep bool, err error) {
	switch {
	case o.kind == opSet:
		return o.value, true, nil
	case !present:
		return nil, false, nil
	}
	switch o.kind {
	case opRemove:
		return nil, false, nil
	case opClamp:
		out, err = o.clampNumber(v)
	case opAppend:
		s, ok := v.(string)
		switch {
		case !ok:
			err = errNoText
		case strings.HasSuffix(s, o.text):
			out = s
		default:
			out = s + o.text
		}
	case opRedact:
		out, err = o.redactValue(v)
	case opNarrow:
		out, err = o.narrowList(v)
	default:
		err = errors.New("there is no such rewrite")
	}
	return out, true, err
}

// clampNumber returns the bound that the number passes, or the number itself.
func (o *op) clampNumber(v any) (any, error) {
	n, ok := v.(json.Number)
	if !ok {
		return nil, errNoNumber
	}
	f, err := n.Float64()
	switch {
	case err != nil:
		return nil, errNoNumber
	case o.min.set && f < o.min.at:
		return o.min.value, nil
	case o.max.set && f > o.max.at:
		return o.max.value, nil
	}
	return v, nil
}

// redactValue redacts texts in lists and objects too; their keys are the schema's
// matter.
func (o *op) redactValue(v any) (any, error) {
	switch v := v.(type) {
	case string:
		return o.redactText(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			r, err := o.redactValue(e)
			if err != nil {
				return nil, err
			}
			out[i] = r
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			r, err := o.redactValue(e)
			if err != nil {
				return nil, err
			}
			out[k] = r
		}
		return out, nil
	}
	return v, nil
}

// redactText bounds what it builds. A short match and a long replacement would
// make gigabytes of an argument that is just within its limit.
func (o *op) redactText(s string) (string, error) {
	if o.pattern == nil {
		if n := strings.Count(s, o.literal); len(s)+n*(len(o.text)-len(o.literal)) > sentinel.MaxArgs {
			return "", errTooLong
		}
		return strings.ReplaceAll(s, o.literal, o.text), nil
	}
	found := o.pattern.FindAllStringIndex(s, -1)
	if len(found) == 0 {
		return s, nil
	}
	if len(s)+len(found)*len(o.text) > 2*sentinel.MaxArgs {
		return "", errTooLong
	}
	var b strings.Builder
	end := 0
	for _, m := range found {
		b.WriteString(s[end:m[0]])
		b.WriteString(o.text)
		end = m[1]
	}
	b.WriteString(s[end:])
	return b.String(), nil
}

// narrowList keeps the texts of a list that the pattern matches.
func (o *op) narrowList(v any) (any, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, errNoList
	}
	out := make([]any, 0, len(list))
	for _, e := range list {
		s, ok := e.(string)
		if !ok {
			return nil, errNoList
		}
		if o.pattern.MatchString(s) && !holdsSeveral(s) {
			out = append(out, e)
		}
	}
	if len(out) == 0 && len(list) > 0 {
		return nil, errNoneLeft
	}
	return out, nil
}

// holdsSeveral reports whether one text of a list holds more than one line or
// address. It also reports addresses that mail servers may send on elsewhere. The
// part that matched would keep the rest.
func holdsSeveral(s string) bool {
	return strings.ContainsAny(s, "\n\r") || strings.Count(s, "@") > 1 && strings.ContainsAny(s, ",; ") || touch.Routed(s)
}

// rewriteArgument applies the op to one argument of args and reports whether it
// changed. args may be changed, what is in it is not.
func (o *op) rewriteArgument(args map[string]any) (bool, error) {
	was, present := args[o.arg]
	is, keep, err := o.applyTo(was, present)
	switch {
	case err != nil:
		return false, err
	case !keep:
		delete(args, o.arg)
		return present, nil
	case present && reflect.DeepEqual(was, is):
		return false, nil
	}
	args[o.arg] = is
	return true, nil
}

// readBound reads a bound, and reports whether it is a finite number.
func readBound(n json.Number) (bound, bool) {
	if n == "" {
		return bound{}, true
	}
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) || !json.Valid([]byte(n)) {
		return bound{}, false
	}
	return bound{true, f, n}, true
}
