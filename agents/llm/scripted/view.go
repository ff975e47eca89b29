package scripted

import (
	"errors"
	"fmt"
	"reflect"
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

type result struct{ tool, text string }

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

// isUnconditional reports whether no condition is set.
func (w *when) isUnconditional() bool { return reflect.ValueOf(*w).IsZero() }

func (w *when) matchesView(v *view) bool {
	return (w.Model == "" || w.Model == v.Model) &&
		(w.HasTool == "" || slices.Contains(v.tools, w.HasTool)) &&
		(w.HasTools == nil || *w.HasTools == (len(v.tools) > 0)) &&
		(w.Schema == nil || *w.Schema == v.schema) &&
		(w.Format == "" || w.Format == v.request.answerFormat()) &&
		(w.ToolChoice == nil || *w.ToolChoice == v.request.toolChoiceWord()) &&
		(w.Stream == nil || *w.Stream == v.request.Stream) &&
		(w.LastRole == "" || w.LastRole == v.lastRole) &&
		(w.ToolResults == nil || *w.ToolResults == v.Results) &&
		(w.MinToolResults == nil || *w.MinToolResults <= v.Results) &&
		(w.MaxToolResults == nil || *w.MaxToolResults >= v.Results) &&
		(w.Turn == nil || *w.Turn == v.Turn) &&
		w.SystemContains.allOccurIn(v.System) && w.LastUserContains.allOccurIn(v.LastUser) && w.LastContains.allOccurIn(v.Last) &&
		w.UserContains.allOccurIn(v.users...) && w.ToolContains.allOccurIn(v.listResults()...)
}

func (v *view) listResults() []string {
	all := make([]string, 0, len(v.results))
	for _, r := range v.results {
		all = append(all, r.text)
	}
	return all
}

// allOccurIn reports whether each text occurs in at least one of the messages.
func (t texts) allOccurIn(messages ...string) bool {
	for _, want := range t {
		if !slices.ContainsFunc(messages, func(m string) bool { return strings.Contains(m, want) }) {
			return false
		}
	}
	return true
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
