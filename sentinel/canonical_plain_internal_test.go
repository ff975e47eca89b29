package sentinel

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Plain text is written as the library writes it.
func TestPlainForm(t *testing.T) {
	for _, raw := range []string{
		`{}`, ` { } `, `{"a":"x"}`, "{\n\t\"path\" : \"notes/today.md\" ,\r\n \"n\": 12\n}\n", `{"b":1,"a":2}`,
		`{"b":{"d":[3,{"z":1,"y":2}],"c":[]},"a":null}`,
		`{"a":"é😀","b":"\u2028"}`, "{\"a\":\"\u2028\u007f\"}", `{"a":[true,false,null,0,-1,999999999999999]}`, `{"ab":1,"a":2,"":3}`,
		`{"i":1,"h":1,"g":1,"f":1,"e":1,"d":1,"c":1,"b":1,"a":1}`,
	} {
		want := jsontext.Value(raw)
		require.NoError(t, want.Canonicalize())
		got, ok := plainForm([]byte(raw))
		if !ok {
			require.Contains(t, raw, `\`, "no escape stands in it")
			continue
		}
		require.Equal(t, string(want), got)
	}
}

// What readers may read or write in two ways is left to the library, as is what is no object.
func TestPlainFormLeaves(t *testing.T) {
	deep := strings.Repeat(`{"a":`, MaxDepth) + `{}` + strings.Repeat(`}`, MaxDepth)
	for _, raw := range []string{
		``, `[]`, `"a"`, `1`, `{`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{"a":1}x`, `{"a":1}{}`, `{a:1}`, `{"a":1 "b":2}`, `{"a" 1}`,
		`{"a":1,"a":1}`, `{"b":1,"a":2,"b":3}`, `{"\u0061":1}`, `{"é":1}`, `{"a":"\n"}`, "{\"a\":\"\n\"}", "{\"a\":\"\x00\"}", `{"a":"x`, `{"a`,
		`{"a":-0}`, `{"a":01}`, `{"a":-}`, `{"a":1.0}`, `{"a":1e2}`, `{"a":1E2}`, `{"a":+1}`, `{"a":1000000000000000}`, `{"a":9007199254740993}`,
		`{"a":tru}`, `{"a":True}`, `{"a":nul`, `{"a":NaN}`, `{"a":[1,]}`, `{"a":[,]}`, `{"a":[1}`, `{"a":[1 2]}`, "{\"a\":\u00a01}", "\ufeff{}",
		`{"a":1-2}`, deep,
		// sorted 21 times
		`{"b":` + strings.Repeat(`{"b":`, 20) + `"` + strings.Repeat("x", 4096) + `"` + strings.Repeat(`,"a":1}`, 20) + `,"a":1}`,
		`{` + strings.Repeat(`"k":0,`, MaxKeys) + `"k":0}`,
	} {
		_, ok := plainForm([]byte(raw))
		require.False(t, ok, raw[:min(len(raw), 80)])
	}
}

// requirePlainFormAgrees holds the plain form of a text to the library's form.
func requirePlainFormAgrees(t require.TestingT, raw string) {
	got, ok := plainForm([]byte(raw))
	if !ok {
		return
	}
	want, err := formOfAny([]byte(raw))
	require.NoError(t, err, "the library refuses what is plain")
	require.Equal(t, want, got)
}

func FuzzPlainForm(f *testing.F) {
	f.Add(`{"b":[1,{"c":null}],"a":"x"}`)
	f.Add(`{ "a" : -0 }`)
	f.Add(`{"a":1,"a":2}`)
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "?")
		requirePlainFormAgrees(t, s)
	})
}

// Texts that are made of JSON's own pieces agree, in whatever order these stand.
func TestPlainFormOfPieces(t *testing.T) {
	pieces := []string{`{`, `}`, `[`, `]`, `,`, `:`, `"a"`, `"b"`, `"A"`, `"é"`, `"\n"`, ` `, "\t", `0`, `-`, `1`, `12`, `.`, `e`, `true`,
		`null`, `"`, `\`}
	rapid.Check(t, func(t *rapid.T) {
		requirePlainFormAgrees(t, strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 14).Draw(t, "pieces"), ""))
	})
}

// drawPlain draws a value of plain JSON with blanks between its pieces.
func drawPlain(t *rapid.T, depth int) string {
	blank := rapid.SampledFrom([]string{"", "", " ", "\n\t", "\r\n"})
	kinds := []string{`"x"`, `""`, `"a b/c.md"`, `"é"`, `1`, `0`, `-7`, `true`, `false`, `null`}
	if depth < 4 {
		kinds = append(kinds, "object", "list", "object", "list")
	}
	switch k := rapid.SampledFrom(kinds).Draw(t, "kind"); k {
	case "object", "list":
		var b strings.Builder
		ends := map[string]string{"object": "{}", "list": "[]"}[k]
		b.WriteString(ends[:1] + blank.Draw(t, "blank"))
		keys := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-zA-Z_]{0,3}`), 0, 10, rapid.ID[string]).Draw(t, "keys")
		for i, key := range keys {
			if i > 0 {
				b.WriteString("," + blank.Draw(t, "blank"))
			}
			if k == "object" {
				b.WriteString(`"` + key + `"` + blank.Draw(t, "blank") + ":" + blank.Draw(t, "blank"))
			}
			b.WriteString(drawPlain(t, depth+1) + blank.Draw(t, "blank"))
		}
		return b.String() + ends[1:]
	default:
		return k
	}
}

// Plain objects are never left to the library, however deep, and come out as its own.
func TestPlainFormOfObjects(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := `{"args":` + drawPlain(t, 0) + `}`
		_, ok := plainForm([]byte(raw))
		require.True(t, ok, raw)
		requirePlainFormAgrees(t, raw)
	})
}
