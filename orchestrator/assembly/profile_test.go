package assembly_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/skills"
)

// profileSkills are inward skills marked risk: low, and for each rule of the profiles one that
// breaks it.
const profileSkills = `skills:
  - {name: notes.find, description: Find notes., effect: read, reaches: self, risk: low, output: trusted, parameters: &find {type: object,
      additionalProperties: true, properties: {query: {type: string, x-content: true}, limit: {type: integer}, user_id: {type: string},
      tag: {type: string}, all: {type: boolean}}}, run: {template: x}}
  - {name: notes.list, description: List notes., effect: read, reaches: self, output: trusted, parameters: *find, run: {template: x}}
  - {name: notes.secret, description: Find secret notes., effect: read, reaches: self, risk: low, sensitive: true, output: trusted,
      parameters: *find, run: {template: x}}
  - {name: notes.export, description: Find notes in bulk., effect: read, reaches: self, risk: low, output: trusted, parameters: *find,
      run: {template: x}}
  - {name: notes.shared, description: Find notes of others., effect: read, reaches: others, risk: low, output: trusted, parameters: *find,
      run: {template: x}}
  - {name: notes.fetch, description: Fetch a page of notes., effect: read, reaches: self, risk: low, output: trusted,
      parameters: {type: object, properties: {url: {type: string, x-url: true}}}, run: {template: x}}
  - {name: notes.add, description: Add a note., effect: create, reaches: self, risk: low, output: trusted, parameters: {type: object,
      properties: {title: {type: string, x-content: true}, tag: {type: string}}}, run: {template: x}}
  - {name: notes.share, description: Add a note for others., effect: create, reaches: others, risk: low, output: trusted,
      parameters: {type: object, properties: {title: {type: string, x-content: true}}}, run: {template: x}}
  - {name: notes.change, description: Change a note., effect: modify, reaches: self, output: trusted, parameters: {type: object,
      properties: {title: {type: string, x-content: true}}}, run: {template: x}}
  - {name: mail.read, description: Read mail., effect: read, reaches: self, run: {template: x}}
`

