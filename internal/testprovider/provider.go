// Package testprovider is a provider of models for tests: it answers in the formats of OpenAI and Anthropic, streamed and
// not, by the name of a scenario in the newest words of the user ("scenario: block_first"). The paths are those of the
// providers: /v1/chat/completions, /v1/responses, /v1/messages.
package testprovider

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
)

// Part is a text or a call in an answer.
type Part struct {
	Text string
	// ID, Name and Args are a call's.
	ID, Name, Args string
}

// Scenario is what a model answers.
type Scenario struct {
	Name  string
	Parts []Part
	// Incomplete says that the answer ends within its last call, for its length.
	Incomplete bool
	// Fault says that an error comes after the parts, or in place of them where nothing is streamed.
	Fault bool
}

// Tool is the one that calls are of.
const Tool = "run"

// call is a call of the tool with a command.
func call(id, command string) Part {
	args, _ := json.Marshal(map[string]string{"command": command}) // plain data, which always works
	return Part{ID: "call_" + id, Name: Tool, Args: string(args)}
}

// FaultMessage is what the error of a scenario with a Fault says.
const FaultMessage = "the scripted provider is overloaded"

// Scenarios are all of them. Commands say what the proxy shall make of a call: those with "forbidden" are to be blocked,
// "careful" is to be asked about, "slow" to be judged slowly.
func Scenarios() []Scenario {
	text := Part{Text: "I look. "}
	return []Scenario{
		{Name: "text", Parts: []Part{text, {Text: "There is nothing to do."}}},
		{Name: "one", Parts: []Part{text, call("1", "list one")}},
		{Name: "parallel", Parts: []Part{text, call("1", "list one"), call("2", "list two")}},
		{Name: "block_first", Parts: []Part{text, call("1", "forbidden one"), call("2", "list two")}},
		{Name: "block_middle", Parts: []Part{text, call("1", "list one"), call("2", "forbidden two"), call("3", "list three")}},
		{Name: "block_last", Parts: []Part{text, call("1", "list one"), call("2", "forbidden two")}},
		{Name: "block_all", Parts: []Part{text, call("1", "forbidden one"), call("2", "forbidden two")}},
		{Name: "incomplete", Parts: []Part{text, call("1", "list one"), call("2", "list two")}, Incomplete: true},
		{Name: "fault", Parts: []Part{text}, Fault: true},
		{Name: "slow", Parts: []Part{text, call("1", "slow one")}},
		{Name: "ask", Parts: []Part{text, call("1", "careful one")}},
	}
}

var scenarioForm = regexp.MustCompile(`scenario: ([a-z_]+)`)

// Find returns the scenario that a request names last.
func Find(body []byte) (Scenario, bool) {
	found := scenarioForm.FindAllSubmatch(body, -1)
	if len(found) == 0 {
		return Scenario{}, false
	}
	for _, s := range Scenarios() {
		if s.Name == string(found[len(found)-1][1]) {
			return s, true
		}
	}
	return Scenario{}, false
}

// ServeHTTP answers a request of any of the formats.
func ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	s, ok := Find(body)
	if err != nil || !ok {
		http.Error(w, `{"error":{"message":"no scenario is named"}}`, http.StatusBadRequest)
		return
	}
	var q struct{ Stream bool }
	_ = json.Unmarshal(body, &q) // what isn't read isn't streamed
	f := formatOf(r.URL.Path)
	switch {
	case f == nil:
		http.NotFound(w, r)
	case q.Stream:
		w.Header().Set("Content-Type", "text/event-stream")
		for _, piece := range f.stream(s) {
			_, _ = io.WriteString(w, piece)
			w.(http.Flusher).Flush() //nolint:forcetypeassert // servers of net/http have it
		}
	case s.Fault:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, f.fault())
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, f.whole(s))
	}
}

// format writes one wire format.
type format interface {
	stream(s Scenario) []string
	whole(s Scenario) string
	fault() string
}

func formatOf(path string) format {
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return chat{}
	case strings.HasSuffix(path, "/responses"):
		return responses{}
	case strings.HasSuffix(path, "/messages"):
		return messages{}
	}
	return nil
}

// quote is a text as JSON.
func quote(text string) string {
	b, _ := json.Marshal(text) // a text always can be
	return string(b)
}

// pieces cuts a text in up to three.
func pieces(text string) []string {
	if len(text) < 6 {
		return []string{text}
	}
	n := len(text) / 3
	return []string{text[:n], text[n : 2*n], text[2*n:]}
}

// isCut reports whether a part is the one in which the answer ends.
func (s Scenario) isCut(i int) bool { return s.Incomplete && i == len(s.Parts)-1 }

// hasCalls reports whether there is a call.
func (s Scenario) hasCalls() bool {
	for _, p := range s.Parts {
		if p.Name != "" {
			return true
		}
	}
	return false
}

// reason is why the answer ends: one of three words.
func (s Scenario) reason(stop, calls, length string) string {
	switch {
	case s.Incomplete:
		return length
	case s.hasCalls():
		return calls
	}
	return stop
}

// event is an event with its name.
func event(typ, rest string) string {
	return fmt.Sprintf("event: %s\ndata: {\"type\":%q%s}\n\n", typ, typ, rest)
}
