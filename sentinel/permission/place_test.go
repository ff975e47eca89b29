package permission_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/sentinel/permission"
	"github.com/vedette-dev/vedette/skills"
)

// Each mistake of a condition says where in the condition it is.
func TestMistakesHaveAPlace(t *testing.T) {
	for when, want := range map[string][]string{
		"call.outward && call.efect == 'read'": {`1:17: is no valid condition: there is no call.efect; did you mean "call.effect"?`},
		"call.outward &&\n  grant.taintd":      {`2:3: is no valid condition: there is no grant.taintd; did you mean "grant.tainted"?`},
		"call['efect'] == 'read'":              {`1:1: is no valid condition: there is no call.efect; did you mean "call.effect"?`},
		"args.to.startswith('m')":              {`1:9: is no valid condition: undeclared reference to 'startswith' (did you mean 'startsWith'?)`},
		"usr == 'x' || tme == 1": {`1:1: is no valid condition: undeclared reference to 'usr' (did you mean 'user'?)`,
			`1:15: is no valid condition: undeclared reference to 'tme' (did you mean 'time'?)`},
		"args.to = 'x'":            {`1:9: is no valid condition: "=" is no operator; write ==`},
		"args.to == 'x' and true":  {`1:16: is no valid condition: "and" is no operator; write &&`},
		"args.to == 'x' or true":   {`1:16: is no valid condition: "or" is no operator; write ||`},
		"not call.outward":         {`1:1: is no valid condition: "not" is no operator; write !`},
		"args.to == 'x' && (true":  {`1:24: is no valid condition: Syntax error: missing ')' at '<EOF>'`},
		"call.outward && args.too": {`1:17: no skill of this rule has an argument "too"; did you mean "to"?`},
		"args.n > 5 || args.too == args.bdy || args.too == 'x'": {`1:15: no skill of this rule has an argument "too"; did you mean "to"?`,
			`1:27: no skill of this rule has an argument "bdy"; did you mean "body"?`},
		"has(args.bccc)":               {`1:5: no skill of this rule has an argument "bccc"`},
		"call.effect == 'irreversble'": {`1:16: call.effect is never "irreversble"; did you mean "irreversible"?`},
	} {
		rule := permission.Rule{Skill: "email.send", Then: permission.Ask, When: when}
		_, err := permission.New(permission.Options{Registry: registry(t), Rules: []permission.Rule{rule}})
		var got []string
		for _, e := range flatten(err) {
			var at interface{ ConfigPlace() (line, column int) }
			require.ErrorAs(t, e, &at, when)
			var path *skills.PathError
			require.ErrorAs(t, e, &path)
			require.Equal(t, "permissions[0].when", path.Path)
			got = append(got, path.Msg)
		}
		require.ElementsMatch(t, want, got, when)
	}
}

// The configuration's file shows that place.
func TestMistakesArePlacedInTheFile(t *testing.T) {
	cfg, err := config.Parse("vedette.yaml", []byte(`version: 1
skills: {known: [{name: email.send, effect: irreversible}]}
permissions:
  - skill: email.send
    then: ask
    when: |
      call.outward &&
        call.efect == 'read'
  - {skill: email.send, then: deny, when: "!(args.to == \"its\" || args.too == 'x')"}
`), config.Options{})
	require.NoError(t, err)
	var rules []permission.Rule
	for _, r := range cfg.Permissions {
		rules = append(rules, permission.Rule{Skill: r.Skill, Then: string(r.Then), When: r.When})
	}
	_, err = permission.New(permission.Options{Registry: registry(t), Rules: rules})
	var list config.Errors
	require.ErrorAs(t, cfg.Locate(err), &list)
	require.Equal(t, `vedette.yaml:8:9: permissions[0].when: is no valid condition: there is no call.efect; did you mean "call.effect"?
vedette.yaml:9:68: permissions[1].when: no skill of this rule has an argument "too"; did you mean "to"?`, list.Error())
}
