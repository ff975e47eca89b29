package template

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/runtest"
	"github.com/vedette-dev/vedette/skills/warrant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func spec(raw string) skills.Spec {
	return skills.Spec{Name: "demo.say", Effect: skills.Read, Run: skills.Run{Kind: "template", Options: json.RawMessage(raw)}}
}

// The configured text comes back as it is, marked as a template.
func TestAnswersWithItsText(t *testing.T) {
	kit, s := runtest.New(t), runtest.Compile(t, spec(`"Sent to {{to}}, naïvely"`), nil)
	e, err := New(s, kit.Redeemer, Options{})
	require.NoError(t, err)
	res, err := kit.Run(t, e, s, map[string]any{})
	require.NoError(t, err)
	require.Equal(t, skills.Result{Content: "Sent to {{to}}, naïvely", Isolation: "in process", Template: true}, res)
}

// Without a valid warrant there is not even the text.
func TestRefusesWithoutWarrant(t *testing.T) {
	kit, s := runtest.New(t), runtest.Compile(t, spec(`"text"`), nil)
	e, err := New(s, kit.Redeemer, Options{})
	require.NoError(t, err)
	res, err := e.Execute(t.Context(), warrant.Warrant{}, runtest.Order(t, s, map[string]any{}))
	require.ErrorIs(t, err, warrant.ErrInvalid)
	require.Empty(t, res.Content)
}

// Options that are not a text, another kind and a missing redeemer make no executor.
func TestRefusesBadOptions(t *testing.T) {
	kit := runtest.New(t)
	for _, raw := range []string{``, `null`, `{"text":"x"}`, `["x"]`, `7`, `"` + strings.Repeat("x", skills.MaxResult+1) + `"`} {
		_, err := New(runtest.Compile(t, spec(raw), nil), kit.Redeemer, Options{})
		require.Equal(t, []string{"run.template"}, runtest.Paths(err))
	}
	other := spec(`"x"`)
	other.Run.Kind = "http"
	_, err := New(runtest.Compile(t, other, nil), kit.Redeemer, Options{})
	require.Equal(t, []string{"run"}, runtest.Paths(err))
	_, err = New(runtest.Compile(t, spec(`"x"`), nil), nil, Options{})
	require.Equal(t, []string{"run"}, runtest.Paths(err))
	_, err = New(nil, kit.Redeemer, Options{})
	require.Equal(t, []string{"run"}, runtest.Paths(err))
}
