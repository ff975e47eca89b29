package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/skills"
)

// decoder fills structs from nodes and reports every mistake that it meets. A
// value with a mistake keeps its default.
type decoder struct {
	out *problems
	// failed, if not nil, collects the paths of mistakes. A later check of the
	// same value doesn't report them again.
	failed map[string]bool
	fields map[reflect.Type][]field // what was read from tags so far
}

// newDecoder returns a decoder that reports to out.
func newDecoder(out *problems) *decoder {
	return &decoder{out: out, fields: map[reflect.Type][]field{}}
}

// fieldsOf returns the fields of a struct type, which it reads once.
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

// placeOfEntry returns the place of a mapping's entry.
func (p place) placeOfEntry(e *entry) place {
	return place{e.val, e.pos, joinConfigPath(p.path, e.key)}
}

// placeOfItem returns the place of a list's item.
func (p place) placeOfItem(i int) place {
	return place{p.n.items[i], p.n.items[i].pos, fmt.Sprintf("%s[%d]", p.path, i)}
}

// reportMistake reports a mistake in p.
func (d *decoder) reportMistake(p place, at Position, format string, args ...any) {
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

// decodeValue decodes p into v, which holds the default.
func (d *decoder) decodeValue(p place, v reflect.Value, f field) {
	if p.n.bad {
		if d.failed != nil {
			d.failed[p.path] = true
		}
		return
	}
	if p.n.isNull() {
		d.reportMistake(p, p.at, "has no value; write one or remove the key")
		return
	}
	if d.decodeSpecial(p, v, f) {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.decodeObject(p, v)
	case reflect.Map:
		d.decodeMap(p, v, f)
	case reflect.Slice:
		d.decodeList(p, v, f)
	case reflect.String:
		d.decodeText(p, v, f)
	case reflect.Bool:
		d.decodeBool(p, v)
	case reflect.Int:
		d.decodeInt(p, v, f)
	default:
		panic("config: no decoding for " + v.Type().String()) // a slip in our own source
	}
}

// decodeSpecial decodes the types that aren't in YAML what they are in Go.
func (d *decoder) decodeSpecial(p place, v reflect.Value, f field) bool {
	switch v.Interface().(type) {
	case json.RawMessage:
		if raw, ok := d.decodeJSON(p); ok {
			v.SetBytes(raw)
		} else if d.failed != nil {
			d.failed[p.path] = true
		}
	case time.Duration:
		d.decodeDuration(p, v, f)
	case Hundredths:
		d.decodeHundredths(p, v)
	case Cost:
		d.decodeCost(p, v, f)
	case Secret:
		d.decodeSecret(p, v, f)
	case skills.Run:
		d.decodeRun(p, v)
	case Constant:
		if raw, ok := d.decodeJSON(p); ok {
			v.SetBytes(raw)
		} else if d.failed != nil {
			d.failed[p.path] = true
		}
	case Number:
		v.SetString(string(d.decodeNumber(p)))
	case programSkills:
		if p.n.kind != listNode {
			d.reportMistake(p, p.n.pos, "must be a list of skills%s", describeGot(p.n))
		}
	case skillList:
		// one by one, by the loader
	default:
		return false
	}
	return true
}

// decodeSecret decodes a text that no message may show.
func (d *decoder) decodeSecret(p place, v reflect.Value, f field) {
	if p.n.kind == scalarNode && p.n.scalarKind() != textScalar {
		d.reportMistake(p, p.n.pos, "must be text; write it in quotes")
		return
	}
	var text string
	d.decodeText(p, reflect.ValueOf(&text).Elem(), f)
	v.Set(reflect.ValueOf(NewSecret(text)))
}

// decodeObject decodes a mapping into a struct.
func (d *decoder) decodeObject(p place, v reflect.Value) {
	if p.n.kind != mappingNode {
		d.reportMistake(p, p.n.pos, "must be a mapping of keys to values%s", describeGot(p.n))
		return
	}
	fields := d.fieldsOf(v.Type())
	known := make([]string, len(fields))
	for i, f := range fields {
		known[i] = f.name
		if f.has(required) && p.n.get(f.name) == nil {
			d.reportMissing(p, f.name)
		}
	}
	for i := range p.n.entries {
		e := &p.n.entries[i]
		j := slices.Index(known, e.key)
		if j < 0 {
			d.reportUnknownKey(e, known)
			continue
		}
		d.decodeValue(p.placeOfEntry(e), v.Field(fields[j].index), fields[j])
	}
}

// reportMissing reports a required key that isn't written.
func (d *decoder) reportMissing(p place, key string) {
	path := joinConfigPath(p.path, key)
	if d.failed != nil {
		d.failed[path] = true
	}
	if path == "version" {
		d.out.add(p.at, "version is missing; write version: 1")
		return
	}
	d.out.add(p.at, "%s is missing", path)
}

// reportUnknownKey reports a key that isn't one of known.
func (d *decoder) reportUnknownKey(e *entry, known []string) {
	d.out.add(e.pos, "%s", unknownWord("key", e.key, known))
}

// unknownWord says that a word isn't known, and which one was probably meant.
// Where none is near and there are few, it lists them.
func unknownWord(what, got string, known []string) string {
	msg := fmt.Sprintf("unknown %s %s", what, quoteWord(got))
	if near := skills.Nearest(got, known); near != "" {
		return msg + fmt.Sprintf("; did you mean %q?", near)
	}
	if len(known) > 0 && len(known) <= 8 {
		return msg + "; known are " + strings.Join(known, ", ")
	}
	return msg
}

// quoteWord shows a word of the file, cut to a length that fits a message.
func quoteWord(s string) string {
	if r := []rune(s); len(r) > 60 {
		s = string(r[:60]) + "…"
	}
	return fmt.Sprintf("%q", s)
}

// describeGot says what a value is where it should have been something else. It doesn't
// show what came from the environment.
func describeGot(n *node) string {
	switch {
	case n.kind == mappingNode:
		return ", not a mapping"
	case n.kind == listNode:
		return ", not a list"
	case n.outside:
		return ", not what the environment gives"
	}
	return ", not " + quoteWord(n.text)
}

// decodeMap decodes a mapping into a map with text keys.
func (d *decoder) decodeMap(p place, v reflect.Value, f field) {
	if p.n.kind != mappingNode {
		d.reportMistake(p, p.n.pos, "must be a mapping of names to values%s", describeGot(p.n))
		return
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), len(p.n.entries)))
	for i := range p.n.entries {
		e := &p.n.entries[i]
		if !d.checkMapKey(p, e, f.keys) {
			continue
		}
		elem := reflect.New(v.Type().Elem())
		if def, ok := elem.Interface().(defaulter); ok {
			def.setDefaults()
		}
		d.decodeValue(p.placeOfEntry(e), elem.Elem(), field{traits: f.traits & (single | noEmptyList), enum: f.enum})
		v.SetMapIndex(reflect.ValueOf(e.key), elem.Elem())
	}
}

