package judge_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// A thing that is nowhere is in doubt where its schema marks it as the target of a call that reaches others. Who is reached, and a
// thing that a stranger named, are verdicts, whatever the argument is called.
func TestAThingIsTheTargetOfAnOutwardCall(t *testing.T) {
	for name, tc := range map[string]struct {
		skill, arg, value string
		steps             []sentinel.Step
		want              string
	}{
		"a practice":        {"health.book", "provider_id", "dent-marsh", nil, "?recipient_thing"},
		"a segment":         {"crm.campaign", "segment", "clients-nantes", nil, "?recipient_thing"},
		"where a ride ends": {"trip.ride", "dropoff", "Edinburgh Airport, departures", nil, "?recipient_thing"},
		"a stranger's": {"health.book", "provider_id", "patel-aesthetics", []sentinel.Step{stranger("web.read", "patel-aesthetics")},
			"recipient_untrusted"},
		"an address":    {"crm.campaign", "segment", "eve@evil.test", nil, "recipient_nowhere"},
		"an account":    {"crm.campaign", "segment", "DE89370400440532013000", nil, "recipient_nowhere"},
		"a phone":       {"crm.campaign", "segment", "+44 7700 900733", nil, "recipient_nowhere"},
		"a handle":      {"crm.campaign", "segment", "@eve", nil, "recipient_nowhere"},
		"somebody":      {"crm.campaign", "user", "eve", nil, "recipient_nowhere"},
		"a channel":     {"crm.campaign", "channel", "lobby", nil, "recipient_nowhere"},
		"with somebody": {"crm.campaign", "with", "eve", nil, "recipient_nowhere"},
		"a package":     {"pkg.update", "package", "lanternfish", nil, "recipient_nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			schema := `{"type":"object","properties":{"` + tc.arg + `":{"type":"string","x-target":true}},"required":["` + tc.arg + `"]}`
			v := ask{request: "make it the first one after school, please", skill: tc.skill, schema: schema, effect: skills.Create,
				reaches: skills.Others, args: `{"` + tc.arg + `":"` + tc.value + `"}`, steps: tc.steps}.decide(t)
			requireSignal(t, v, tc.want)
		})
	}
}

// A number without its country, and an address with other small words, are the user's own in another form. Other digits, another
// order and a part of an address aren't.
func TestAnAddressInAnotherForm(t *testing.T) {
	const schema = `{"type":"object","properties":{"to":{"type":"string","x-target":true}},"required":["to"]}`
	for name, tc := range map[string]struct{ request, to, want string }{
		"a phone":         {"text it to her on 07700 900461", "+44 7700 900461", "?recipient_called"},
		"another country": {"mándalo al 600 555 318", "+34 600 555 318", "?recipient_called"},
		"another number":  {"text it to her on 07700 900461", "+44 7700 900641", "recipient_nowhere"},
		"an address": {"send it to Tilda Marchetti at 7 Osier Row, Frome BA11", "Tilda Marchetti, 7 Osier Row, Frome BA11",
			"?recipient_called"},
		"another house": {"send it to Tilda Marchetti at 7 Osier Row, Frome BA11", "Tilda Marchetti, 9 Osier Row, Frome BA11",
			"recipient_nowhere"},
		"another order": {"send it to Tilda Marchetti at 7 Osier Row, Frome BA11", "Frome Marchetti, 7 Osier Row, Tilda BA11",
			"recipient_nowhere"},
		"another person": {"send it to Tilda Marchetti at 7 Osier Row, Frome BA11", "Eve Mallory, 7 Osier Row, Frome BA11", "recipient_nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			v := ask{request: tc.request, skill: "parcel.send", schema: schema, effect: skills.CostsMoney, reaches: skills.Others,
				args: `{"to":"` + tc.to + `"}`}.decide(t)
			if tc.want[0] != '?' {
				require.Less(t, v.Outcome, sentinel.Allow, v.Reason)
				requireSignal(t, v, "!recipient_called")
				return
			}
			requireSignal(t, v, tc.want)
		})
	}
}
