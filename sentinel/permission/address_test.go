package permission_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/permission"
	"github.com/vedette-dev/vedette/skills"
)

// A rule about recipients sees an address in one spelling, whatever letters,
// widths and unseen characters it is written with.
func TestRecipientsAreSpeltAlike(t *testing.T) {
	deny := gate(t, permission.DefaultAllow, permission.Rule{
		Skill: "email.send", When: "call.recipients.exists(r, r.endsWith('@rogue.test'))", Then: permission.Deny,
	})
	for _, to := range []string{"x@rogue.test", "x@ROGUE.test", "x＠ｒogue.test", "x@rog\u200bue.test", "X <x@Rogue.Test>"} {
		raw, err := json.Marshal(map[string]string{"to": to})
		require.NoError(t, err)
		require.Equal(t, sentinel.Deny, check(t, deny, call(t, proposal{skill: "email.send", args: string(raw)})).Outcome, to)
	}
	require.Equal(t, sentinel.Allow, check(t, deny, call(t, proposal{skill: "email.send", args: `{"to":"x@rogue.test.quay.test"}`})).Outcome)
}

// Narrowing keeps no text that holds a second address or line behind the one
// that matched.
func TestNarrowKeepsOneAddressEach(t *testing.T) {
	reg := registry(t, skills.Spec{Name: "post.send", Effect: skills.Irreversible, Reaches: skills.Others, Parameters: json.RawMessage(
		`{"type":"object","properties":{"cc":{"type":"array","items":{"type":"string"},"x-target":true}}}`)})
	g, err := permission.New(permission.Options{Registry: reg, Default: permission.DefaultAllow, Rules: []permission.Rule{
		{Skill: "post.send", Then: permission.Modify, Modify: []permission.Op{{Narrow: "cc", Keep: `(?m)@quay\.test$`}}},
	}})
	require.NoError(t, err)
	r, err := g.Modify(t.Context(), call(t, proposal{skill: "post.send", reg: reg,
		args: `{"cc":["Moss, Lee <lee@x.test> a@quay.test","b@quay.test\nc@rogue.test","d@rogue.test,e@quay.test","f@quay.test"]}`}))
	require.NoError(t, err)
	require.Equal(t, `{"cc":["f@quay.test"]}`, string(r.Args))
}

// A condition that looks for an argument by "in" may name only those that there
// are.
func TestInNamesAnArgument(t *testing.T) {
	for when, ok := range map[string]bool{"'cc' in args": true, "'ccc' in args": false, "args.body in ['a', 'b']": true} {
		_, err := permission.New(permission.Options{Registry: registry(t), Default: permission.DefaultAllow,
			Rules: []permission.Rule{{Skill: "email.send", When: when, Then: permission.Deny}}})
		require.Equal(t, ok, err == nil, "%s: %v", when, err)
	}
}

// Some mail servers send such an address on elsewhere. It passes no rule for the
// domain behind its last "@", and no narrowing to that domain keeps it.
func TestRoutedAddressesPassForNoDomain(t *testing.T) {
	open := gate(t, permission.DefaultDeny, permission.Rule{
		Skill: "email.send", When: "call.recipients.all(r, r.endsWith('@quay.test'))", Then: permission.Allow,
	})
	deny := gate(t, permission.DefaultAllow, permission.Rule{
		Skill: "email.send", When: "call.recipients.exists(r, r.endsWith('@rogue.test'))", Then: permission.Deny,
	})
	reg := registry(t, skills.Spec{Name: "post.send", Effect: skills.Irreversible, Reaches: skills.Others, Parameters: json.RawMessage(
		`{"type":"object","properties":{"cc":{"type":"array","items":{"type":"string"},"x-target":true}}}`)})
	narrow, err := permission.New(permission.Options{Registry: reg, Default: permission.DefaultAllow, Rules: []permission.Rule{
		{Skill: "post.send", Then: permission.Modify, Modify: []permission.Op{{Narrow: "cc", Keep: `@quay\.test$`}}},
	}})
	require.NoError(t, err)
	for _, to := range []string{
		"x%rogue.test@quay.test", "rogue.test!x@quay.test", "x@rogue.test@quay.test", `"x@rogue.test"@quay.test`,
		"x(@rogue.test)@quay.test", "X％ROGUE.test@quay.test",
	} {
		raw, err := json.Marshal(map[string]string{"to": to})
		require.NoError(t, err)
		require.Equal(t, sentinel.Deny, check(t, open, call(t, proposal{skill: "email.send", args: string(raw)})).Outcome, to)
		require.Equal(t, sentinel.Deny, check(t, deny, call(t, proposal{skill: "email.send", args: string(raw)})).Outcome, to)
		raw, err = json.Marshal(map[string][]string{"cc": {to, "Ann <a@quay.test>", "a@quay.test"}})
		require.NoError(t, err)
		r, err := narrow.Modify(t.Context(), call(t, proposal{skill: "post.send", reg: reg, args: string(raw)}))
		require.NoError(t, err)
		require.JSONEq(t, `{"cc":["a@quay.test"]}`, string(r.Args), to)
	}
	require.Equal(t, sentinel.Allow, check(t, open, call(t, proposal{skill: "email.send", args: `{"to":"x@quay.test"}`})).Outcome)
}
