package loop

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/vedette-dev/vedette/agents/llm"
)

// Whatever a model sends, what goes back to it is a call that servers take, under an id
// that no call had before.
func FuzzEcho(f *testing.F) {
	for _, s := range []string{
		`{"skill":"a.b","arguments":{"x":1,"x":2}}`, `{"skill":"a.b"}`, `[]`, ``, `{`, `null`, ` {}`, "use_skill", "a b",
		"{\"skill\":\"a.b\",\"arguments\":{\"\xff\":1}}", `{"skill":"a","arguments":{}}x`,
		`{"skill":"a","arguments":` + strings.Repeat("[", 20_000),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		heard, _ := HearCalls([]llm.ToolCall{{ID: raw, Name: raw, Arguments: raw}}, []llm.Message{{ToolCalls: []llm.ToolCall{{ID: raw}}}})
		k := echoToolCalls(heard)[0]
		if !isToolName(k.Name) || k.ID == "" || k.ID == raw || !json.Valid([]byte(k.Arguments)) || k.Arguments[0] != '{' &&
			strings.TrimSpace(k.Arguments)[0] != '{' {
			t.Fatalf("the echo is no call: %+v", k)
		}
	})
}
