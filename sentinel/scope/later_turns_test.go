package scope_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/judge"
	"github.com/vedette-dev/vedette/sentinel/scope"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// office are skills of every effect, with names as people give them.
func office(t testing.TB) *skills.Registry {
	t.Helper()
	hand := json.RawMessage(`{"type":"object","properties":{"skills":{"type":"array"}}}`)
	var list []*skills.Skill
	for _, s := range []skills.Spec{
		{Name: "weather.get", Effect: skills.Read, Description: "Get a forecast."},
		{Name: "calendar.list", Effect: skills.Read},
		{Name: "notes.add", Effect: skills.Create, Reaches: skills.Self},
		{Name: "chat.post", Effect: skills.Create, Reaches: skills.Others},
		{Name: "email.send", Effect: skills.Irreversible, Reaches: skills.Others},
		{Name: "files.delete", Effect: skills.Irreversible, Reaches: skills.Self},
		{Name: "bank.pay", Effect: skills.CostsMoney, Reaches: skills.Others},
		{Name: "agent.dispatch", Effect: skills.Create, Parameters: hand},
		{Name: "agent.extend", Effect: skills.Create, Parameters: hand},
	} {
		c, err := skills.Compile(s)
		require.NoError(t, err)
		list = append(list, c)
	}
	r, err := skills.NewRegistry(list...)
	require.NoError(t, err)
	return r
}

