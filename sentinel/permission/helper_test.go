package permission_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/permission"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

const sendSchema = `{"type":"object","additionalProperties":false,"properties":{
	"to":{"type":"string","x-target":true},"cc":{"type":"string"},"body":{"type":"string","x-content":true},
	"n":{"type":"number"},"list":{"type":"array","items":{}},"opt":{"type":"object"}}}`

func registry(t testing.TB, more ...skills.Spec) *skills.Registry {
	t.Helper()
	specs := append([]skills.Spec{
		{Name: "email.send", Effect: skills.Irreversible, Reaches: skills.Others, Parameters: json.RawMessage(sendSchema)},
		{Name: "email.read", Effect: skills.Read, Parameters: json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"}}}`)},
		{Name: "files.write", Effect: skills.Modify, Parameters: json.RawMessage(
			`{"type":"object","properties":{"path":{"type":"string","x-path":true},"url":{"type":"string","x-url":true},` +
				`"command":{"type":"string","x-shell":true},"to":{"type":"string","x-target":true}}}`)},
		{Name: "open.any", Effect: skills.Modify, Parameters: json.RawMessage(`{"type":"object","additionalProperties":true}`)},
	}, more...)
	var list []*skills.Skill
	for _, s := range specs {
		c, err := skills.Compile(s)
		require.NoError(t, err)
		list = append(list, c)
	}
	r, err := skills.NewRegistry(list...)
	require.NoError(t, err)
	return r
}

type proposal struct {
	skill, args, user string
	trace             sentinel.Trace
	tainted           bool
	reg               *skills.Registry
}

func call(t testing.TB, p proposal) sentinel.Call {
	t.Helper()
	if p.reg == nil {
		p.reg = registry(t)
	}
	if p.user == "" {
		p.user = "ada"
	}
	scope, err := skills.NewScope("email.*", "files.write")
	require.NoError(t, err)
	g, err := sentinel.NewGrant(sentinel.GrantOptions{
		ID: "g1", Conversation: "c1", Agent: "a1", User: p.user, Scope: scope, MissionBy: sentinel.ByOrchestrator, Tainted: p.tainted,
	})
	require.NoError(t, err)
	c, err := sentinel.NewCall(p.reg, touchEnv, sentinel.Proposal{
		Skill: p.skill, Args: []byte(p.args), Grant: g, Trace: p.trace,
	})
	require.NoError(t, err)
	return c
}

// touchEnv follows no links: the files are not there.
var touchEnv = touch.Env{Root: "/srv/desk", NoFS: true}

// noon is the injected clock.
var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func gate(t testing.TB, def string, rules ...permission.Rule) *permission.Gate {
	t.Helper()
	if rules == nil {
		rules = []permission.Rule{}
	}
	g, err := permission.New(permission.Options{
		Rules: rules, Default: def, Registry: registry(t), Now: func() time.Time { return noon },
	})
	require.NoError(t, err)
	return g
}

func check(t testing.TB, g sentinel.Gate, c sentinel.Call) sentinel.Verdict {
	t.Helper()
	v, err := g.Check(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, g.Name(), v.Gate)
	return v
}

func noonClock() time.Time { return noon }
