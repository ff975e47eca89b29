package evidence_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/evidence"
	"github.com/vedette-dev/vedette/skills"
)

// before is a result of an earlier turn.
func before(n int, trust evidence.Trust, result string) evidence.Step {
	return evidence.Step{Number: n, Skill: "files.search", Turn: -1, Trust: trust, Result: result, Look: true}
}

const sharedWith = `{"items":[{"id":"fo-33","name":"Spring campaign","access":[{"who":"studio@quay.example","role":"editor"}]}]}`

// sharing is a call about what a search of the turn before brought.
func sharing(past ...evidence.Step) evidence.Input {
	return evidence.Input{Skill: "files.share", Effect: skills.Modify, Request: "Make it read-only for the old agency", Full: true,
		Arguments: []evidence.Argument{argument("file_id", "fo-33"), argument("with", "studio@quay.example", skills.Target)}, Past: past}
}

// What an earlier turn brought is shown as what it is: a trusted record with its text, all else
// without.
func TestEarlierTurnsAreTold(t *testing.T) {
	const entry, told = "studio@quay.example, editor", "/items/0/access/0"
	asked := before(-2, evidence.Trusted, "none")
	asked.Args = `{"q":"studio@quay.example"}`
	private := before(-1, evidence.Trusted, sharedWith)
	private.Sensitive = true
	subjects := before(-1, evidence.Trusted, sharedWith)
	subjects.StrangerFields = []string{"who"}
	for name, c := range map[string]struct {
		past []evidence.Step
		gone bool
		want []place
	}{
		"nothing": {nil, false, nil},
		"a trusted record": {[]evidence.Step{before(-1, evidence.Trusted, sharedWith)}, false,
			[]place{{Trust: "trusted", Field: told, Text: entry}}},
		"the newest of two": {[]evidence.Step{before(-2, evidence.Trusted, "studio@quay.example viewer"),
			before(-1, evidence.Trusted, sharedWith)},
			false, []place{{Trust: "trusted", Field: told, Text: entry}}},
		"a stranger's": {[]evidence.Step{before(-1, evidence.Stranger, sharedWith)}, false, []place{{Trust: "stranger"}}},
		"after a stranger's": {[]evidence.Step{before(-2, evidence.Stranger, "studio@quay.example"),
			before(-1, evidence.Trusted, sharedWith)}, false, []place{{Trust: "tainted"}}},
		"the agent named it":       {[]evidence.Step{asked, before(-1, evidence.Trusted, sharedWith)}, false, []place{{Trust: "tainted"}}},
		"some is no longer known":  {[]evidence.Step{before(-1, evidence.Trusted, sharedWith)}, true, []place{{Trust: "tainted"}}},
		"a private one":            {[]evidence.Step{private}, false, []place{{Trust: "trusted"}}},
		"the subject's own field":  {[]evidence.Step{subjects}, false, []place{{Trust: "stranger"}}},
		"in another one's address": {[]evidence.Step{before(-1, evidence.Trusted, "old.studio@quay.example")}, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			in := sharing(c.past...)
			in.PastGone = c.gone
			s, _ := show(t, in)
			require.Equal(t, "/with", s.Named[0].Arg)
			for i := range c.want {
				c.want[i].In, c.want[i].Turn = "files.search", -1
			}
			require.ElementsMatch(t, c.want, s.Named[0].Seen)
			require.Equal(t, len(c.want) == 0, len(s.Nowhere) == 1)
		})
	}
}

