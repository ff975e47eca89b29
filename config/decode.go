package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/skills"
)

// decoder fills structs from nodes and reports every mistake it meets. What it
// reports as wrong keeps its default.
type decoder struct {
	out *problems
	// failed, if not nil, collects the paths of mistakes, so that a later
	// check of the same value doesn't report them again.
	failed map[string]bool
	fields map[reflect.Type][]field // what was read from tags so far
}

func newDecoder(out *problems) *decoder {
	return &decoder{out: out, fields: map[reflect.Type][]field{}}
}

func (d *decoder) fieldsOf(t reflect.Type) []field {
	if _, ok := d.fields[t]; !ok {
		d.fields[t] = fieldsOf(t)
	}
	return d.fields[t]
}

// place is a value, where its key stands and what it is called.
type place struct {
	n    *node
	at   Position // the key's, or the value's own where it has none
	path string
}

func (p place) child(e *entry) place {
	return place{e.val, e.pos, joinPath(p.path, e.key)}
}

func (p place) item(i int) place {
	return place{p.n.items[i], p.n.items[i].pos, fmt.Sprintf("%s[%d]", p.path, i)}
}

func (d *decoder) fail(p place, at Position, format string, args ...any) {
	if d.failed != nil {
		d.failed[p.path] = true
	}
	name := p.path
	if name == "" {
		name = "the file"
	}
	d.out.add(at, "%s %s", name, fmt.Sprintf(format, args...))
}

// defaulter is a struct that has defaults as an element of a map or list.
type defaulter interface{ setDefaults() }

func (m *Model) setDefaults() { *m = modelDefaults() }

// value decodes p into v, which holds the default.
func (d *decoder) value(p place, v reflect.Value, f field) {
	if p.n.bad {
		if d.failed != nil {
			d.failed[p.path] = true
		}
		return
	}
	if p.n.isNull() {
		d.fail(p, p.at, "has no value; write one or remove the key")
		return
	}
	if d.special(p, v, f) {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.object(p, v)
	case reflect.Map:
		d.table(p, v, f)
	case reflect.Slice:
		d.list(p, v, f)
	case reflect.String:
		d.text(p, v, f)
	case reflect.Bool:
		d.boolean(p, v)
	case reflect.Int:
		d.integer(p, v, f)
	default:
		panic("config: no decoding for " + v.Type().String()) // a slip in our own source
	}
}

// special decodes the types that aren't in YAML what they are in Go.
func (d *decoder) special(p place, v reflect.Value, f field) bool {
	switch v.Interface().(type) {
	case json.RawMessage:
		if raw, ok := d.json(p); ok {
			v.SetBytes(raw)
		} else if d.failed != nil {
			d.failed[p.path] = true
		}
	case time.Duration:
		d.duration(p, v, f)
	case Hundredths:
		d.hundredths(p, v)
	case Cost:
		d.cost(p, v, f)
	case Secret:
		d.secret(p, v, f)
	case skills.Run:
		d.run(p, v)
	case Constant:
		if raw, ok := d.json(p); ok {
			v.SetBytes(raw)
		} else if d.failed != nil {
			d.failed[p.path] = true
		}
	case Number:
		v.SetString(string(d.number(p)))
	case programSkills:
		if p.n.kind != listNode {
			d.fail(p, p.n.pos, "must be a list of skills%s", notA(p.n))
		}
	case skillList:
		// one by one, by the loader
	default:
		return false
	}
	return true
}

// secret decodes a text that no message may show.
func (d *decoder) secret(p place, v reflect.Value, f field) {
	if p.n.kind == scalarNode && p.n.scalarKind() != textScalar {
		d.fail(p, p.n.pos, "must be text; write it in quotes")
		return
	}
	var text string
	d.text(p, reflect.ValueOf(&text).Elem(), f)
	v.Set(reflect.ValueOf(NewSecret(text)))
}

// object decodes a mapping into a struct.
func (d *decoder) object(p place, v reflect.Value) {
	if p.n.kind != mappingNode {
		d.fail(p, p.n.pos, "must be a mapping of keys to values%s", notA(p.n))
		return
	}
	fields := d.fieldsOf(v.Type())
	known := make([]string, len(fields))
	for i, f := range fields {
		known[i] = f.name
		if f.required && p.n.get(f.name) == nil {
			d.missing(p, f.name)
		}
	}
	for i := range p.n.entries {
		e := &p.n.entries[i]
		j := indexOf(known, e.key)
		if j < 0 {
			d.unknownKey(e, known)
			continue
		}
		d.value(p.child(e), v.Field(fields[j].index), fields[j])
	}
}

func indexOf(list []string, s string) int {
	for i, e := range list {
		if e == s {
			return i
		}
	}
	return -1
}

func (d *decoder) missing(p place, key string) {
	path := joinPath(p.path, key)
	if d.failed != nil {
		d.failed[path] = true
	}
	if path == "version" {
		d.out.add(p.at, "version is missing; write version: 1")
		return
	}
	d.out.add(p.at, "%s is missing", path)
}

