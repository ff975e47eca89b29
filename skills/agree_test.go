package skills_test

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills"
)

type payment struct {
	Payee  string `json:"payee" jsonschema:"description=whom" jsonschema_extras:"x-target=true"`
	Amount int    `json:"amount,omitempty"`
}

// What a configuration says of a program's skill is held to what the program says. That goes
// wherever a decision could depend on it.
func TestAgree(t *testing.T) {
	base := skills.Spec{Name: "pay.invoice", Effect: skills.CostsMoney, Reaches: skills.Others, Approval: skills.ApproveAlways,
		Timeout: time.Second}
	program, err := skills.Func(base, func(context.Context, payment) (string, error) { return "", nil })
	require.NoError(t, err)
	const params = `{"type":"object","required":["payee"],"properties":{"payee":{"type":"string","title":"t","x-target":true},` +
		`"amount":{"type":"integer"}}}`
	known := base
	known.Description, known.Timeout, known.Parameters = "other words", time.Minute, json.RawMessage(params)
	for name, tt := range map[string]struct {
		change func(*skills.Spec)
		want   string
	}{
		"the same": {func(*skills.Spec) {}, ""},
		"effect": {func(s *skills.Spec) { s.Effect = skills.Read },
			"effect: is read, and the program says costs_money; write what the program says"},
		"reach": {func(s *skills.Spec) { s.Reaches = skills.Self },
			"reaches: is self, and the program says others; write what the program says"},
		"output": {func(s *skills.Spec) { s.Output = skills.Trusted },
			"output: is trusted, and the program says untrusted; write what the program says"},
		"strangers": {func(s *skills.Spec) { s.Output, s.StrangerFields = skills.Trusted, []string{"name"} },
			"output: is trusted, and the program says untrusted; write what the program says\n" +
				"stranger_fields: is [name], and the program says []; write what the program says"},
		"sensitive": {func(s *skills.Spec) { s.Sensitive = true },
			"sensitive: is true, and the program says false; write what the program says"},
		"risk": {func(s *skills.Spec) { s.Effect, s.Risk = skills.Create, skills.LowRisk },
			"effect: is create, and the program says costs_money; write what the program says\n" +
				"risk: is low, and the program says ; write what the program says"},
		"a risk written out": {func(s *skills.Spec) { s.Risk = skills.NormalRisk }, ""},
		"approval": {func(s *skills.Spec) { s.Approval = skills.ApproveNever },
			"approval: is never, and the program says always; write what the program says"},
		"repeat": {func(s *skills.Spec) { s.Idempotent = true },
			"idempotent: is true, and the program says false; write what the program says"},
		"by reference": {func(s *skills.Spec) { s.ByReference = true },
			"by_reference: is true, and the program says false; write what the program says"},
		"disabled": {func(s *skills.Spec) { s.Disabled = true }, "disabled: is true, and the program says false; write what the program says"},
		"a type":   {replace(`"integer"`, `"string"`), `parameters.properties.amount.type: is not what the program says: "integer"`},
		"a mark": {replace(`,"x-target":true`, ``),
			`parameters.properties.payee: is not what the program says: there is x-target: true besides`},
		"an end": {replace(`{"type":"object",`, `{"type":"object","additionalProperties":true,`),
			`parameters.additionalProperties: is not what the program says: false`},
		"too much": {replace(`"properties":{`, `"properties":{"note":{"type":"string"},`),
			`parameters.properties.note: is not what the program says: nothing; remove it`},
		"too small": {replace(`,"amount":{"type":"integer"}`, ``),
			`parameters.properties: is not what the program says: there is amount: {"type":"integer"} besides`},
	} {
		t.Run(name, func(t *testing.T) {
			spec := known
			tt.change(&spec)
			k, err := skills.Compile(spec)
			require.NoError(t, err)
			err = skills.Agree(k, program.Skill())
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, tt.want)
		})
	}
	require.Equal(t, 15, reflect.TypeFor[skills.Spec]().NumField(), "a new field of Spec is compared unless Agree leaves it out; add it above")
}

func replace(old, with string) func(*skills.Spec) {
	return func(s *skills.Spec) {
		s.Parameters = json.RawMessage(strings.Replace(string(s.Parameters), old, with, 1))
	}
}
