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

func readCanonical(s string) (map[string]any, error) {
	r := canonicalReader{s: s}
	return r.readAll()
}

// Keys of small letters alone need no look at their case; all others get one.
func TestReadCanonicalSeesKeys(t *testing.T) {
	for raw, foldable := range map[string]bool{
		`{}`: false, `{"a":1,"b_2":{"c-d":[]}}`: false, `{"a":"B"}`: false, `{"A":1}`: true, `{"a":{"b":[{"c":{"D":1}}]}}`: true, `{"é":1}`: true,
		`{"\u0001":1}`: false,
	} {
		r := canonicalReader{s: raw}
		m, err := r.readAll()
		require.NoError(t, err, raw)
		require.Equal(t, foldable, r.foldable, raw)
		keys := 0
		require.NoError(t, checkKeys(m, &keys), raw)
		require.Equal(t, keys, r.keys, raw)
	}
	for _, raw := range []string{`{"a":1,"A":2}`, `{"x":{"é":1,"É":2}}`, `{"x":[{"\u212a":1,"k":2}]}`} {
		_, _, err := canonicalize([]byte(raw))
		require.ErrorContains(t, err, "letter case", raw)
	}
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
