package decode

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/runtest"
)

type sample struct {
	URL   string            `json:"url"`
	Limit int               `json:"limit"`
	On    bool              `json:"on"`
	Names []string          `json:"names"`
	Heads map[string]string `json:"heads"`
	Sub   *struct {
		Addr string `json:"addr"`
	} `json:"sub"`
}

// Every mistake is reported, each at its own path, and none quotes a value.
func TestOptionsReportsEveryMistake(t *testing.T) {
	var v sample
	err := Options(json.RawMessage(`{"URL":"x","limit":"canary","on":1,"names":["a",2],"heads":{"k":[]},"sub":{"adr":"canary"},"url":null}`),
		"run.x", &v)
	require.ElementsMatch(t, []string{"run.x.URL", "run.x.limit", "run.x.on", "run.x.names[1]", "run.x.heads.k", "run.x.sub.adr", "run.x.url"},
		runtest.Paths(err))
	require.ErrorContains(t, err, `did you mean "addr"?`)
	require.NotContains(t, err.Error(), "canary")
}

// An operator who writes a unit where none is read, or none where one is, learns the form.
func TestUnitsAreTold(t *testing.T) {
	var v sample
	for given, want := range map[string]string{
		`{"limit":"1G"}`:   "x.limit: must be a whole number without quotes or a unit: 1 GiB is 1073741824",
		`{"limit":"512"}`:  "x.limit: must be a whole number without quotes or a unit: 1 GiB is 1073741824",
		`{"limit":"many"}`: "x.limit: must be a whole number",
		`{"limit":1.5}`:    "x.limit: must be a whole number",
		`{"url":30}`:       `x.url: must be a text: put a number in quotes ("30"), and write a time with its unit (30s)`,
		`{"url":-1}`:       `x.url: must be a text: put a number in quotes ("30"), and write a time with its unit (30s)`,
		`{"url":true}`:     "x.url: must be a text",
		`{"on":1}`:         "x.on: must be true or false",
	} {
		require.EqualError(t, Options(json.RawMessage(given), "x", &v), want, given)
	}
}

// An unknown word is answered with the one that was meant, or with all of a few.
func TestUnknownTellsTheWords(t *testing.T) {
	require.EqualError(t, Unknown("x", "colour", "gren", []string{"green", "red"}), `x: unknown colour "gren"; did you mean "green"?`)
	require.EqualError(t, Unknown("x", "colour", "mauve", []string{"green", "red"}), `x: unknown colour "mauve"; known are green, red`)
	require.EqualError(t, Unknown("x", "colour", "mauve", nil), `x: unknown colour "mauve"`)
	require.EqualError(t, Unknown("x", "colour", "mauve", make([]string, maxListed+1)), `x: unknown colour "mauve"`)
}

// What can't be an object of options is refused as a whole.
func TestOptionsRefusesWhatIsNoObject(t *testing.T) {
	for _, raw := range []string{`[]`, `"x"`, `null`, `{"url":"a","url":"b"}`, `{`, `{"limit":1.5}`} {
		var v sample
		require.Error(t, Options(json.RawMessage(raw), "run.x", &v), raw)
	}
}

// Good options are taken over, and missing keys keep their defaults.
func TestOptionsDecodes(t *testing.T) {
	v := sample{Limit: 7}
	require.NoError(t, Options(json.RawMessage(`{"url":"u","names":["a"],"heads":{"k":"v"},"sub":{"addr":"h"}}`), "run.x", &v))
	require.Equal(t, "u", v.URL)
	require.Equal(t, 7, v.Limit)
	require.Equal(t, []string{"a"}, v.Names)
	require.Equal(t, map[string]string{"k": "v"}, v.Heads)
	require.Equal(t, "h", v.Sub.Addr)
}

// A declaration milder than the deed is refused; a stricter one is taken.
func TestOperation(t *testing.T) {
	known := []skills.Spec{{Name: "d.write", Effect: skills.Modify}, {Name: "d.send", Effect: skills.Irreversible, Reaches: skills.Others}}
	for _, row := range []struct {
		spec skills.Spec
		want []string
	}{
		{skills.Spec{Name: "x.write", Effect: skills.Modify}, nil},
		{skills.Spec{Name: "x.write", Effect: skills.Irreversible}, nil},
		{skills.Spec{Name: "x.write", Effect: skills.Read}, []string{"effect"}},
		{skills.Spec{Name: "x.send", Effect: skills.Read}, []string{"effect", "reaches"}},
		{skills.Spec{Name: "x.wrte", Effect: skills.Modify}, []string{"name"}},
	} {
		_, err := Operation(runtest.Compile(t, row.spec, nil), known)
		require.Equal(t, row.want, runtest.Paths(err), row.spec.Name)
	}
}

// Arguments of the wrong types are refused without effect and without a value.
func TestArgs(t *testing.T) {
	var v struct{ N int }
	err := Args(`{"N":"canary"}`, &v)
	require.ErrorIs(t, err, skills.ErrNoEffect)
	require.NotContains(t, err.Error(), "canary")
}
