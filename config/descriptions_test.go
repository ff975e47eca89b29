package config

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every description belongs to a key that the configuration or a skill file has.
func TestDescriptionsNameKeys(t *testing.T) {
	keys := map[string]bool{}
	for _, root := range []reflect.Type{reflect.TypeFor[Config](), reflect.TypeFor[skillFile](), reflect.TypeFor[skillEntry]()} {
		collectKeys(root, keys)
	}
	for _, name := range slices.Sorted(maps.Keys(descriptions)) {
		require.True(t, keys[name], "descriptions has %s, and no struct has that key", name)
	}
}

// collectKeys adds the keys of a struct type and of the structs below it.
func collectKeys(t reflect.Type, keys map[string]bool) {
	switch t.Kind() {
	case reflect.Slice, reflect.Map, reflect.Pointer:
		collectKeys(t.Elem(), keys)
	case reflect.Struct:
		for _, f := range fieldsOf(t) {
			name := t.Name() + "." + f.name
			if !keys[name] {
				keys[name] = true
				collectKeys(t.Field(f.index).Type, keys)
			}
		}
	}
}