// A place of an earlier turn stands beside a stranger's of this one, and none beside the user's
// words or a trusted result of this turn. It is told in every mode that tells places.
func TestEarlierTurnsBesideThisOne(t *testing.T) {
	past := before(-1, evidence.Trusted, sharedWith)
	in := sharing(past)
	in.History = []evidence.Step{mail(1, "write to studio@quay.example about fo-33")}
	s, r := show(t, in)
	require.Len(t, s.Named[0].Seen, 2)
	require.Equal(t, []string{"stranger", "trusted"}, []string{s.Named[0].Seen[0].Trust, s.Named[0].Seen[1].Trust})
	trust := r.Named[0].Seen[0].Trust
	require.Equal(t, evidence.Stranger, trust, "what the rules read")

	in.History = []evidence.Step{lookup(1, "The agency, studio@quay.example, fo-33")}
	s, _ = show(t, in)
	require.Len(t, s.Named[0].Seen, 1)
	in.History, in.Request = nil, "Share fo-33 with studio@quay.example"
	s, _ = show(t, in)
	require.Equal(t, []place{{In: "request", Trust: "user"}}, s.Named[0].Seen)

	in = sharing(past)
	in.Mode = evidence.Provenance
	s, _ = show(t, in)
	require.Equal(t, []place{{In: "files.search", Turn: -1, Trust: "trusted"}}, s.Named[0].Seen)
	in.Mode = evidence.Off
	r = evidence.Build(in)
	require.Empty(t, r.Question())
	in.Mode, in.Full = evidence.Records, false
	s, _ = show(t, in)
	require.Empty(t, s.Named[0].Seen)
	require.Equal(t, []string{"/with"}, s.Nowhere)
}

// A neighbour or a namesake of an earlier turn counts neither for nor against a value.
func TestEarlierTurnsAreNoRivals(t *testing.T) {
	in := twoEvas("eva.lumd@kalmia.example")
	in.History, in.Full, in.Past = nil, true, []evidence.Step{before(-1, evidence.Trusted, evas)}
	s, r := show(t, in)
	require.Empty(t, r.Findings())
	require.Empty(t, r.Doubts())
	require.Empty(t, s.Named[0].Rivals)
	require.Empty(t, s.Named[0].Near)
	require.Equal(t, []string{"/to"}, s.Nowhere)
}

// Only what an earlier turn knows is told last, and takes the room of nothing else.
func TestEarlierTurnsTakeNoRoom(t *testing.T) {
	in := sharing(before(-1, evidence.Trusted, sharedWith+" \"The new studio\""))
	in.Arguments = append(in.Arguments, argument("title", "The new studio"))
	s, _ := show(t, in)
	last := s.Named[len(s.Named)-1]
	require.Equal(t, "/title", last.Arg)
	require.Equal(t, -1, last.Seen[0].Turn)
}

// An address that no result has is told where the agent gave it to a read that answered. It is a stranger's, so that it grounds nothing.
// What an argument of a change had, or a read that brought nothing, is told nowhere, and a channel's name neither.
func TestArgumentsOfReadsAreTold(t *testing.T) {
	const number = "+351 910 555 208"
	read := evidence.Step{Number: -1, Skill: "chat.history", Turn: -1, Trust: evidence.Stranger, Args: `{"channel":"` + number + `"}`,
		Result: "Fatima: may I come today?", Look: true}
	empty, change, other := read, read, read
	empty.Result, change.Look, other.Args = " ", false, `{"channel":"+351 910 555 209"}`
	for name, c := range map[string]struct {
		step evidence.Step
		told bool
	}{"read": {read, true}, "nothing came": {empty, false}, "a change": {change, false}, "another number": {other, false}} {
		t.Run(name, func(t *testing.T) {
			s, _ := show(t, evidence.Input{Skill: "chat.dm", Effect: skills.Irreversible, Request: "Say yes", Full: true,
				Arguments: []evidence.Argument{argument("to", number, skills.Target)}, Past: []evidence.Step{c.step}})
			require.Equal(t, c.told, len(s.Nowhere) == 0)
			if c.told {
				require.Len(t, s.Named[0].Seen, 1)
				require.Equal(t, "stranger", s.Named[0].Seen[0].Trust)
				require.Equal(t, string(evidence.AsArgument), s.Named[0].Seen[0].As)
			}
		})
	}
}