func (d *decoder) unknownKey(e *entry, known []string) {
	d.out.add(e.pos, "%s", unknown("key", e.key, known))
}

// unknown says that a word isn't known, and which was probably meant; where
// none was and there are few, which there are.
func unknown(what, got string, known []string) string {
	msg := fmt.Sprintf("unknown %s %s", what, quote(got))
	if near := skills.Nearest(got, known); near != "" {
		return msg + fmt.Sprintf("; did you mean %q?", near)
	}
	if len(known) > 0 && len(known) <= 8 {
		return msg + "; known are " + strings.Join(known, ", ")
	}
	return msg
}

// quote shows a word of the file, cut to a length that fits a message.
func quote(s string) string {
	if r := []rune(s); len(r) > 60 {
		s = string(r[:60]) + "…"
	}
	return fmt.Sprintf("%q", s)
}

// notA says what a value is where it should have been something else. It
// doesn't show what came from the environment.
func notA(n *node) string {
	switch {
	case n.kind == mappingNode:
		return ", not a mapping"
	case n.kind == listNode:
		return ", not a list"
	case n.outside:
		return ", not what the environment gives"
	}
	return ", not " + quote(n.text)
}

// table decodes a mapping into a map with text keys.
func (d *decoder) table(p place, v reflect.Value, f field) {
	if p.n.kind != mappingNode {
		d.fail(p, p.n.pos, "must be a mapping of names to values%s", notA(p.n))
		return
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), len(p.n.entries)))
	for i := range p.n.entries {
		e := &p.n.entries[i]
		if !d.mapKey(p, e, f.keys) {
			continue
		}
		elem := reflect.New(v.Type().Elem())
		if def, ok := elem.Interface().(defaulter); ok {
			def.setDefaults()
		}
		d.value(p.child(e), elem.Elem(), field{single: f.single, nonempty: f.nonempty, enum: f.enum})
		v.SetMapIndex(reflect.ValueOf(e.key), elem.Elem())
	}
}

// mapKey reports whether a key may stand in a map, and says so where not.
func (d *decoder) mapKey(p place, e *entry, keys string) bool {
	switch {
	case keys == "name" && !plainName(e.key):
		d.out.add(e.pos, "%s: the name %s may hold letters, digits, _ and - only", p.path, quote(e.key))
		return false
	case keys == "skill" && !skills.ValidName(e.key):
		d.out.add(e.pos, "%s: a key must be a skill's name such as email.send, not %s", p.path, quote(e.key))
		return false
	case keys == "name", keys == "skill":
		return true
	}
	known := strings.Split(keys, "|")
	if indexOf(known, e.key) < 0 {
		d.unknownKey(e, known)
		return false
	}
	return true
}

func plainName(s string) bool {
	return s != "" && len(s) <= 64 && strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	}) < 0
}

// list decodes a list, or one value where the field allows it.
func (d *decoder) list(p place, v reflect.Value, f field) {
	if f.single && p.n.kind == scalarNode {
		one := reflect.MakeSlice(v.Type(), 1, 1)
		d.value(p, one.Index(0), field{})
		v.Set(one)
		return
	}
	if p.n.kind != listNode {
		d.fail(p, p.n.pos, "must be a list%s", notA(p.n))
		return
	}
	if f.nonempty && len(p.n.items) == 0 {
		d.fail(p, p.n.pos, "is an empty list, which means nothing; remove the key or name some")
		return
	}
	out := reflect.MakeSlice(v.Type(), len(p.n.items), len(p.n.items))
	for i := range p.n.items {
		d.value(p.item(i), out.Index(i), field{pattern: f.pattern, enum: f.enum})
	}
	v.Set(out)
}

// run decodes the one key under run and keeps its options for the package of
// that kind.
func (d *decoder) run(p place, v reflect.Value) {
	if p.n.kind != mappingNode {
		d.fail(p, p.n.pos, "must be a mapping with one of %s%s", strings.Join(runKinds, ", "), notA(p.n))
		return
	}
	for i := range p.n.entries {
		e := &p.n.entries[i]
		if indexOf(runKinds, e.key) < 0 {
			d.fail(p, e.pos, "names an %s", unknown("kind", e.key, runKinds))
			return
		}
	}
	if len(p.n.entries) != 1 {
		d.fail(p, p.at, "must name exactly one of %s; it names %d", strings.Join(runKinds, ", "), len(p.n.entries))
		return
	}
	e := &p.n.entries[0]
	if e.val.isNull() && !e.val.bad {
		d.fail(p.child(e), e.pos, "has no value; write its options")
		return
	}
	if raw, ok := d.json(p.child(e)); ok {
		v.Set(reflect.ValueOf(skills.Run{Kind: e.key, Options: raw}))
	} else {
		d.failed[p.path] = true
	}
}
