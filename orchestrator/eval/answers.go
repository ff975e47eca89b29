package eval

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/vedette-dev/vedette/orchestrator/cases"
)

// Answer is what a model elsewhere said to one request: a whole chat completion,
// or the text alone.
type Answer struct {
	body    []byte
	content string
}

// asCompletion returns the answer as a server would have sent it. A text alone becomes an
// answer without usage: no server counted its tokens.
func (a Answer) asCompletion(request []byte) []byte {
	if a.body != nil {
		return a.body
	}
	var asked struct {
		Model      string         `json:"model"`
		ToolChoice jsontext.Value `json:"tool_choice"`
	}
	_ = json.Unmarshal(request, &asked) // a name that can't be read is not needed
	type message struct {
		Role      string `json:"role"`
		Content   string `json:"content"`
		ToolCalls []any  `json:"tool_calls,omitempty"`
	}
	type choice struct {
		Index        int     `json:"index"`
		Message      message `json:"message"`
		FinishReason string  `json:"finish_reason"`
	}
	said, finish := message{Role: "assistant", Content: a.content}, "stop"
	if name := forcedTool(asked.ToolChoice); name != "" {
		// A model that was made to call a tool says its word as arguments.
		said, finish = message{Role: "assistant", ToolCalls: []any{map[string]any{
			"id": "answer", "type": "function", "function": map[string]string{"name": name, "arguments": a.content},
		}}}, "tool_calls"
	}
	return marshalPlain(struct {
		ID      string   `json:"id"`
		Object  string   `json:"object"`
		Model   string   `json:"model"`
		Choices []choice `json:"choices"`
	}{"answer", "chat.completion", asked.Model, []choice{{0, said, finish}}})
}

// forcedTool names the tool that a request makes the model call; empty where there is
// none.
func forcedTool(choice jsontext.Value) string {
	var tool struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if choice.Kind() != '{' || json.Unmarshal(choice, &tool) != nil {
		return ""
	}
	return tool.Function.Name
}

// ReadAnswers reads answers by key, one JSON object a line:
//
//	{"key":"…","body":{…a chat completion…}}
//	{"key":"…","content":"{\"decision\":\"approve\",\"reason\":\"…\"}"}
//
// Other keys are ignored. An error names the line and none of its values.
func ReadAnswers(r io.Reader) (map[string]Answer, error) {
	out, at := map[string]Answer{}, map[string]int{}
	in := cases.NewReader(r)
	for {
		line, err := in.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		var long *cases.Error
		if errors.As(err, &long) {
			return nil, fmt.Errorf("line %d: longer than %d bytes", in.Line(), cases.MaxLine)
		}
		if err != nil {
			return nil, err
		}
		key, a, msg := readAnswer(line)
		if msg == "" && at[key] > 0 {
			msg = fmt.Sprintf("the key of line %d again; give one answer to each request", at[key])
		}
		if msg != "" {
			return nil, fmt.Errorf("line %d: %s", in.Line(), msg)
		}
		out[key], at[key] = a, in.Line()
	}
}

func readAnswer(line []byte) (string, Answer, string) {
	m, err := cases.ReadMembers(line, "the line", false, "key", "body", "content")
	if err != nil {
		return "", Answer{}, err.Message
	}
	key, _, err := cases.ReadText(m["key"], "key")
	if err != nil {
		return "", Answer{}, err.Message
	}
	content, said, err := cases.ReadText(m["content"], "content")
	if err != nil {
		return "", Answer{}, err.Message
	}
	body := m["body"]
	if body != nil && body.Kind() == 'n' {
		body = nil
	}
	switch {
	case key == "":
		return "", Answer{}, "key is missing; it is the request's own"
	case said == (body != nil):
		return "", Answer{}, "must hold either body, a chat completion, or content, its text"
	case said:
		return key, Answer{content: content}, ""
	case body.Kind() != '{':
		return "", Answer{}, "body must be a chat completion, one JSON object"
	}
	return key, Answer{body: body.Clone()}, ""
}
