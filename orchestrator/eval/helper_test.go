package eval_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/orchestrator/eval"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/guard"
	"github.com/vedette-dev/vedette/sentinel/judge"
	"github.com/vedette-dev/vedette/sentinel/permission"
	"github.com/vedette-dev/vedette/sentinel/schema"
	"github.com/vedette-dev/vedette/sentinel/scope"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// checkpoint is the real one with the real rules, the review left out.
func checkpoint(t testing.TB) *sentinel.Checkpoint {
	t.Helper()
	return reviewedBy(t, sentinel.Skip(sentinel.GateReview, "off"))
}

// reviewedBy is checkpoint with a review.
func reviewedBy(t testing.TB, rev sentinel.Gate) *sentinel.Checkpoint {
	t.Helper()
	compile := func(name string, effect skills.Effect, params string) *skills.Skill {
		s, err := skills.Compile(skills.Spec{Name: name, Description: "A skill.", Effect: effect, Parameters: json.RawMessage(params)})
		require.NoError(t, err)
		return s
	}
	reg, err := skills.NewRegistry(
		compile("email.search", skills.Read, `{"type":"object","additionalProperties":false,"properties":{"query":{"type":"string"}}}`),
		compile("email.send", skills.Irreversible, `{"type":"object","required":["to","body"],"additionalProperties":false,
			"properties":{"to":{"type":"string","x-target":true},"body":{"type":"string","x-content":true}}}`),
		compile("num.add", skills.Read, `{"type":"object"}`),
	)
	require.NoError(t, err)
	env := touch.Env{NoFS: true}
	sc, err := scope.New(scope.Options{Registry: reg})
	require.NoError(t, err)
	perm, err := permission.New(permission.Options{Rules: []permission.Rule{}, Default: "allow", Registry: reg})
	require.NoError(t, err)
	g, err := guard.New(guard.Options{Env: env})
	require.NoError(t, err)
	j, err := judge.New(judge.Options{Threshold: 30, AskBelow: 50})
	require.NoError(t, err)
	cp, err := sentinel.New(sentinel.Options{
		Registry: reg, Env: env, Gates: []sentinel.Gate{schema.New(), sc, perm, g, j, rev},
	})
	require.NoError(t, err)
	return cp
}

func evaluator(t testing.TB) *eval.Evaluator {
	t.Helper()
	return eval.NewEvaluator(eval.Options{Decider: checkpoint(t)})
}

func evaluate(t testing.TB, e *eval.Evaluator, line string) eval.Result {
	t.Helper()
	r, err := e.Evaluate(t.Context(), []byte(line))
	require.NoError(t, err)
	return r
}

func readFile(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(b)
}
