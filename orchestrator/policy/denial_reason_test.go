package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/policy"
)

// A test that expects a denial says so of the rules: a call that ends before
// them, or at a condition that can't be evaluated, passes only by its code.
func TestADenialForAnotherReason(t *testing.T) {
	const rules = `permissions:
  - {id: r, skill: mail.send, then: deny, when: "args.body == 'x'"}
tests:
  - {name: meant, call: {skill: mail.send, args: {to: a@b.test, body: x}}, expect: deny}
  - {name: schema, call: {skill: mail.send, args: {too: a@b.test}}, expect: deny, code: schema.invalid}
  - {name: no such skill, call: {skill: mail.sent, args: {}}, expect: deny, gate: scope}
`
	cfg, _ := load(t, rules)
	r, err := policy.Test(t.Context(), cfg)
	require.NoError(t, err)
	require.Empty(t, r.Failed)

	cfg, _ = load(t, rules+`  - {name: a typo, call: {skill: mail.send, args: {too: a@b.test}}, expect: deny}
  - {name: another, call: {skill: mail.sent, args: {}}, expect: deny}
  - {name: not granted, granted: [mail.read], call: {skill: mail.send, args: {to: a@b.test, body: x}}, expect: deny}
  - {name: no body, call: {skill: mail.send, args: {to: a@b.test}}, expect: deny}
`)
	r, err = policy.Test(t.Context(), cfg)
	require.NoError(t, err)
	require.Len(t, r.Failed, 4)
	for _, f := range r.Failed {
		require.Contains(t, f.Why[0], "whatever the rules say", f.Name)
	}
}
