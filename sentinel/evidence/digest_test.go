package evidence_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/evidence"
	"github.com/vedette-dev/vedette/skills"
)

func digestOf(in evidence.Input) [32]byte {
	r := evidence.Build(in)
	return r.Digest()
}

func digestInput() evidence.Input {
	in := twoEvas("eva.lund@kalmia.example")
	in.Arguments = append(in.Arguments, argument("task_id", "T-24"), argument("amount", "48"), argument("can_reshare", true))
	in.History = append(in.History, mail(2, "T-24"), mail(3, "eva.lund@kalmia.example"))
	return in
}

// The order in which arguments and steps are given is no part of the digest, nor are results in
// which nothing of the call stands.
func TestDigest(t *testing.T) {
	in := digestInput()
	want := digestOf(in)
	for i := range 20 {
		r := rand.New(rand.NewPCG(1, uint64(i))) //nolint:gosec // a shuffle that repeats
		other := in
		other.Arguments, other.History = slices.Clone(in.Arguments), slices.Clone(in.History)
		r.Shuffle(len(other.Arguments), func(i, j int) { other.Arguments[i], other.Arguments[j] = other.Arguments[j], other.Arguments[i] })
		r.Shuffle(len(other.History), func(i, j int) { other.History[i], other.History[j] = other.History[j], other.History[i] })
		require.Equal(t, want, digestOf(other))
	}
	same := in
	same.History = append(slices.Clone(in.History), evidence.Step{Number: 4, Skill: "weather.get", Trust: evidence.Trusted,
		Result: "Rain, 8 degrees"})
	require.Equal(t, want, digestOf(same))
	same = in
	same.History = slices.Clone(in.History)
	for i := range same.History {
		same.History[i].Read = evidence.ReadResult(same.History[i].Result)
	}
	require.Equal(t, want, digestOf(same), "a reading at hand changes nothing")
}

// earlierBook is a trusted result of an earlier turn.
func earlierBook(last string) []evidence.Step {
	return []evidence.Step{{Number: -1, Skill: "contacts.lookup", Turn: -1, Trust: evidence.Trusted, Look: true,
		Result: "Eva " + last + "; T-24 the fence; eva.lund@kalmia.example"}}
}

// Whatever a report says in another way is another digest.
func TestDigestTellsReportsApart(t *testing.T) {
	in := digestInput()
	want := digestOf(in)
	for name, change := range map[string]func(*evidence.Input){
		"trust":         func(c *evidence.Input) { c.History[0].Trust = evidence.Tainted },
		"record":        func(c *evidence.Input) { c.History[0].Result = strings.Replace(evas, "head", "hand", 1) },
		"rival":         func(c *evidence.Input) { c.History[0].Result = strings.Replace(evas, "dentist", "doctor", 1) },
		"number":        func(c *evidence.Input) { c.History[0].Number = 7 },
		"turn":          func(c *evidence.Input) { c.History[0].Turn = -1 },
		"stranger":      func(c *evidence.Input) { c.History = c.History[:1] },
		"mode":          func(c *evidence.Input) { c.Mode = evidence.Provenance },
		"off":           func(c *evidence.Input) { c.Mode = evidence.Off },
		"keys":          func(c *evidence.Input) { c.Keys = true },
		"request":       func(c *evidence.Input) { c.Request = "Write to eva.lund@kalmia.example" },
		"value":         func(c *evidence.Input) { c.Arguments[0].Value = "eva.lumd@kalmia.example" },
		"unasked":       func(c *evidence.Input) { c.Arguments[4].Value = false },
		"carries":       func(c *evidence.Input) { c.Carries = []evidence.Carried{{Argument: "/body", Step: 1, How: "verbatim"}} },
		"left out":      func(c *evidence.Input) { c.History = append(c.History, mail(9, strings.Repeat("x", 2<<20))) },
		"earlier turns": func(c *evidence.Input) { c.Request, c.Full, c.Past = "Tell her", true, earlierBook("lund") },
		"what they say": func(c *evidence.Input) { c.Request, c.Full, c.Past = "Tell her", true, earlierBook("lunt") },
		"an alias": func(c *evidence.Input) {
			c.Full, c.History[0].Look, c.History[0].Result = true, true, `[{"name":"Eva","mail":"eva.lund@kalmia.example"}]`
		},
		"a near id": func(c *evidence.Input) { c.Request = "close T-42"; c.History = nil },
	} {
		other := in
		other.Arguments, other.History = slices.Clone(in.Arguments), slices.Clone(in.History)
		change(&other)
		require.NotEqual(t, want, digestOf(other), name)
	}
}

