package permission

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/vedette-dev/vedette/skills"
)

// Bounds of a rewrite's own texts, in bytes.
const (
	maxOpText = 4 << 10
	maxOps    = 32
)

// verb is one key of an Op that names an argument, and the keys it takes.
type verb struct {
	word, arg string
	takes     []string
}

// namedVerbs returns the verbs of an Op that name an argument.
func (o Op) namedVerbs() []verb {
	all := []verb{
		{opSet, o.Set, []string{"to"}}, {opClamp, o.Clamp, []string{"min", "max"}},
		{opRedact, o.Redact, []string{"text", "pattern", "with"}}, {opAppend, o.Append, []string{"text"}},
		{opRemove, o.Remove, nil}, {opNarrow, o.Narrow, []string{"keep"}},
	}
	return slices.DeleteFunc(all, func(v verb) bool { return v.arg == "" })
}

// otherKeys returns the keys that are set and name no argument.
func (o Op) otherKeys() []string {
	var out []string
	for _, f := range []struct {
		key string
		set bool
	}{
		{"to", o.To != nil}, {"min", o.Min != ""}, {"max", o.Max != ""}, {"text", o.Text != ""},
		{"pattern", o.Pattern != ""}, {"with", o.With != ""}, {"keep", o.Keep != ""},
	} {
		if f.set {
			out = append(out, f.key)
		}
	}
	return out
}

// compileOps checks the rewrites of one rule and adds them to r, with every
// mistake.
func (c *compiler) compileOps(at string, in Rule, r *rule) error {
	switch {
	case in.Then != Modify && len(in.Modify) > 0:
		return &skills.PathError{Path: at + ".modify", Msg: "is for rules that say then: modify"}
	case in.Then != Modify:
		return nil
	case len(in.Modify) == 0:
		return &skills.PathError{Path: at, Msg: "says then: modify and nothing to modify; add modify: [{set: …, to: …}]"}
	case len(in.Modify) > maxOps:
		return &skills.PathError{Path: at + ".modify", Msg: fmt.Sprintf("has more than %d rewrites", maxOps)}
	}
	var errs []error
	for i, o := range in.Modify {
		at := fmt.Sprintf("%s.modify[%d]", at, i)
		compiled, err := compileOp(at, o)
		if err == nil {
			err = c.checkOpFits(at, compiled, r)
		}
		if err == nil && compiled.kind == opAppend &&
			slices.ContainsFunc(r.ops, func(p op) bool { return p.kind == opAppend && p.arg == compiled.arg }) {
			err = &skills.PathError{Path: at + ".append",
				Msg: fmt.Sprintf("appends to %q a second time, which would never come to an end; write one text", compiled.arg)}
		}
		errs = append(errs, err)
		r.ops = append(r.ops, compiled)
	}
	return errors.Join(errs...)
}

// compileOp checks what an Op says of itself.
func compileOp(at string, o Op) (op, error) {
	verbs := o.namedVerbs()
	if len(verbs) != 1 {
		return op{}, &skills.PathError{Path: at,
			Msg: fmt.Sprintf("must name exactly one of set, clamp, redact, append, remove, narrow; it names %d", len(verbs))}
	}
	v := verbs[0]
	for _, key := range o.otherKeys() {
		if !slices.Contains(v.takes, key) {
			return op{}, &skills.PathError{Path: at + "." + key,
				Msg: fmt.Sprintf("means nothing beside %s, which takes %s", v.word, joinOrNothing(v.takes))}
		}
	}
	if len(o.Text) > maxOpText || len(o.With) > maxOpText || len(o.Pattern) > maxOpText || len(o.Keep) > maxOpText ||
		len(o.To) > 16*maxOpText {
		return op{}, &skills.PathError{Path: at, Msg: fmt.Sprintf("holds a text of more than %d bytes", maxOpText)}
	}
	out := op{kind: v.word, arg: v.arg}
	var err error
	switch v.word {
	case opSet:
		out.value, err = parseConstant(at, o.To)
	case opClamp:
		err = out.compileBounds(at, o)
	case opRedact:
		err = out.compileRedaction(at, o)
	case opAppend:
		if out.text = o.Text; o.Text == "" {
			err = &skills.PathError{Path: at, Msg: "append needs text"}
		}
	case opNarrow:
		out.pattern, err = compileExpression(at+".keep", o.Keep, "narrow needs keep: the expression that what stays must match")
	}
	return out, err
}

// joinOrNothing lists keys for a message.
func joinOrNothing(list []string) string {
	if len(list) == 0 {
		return "nothing else"
	}
	return strings.Join(list, ", ")
}

// parseConstant reads a value in the form in which arguments come.
func parseConstant(at string, raw json.RawMessage) (any, error) {
	v := jsontext.Value(bytes.Clone(raw))
	if len(raw) == 0 || v.Canonicalize() != nil {
		return nil, &skills.PathError{Path: at, Msg: "set needs to: a value"}
	}
	if v.Kind() == 'n' {
		return nil, &skills.PathError{Path: at + ".to", Msg: "is null; write remove to take an argument out"}
	}
	d := json.NewDecoder(bytes.NewReader(v))
	d.UseNumber()
	var out any
	if err := d.Decode(&out); err != nil {
		return nil, &skills.PathError{Path: at + ".to", Msg: "is no JSON value"}
	}
	return out, nil
}

