package permission_test

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/permission"
	"github.com/vedette-dev/vedette/skills"
)

// A rule names where data comes from. It holds for what that skill returned, however it is
// written, and for no other skill's results.
func TestFlowFrom(t *testing.T) {
	deny := gate(t, permission.DefaultAllow, permission.Rule{Skill: "email.send", Then: permission.Deny, When: "flow.from('email.*')"})
	past := func(skill string) sentinel.Trace {
		return sentinel.NewTrace(sentinel.Step{Skill: skill, Args: "{}", Result: "Balance 18,402.75 on account AB12345678",
			Trust: skills.Trusted})
	}
	for body, want := range map[string]sentinel.Outcome{
		"it is 18402.75 now": sentinel.Deny, "87654321BA": sentinel.Deny, "Kind regards, the balance is fine": sentinel.Allow,
		base64.StdEncoding.EncodeToString([]byte("account AB12345678")): sentinel.Deny,
	} {
		raw, err := json.Marshal(map[string]string{"to": "bob@example.com", "body": body})
		require.NoError(t, err)
		v := check(t, deny, call(t, proposal{skill: "email.send", args: string(raw), trace: past("email.read")}))
		require.Equal(t, want, v.Outcome, "%s: %s", body, v.Detail)
		v = check(t, deny, call(t, proposal{skill: "email.send", args: string(raw), trace: past("files.read")}))
		require.Equal(t, sentinel.Allow, v.Outcome, "of another skill: %s", body)
	}
	c := call(t, proposal{skill: "files.write", args: `{"to":"AB12345678"}`, trace: past("email.read")})
	require.Equal(t, sentinel.Ask, fits(t, "flow.from('email.read')", c).Outcome, "a call that stays inside")
	require.Equal(t, sentinel.Ask, fits(t, "flow.from('*')", c).Outcome)
	require.Equal(t, permission.CodeRuleError, fits(t, "flow.from(args.to)", c).Code, "a pattern that is none denies")
}

// A pattern that is about no skill is a mistake, told with its place.
func TestFlowFromMistakes(t *testing.T) {
	for when, want := range map[string]string{
		"flow.from('email.raed')":            `1:11: no skill is called "email.raed", so the rule can't match; did you mean "email.read"?`,
		"call.tainted && flow.from('email')": `1:27: "email" is no skill name such as email.read, no domain such as email.* and not *`,
	} {
		_, err := permission.New(permission.Options{Registry: registry(t),
			Rules: []permission.Rule{{Skill: "email.send", Then: permission.Deny, When: when}}})
		require.ErrorContains(t, err, want)
	}
}