// What is too much is counted, and asks where it says who is reached.
func TestBounds(t *testing.T) {
	in := evidence.Input{Skill: "x.y", Effect: skills.Modify}
	for i := range 200 {
		in.Arguments = append(in.Arguments, evidence.Argument{Pointer: fmt.Sprintf("/ids/%03d", i), Name: "ids", Value: fmt.Sprintf("ev-%d", i),
			Declared: true})
	}
	s, r := show(t, in)
	require.GreaterOrEqual(t, s.LeftOut, 136)
	require.False(t, r.AsksFor(), "ids ask for nothing")
	in.Arguments = append(in.Arguments, argument("to", "zz@far.example"))
	s, r = show(t, in)
	require.Equal(t, "/to", s.Named[0].Arg, "who is reached comes first")
	require.False(t, r.AsksFor())

	s, _ = show(t, evidence.Input{Arguments: []evidence.Argument{argument("id", "T-1")}, History: []evidence.Step{lookup(1,
		strings.Repeat("T-1 ", 1<<19))}})
	require.Equal(t, 1, s.Unread)
	require.Equal(t, "trusted", s.Named[0].Seen[0].Trust, "what was read counts")
	var many []evidence.Step
	for i := range 10 {
		many = append(many, lookup(i+1, strings.Repeat("x ", 1<<19)))
	}
	many[0].Result = "T-1"
	s, _ = show(t, evidence.Input{Arguments: []evidence.Argument{argument("id", "T-1")}, History: many})
	require.Equal(t, 3, s.Unread, "the newest are read")
	require.Empty(t, s.Named[0].Seen)
}

// A comparison of every value with every result stops at its bound, and says so.
func TestSearchIsBounded(t *testing.T) {
	in := evidence.Input{Effect: skills.CostsMoney, Arguments: payments(60)}
	for i := range 7 {
		in.History = append(in.History, mail(i+1, strings.Repeat("xyz xyz ", 1<<17)))
	}
	_, r := show(t, in)
	require.Positive(t, r.LeftOut)
	require.True(t, r.AsksFor())
}

// JSON is read as it is meant, and everything else as text.
func TestResultsAreReadAsMeant(t *testing.T) {
	for _, result := range []string{
		`{"mail":"eva.lund\u0040kalmia.example"}`, `["eva.lund@kalmia.example"]`, `"eva.lund@kalmia.example"`,
		`{"a":{"b":[{"c":["eva.lund@kalmia.example"]}]}}`, `{"eva.lund@kalmia.example":"editor"}`, `{"a":1} {"b":"eva.lund@kalmia.example"}`,
		`{"a":1} and eva.lund@kalmia.example`, `{"a":"eva.lund@kalmia.example"`, `[1,2,"eva.lund@kalmia.example" oops`,
		strings.Repeat(`[`, 80) + `"eva.lund@kalmia.example"` + strings.Repeat(`]`, 80), "EVA.LUND@kalmia.example", "ｅva.lund@kalmia.example",
		"[" + strings.Repeat("1,", 1<<15) + `"eva.lund@kalmia.example"]`, strings.Repeat("\n", 1<<15) + "eva.lund@kalmia.example",
		strings.Repeat("é", 3000) + " eva.lund@kalmia.example", strings.Repeat("x", 1020) + " eva.lund@kalmia.example",
		"<eva.lund@kalmia.example>", "mailto:eva.lund@kalmia.example?subject=x", "écrire à eva.lund@kalmia.example.",
	} {
		in := twoEvas("eva.lund@kalmia.example")
		in.History = []evidence.Step{lookup(1, result)}
		s, _ := show(t, in)
		require.Len(t, s.Named[0].Seen, 1, "%.60s", result)
		require.Equal(t, "trusted", s.Named[0].Seen[0].Trust, "%.60s", result)
	}
}