// compileBounds checks the numbers of a clamp.
func (o *op) compileBounds(at string, in Op) error {
	var ok1, ok2 bool
	o.min, ok1 = readBound(in.Min)
	o.max, ok2 = readBound(in.Max)
	switch {
	case !ok1:
		return &skills.PathError{Path: at + ".min", Msg: "is no number"}
	case !ok2:
		return &skills.PathError{Path: at + ".max", Msg: "is no number"}
	case !o.min.set && !o.max.set:
		return &skills.PathError{Path: at, Msg: "clamp needs min, max or both"}
	case o.min.set && o.max.set && o.min.at > o.max.at:
		return &skills.PathError{Path: at + ".min", Msg: "is more than max"}
	}
	return nil
}

// compileRedaction checks the texts of a redact: applied twice it must change
// nothing more.
func (o *op) compileRedaction(at string, in Op) error {
	o.text = in.With
	switch {
	case (in.Text == "") == (in.Pattern == ""):
		return &skills.PathError{Path: at, Msg: "redact needs text or pattern, and not both"}
	case in.Text != "":
		if o.literal = in.Text; strings.Contains(in.With, in.Text) {
			return &skills.PathError{Path: at + ".with", Msg: "holds the text that it stands for, so redacting would never come to an end"}
		}
		return nil
	}
	var err error
	if o.pattern, err = compileExpression(at+".pattern", in.Pattern, ""); err != nil {
		return err
	}
	switch {
	case o.pattern.MatchString(""):
		return &skills.PathError{Path: at + ".pattern", Msg: "matches the empty text, which is everywhere"}
	case o.pattern.ReplaceAllLiteralString(in.With, in.With) != in.With:
		return &skills.PathError{Path: at + ".with", Msg: "matches the pattern itself, so redacting would never come to an end"}
	}
	return nil
}

// compileExpression compiles an RE2 expression. missing is the message for an
// empty one; without a message, empty is allowed.
func compileExpression(at, text, missing string) (*regexp.Regexp, error) {
	if text == "" && missing != "" {
		return nil, &skills.PathError{Path: at, Msg: missing}
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, &skills.PathError{Path: at,
			Msg: "is no RE2 expression: " + firstLine(strings.TrimPrefix(err.Error(), "error parsing regexp: "))}
	}
	return re, nil
}

// checkOpFits holds an op to the skills of its rule. A skill must have the
// argument, allow the change, and accept what is put in.
func (c *compiler) checkOpFits(at string, o op, r *rule) error {
	if c.reg == nil {
		return nil
	}
	var declared []string
	found := false
	for _, name := range c.reg.Names() {
		s, _ := c.reg.Get(name)
		if !r.covers(name) {
			continue
		}
		declared = append(declared, s.DeclaredArgs()...)
		if !s.Declares(o.arg) {
			continue
		}
		found = true
		if msg := refusesOp(s, o); msg != "" {
			return &skills.PathError{Path: at + "." + o.kind, Msg: msg}
		}
	}
	if found || c.coversUnregistered(r) {
		return nil
	}
	msg := fmt.Sprintf("no skill of this rule has an argument %q", o.arg)
	if near := skills.Nearest(o.arg, declared); near != "" {
		msg += fmt.Sprintf("; did you mean %q?", near)
	}
	return &skills.PathError{Path: at + "." + o.kind, Msg: msg}
}

const targetMarks = skills.Target | skills.URL | skills.Path | skills.Shell

// refusesOp says why an op can't be applied to a skill's argument; empty where it
// can.
func refusesOp(s *skills.Skill, o op) string {
	p := readProperty(s, o.arg)
	marks, _ := s.ArgMarks(o.arg)
	replaces := o.kind == opSet || o.kind == opClamp || o.kind == opRedact || o.kind == opAppend
	switch {
	case replaces && marks&targetMarks != 0:
		return fmt.Sprintf("%q is a target of %s: it may be removed or narrowed, never replaced", o.arg, s.Name())
	case replaces && o.kind != opClamp && !s.Annotated() && p.holdsText():
		return fmt.Sprintf("%s has no x- marks, so any text in it may be a target, which is never replaced; mark its arguments", s.Name())
	case o.kind == opRemove && p.required:
		return fmt.Sprintf("%s requires %q, so every call without it would be denied", s.Name(), o.arg)
	case o.kind == opNarrow && !p.hasType("array"):
		return fmt.Sprintf("%q of %s is no list", o.arg, s.Name())
	case o.kind == opClamp && !p.hasType("number") && !p.hasType("integer"):
		return fmt.Sprintf("%q of %s is no number", o.arg, s.Name())
	case (o.kind == opAppend || o.kind == opRedact) && !p.holdsText():
		return fmt.Sprintf("%q of %s holds no text", o.arg, s.Name())
	}
	for _, v := range o.insertedValues() {
		if !schemaAccepts(s, o.arg, v) {
			return fmt.Sprintf("puts a value into %q that the schema of %s refuses", o.arg, s.Name())
		}
	}
	return ""
}

// insertedValues returns the whole values that an op may put in.
func (o op) insertedValues() []any {
	var out []any
	if o.kind == opSet {
		out = append(out, o.value)
	}
	for _, b := range []bound{o.min, o.max} {
		if b.set {
			out = append(out, b.value)
		}
	}
	return out
}

// schemaAccepts reports whether the schema accepts the value, whatever else it
// wants.
func schemaAccepts(s *skills.Skill, arg string, v any) bool {
	at := "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(arg)
	return !slices.ContainsFunc(s.Validate(map[string]any{arg: v}), func(e skills.SchemaError) bool {
		return e.Pointer == at || strings.HasPrefix(e.Pointer, at+"/")
	})
}
