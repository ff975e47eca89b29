package report

import (
	"fmt"
	"strings"
)

// Suggestion is a line for the configuration.
type Suggestion struct {
	// Key is where it belongs, such as proxy.tools.
	Key string `json:"key"`
	// Line is YAML. Why says what it is for, and what to look at first.
	Line string `json:"line"`
	Why  string `json:"why"`
}

// suggest returns lines that the report speaks for. No line lets a call through by itself: it says what a tool does, and
// the operator knows that, not the report.
func suggest(r *Report) []Suggestion {
	var out []Suggestion
	servers := map[string][]Tool{}
	for _, t := range r.Tools {
		switch server := serverOf(t.Name); {
		case t.Named || t.Name == gone:
		case server != "":
			servers[server] = append(servers[server], t)
		default:
			out = append(out, suggestTool(t.Name, t))
		}
	}
	for _, server := range sortedKeys(servers) {
		for _, t := range servers[server] {
			out = append(out, suggestTool(t.Name, t))
		}
	}
	for _, s := range r.Stops {
		if line, why := explainStop(s); line != "" {
			out = append(out, Suggestion{"permissions", line, why})
		}
	}
	return out
}

// serverOf is the server of a tool of MCP, as clients name those.
func serverOf(tool string) string {
	rest, ok := strings.CutPrefix(tool, "mcp__")
	server, _, found := strings.Cut(rest, "__")
	if !ok || !found {
		return ""
	}
	return server
}

// readWords and writeWords are words in names of tools that read, and of tools that change what can be changed back.
var (
	readWords  = strings.Fields("read get list search find fetch view show query lookup describe status grep glob ls")
	writeWords = strings.Fields("write edit create update add set put append insert replace")
)

// suggestTool is the entry of a tool that the configuration doesn't name.
func suggestTool(name string, t Tool) Suggestion {
	effect, why := "irreversible", "its name doesn't say what it does; say it, or leave the line out"
	words := strings.FieldsFunc(strings.ToLower(splitCase(name)), func(r rune) bool { return r < 'a' || r > 'z' })
	for _, w := range words {
		switch {
		case contains(readWords, w) && effect == "irreversible":
			effect, why = "read", "its name sounds like reading; look whether it only does that"
		case contains(writeWords, w):
			effect, why = "modify", "its name sounds like a change; look whether that can be undone"
		}
	}
	return Suggestion{"proxy.tools", fmt.Sprintf("- {tool: %q, effect: %s, reaches: self}", name, effect),
		fmt.Sprintf("called %d times, and would have been stopped %d times; %s", t.Calls, t.Stops, why)}
}

func contains(list []string, word string) bool {
	for _, w := range list {
		if w == word {
			return true
		}
	}
	return false
}

// splitCase puts a blank before each capital.
func splitCase(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// leastAsked is from how many questions on a rule is worth a thought.
const leastAsked = 5

// explainStop suggests a rule for calls that would be asked about again and again.
func explainStop(s Stop) (line, why string) {
	if s.Outcome != "ask" || s.Calls < leastAsked || s.Tool == "" {
		return "", ""
	}
	return fmt.Sprintf("# a person would be asked %d times about %s (%s)", s.Calls, s.Tool, s.Code),
		"look at the examples with vedette ledger show; a standing approval, or another entry under proxy.tools, spares questions"
}
