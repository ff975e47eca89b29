package assistants

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	strictjson "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/orchestrator/threads"
)

// Bounds of a request.
const (
	maxMessages = 2000
	maxTurns    = 200       // messages of a client that are read, as the orchestrator bounds them
	maxForeign  = 192 << 10 // bytes of them
)

// completion is a request as this package reads it.
type completion struct {
	Model    string
	Messages []message
	Stream   bool
	Usage    bool // a stream ends with what was spent
	User     string
}

// message is one message of a request.
type message struct {
	role, text string
}

// refused are the fields that ask for what an orchestrated turn doesn't give.
var refused = []string{"tools", "functions", "function_call", "audio", "prediction", "web_search_options", "top_logprobs", "logit_bias"}

// readCompletion reads the body of a request.
func readCompletion(r *http.Request) (completion, *failure) {
	given := r.Header.Get("Content-Type")
	if kind, _, err := mime.ParseMediaType(given); given != "" && (err != nil || kind != "application/json") {
		return completion{}, &failure{Status: http.StatusUnsupportedMediaType, Type: typeInvalid, Code: "unsupported_media_type",
			Message: "the Content-Type must be application/json"}
	}
	b, err := io.ReadAll(r.Body) // within the guard's bound: server.limits.body
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return completion{}, &failure{Status: http.StatusRequestEntityTooLarge, Type: typeInvalid, Code: "too_large",
			Message: "the body is too large; send fewer messages: what was said in the conversation is kept here"}
	case err != nil:
		return completion{}, invalid("", "bad_request", "the body can't be read to its end")
	case !utf8.Valid(b):
		return completion{}, invalid("", "bad_request", "the body is no UTF-8")
	}
	return parseCompletion(b)
}

// parseCompletion reads a request. Names of fields are taken as they are written, and none twice, on any
// level: a program before this one may have looked at the first of two, or at "role" and not at "Role".
func parseCompletion(b []byte) (completion, *failure) {
	var q completion
	var f map[string]json.RawMessage
	switch err := strictjson.Unmarshal(b, &f); {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return q, invalid("", "bad_request", "the body has a key twice")
	case err != nil || f == nil:
		return q, invalid("", "bad_request", "the body is no JSON object")
	}
	for name, v := range f {
		if isNull(v) {
			delete(f, name)
		}
	}
	if no := checkRefused(f); no != nil {
		return q, no
	}
	var options struct {
		IncludeUsage bool `json:"include_usage"`
	}
	for _, field := range []struct {
		name string
		into any
		want string
	}{{"model", &q.Model, "a text"}, {"stream", &q.Stream, "true or false"}, {"user", &q.User, "a text"},
		{"stream_options", &options, "an object"}} {
		if raw, has := f[field.name]; has && json.Unmarshal(raw, field.into) != nil {
			return q, invalid(field.name, "invalid_type", field.name+" must be "+field.want)
		}
	}
	if q.Model == "" {
		return q, invalid("model", "missing", "model is missing; GET /assistants/v1/models lists the assistants")
	}
	q.Usage = options.IncludeUsage
	return q, q.readMessages(f["messages"])
}

// isNull reports whether a value is null.
func isNull(v json.RawMessage) bool { return string(bytes.TrimSpace(v)) == "null" }

// checkRefused refuses what an orchestrated turn doesn't give, so that no client takes it for given.
func checkRefused(f map[string]json.RawMessage) *failure {
	for _, name := range refused {
		v, has := f[name]
		if empty := string(bytes.TrimSpace(v)); has && empty != "[]" && empty != "{}" && empty != "0" {
			return invalid(name, "unsupported", name+" isn't supported: an assistant has the skills that its server configures; leave it out")
		}
	}
	for _, one := range []struct {
		name, hint string
		ok         []string
	}{
		{"n", "there is one answer", []string{"1"}},
		{"logprobs", "there are none", []string{"false"}},
		{"modalities", "answers are text", []string{`["text"]`, "[]"}},
		{"tool_choice", "the client has no tools here", []string{`"none"`, `"auto"`}},
	} {
		var b bytes.Buffer
		if v, has := f[one.name]; has && (json.Compact(&b, v) != nil || !slices.Contains(one.ok, b.String())) {
			return invalid(one.name, "unsupported", one.name+" isn't supported beyond "+one.ok[0]+": "+one.hint)
		}
	}
	var format struct {
		Type string `json:"type"`
	}
	if v, has := f["response_format"]; has && (strictjson.Unmarshal(v, &format) != nil || format.Type != "text") {
		return invalid("response_format", "unsupported", "response_format isn't supported: answers are text")
	}
	return nil
}