// checkMapKey reports whether a key may stand in a map, and reports a mistake
// where not.
func (d *decoder) checkMapKey(p place, e *entry, keys string) bool {
	switch {
	case keys == "name" && !isPlainName(e.key):
		d.out.add(e.pos, "%s: the name %s may hold letters, digits, _ and - only", p.path, quoteWord(e.key))
		return false
	case keys == "skill" && !skills.ValidName(e.key):
		d.out.add(e.pos, "%s: a key must be a skill's name such as email.send, not %s", p.path, quoteWord(e.key))
		return false
	case keys == "name", keys == "skill":
		return true
	}
	known := strings.Split(keys, "|")
	if !slices.Contains(known, e.key) {
		d.reportUnknownKey(e, known)
		return false
	}
	return true
}

// isPlainName reports whether s has 1 to 64 letters, digits, _ and - and nothing
// else.
func isPlainName(s string) bool {
	return s != "" && len(s) <= 64 && strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	}) < 0
}

// decodeList decodes a list, or one value where the field allows it.
func (d *decoder) decodeList(p place, v reflect.Value, f field) {
	if f.has(single) && p.n.kind == scalarNode {
		one := reflect.MakeSlice(v.Type(), 1, 1)
		d.decodeValue(p, one.Index(0), field{})
		v.Set(one)
		return
	}
	if p.n.kind != listNode {
		d.reportMistake(p, p.n.pos, "must be a list%s", describeGot(p.n))
		return
	}
	if f.has(noEmptyList) && len(p.n.items) == 0 {
		d.reportMistake(p, p.n.pos, "is an empty list, which means nothing; remove the key or name some")
		return
	}
	out := reflect.MakeSlice(v.Type(), len(p.n.items), len(p.n.items))
	for i := range p.n.items {
		if def, ok := out.Index(i).Addr().Interface().(defaulter); ok {
			def.setDefaults()
		}
		d.decodeValue(p.placeOfItem(i), out.Index(i), field{pattern: f.pattern, enum: f.enum})
	}
	v.Set(out)
}

// decodeRun decodes the one key under run and keeps its options for the package of
// that kind.
func (d *decoder) decodeRun(p place, v reflect.Value) {
	if p.n.kind != mappingNode {
		d.reportMistake(p, p.n.pos, "must be a mapping with one of %s%s", strings.Join(runKinds, ", "), describeGot(p.n))
		return
	}
	for i := range p.n.entries {
		e := &p.n.entries[i]
		if !slices.Contains(runKinds, e.key) {
			d.reportMistake(p, e.pos, "names an %s", unknownWord("kind", e.key, runKinds))
			return
		}
	}
	if len(p.n.entries) != 1 {
		d.reportMistake(p, p.at, "must name exactly one of %s; it names %d", strings.Join(runKinds, ", "), len(p.n.entries))
		return
	}
	e := &p.n.entries[0]
	if e.val.isNull() && !e.val.bad {
		d.reportMistake(p.placeOfEntry(e), e.pos, "has no value; write its options")
		return
	}
	if raw, ok := d.decodeJSON(p.placeOfEntry(e)); ok {
		v.Set(reflect.ValueOf(skills.Run{Kind: e.key, Options: raw}))
	} else {
		d.failed[p.path] = true
	}
}
