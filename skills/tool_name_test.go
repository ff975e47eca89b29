package skills_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills"
)

// Names of other programs' tools become skills' names that a person can read, and come back.
func TestNameTool(t *testing.T) {
	for tool, skill := range map[string]string{
		"Bash":           "tool.b-uash",
		"bash":           "tool.bash",
		"mcp__git__push": "tool.mcp__git__push",
		"get.weather":    "tool.get-dweather",
		"send-mail":      "tool.send-hmail",
		"_private":       "tool.n-n_private",
		"7zip":           "tool.n-n7zip",
		"n-n7zip":        "tool.n-hn7zip",
		"é":              "tool.n-n-xc3-xa9",
		"a b":            "tool.a-x20b",
	} {
		got, ok := skills.NameTool(tool)
		require.True(t, ok, tool)
		require.Equal(t, skill, got)
		require.True(t, skills.ValidName(got), got)
		back, ok := skills.ToolOf(got)
		require.True(t, ok, got)
		require.Equal(t, tool, back)
	}
	for _, tool := range []string{"", strings.Repeat("x", skills.MaxName)} {
		_, ok := skills.NameTool(tool)
		require.False(t, ok)
	}
	for _, skill := range []string{"email.send", "tool.", "tool.-ubash", "tool.a-", "tool.a-q", "tool.a-x6", "tool.a-x61", "tool.a-xzz",
		"tool.n-nabc", "tool._x", "tool.7-u"} {
		_, ok := skills.ToolOf(skill)
		require.False(t, ok, skill)
	}
}

// Two tools never share a skill, and a skill's name is never read as two tools.
func FuzzNameTool(f *testing.F) {
	for _, s := range []string{"Bash", "a-u", "-", ".", "n-n", "\x00", "ü", "tool.x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if skill, ok := skills.NameTool(s); ok {
			require.True(t, skills.ValidName(skill), skill)
			back, ok := skills.ToolOf(skill)
			require.True(t, ok)
			require.Equal(t, s, back)
		}
		if tool, ok := skills.ToolOf(s); ok {
			skill, ok := skills.NameTool(tool)
			require.True(t, ok)
			require.Equal(t, s, skill)
		}
	})
}