// writeProfile writes a configuration whose review is asked at url, with more under sentinel.
func writeProfile(t *testing.T, url, settings, more string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "skills.yaml"), []byte(profileSkills), 0o600))
	file := filepath.Join(dir, "vedette.yaml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `version: 1
skills: {include: [skills.yaml]}
models: {a: {model: m, base_url: %q}}
roles: {sentinel: a}
sentinel: {canaries: {every: 0s}, %s}
%s`, url, settings, more), 0o600))
	return file
}

// profileCall is a call as a case of the profiles' table has it.
type profileCall struct {
	skill, args, request string
	trace                []sentinel.Step
	noRequest            bool
}

// reviewOf is the decision on a call and the review's verdict.
func reviewOf(t *testing.T, d *assembly.Decider, p profileCall) (sentinel.Decision, sentinel.Verdict) {
	t.Helper()
	if p.request == "" {
		p.request = "find my notes about the garden and add a note about the garden"
	}
	scope, err := skills.NewScope("notes.*", "mail.*", "agent.*")
	require.NoError(t, err)
	o := sentinel.GrantOptions{ID: "g1", User: "ann", Conversation: "c1", Agent: "a1", Scope: scope,
		Mission: "notes about the garden", MissionBy: sentinel.ByOrchestrator, Request: &p.request}
	if p.noRequest {
		o.Request = nil
	}
	for _, s := range p.trace {
		o.Tainted = o.Tainted || s.Trust != skills.Trusted
	}
	g, err := sentinel.NewGrant(o)
	require.NoError(t, err)
	c, err := d.NewCall(sentinel.Proposal{Skill: p.skill, Args: json.RawMessage(p.args), Grant: g, Trace: sentinel.NewTrace(p.trace...)})
	require.NoError(t, err)
	dec, err := d.Decide(t.Context(), c)
	require.NoError(t, err)
	v, ok := dec.Verdict(sentinel.GateReview)
	require.True(t, ok)
	return dec, v
}

// What each profile leaves to the rules, and what none does.
func TestProfilesLeaveOutPlainCallsAlone(t *testing.T) {
	const find, add = `{"query":"garden"}`, `{"title":"garden"}`
	letter := []sentinel.Step{{Skill: "mail.read", Args: "{}", Result: "hello", Trust: skills.Untrusted, Effect: skills.Read}}
	own := []sentinel.Step{{Skill: "notes.find", Args: find, Result: "the garden is dry", Trust: skills.Trusted, Effect: skills.Read}}
	for name, tc := range map[string]struct {
		profileCall
		balanced, thrifty bool
	}{
		"an inward read":         {profileCall{skill: "notes.find", args: find}, true, true},
		"after a trusted result": {profileCall{skill: "notes.find", args: find, trace: own}, true, true},
		"one page": {profileCall{skill: "notes.find", args: `{"query":"garden","limit":20}`,
			request: "find 20 notes about the garden"}, true, true},
		"a read in doubt":         {profileCall{skill: "notes.find", args: `{"query":"garden","limit":20}`}, false, false},
		"the user's own id":       {profileCall{skill: "notes.find", args: `{"query":"garden","user_id":"ann"}`}, true, true},
		"an inward creation":      {profileCall{skill: "notes.add", args: add}, false, true},
		"a skill of unknown risk": {profileCall{skill: "notes.list", args: find}, false, false},
		"a sensitive skill":       {profileCall{skill: "notes.secret", args: find}, false, false},
		"an outward read":         {profileCall{skill: "notes.shared", args: find}, false, false},
		"a read of a host":        {profileCall{skill: "notes.fetch", args: `{"url":"https://garden.test/"}`}, false, false},
		"a read of a host that is named": {profileCall{skill: "notes.fetch", args: `{"url":"https://garden.test/"}`,
			request: "find notes at https://garden.test/"}, false, false},
		"an outward creation": {profileCall{skill: "notes.share", args: add}, false, false},
		"a change": {profileCall{skill: "notes.change", args: add,
			request: "change my note garden"}, false, false},
		"a tainted read":     {profileCall{skill: "notes.find", args: find, trace: letter}, false, false},
		"a tainted creation": {profileCall{skill: "notes.add", args: add, trace: letter}, false, false},
		"no request":         {profileCall{skill: "notes.find", args: find, noRequest: true}, false, false},
		"a read that was not asked for": {profileCall{skill: "notes.find", args: find,
			request: "what is the weather in Lisbon?"}, true, true},
		"a creation in doubt": {profileCall{skill: "notes.add", args: add,
			request: "what is the weather in Lisbon?"}, false, false},
		"a star":                        {profileCall{skill: "notes.find", args: `{"query":"*"}`}, false, false},
		"a star within":                 {profileCall{skill: "notes.find", args: `{"query":"gar*"}`}, false, false},
		"a percent sign":                {profileCall{skill: "notes.find", args: `{"tag":"%"}`}, false, false},
		"a regular expression":          {profileCall{skill: "notes.find", args: `{"tag":".+garden"}`}, true, true},
		"a word for all":                {profileCall{skill: "notes.find", args: `{"query":"ALL"}`}, false, false},
		"an empty filter":               {profileCall{skill: "notes.find", args: `{"query":" "}`}, false, false},
		"a null filter":                 {profileCall{skill: "notes.find", args: `{"query":null}`}, false, false},
		"a switch for all":              {profileCall{skill: "notes.find", args: `{"query":"garden","all":true}`}, false, false},
		"a condition that always holds": {profileCall{skill: "notes.find", args: `{"tag":"x or 1=1"}`}, false, false},
		"ten thousand entries": {profileCall{skill: "notes.find", args: `{"query":"garden","limit":10000}`,
			request: "find 10000 notes about the garden"}, false, false},
		"no bound of entries": {profileCall{skill: "notes.find", args: `{"query":"garden","limit":-1}`}, false, false},
		"another user's id":   {profileCall{skill: "notes.find", args: `{"query":"garden","user_id":"bob"}`}, false, false},
		"another user's id that the user has": {profileCall{skill: "notes.find", args: `{"query":"garden","user_id":"bob"}`,
			request: "find bob's notes about the garden"}, false, false},
		"another user in a value":             {profileCall{skill: "notes.find", args: `{"tag":"users/bob"}`}, false, false},
		"another user in an unknown argument": {profileCall{skill: "notes.find", args: `{"query":"garden","owner":"bob"}`}, false, false},
		"an argument that no schema names":    {profileCall{skill: "notes.find", args: `{"query":"garden","x":"y"}`}, false, false},
		"a skill that exports": {profileCall{skill: "notes.export", args: find,
			request: "export my notes about the garden"}, false, false},
		"an export in a value": {profileCall{skill: "notes.find", args: `{"query":"garden","tag":"export_all"}`}, false, false},
		"agent.dispatch": {profileCall{skill: "agent.dispatch",
			args: `{"mission":"garden","skills":["notes.find"]}`}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			for profile, want := range map[string]bool{"strict": false, "balanced": tc.balanced, "thrifty": tc.thrifty} {
				srv := serve(t, `rules: [{reply: {content: '{"decision":"reject","reason":"x"}'}}]`)
				d, err := assembly.NewDecider(load(t, writeProfile(t, srv.BaseURL(), "profile: "+profile, "")), assembly.DeciderOptions{NoFS: true})
				require.NoError(t, err)
				defer d.Close()
				dec, v := reviewOf(t, d, tc.profileCall)
				jv, _ := dec.Verdict(sentinel.GateJudge)
				require.Equal(t, want, v.Code == review.CodeProfile, "%s: %s %s, judge: %v", profile, v.State, v.Reason, jv.Evidence)
				if want {
					require.Equal(t, sentinel.Allow, dec.Outcome)
					require.Equal(t, sentinel.Skipped, v.State)
					require.Equal(t, profile, v.Meta["profile"])
					require.Contains(t, v.Reason, "skipped by profile: sentinel.profile is "+profile)
					require.Empty(t, srv.Requests())
				} else {
					require.Less(t, dec.Outcome, sentinel.Allow, profile)
				}
			}
		})
	}
}
