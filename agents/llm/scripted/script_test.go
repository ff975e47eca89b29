package scripted_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm/scripted"
)

// A script that could not do what it says is refused, with the place.
func TestLoadRefuses(t *testing.T) {
	rows := []struct{ name, script, want string }{
		{"nothing", "", "rules: missing"},
		{"no rules", "rules: []", "rules: missing"},
		{"not YAML", "rules: [", "script: "},
		{"two documents", anything + "\n---\n" + anything, "more than one document"},
		{"unknown key", "rulez: []", "rulez"},
		{"unknown condition", "rules: [{when: {modle: x}, reply: {content: x}}]", "modle"},
		{"unknown reply", "rules: [{reply: {contents: x}}]", "contents"},
		{"unknown key of a call", "rules: [{reply: {tool_calls: [{name: f, args: {}}]}}]", "args"},
		{"duplicate key", "rules: [{reply: {content: x, content: y}}]", "content"},
		{"never reached", "rules: [{reply: {content: x}}, {reply: {content: y}}]", "rules[0].when: matches every request"},
		{"times", "rules: [{times: -1, reply: {content: x}}]", "rules[0].times"},
		{"empty reply", "rules: [{when: {model: m}}]", "rules[0].reply: is empty"},
		{"answer and failure", "rules: [{reply: {content: x, status: 500}}]", "rules[0].reply: holds an answer"},
		{"hang and answer", "rules: [{reply: {content: x, hang: true}}]", "rules[0].reply.hang"},
		{"status", "rules: [{reply: {status: 99}}]", "rules[0].reply.status"},
		{"success without a body", "rules: [{reply: {status: 200}}]", "success without a body"},
		{"delay", "rules: [{reply: {content: x, delay: 1h}}]", "rules[0].reply.delay"},
		{"finish reason", "rules: [{reply: {content: x, finish_reason: done}}]", "rules[0].reply.finish_reason"},
		{"usage of a failure", "rules: [{reply: {status: 500, usage: {total_tokens: 1}}}]", "without an answer"},
		{"call without a name", "rules: [{reply: {tool_calls: [{arguments: {}}]}}]", "rules[0].reply.tool_calls[0].name"},
		{"template", "rules: [{reply: {content: '{{ .Last'}}]", "rules[0].reply.content"},
		{"template in arguments", "rules: [{reply: {tool_calls: [{name: f, arguments: {a: ['{{ nope }}']}}]}}]", "tool_calls[0].arguments"},
		{"number that JSON has not", "rules: [{reply: {tool_calls: [{name: f, arguments: {a: .inf}}]}}]", "JSON has not"},
		{"role", "rules: [{when: {last_role: bot}, reply: {content: x}}]", "when.last_role"},
		{"negative count", "rules: [{when: {tool_results: -1}, reply: {content: x}}]", "when.tool_results"},
		{"min over max", "rules: [{when: {min_tool_results: 2, max_tool_results: 1}, reply: {content: x}}]", "can't match"},
		{"turn", "rules: [{when: {turn: 0}, reply: {content: x}}]", "when.turn"},
		{"tool without tools", "rules: [{when: {has_tool: t, has_tools: false}, reply: {content: x}}]", "can't match"},
		{"model that is not there", "{models: [a], rules: [{when: {model: b}, reply: {content: x}}]}", "when.model"},
		{"too large", "# " + strings.Repeat("x", scripted.MaxScript), "larger than"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			s, err := scripted.Load([]byte(row.script))
			require.ErrorContains(t, err, row.want)
			require.Nil(t, s)
		})
	}
}

// All faults of a well-formed script are reported at once.
func TestLoadReportsAll(t *testing.T) {
	_, err := scripted.Load([]byte("rules: [{times: -1, reply: {status: 1}}, {when: {turn: -3}, reply: {content: '{{'}}]"))
	var joined interface{ Unwrap() []error }
	require.ErrorAs(t, err, &joined)
	require.Len(t, joined.Unwrap(), 4, "%v", err)
}

// Aliases that unfold to more than a script may hold are refused quickly.
func TestLoadAliasBomb(t *testing.T) {
	var b strings.Builder
	b.WriteString("rules:\n  - reply:\n      tool_calls:\n        - name: f\n          arguments:\n            a: &a [x, x, x, x, x, x, " +
		"x, x, x, x]\n")
	for c := 'b'; c <= 'i'; c++ {
		p := string(c - 1)
		b.WriteString("            " + string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+p+", ", 9) + "*" + p + "]\n")
	}
	_, err := scripted.Load([]byte(b.String()))
	require.ErrorContains(t, err, "too many values")
}

// Load neither panics nor returns both a script and an error.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(team))
	f.Add([]byte(anything))
	f.Add([]byte("rules: [{when: {user_contains: [a, b]}, times: 2, reply: {delay: 1s, content: '{{ .Last }}'}}]"))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("rules: [{reply: {tool_calls: [{name: f, arguments: {a: 1, b: [null]}}]}}]\n---\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := scripted.Load(src)
		if (s == nil) == (err == nil) {
			t.Fatalf("script %v, error %v", s, err)
		}
	})
}
