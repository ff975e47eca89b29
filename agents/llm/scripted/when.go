package scripted

import (
	"reflect"
	"slices"
	"strings"
)

// when is what a request must be like for a rule. A zero field asks for nothing.
type when struct {
	Model            string  `yaml:"model"`
	HasTool          string  `yaml:"has_tool"`
	HasTools         *bool   `yaml:"has_tools"`
	Schema           *string `yaml:"schema"`
	Format           string  `yaml:"format"`
	ToolChoice       *string `yaml:"tool_choice"`
	Stream           *bool   `yaml:"stream"`
	SystemContains   texts   `yaml:"system_contains"`
	UserContains     texts   `yaml:"user_contains"`
	LastUserContains texts   `yaml:"last_user_contains"`
	LastContains     texts   `yaml:"last_contains"`
	ToolContains     texts   `yaml:"tool_contains"`
	LastRole         string  `yaml:"last_role"`
	ToolResults      *int    `yaml:"tool_results"`
	MinToolResults   *int    `yaml:"min_tool_results"`
	MaxToolResults   *int    `yaml:"max_tool_results"`
	Turn             *int    `yaml:"turn"`
}

// texts is one text or a list of them.
type texts []string

// UnmarshalYAML reads a string or a list of strings.
func (t *texts) UnmarshalYAML(unmarshal func(any) error) error {
	var one string
	if err := unmarshal(&one); err == nil {
		*t = texts{one}
		return nil
	}
	return unmarshal((*[]string)(t))
}

// checkConditions notes as mistakes conditions that no request can meet.
func (w *when) checkConditions(f *mistakes) {
	if !slices.Contains([]string{"", "system", "developer", "user", "assistant", "tool"}, w.LastRole) {
		f.add("when.last_role", "is not a role; use system, developer, user, assistant or tool")
	}
	if !slices.Contains([]string{"", formatText, formatObject, formatSchema}, w.Format) {
		f.add("when.format", "is not known; use text, json_object or json_schema")
	}
	counts := map[string]*int{"tool_results": w.ToolResults, "min_tool_results": w.MinToolResults, "max_tool_results": w.MaxToolResults}
	for key, n := range counts {
		if n != nil && *n < 0 {
			f.add("when."+key, "is negative")
		}
	}
	if w.MinToolResults != nil && w.MaxToolResults != nil && *w.MinToolResults > *w.MaxToolResults {
		f.add("when.min_tool_results", "is greater than max_tool_results, so the rule can't match")
	}
	if w.Turn != nil && *w.Turn < 1 {
		f.add("when.turn", "is counted from 1")
	}
	if w.HasTool != "" && w.HasTools != nil && !*w.HasTools {
		f.add("when.has_tools", "is false beside has_tool, so the rule can't match")
	}
}

// isUnconditional reports whether no condition is set.
func (w *when) isUnconditional() bool { return reflect.ValueOf(*w).IsZero() }

// matchesView reports whether a request meets all conditions.
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

// allOccurIn reports whether each text occurs in at least one of the messages.
func (t texts) allOccurIn(messages ...string) bool {
	for _, want := range t {
		if !slices.ContainsFunc(messages, func(m string) bool { return strings.Contains(m, want) }) {
			return false
		}
	}
	return true
}
