package config_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/skills"
)

// placesOK is written to be hard on positions: comments, wide characters, texts
// over several lines, blank lines, flow within block.
const placesOK = `# é comment
version: 1

models:   # é
  fast:
    # a comment between
    model: 'gpt''é'   # x
    base_url: "https://é/v1"
    timeout:   20s
permissions:

  - id: first
    skill: "*"
    when: |
      one
      two

    then: ask
  -   skill: '*'
      reason: a plain text
        over two lines
      then: deny
  - {id: é, skill: "*",
     users: [a, "b",
       c], then: allow}
`

// Pos finds every value where its text is, whatever stands before it.
func TestPos(t *testing.T) {
	for name, src := range map[string]string{
		"lf":   strings.Replace(placesOK, "id: é", "id: e", 1),
		"crlf": strings.ReplaceAll(strings.Replace(placesOK, "id: é", "id: e", 1), "\n", "\r\n"),
		"bom":  "\ufeff" + strings.Replace(placesOK, "id: é", "id: e", 1),
	} {
		t.Run(name, func(t *testing.T) {
			c, err := config.Parse("p.yaml", []byte(src), config.Options{})
			require.NoError(t, err)
			lines := strings.Split(strings.TrimPrefix(src, "\ufeff"), "\n")
			for path, want := range map[string]string{
				"version": "1", "models.fast": "fast:", "models.fast.model": "'gpt", "models.fast.base_url": `"https`,
				"models.fast.timeout": "20s", "permissions[0].id": "first", "permissions[0].when": "|", "permissions[0].then": "ask",
				"permissions[1].skill": "'*'", "permissions[1].reason": "a plain", "permissions[1].then": "deny",
				"permissions[2]": "{id", "permissions[2].users[1]": `"b"`, "permissions[2].users[2]": "c]", "permissions[2].then": "allow",
			} {
				at, ok := c.Pos(path)
				require.True(t, ok, path)
				line := []rune(lines[at.Line-1])
				require.True(t, strings.HasPrefix(string(line[at.Column-1:]), want), "%s: %s shows %q", path, at, string(line[at.Column-1:]))
			}
			at, ok := c.Pos("models.fast.api_key")
			require.False(t, ok)
			require.Equal(t, config.Position{File: "p.yaml", Line: 5, Column: 3}, at)
		})
	}
}

type foreign struct{ path, msg string }

func (f foreign) Error() string         { return "not shown" }
func (f foreign) ConfigPath() string    { return f.path }
func (f foreign) ConfigMessage() string { return f.msg }

// Errors of other packages get their place, wrapped and joined as they come;
// what has no path is kept.
func TestLocate(t *testing.T) {
	c := loadGood(t, nil)
	plain := errors.New("plain")
	err := c.Locate(errors.Join(
		foreign{"permissions[2].when", "undeclared reference"},
		fmt.Errorf("wrapped: %w", &skills.PathError{Path: "permissions[0].when", Msg: "costs too much"}),
		errors.Join(foreign{config.SkillPath("email.send", "run.http.url"), "is not reachable"}, plain),
		foreign{"limits.agent.calls.x", "deeper than what is there"},
		foreign{"models.fast.context", "is missing"},
		foreign{"nothing.like.it", "is odd"},
	))
	var list config.Errors
	require.ErrorAs(t, err, &list)
	require.Equal(t, `testdata/good/skills/email.yaml:20:37: skills[email.send].run.http.url: is not reachable
testdata/good/vedette.yaml:3:1: nothing.like.it: is odd
testdata/good/vedette.yaml:6:3: models.fast.context: is missing
testdata/good/vedette.yaml:29:55: permissions[0].when: costs too much
testdata/good/vedette.yaml:33:11: permissions[2].when: undeclared reference
testdata/good/vedette.yaml:93:11: limits.agent.calls.x: deeper than what is there`, list.Error())
	require.ErrorIs(t, err, plain)
	require.NotContains(t, err.Error(), "not shown")

	err = c.LocateSkill("email.send", foreign{"parameters.properties.to", "is odd"})
	require.EqualError(t, err, "testdata/good/skills/email.yaml:13:9: skills[email.send].parameters.properties.to: is odd")
	require.EqualError(t, c.LocateSkill("tasks.delete", foreign{"", "can't run"}),
		"testdata/good/skills/tasks.yaml:1:1: skills[tasks.delete]: can't run")
	require.NoError(t, c.Locate(nil))
	require.EqualError(t, config.Default().Locate(foreign{"limits.agent.calls", "is odd"}), "limits.agent.calls: is odd")
}

const canary = "sk-canary-zq\"7\\a"

// The rules check patterns of users themselves. Load refuses none that they would
// take. What they refuse is found at its place.
func TestUsersAreCheckedByTheRules(t *testing.T) {
	src := "version: 1\npermissions:\n  - skill: '*'\n    users: ['idp|a/*', '[!a]{', \"**\"]\n    then: deny\n"
	c, err := config.Parse("p.yaml", []byte(src), config.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"idp|a/*", "[!a]{", "**"}, c.Permissions[0].Users)
	err = c.Locate(errors.Join(foreign{"permissions[0].users[1]", "has a brace"}, foreign{"permissions[0].users[2]", "has **"}))
	require.EqualError(t, err, "p.yaml:4:24: permissions[0].users[1]: has a brace\np.yaml:4:33: permissions[0].users[2]: has **")
}
