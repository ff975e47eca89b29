package loop

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/internal/textcut"
)

// echoMessages returns messages as the conversation repeats them to the model: calls
// that a server would refuse there are put into a form that it takes. The list
// itself is not changed, and returned where nothing has to be.
func echoMessages(list []llm.Message) []llm.Message {
	out, copied := list, false
	for i, m := range list {
		if !slices.ContainsFunc(m.ToolCalls, isUnfit) {
			continue
		}
		if !copied {
			out, copied = slices.Clone(list), true
		}
		out[i].ToolCalls = echoToolCalls(m.ToolCalls)
	}
	return out
}

// isUnfit reports whether a server would refuse the call in a conversation.
func isUnfit(k llm.ToolCall) bool {
	a := jsontext.Value(k.Arguments)
	return !isToolName(k.Name) || len(a) == 0 || len(a) > maxEcho || a.Kind() != '{' || !a.IsValid()
}

// maxMalformed is how many bytes of arguments that are no JSON object go back to the model.
const maxMalformed = 2_000

// echoToolCalls returns calls as the conversation repeats them to the model. It rewrites
// calls that a server would refuse, which would end the loop. The proposal keeps its own
// bytes.
func echoToolCalls(calls []llm.ToolCall) []llm.ToolCall {
	out := slices.Clone(calls)
	for i := range out {
		k := &out[i]
		if !isToolName(k.Name) {
			k.Name = "unknown_tool"
		}
		switch a := jsontext.Value(k.Arguments); {
		case len(a) == 0:
			k.Arguments = "{}"
		case len(a) > maxEcho:
			k.Arguments = EncodeJSON(map[string]int{"omitted_bytes": len(a)})
		case a.Kind() != '{' || !json.Valid(a):
			k.Arguments = EncodeJSON(map[string]string{"malformed": textcut.Head(k.Arguments, maxMalformed)})
		}
	}
	return out
}

// isToolName reports whether servers take a tool's name.
func isToolName(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}
