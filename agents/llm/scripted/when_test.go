package scripted

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// conversation is in its second turn: what came before the last user message is
// history.
const conversation = `{"model":"m","tools":[{"type":"function","function":{"name":"f"}}],"messages":[
	{"role":"system","content":"be kind"},{"role":"developer","content":"be brief"},
	{"role":"user","content":"first"},
	{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},
	{"role":"tool","tool_call_id":"a","content":"old id=1"},
	{"role":"assistant","content":"said"},
	{"role":"user","content":"second"},
	{"role":"assistant","tool_calls":[{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"c","type":"function",` +
	`"function":{"name":"g","arguments":"{}"}}]},
	{"role":"tool","tool_call_id":"b","content":"new id=2"},{"role":"tool","tool_call_id":"c","content":"new id=3"}]}`

// Each condition holds and fails by itself.
func TestConditions(t *testing.T) {
	req, err := parseRequest([]byte(conversation))
	require.NoError(t, err)
	v := newView(req)
	rows := []struct {
		when string
		want bool
	}{
		{"model: m", true}, {"model: n", false},
		{"has_tool: f", true}, {"has_tool: g", false},
		{"has_tools: true", true}, {"has_tools: false", false},
		{`schema: ""`, true}, {"schema: s", false},
		{"system_contains: kind", true}, {"system_contains: [kind, brief]", true}, {"system_contains: rude", false},
		{"user_contains: first", true}, {"user_contains: [first, second]", true}, {"user_contains: said", false},
		{"last_user_contains: second", true}, {"last_user_contains: first", false},
		{"last_contains: id=3", true}, {"last_contains: id=2", false},
		{"tool_contains: [id=2, id=3]", true}, {"tool_contains: old", false},
		{"last_role: tool", true}, {"last_role: user", false},
		{"tool_results: 2", true}, {"tool_results: 3", false},
		{"min_tool_results: 2", true}, {"min_tool_results: 3", false},
		{"max_tool_results: 2", true}, {"max_tool_results: 1", false},
		{"turn: 4", true}, {"turn: 3", false},
		{"model: m, turn: 3", false},
	}
	for _, row := range rows {
		t.Run(row.when, func(t *testing.T) {
			s, err := Load([]byte("rules: [{when: {" + row.when + "}, reply: {content: x}}]"))
			require.NoError(t, err)
			require.Equal(t, row.want, s.rules[0].When.matchesView(v))
		})
	}
}

// Templates take values from the newest place first, and fail when there is none.
func TestTemplates(t *testing.T) {
	req, err := parseRequest([]byte(conversation))
	require.NoError(t, err)
	v := newView(req)
	rows := []struct {
		text, want string
		fails      bool
	}{
		{"{{ .Model }} {{ .Turn }} {{ .Results }} {{ .LastUser }}", "m 4 2 second", false},
		{"{{ .Last }}/{{ .LastTool }}", "new id=3/new id=3", false},
		{`{{ .Extract "id=([0-9])" }}`, "3", false},
		{`{{ .Extract "id=[0-9]" }}`, "id=3", false},
		{`{{ range .ExtractAll "id=([0-9])" }}{{ . }},{{ end }}`, "3,2,1,", false},
		{`{{ .Extract "fir.t" }}`, "first", false},
		{`{{ .Tool 0 }} {{ .ToolOf "g" }}`, "new id=2 new id=3", false},
		{`{{ json "a\"b<" }}`, `"a\"b<"`, false},
		{`{{ .Extract "nowhere" }}`, "", true},
		{`{{ .Extract "(" }}`, "", true},
		{`{{ .Tool 2 }}`, "", true},
		{`{{ .ToolOf "h" }}`, "", true},
		{`{{ printf "%5000000d" 1 }}`, "", true},
	}
	for _, row := range rows {
		t.Run(row.text, func(t *testing.T) {
			c, err := compileText(row.text)
			require.NoError(t, err)
			got, err := c.render(v)
			require.Equal(t, row.fails, err != nil, "%v", err)
			require.Equal(t, row.want, got)
		})
	}
}
