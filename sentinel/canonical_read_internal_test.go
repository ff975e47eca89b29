package sentinel

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

func decoded(t *testing.T, s string) map[string]any {
	t.Helper()
	var m map[string]any
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	require.NoError(t, d.Decode(&m))
	return m
}

// Canonical text is read as the standard library reads it: the gates judge
// what an executor will decode.
func TestReadCanonical(t *testing.T) {
	for _, raw := range []string{
		`{}`, `{"a":[]}`, `{"a":{},"b":[[],{}]}`, `{"":""}`,
		`{"a":"x","b":1,"c":-0.5,"d":1e21,"e":true,"f":false,"g":null,"h":[1,"2",[3,{"i":4}]]}`,
		`{"a":"\"\\\/\b\f\n\r\t"}`, `{"a\"b":"\u0000\u001f\u007f\u0080é😀"}`, `{"a":"\\u0041","b":"\\","c":"\\\""}`,
	} {
		v := jsontext.Value(raw)
		require.NoError(t, v.Canonicalize())
		got, err := readCanonical(string(v))
		require.NoError(t, err, raw)
		require.Equal(t, decoded(t, string(v)), got)
	}
}

// What no canonicaliser wrote is refused rather than guessed at.
func TestReadCanonicalRefuses(t *testing.T) {
	for _, s := range []string{
		``, `{`, `[]`, `"a"`, `1`, `{"a"}`, `{"a":}`, `{"a":1`, `{"a":1,`, `{"a":1}x`, `{"a":[1`, `{"a":[1,`, `{"a":"`, `{"a":"\`, `{"a":"\"`,
		`{"a":"\x"}`, `{"a":"\u00"}`, `{"a":"\ud83d"}`, `{"a":"\u00zz"}`, `{"a":tru}`, `{ "a":1}`, `{a:1}`,
	} {
		_, err := readCanonical(s)
		require.ErrorIs(t, err, errNotCanonical, s)
	}
}

// Whatever the canonicaliser writes, both readers read alike, and nothing
// makes this one panic.
func FuzzReadCanonical(f *testing.F) {
	f.Add(`{"a":"\u0001\"\\","b":[1,{"c":null}]}`)
	f.Add(`{"a":"\`)
	f.Fuzz(func(t *testing.T, s string) {
		_, _ = readCanonical(s)
		v := jsontext.Value(s)
		if v.Canonicalize() != nil || v.Kind() != '{' {
			return
		}
		got, err := readCanonical(string(v))
		require.NoError(t, err)
		require.Equal(t, decoded(t, string(v)), got)
	})
}
