package judge_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/judge"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// A file that is changed outside of the roots is a sign with evidence, and no question by
// itself. Reads, scratch and what lies inside are none.
func TestOutsideRoots(t *testing.T) {
	s, err := skills.Compile(skills.Spec{Name: "shell.run", Effect: skills.Irreversible, Reaches: skills.Self,
		Parameters: json.RawMessage(`{"type":"object","additionalProperties":true,"properties":{"command":{"type":"string","x-shell":true},` +
			`"path":{"type":"string","x-path":true}}}`)})
	require.NoError(t, err)
	reg, err := skills.NewRegistry(s)
	require.NoError(t, err)
	env := touch.Env{Root: "/workspace", Home: "/home/alice", NoFS: true}
	g, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "g", Conversation: "c", Agent: "a"})
	require.NoError(t, err)
	look := func(roots []string, args map[string]string) sentinel.Verdict {
		raw, err := json.Marshal(args)
		require.NoError(t, err)
		c, err := sentinel.NewCall(reg, env, sentinel.Proposal{Skill: "shell.run", Args: raw, Grant: g})
		require.NoError(t, err)
		return decide(t, judge.Options{Roots: roots, Env: env}, c)
	}
	roots := []string{"/workspace", "/srv/data/"}
	for _, line := range []string{"echo x > /srv/x", "rm ~/notes.md", "cp a /opt/b", "mv /srv/other/a b", "cd /srv && touch x",
		"tar xf a.tar -C /opt", "sed -i s/a/b/ /opt/x", "echo x > /workspace2/x"} {
		v := look(roots, map[string]string{"command": line})
		require.Equal(t, -15, signals(v)[judge.SignalOutsideRoots], line)
		require.Equal(t, sentinel.Allow, v.Outcome, line)
		require.Contains(t, v.Evidence, sentinel.Evidence{Signal: judge.SignalOutsideRoots, Amount: -15, Args: []string{"command"}})
		require.NotContains(t, signals(look(nil, map[string]string{"command": line})), judge.SignalOutsideRoots, line)
	}
	for _, line := range []string{"echo x > out", "rm build/x", "cat /srv/x", "cp /srv/x a", "echo x > /dev/null", "echo x > /tmp/y",
		"touch /srv/data/x", "cd /srv; ls", "ls / 2>&1", "make", "touch ../x"} {
		require.NotContains(t, signals(look(roots, map[string]string{"command": line})), judge.SignalOutsideRoots, line)
	}
	require.NotContains(t, signals(look(roots, map[string]string{"path": "/srv/x"})), judge.SignalOutsideRoots,
		"declared paths are the guard's")
	v := look(roots, map[string]string{"command": "cp a /opt/b", "odd key": "x"})
	require.Equal(t, sentinel.Ask, v.Outcome, "with another sign a person is asked")
}
