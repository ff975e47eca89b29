package permission_test

import (
	"strings"
	"testing"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/ext"
	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/permission"
)

const benchWhen = "!args.to.endsWith('@example.com') && call.effect == 'irreversible'"

// BenchmarkCheck compares the gate with the bare library. Both evaluate the same
// condition under the same limits, over the same arguments.
func BenchmarkCheck(b *testing.B) {
	args := `{"to":"ada@example.com","body":"` + strings.Repeat("hay ", 2500) + `"}`
	c := call(b, proposal{skill: "email.send", args: args})
	b.Run("library", func(b *testing.B) {
		env, err := cel.NewEnv(ext.Strings(), cel.Variable("args", cel.MapType(cel.StringType, cel.DynType)),
			cel.Variable("call.effect", cel.StringType))
		require.NoError(b, err)
		tree, iss := env.Compile(benchWhen)
		require.NoError(b, iss.Err())
		prog, err := env.Program(tree, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(permission.DefaultCostLimit),
			cel.InterruptCheckFrequency(100))
		require.NoError(b, err)
		b.ReportAllocs()
		for b.Loop() {
			out, _, err := prog.ContextEval(b.Context(), map[string]any{"args": c.Parsed(), "call.effect": "irreversible"})
			if err != nil || out.Value() != false {
				b.Fatal(out, err)
			}
		}
	})
	// A hundred rules about other skills must cost nothing.
	others := make([]permission.Rule, 100)
	for i := range others {
		others[i] = permission.Rule{Skill: "files.write", Then: permission.Deny, When: "args.path == 'x'"}
	}
	for name, rules := range map[string][]permission.Rule{
		"gate":             {{Skill: "email.send", Then: permission.Ask, When: benchWhen}},
		"gate, 100 others": append(others, permission.Rule{Skill: "email.send", Then: permission.Ask, When: benchWhen}),
		"gate, no when":    {{Skill: "email.send", Then: permission.Allow}},
	} {
		b.Run(name, func(b *testing.B) {
			g, err := permission.New(permission.Options{Rules: rules, Default: permission.DefaultAllow, Registry: registry(b),
				Now: func() time.Time { return noon }})
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				v, err := g.Check(b.Context(), c)
				if err != nil || v.Outcome != sentinel.Allow {
					b.Fatal(v, err)
				}
			}
		})
	}
}