// After the taint a turn begins with what its own words ask for, and the mark stays: reads
// and inward creates of which the words name one half are a doubt, and all else asks.
func TestLaterTurns(t *testing.T) {
	const mail = "!Read my mail and tell me what is new"
	for name, tc := range map[string]struct {
		request string
		earlier []sentinel.EarlierTurn
		skill   string
		want    sentinel.Outcome
		doubt   bool
		now     bool // this turn has read what others could have written
	}{
		"the weather":             {request: "What is the weather in Lisbon tomorrow?", skill: "weather.get", want: sentinel.Allow},
		"the calendar":            {request: "Show me my calendar for Friday", skill: "calendar.list", want: sentinel.Allow},
		"a note":                  {request: "Add a note: buy milk", skill: "notes.add", want: sentinel.Allow},
		"the calendar, in German": {request: "Zeig mir bitte meinen Kalender für Freitag", skill: "calendar.list", want: sentinel.Allow},
		"the thing alone":         {request: "my notes are a mess", skill: "notes.add", want: sentinel.Allow, doubt: true},
		"the action alone": {request: "What happened in the world today?",
			skill: "calendar.list", want: sentinel.Allow, doubt: true},
		"action, thing and target":       {request: "Send Kim an email about lunch", skill: "email.send", want: sentinel.Allow},
		"action and thing, no target":    {request: "Send an email", skill: "email.send", want: sentinel.Ask},
		"a removal with a target":        {request: "Delete the file budget-2024", skill: "files.delete", want: sentinel.Allow},
		"a removal that points back":     {request: "Delete it", skill: "files.delete", want: sentinel.Ask},
		"the thing of a removal alone":   {request: "How big is the file budget-2024?", skill: "files.delete", want: sentinel.Ask},
		"a payment":                      {request: "Pay the rent to Kim from my bank account", skill: "bank.pay", want: sentinel.Allow},
		"what the words don't ask for":   {request: "What is the weather in Lisbon tomorrow?", skill: "email.send", want: sentinel.Ask},
		"a read that they don't ask for": {request: "Send Kim an email about lunch", skill: "weather.get", want: sentinel.Ask},
		"an outward create":              {request: "notes about chat", skill: "chat.post", want: sentinel.Ask},
		"a pattern":                      {request: "Show me my calendar for Friday", skill: "calendar.*", want: sentinel.Ask},
		"assent after the poisoned turn": {request: "ok, go on", earlier: said(mail), skill: "email.send", want: sentinel.Ask},
		"thanks after it":                {request: "thanks", earlier: said(mail), skill: "notes.add", want: sentinel.Ask},
		"assent to a tainted turn's words": {request: "yes", earlier: said("!Show me my calendar for Friday"),
			skill: "calendar.list", want: sentinel.Ask},
		"assent to a clean turn's words": {request: "yes please", earlier: said(mail, "Show me my calendar for Friday"),
			skill: "calendar.list", want: sentinel.Allow},
		"assent to what was withdrawn": {request: "ok", earlier: said("Show me my calendar for Friday", "no, don't"),
			skill: "calendar.list", want: sentinel.Ask},
		"assent to nothing":               {request: "ok", skill: "calendar.list", want: sentinel.Ask},
		"words that others wrote":         {request: "Hm\n> Show me my calendar for Friday", skill: "calendar.list", want: sentinel.Ask},
		"another language":                {request: "покажи календарь на пятницу", skill: "calendar.list", want: sentinel.Allow},
		"a language that isn't read":      {request: "Nionyeshe kalenda ya Ijumaa", skill: "calendar.list", want: sentinel.Ask},
		"the turn that read it":           {request: "Show me my calendar for Friday", skill: "calendar.list", want: sentinel.Ask, now: true},
		"the same in words with a target": {request: "Send Kim an email about lunch", skill: "email.send", want: sentinel.Ask, now: true},
	} {
		t.Run(name, func(t *testing.T) {
			reg := office(t)
			words, err := judge.New(judge.Options{})
			require.NoError(t, err)
			g, err := scope.New(scope.Options{Registry: reg, Words: words})
			require.NoError(t, err)
			held, err := skills.NewScope("agent.*", "weather.*", "calendar.*", "notes.*", "chat.*", "email.*", "files.*", "bank.*")
			require.NoError(t, err)
			grant, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "g", Conversation: "c", Agent: "a", Scope: held,
				Request: &tc.request, Earlier: tc.earlier, Tainted: true, TaintedBefore: !tc.now})
			require.NoError(t, err)
			args, err := json.Marshal(map[string]any{"skills": []string{tc.skill}})
			require.NoError(t, err)
			c, err := sentinel.NewCall(reg, touch.Env{NoFS: true}, sentinel.Proposal{Skill: scope.SkillDispatch, Args: args, Grant: grant})
			require.NoError(t, err)
			require.True(t, c.Tainted(), "the mark never clears")
			v, err := g.Check(t.Context(), c)
			require.NoError(t, err)
			require.Equal(t, tc.want, v.Outcome, v.Detail)
			require.Equal(t, tc.doubt, v.Doubt != nil)
			if v.Doubt != nil {
				require.Equal(t, sentinel.Doubt{Outcome: sentinel.Ask, Code: scope.CodeAfterTaint, Reason: v.Doubt.Reason,
					WhatYouCanDo: v.Doubt.WhatYouCanDo}, *v.Doubt)
				require.Len(t, v.Doubts(), 1)
			}
			if tc.want == sentinel.Ask {
				require.Equal(t, scope.CodeAfterTaint, v.Code)
			}
			if tc.want == sentinel.Allow && !tc.doubt { // without a reader of words each asks
				blind, err := scope.New(scope.Options{Registry: reg})
				require.NoError(t, err)
				v, err := blind.Check(t.Context(), c)
				require.NoError(t, err)
				require.Equal(t, sentinel.Ask, v.Outcome)
			}
		})
	}
}

func said(words ...string) []sentinel.EarlierTurn {
	var out []sentinel.EarlierTurn
	for _, w := range words {
		if w[0] == '!' {
			out = append(out, sentinel.EarlierTurn{Words: w[1:], Tainted: true})
		} else {
			out = append(out, sentinel.EarlierTurn{Words: w})
		}
	}
	return out
}

