package scripted

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// view is a request as conditions and templates see it. Its exported names are
// those that a script may use.
type view struct {
	Model string
	// Turn is the number of the answer in this conversation, from 1.
	Turn int
	// System holds the system and developer messages.
	System string
	// LastUser, Last and LastTool are contents, empty when there is none.
	LastUser string
	Last     string
	LastTool string
	// Results is how many tool results came since the last user message.
	Results int

	request  *chatRequest
	messages []message
	users    []string
	results  []result
	tools    []string
	schema   string
	lastRole string
}

// result is one tool result and the tool that it came from.
type result struct{ tool, text string }

// newView returns a request as conditions and templates see it.
func newView(r *chatRequest) *view {
	v := &view{Model: r.Model, Turn: 1, request: r, messages: r.Messages}
	for _, t := range r.Tools {
		v.tools = append(v.tools, t.Function.Name)
	}
	if f := r.ResponseFormat; f != nil && f.JSONSchema != nil {
		v.schema = f.JSONSchema.Name
	}
	names := map[string]string{} // of the tools, by the ids of their calls
	for _, m := range r.Messages {
		switch m.Role {
		case "system", "developer":
			v.System += m.text + "\n"
		case "user":
			v.users, v.LastUser, v.results = append(v.users, m.text), m.text, nil
		case "assistant":
			v.Turn++
			for _, tc := range m.ToolCalls {
				names[tc.ID] = tc.Function.Name
			}
		case "tool":
			v.LastTool = m.text
			v.results = append(v.results, result{names[*m.ToolCallID], m.text})
		}
		v.Last, v.lastRole = m.text, m.Role
	}
	v.Results = len(v.results)
	return v
}

// Tool returns the i-th tool result since the last user message, from 0.
func (v *view) Tool(i int) (string, error) {
	if i < 0 || i >= len(v.results) {
		return "", errors.New("there is no such tool result")
	}
	return v.results[i].text, nil
}

// ToolOf returns the newest result of a call of the named tool since the last
// user message.
func (v *view) ToolOf(name string) (string, error) {
	for _, r := range slices.Backward(v.results) {
		if r.tool == name {
			return r.text, nil
		}
	}
	return "", errors.New("there is no result of that tool")
}

// listResults returns the texts of the tool results since the last user message.
func (v *view) listResults() []string {
	all := make([]string, 0, len(v.results))
	for _, r := range v.results {
		all = append(all, r.text)
	}
	return all
}

// describeRequest tells requests apart without repeating what they say.
func (v *view) describeRequest() string {
	schema := v.schema
	if schema == "" {
		schema = "none"
	}
	return fmt.Sprintf("model %.64q, %d messages, last role %s, turn %d, %d tool results, tools [%s], schema %s",
		v.Model, len(v.messages), v.lastRole, v.Turn, v.Results, strings.Join(v.tools[:min(len(v.tools), 20)], " "), schema)
}

// Extract returns the first group of the first match of a regular expression. Without a
// group it is the whole match.
func (v *view) Extract(expr string) (string, error) {
	all, err := v.ExtractAll(expr)
	if err == nil && len(all) == 0 {
		err = errors.New("the expression matches nothing in the request")
	}
	if err != nil {
		return "", err
	}
	return all[0], nil
}

// ExtractAll returns every match like Extract, in the order of the search.
func (v *view) ExtractAll(expr string) ([]string, error) {
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, role := range []string{"tool", "user"} {
		for i := len(v.messages) - 1; i >= 0; i-- {
			if v.messages[i].Role != role {
				continue
			}
			for _, m := range re.FindAllStringSubmatch(v.messages[i].text, -1) {
				found = append(found, m[min(1, len(m)-1)])
			}
		}
	}
	return found, nil
}