// readMessages reads the messages. The last must be the user's.
func (q *completion) readMessages(raw json.RawMessage) *failure {
	var list []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if raw == nil || strictjson.Unmarshal(raw, &list) != nil || len(list) == 0 {
		return invalid("messages", "missing", "messages must be a list of messages that ends with the user's")
	}
	if len(list) > maxMessages {
		return invalid("messages", "too_many", "there are too many messages; send the newest: what was said in the conversation is kept here")
	}
	for _, m := range list {
		if !slices.Contains([]string{"system", "developer", "user", "assistant", "tool", "function"}, m.Role) {
			return invalid("messages", "unsupported", "a message's role must be system, developer, user, assistant, tool or function")
		}
		text, no := readContent(m.Content)
		if no != nil {
			return no
		}
		q.Messages = append(q.Messages, message{m.Role, text})
	}
	if last := q.Messages[len(q.Messages)-1]; last.role != "user" || strings.TrimSpace(last.text) == "" {
		return invalid("messages", "no_request", "the last message must be the user's, and hold text: it is the request")
	}
	return nil
}

// readContent reads the text of a message: a text, or a list of parts that are text.
func readContent(raw json.RawMessage) (string, *failure) {
	if raw == nil || isNull(raw) {
		return "", nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var parts []struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	}
	if strictjson.Unmarshal(raw, &parts) != nil {
		return "", invalid("messages", "invalid_type", "a message's content must be a text, or a list of parts with text")
	}
	var list []string
	for _, p := range parts {
		if p.Type != "text" && p.Type != "refusal" {
			return "", invalid("messages", "unsupported", "a message may hold text alone: no image, no audio, no file")
		}
		list = append(list, p.Text+p.Refusal)
	}
	return strings.Join(list, "\n"), nil
}

// request is the last message.
func (q *completion) request() string { return q.Messages[len(q.Messages)-1].text }

// listForeign lists the messages before the request that were not said in the conversation, the newest where
// they are too many.
func (q *completion) listForeign(known func(threads.Said) bool) (list []message) {
	size := 0
	for _, m := range slices.Backward(q.Messages[:len(q.Messages)-1]) {
		if strings.TrimSpace(m.text) == "" || known(threads.Said{Role: m.role, Text: m.text}) || slices.Contains(list, m) {
			continue
		}
		if size += len(m.text) + len(clientSays); size > maxForeign || len(list) == maxTurns {
			break
		}
		list = append(list, m)
	}
	slices.Reverse(list)
	return list
}

// clientSays begins what a client says in a role that no person has.
const clientSays = "[The client's program says, as developer:]\n"

// tellForeign is messages of a client as the orchestrator takes them.
func tellForeign(list []message) (out []orchestrator.EarlierMessage) {
	for _, m := range list {
		switch m.role {
		case "user":
			out = append(out, orchestrator.EarlierMessage{Role: orchestrator.MessageOfUser, Text: m.text})
		case "assistant":
			out = append(out, orchestrator.EarlierMessage{Role: orchestrator.MessageOfAssistant, Text: m.text})
		default:
			out = append(out, orchestrator.EarlierMessage{Role: orchestrator.MessageOfUser,
				Text: "[The client's program says, as " + m.role + ":]\n" + m.text})
		}
	}
	return out
}
