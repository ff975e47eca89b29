package config

import (
	"fmt"
	"reflect"
	"strings"
)

// field is what the tags of a struct field say. The decoder and the editor's
// schema both read the tags, so that they can't disagree.
type field struct {
	name     string // the key in YAML
	index    int
	traits   traits
	enum     []string // allowed words
	min, max string   // bounds of numbers and durations, inclusive
	pattern  string   // what texts must look like, a name in patterns
	keys     string   // of a map: "name", "skill" or the allowed words joined by "|"
}

// traits are the options of a field that have no value.
type traits uint8

const (
	required    traits = 1 << iota
	wanted             // required by a later check, not by the decoder
	orNever            // a duration may be 0s besides, which is never
	positive           // an amount bounds something, so it is more than nothing
	single             // one text may stand for a list of one
	emptyText          // an empty text is allowed
	noEmptyList        // an empty list isn't
)

// has reports whether the field has one of the traits.
func (f field) has(t traits) bool { return f.traits&t != 0 }

// fieldsOf returns the fields of a struct type that YAML can set.
func fieldsOf(t reflect.Type) []field {
	var out []field
	for i := range t.NumField() {
		sf := t.Field(i)
		name := sf.Tag.Get("yaml")
		if name == "" || name == "-" {
			continue
		}
		f := field{name: name, index: i}
		for opt := range strings.SplitSeq(sf.Tag.Get("cfg"), ",") {
			f.applyOption(opt)
		}
		out = append(out, f)
	}
	return out
}

// applyOption takes one option of a cfg tag.
func (f *field) applyOption(opt string) {
	k, v, _ := strings.Cut(opt, "=")
	switch k {
	case "":
	case "required":
		f.traits |= required
	case "wanted":
		f.traits |= wanted
	case "enum":
		f.enum = strings.Split(v, "|")
	case "min":
		f.min = v
	case "max":
		f.max = v
	case "never":
		f.traits |= orNever
	case "bound":
		f.traits |= positive
	case "single":
		f.traits |= single | noEmptyList
	case "empty":
		f.traits |= emptyText
	case "nonempty":
		f.traits |= noEmptyList
	case "pattern":
		f.pattern = v
	case "key":
		f.keys = v
	default:
		panic(fmt.Sprintf("config: unknown tag option %q", opt)) // a slip in our own source
	}
}
