package evidence_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/evidence"
	"github.com/vedette-dev/vedette/skills"
)

func book(n int, result string) evidence.Step {
	s := lookup(n, result)
	s.Look = true
	return s
}

const mum = `[{"name":"Ines Lund","nickname":"Mum","phone":"+49 40 2281190","email":"ines@lund.example"}]`

// A name of the request that a trusted record resolves is told, and no name that its subject, the
// agent or a stranger could have chosen, nor one of two people.
func TestAliases(t *testing.T) {
	written := book(1, mum)
	written.StrangerFields = []string{"nickname", "name"}
	renamed := evidence.Step{Number: 1, Skill: "contacts.update", Args: `{"nickname":"Mum"}`, Trust: evidence.Trusted, Result: "done"}
	failed := book(1, mum)
	failed.Look = false
	private := book(1, mum)
	private.Sensitive = true
	for name, c := range map[string]struct {
		request, to string
		steps       []evidence.Step
		want        string
	}{
		"a nickname":          {"Tell Mum that I'm late", "ines@lund.example", []evidence.Step{book(1, mum)}, "Mum -> contacts.lookup#1"},
		"a phone":             {"Tell mum that I'm late", "+494022 81190", []evidence.Step{book(1, mum)}, "Mum -> contacts.lookup#1"},
		"a part of the name":  {"Tell Ines", "ines@lund.example", []evidence.Step{book(1, mum)}, "Ines -> contacts.lookup#1"},
		"no name of it":       {"Tell her", "ines@lund.example", []evidence.Step{book(1, mum)}, ""},
		"a stranger's":        {"Tell Mum", "ines@lund.example", []evidence.Step{{Number: 1, Skill: "email.read", Result: mum, Look: true}}, ""},
		"its subject's words": {"Tell Mum", "ines@lund.example", []evidence.Step{written}, ""},
		"the agent's words":   {"Tell Mum", "ines@lund.example", []evidence.Step{renamed, book(2, mum)}, ""},
		"an error":            {"Tell Mum", "ines@lund.example", []evidence.Step{failed}, ""},
		"a private one":       {"Tell Mum", "ines@lund.example", []evidence.Step{private}, ""},
		"another entry has it": {"Tell Mum", "ines@lund.example",
			[]evidence.Step{book(1, mum), book(2, `{"name":"Mum (work)","email":"office@lund.example"}`)}, ""},
		"a guest": {"Tell Mum", "ines@lund.example",
			[]evidence.Step{book(1, `{"name":"Mum","guest":true,"email":"ines@lund.example"}`)}, ""},
		"a role": {"Tell the partner", "ines@lund.example",
			[]evidence.Step{book(1, `{"name":"Ines","type":"partner","email":"ines@lund.example"}`)}, ""},
		"plain words": {"Tell Mum", "ines@lund.example", []evidence.Step{book(1, "Mum ines@lund.example")}, ""},
		"the name of what stands in it": {"Tell Mum", "ines@lund.example",
			[]evidence.Step{book(1, `{"name":"Mum","note":"no longer at ines@lund.example"}`)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := evidence.Input{Skill: "email.send", Effect: skills.Irreversible, Request: c.request, Full: true, History: c.steps,
				Arguments: []evidence.Argument{argument("to", c.to, skills.Target)}}
			s, _ := show(t, in)
			require.Equal(t, c.want, s.Named[0].Alias)
			for _, less := range []func(*evidence.Input){
				func(i *evidence.Input) { i.Keys = true }, func(i *evidence.Input) { i.Mode = evidence.Provenance },
				func(i *evidence.Input) { i.Full = false }, func(i *evidence.Input) { i.Arguments[0].Sensitive = true },
			} {
				other := in
				other.Arguments = []evidence.Argument{in.Arguments[0]}
				less(&other)
				s, _ = show(t, other)
				require.Empty(t, s.Named[0].Alias)
			}
		})
	}
}