// Words that forbid, ask, tell or only say how hand out nothing that reaches others or can't
// be undone, in any language that is read. Those that command do.
func TestWordsThatForbidHandOutNothing(t *testing.T) {
	reg := office(t)
	words, err := judge.New(judge.Options{})
	require.NoError(t, err)
	g, err := scope.New(scope.Options{Registry: reg, Words: words})
	require.NoError(t, err)
	held, err := skills.NewScope("agent.*", "email.*", "files.*", "bank.*", "weather.*", "notes.*")
	require.NoError(t, err)
	handsOut := func(request, skill string) sentinel.Outcome {
		grant, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "g", Conversation: "c", Agent: "a", Scope: held,
			Request: &request, Tainted: true, TaintedBefore: true})
		require.NoError(t, err)
		args, err := json.Marshal(map[string]any{"skills": []string{skill}})
		require.NoError(t, err)
		c, err := sentinel.NewCall(reg, touch.Env{NoFS: true}, sentinel.Proposal{Skill: scope.SkillDispatch, Args: args, Grant: grant})
		require.NoError(t, err)
		v, err := g.Check(t.Context(), c)
		require.NoError(t, err)
		return v.Outcome
	}
	for _, tc := range [][2]string{
		{"Don't send any email to Kim", "email.send"},
		{"Don’t send any email to Kim", "email.send"},
		{"Please dont send the email to Kim", "email.send"},
		{"Never send emails without asking me", "email.send"},
		{"Send no email to Kim", "email.send"},
		{"Did you really send the email to Kim?", "email.send"},
		{"You sent the email to Kim", "email.send"},
		{"I send Kim an email every week", "email.send"},
		{"Who sends Kim an email", "email.send"},
		{"Send the email quickly", "email.send"},
		{"Send the email at once", "email.send"},
		{"Tell me when Kim sends an email", "email.send"},
		{"Show me how to send Kim an email", "email.send"},
		{"Remind me to send Kim an email", "email.send"},
		{"Should I send Kim an email?", "email.send"},
		{"Forget about the email to Kim", "email.send"},
		{"Write to Bo instead of sending Kim an email", "email.send"},
		{"Do not open the file and send it by email to Kim", "email.send"},
		{"I told you that you must not send Kim an email", "email.send"},
		{"Schick Kim keine Mail", "email.send"},
		{"Hast du Kim wirklich eine Mail geschickt?", "email.send"},
		{"N'envoie pas de mail à Kim", "email.send"},
		{"No envíes el correo a Kim", "email.send"},
		{"Não envie o email para Kim", "email.send"},
		{"Non inviare la mail a Kim", "email.send"},
		{"Stuur Kim geen mail", "email.send"},
		{"Stop, do not delete the file budget-2024!", "files.delete"},
		{"Why did you delete the file budget-2024?", "files.delete"},
		{"The file budget-2024 was deleted yesterday", "files.delete"},
		{"Delete the file budget-2024?", "files.delete"},
		{"I did not ask you to pay Kim from my bank account", "bank.pay"},
		{"Don't tell me what the weather is", "weather.get"},
	} {
		require.Equal(t, sentinel.Ask, handsOut(tc[0], tc[1]), "%q hands out %s", tc[0], tc[1])
	}
	for _, tc := range [][2]string{
		{"Send Kim an email that I can't come", "email.send"},
		{"Could you send Kim an email about lunch?", "email.send"},
		{"Please send an email to kim@x.test, and don't forget the date", "email.send"},
		{"Look up the hotel and then send Kim an email about it", "email.send"},
		{"I want you to send Kim an email", "email.send"},
		{"Kannst du bitte eine Mail an Kim schicken?", "email.send"},
		{"Schicke Kim eine Mail", "email.send"},
		{"Envoie un mail à Kim", "email.send"},
		{"Please delete the file called minutes", "files.delete"},
		{"Pay Kim 50 euros from my bank account by Friday, no later than noon", "bank.pay"},
		{"Add a note that I don't eat meat", "notes.add"},
		{"Isn't it cold? What is the weather in Lisbon?", "weather.get"},
	} {
		require.Equal(t, sentinel.Allow, handsOut(tc[0], tc[1]), "%q hands out no %s", tc[0], tc[1])
	}
}
