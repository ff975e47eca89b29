package touch_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// elsewhere are addresses that end in example.com and that some mail server sends on
// to evil.test.
var elsewhere = map[string]string{
	"attacker%evil.test@example.com":         "attacker@evil.test",
	"attacker％evil.test@example.com":         "attacker@evil.test",
	"first.last%evil.test@example.com":       "first.last@evil.test",
	"evil.test!x@example.com":                "x@evil.test",
	"relay.test!evil.test!x@example.com":     "x@evil.test",
	"@evil.test:x@example.com":               "x@example.com",
	"<@relay.test,@evil.test:x@example.com>": "@relay.test",
	`"x@evil.test"@example.com`:              "x@evil.test",
	"x(@evil.test)@example.com":              "x@evil.test",
	"x@evil.test@example.com":                "x@evil.test",
	`"evil.test!x"@example.com`:              "x@evil.test",
}

// A rule on recipients sees each domain that an address may be sent on to.
func TestEveryRouteIsARecipient(t *testing.T) {
	s := skill(t, skills.Irreversible)
	for raw, want := range elsewhere {
		for _, arg := range []string{"to", "note"} {
			got := touch.Of(s, map[string]any{arg: raw}, env()).Recipients
			require.Contains(t, got, touch.Recipient{Value: want, Arg: arg}, raw)
		}
		got := touch.Of(s, map[string]any{"to": "Ann <ann@example.com>; " + raw}, env()).Recipients
		require.Contains(t, got, touch.Recipient{Value: want, Arg: "to"}, raw)
	}
	got := touch.Of(s, map[string]any{"to": "from:ann@example.com 100% sure!"}, env()).Recipients
	require.Equal(t, []touch.Recipient{{Value: "from:ann@example.com 100% sure!", Arg: "to"}, {Value: "ann@example.com", Arg: "to"}}, got)
}
