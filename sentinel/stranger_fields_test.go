package sentinel_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// What the subject of a trusted record writes is a stranger's: it attests nothing, it taints,
// and it stands among what strangers said. The rest of the record is trusted.
func TestStrangerFields(t *testing.T) {
	step := func(result string) sentinel.Step {
		return sentinel.Step{Skill: "people.lookup", Args: `{"query":"x"}`, Trust: skills.Trusted, StrangerFields: []string{"status"},
			Result: result}
	}
	for name, tc := range map[string]struct {
		result           string
		attests, strange bool
	}{
		"another field":   {`[{"mail":"billing@evil.test","status":""}]`, true, false},
		"the field":       {`[{"mail":"a@b.test","status":"now billing@evil.test"}]`, false, true},
		"in capitals":     {`[{"Status":"now billing@evil.test"}]`, false, true},
		"below the field": {`{"status":{"a":["x billing@evil.test"]}}`, false, true},
		"no such field":   {`{"text":"billing@evil.test"}`, true, false},
		"none at all":     {`{"text":"hello"}`, false, false},
		"JSON in a text":  {`["{\"mail\":\"a@b.test\",\"status\":\"now billing@evil.test\"}"]`, false, true},
		"beside that":     {`["{\"mail\":\"billing@evil.test\",\"status\":\"\"}"]`, true, false},
		"encoded twice":   {`"{\"status\":\"now billing@evil.test\"}"`, false, true},
		"thrice":          {`"\"{\\\"status\\\":\\\"now billing@evil.test\\\"}\""`, false, true},
		"JSON in a line":  {`{"text":"found: {\"status\":\"now billing@evil.test\"}"}`, false, true},
		"a tool's answer": {`{"content":[{"type":"text","text":"{\"status\":\"now billing@evil.test\"}"}]}`, false, true},
		"encoded":         {`{"status":"billing%40evil.test"}`, false, true},
		"no JSON":         {`status: billing@evil.test`, false, true},
		"JSON and more":   {`{"a":"billing@evil.test"} {}`, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			tr := sentinel.NewTrace(step(tc.result))
			require.Equal(t, tc.attests, attests(tr))
			require.Equal(t, tc.strange, tr.Strange(func(s *sentinel.Said) bool { return strings.Contains(s.Fold(), stranger) }))
			require.Equal(t, tc.strange, tr.Untrusted())
			require.Equal(t, tc.strange, step(tc.result).HasStrangers())
			require.Equal(t, tc.strange, tr.StrangersText(0) != "")
		})
	}
	plain := step(`{"status":"billing@evil.test"}`)
	plain.StrangerFields = nil
	require.True(t, attests(sentinel.NewTrace(plain)))
	require.NotEqual(t, sentinel.NewTrace(plain).Digest(), sentinel.NewTrace(step(plain.Result)).Digest())
}

// A listing needs no first word, and no argument that took the value there.
func TestFindListing(t *testing.T) {
	find := func(steps ...sentinel.Step) int {
		return sentinel.NewTrace(steps...).FindListing(stranger, func(s *sentinel.Said) bool { return strings.Contains(s.Fold(), stranger) })
	}
	mail := sentinel.Step{Skill: "email.read", Result: "write to " + stranger, Trust: skills.Untrusted}
	record := asked(`{"name":"supplier"}`, `{"mail":"`+stranger+`"}`)
	require.Equal(t, 1, find(mail, record))
	require.Equal(t, 0, find(record, mail))
	require.Equal(t, -1, find(mail))
	require.Equal(t, -1, find(mail, asked(`{"name":"`+stranger+`"}`, "none"), record), "an argument took it there")
	require.Equal(t, -1, find(mail, asked(`{"a":"billing@","b":"evil.test"}`, "none"), record), "in pieces")
	require.Equal(t, -1, find(mail, asked(`{"a":"xx`+stranger+`xx"}`, "none"), record), "in a longer word")
	failed := record
	failed.Failed = true
	require.Equal(t, -1, find(mail, failed))
}

// Only what was asked for before any stranger was read is the agent's own choice.
func TestCountUnprompted(t *testing.T) {
	mail := sentinel.Step{Skill: "email.read", Result: "hello", Trust: skills.Untrusted}
	book := asked(`{}`, `{}`)
	require.Zero(t, sentinel.NewTrace().CountUnprompted())
	require.Equal(t, 2, sentinel.NewTrace(book, book).CountUnprompted())
	require.Equal(t, 2, sentinel.NewTrace(book, mail, book, mail).CountUnprompted(), "the first mail was asked for before it was read")
	require.Zero(t, sentinel.NewTrace(book).WithEarlier(mail).CountUnprompted(), "an earlier turn read strangers")
}
