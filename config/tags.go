package config

import (
	"fmt"
	"reflect"
	"strings"
)

// field is what the tags of a struct field say. The decoder and the editor's
// schema both read it, so that they can't disagree.
type field struct {
	name     string // the key in YAML
	index    int
	required bool
	wanted   bool     // required by a later check, not by the decoder
	enum     []string // allowed words
	min, max string   // bounds of numbers and durations, inclusive
	never    bool     // a duration may be 0s besides, which is never
	bound    bool     // an amount bounds something, so it is more than nothing
	single   bool     // one text may stand for a list of one
	empty    bool     // an empty text is allowed
	nonempty bool     // an empty list isn't
	pattern  string   // what texts must look like, a name in patterns
	keys     string   // of a map: "name", "skill" or the allowed words joined by "|"
}

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
			f.set(opt)
		}
		out = append(out, f)
	}
	return out
}

func (f *field) set(opt string) {
	k, v, _ := strings.Cut(opt, "=")
	switch k {
	case "":
	case "required":
		f.required = true
	case "wanted":
		f.wanted = true
	case "enum":
		f.enum = strings.Split(v, "|")
	case "min":
		f.min = v
	case "max":
		f.max = v
	case "never":
		f.never = true
	case "bound":
		f.bound = true
	case "single":
		f.single, f.nonempty = true, true
	case "empty":
		f.empty = true
	case "nonempty":
		f.nonempty = true
	case "pattern":
		f.pattern = v
	case "key":
		f.keys = v
	default:
		panic(fmt.Sprintf("config: unknown tag option %q", opt)) // a slip in our own source
	}
}
