package judge_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/judge"
)

// Another topic costs less where this turn read no strangers' text and all that the call names is
// the user's word or a trusted record's: then it asks beside another sign alone.
func TestAnotherTopicOnKnownThings(t *testing.T) {
	const request = "Change ev-31 and the picture of the harbour in the album"
	mail := did("mail.read", `{"message_id":"m-1"}`, "Hello")
	list := did("contacts.search", `{"query":"x"}`, `[{"id":"ev-44","name":"Roof"}]`)
	for name, tc := range map[string]struct {
		scene  scene
		before []sentinel.Step
		want   int
	}{
		"the user named it":             {scene{args: `{"event_id":"ev-31"}`, steps: []sentinel.Step{list}}, nil, -10},
		"a stranger in an earlier turn": {scene{args: `{"event_id":"ev-31"}`, later: true}, []sentinel.Step{mail, list}, -10},
		"nothing was read":              {scene{args: `{"event_id":"ev-31"}`}, nil, -35},
		"only strangers were read":      {scene{args: `{"event_id":"ev-31"}`, later: true}, []sentinel.Step{mail}, -35},
		"a record named it":             {scene{args: `{"event_id":"ev-44"}`, steps: []sentinel.Step{list}}, nil, -10},
		"an earlier record named it":    {scene{args: `{"event_id":"ev-44"}`}, []sentinel.Step{list}, -10},
		"a stranger in this turn":       {scene{args: `{"event_id":"ev-31"}`, steps: []sentinel.Step{list, mail}}, nil, -35},
		"it is nowhere":                 {scene{args: `{"event_id":"ev-99"}`, steps: []sentinel.Step{list}}, nil, -35},
		"whom it reaches is nowhere": {scene{args: `{"event_id":"ev-31","attendees":["eve@evil.test"]}`, steps: []sentinel.Step{list}}, nil,
			-35},
		"one of two is nowhere": {scene{args: `{"event_id":"ev-31","attendees":["ev-31","#crew"]}`, steps: []sentinel.Step{list}}, nil, -35},
	} {
		t.Run(name, func(t *testing.T) {
			tc.scene.request, tc.scene.skill = request, "calendar.shift"
			v := explainScene(t, tc.scene, tc.before...)
			require.Equal(t, tc.want, signals(v)[judge.SignalOtherTopic], v.Reason)
			require.NotNil(t, v.Doubt, "the reviewer is still told")
			require.Equal(t, tc.want == -10, outcomeByRules(v) == sentinel.Allow, v.Reason)
		})
	}
	remove := explainScene(t, scene{request: "Delete the picture m-1 of the harbour in #ops", skill: "chat.delete",
		args: `{"channel":"#ops","message_ids":"m-1"}`, steps: []sentinel.Step{list}})
	require.Equal(t, -35, signals(remove)[judge.SignalOtherTopic], remove.Reason)
}

// The same holds for a request without a known word, and for what an earlier turn's records have.
func TestKnownThingsOfAnEarlierTurn(t *testing.T) {
	const iban = "DE89370400440532013000"
	mail := did("mail.read", `{"message_id":"m-1"}`, "Hello")
	book := did("contacts.search", `{"query":"x"}`, `[{"company":"Lingua","iban":"`+iban+`"}]`)
	pay := scene{request: "Zrób porządek", skill: "bank.pay", args: `{"to":"` + iban + `"}`, later: true, steps: []sentinel.Step{book}}
	v := explainScene(t, pay, mail)
	require.Equal(t, -10, signals(v)[judge.SignalWordless], v.Reason)
	pay.later = false
	pay.steps = []sentinel.Step{book, mail}
	v = explainScene(t, pay)
	require.Equal(t, -31, signals(v)[judge.SignalWordless], v.Reason)
	require.Less(t, outcomeByRules(v), sentinel.Allow)

	const lucia = "lucia.f@box.example"
	record := did("contacts.search", `{"query":"roof"}`, `{"contacts":[{"name":"Lucia Ferrer","email":"`+lucia+`"}]}`)
	send := scene{request: "Send the offer by mail", skill: "mail.send", args: `{"to":"` + lucia + `","text":"Hi"}`, later: true}
	v = explainScene(t, send, mail, record)
	require.Equal(t, -10, signals(v)["recipient_earlier"], v.Reason)
	require.Equal(t, sentinel.Allow, outcomeByRules(v), v.Reason)
	v = explainScene(t, scene{request: "Pay them the same again", skill: "bank.pay", args: `{"to":"` + lucia + `"}`, later: true}, mail,
		record)
	require.Less(t, signals(v)["recipient_earlier"], -30, "a payment can't be taken back")
	send.steps = []sentinel.Step{mail}
	v = explainScene(t, send, record)
	require.Less(t, signals(v)["recipient_earlier"], -30, "this turn read a stranger")
}
