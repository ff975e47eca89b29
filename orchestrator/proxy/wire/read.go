package wire

import (
	"bytes"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/stream/span"
)

// Reader gathers a request from its members.
type Reader struct{ Request }

// Begin checks a body and returns its members. A name that stands there in two letter cases is refused: providers
// differ over which one counts.
func (r *Reader) Begin(body []byte) ([]byte, error) {
	body = bytes.TrimSpace(body)
	if !span.IsObject(body) || span.NamesTwice(body) {
		return nil, ErrNoObject
	}
	model, ok := span.Text(span.Member(body, "model"))
	if !ok || len(model) == 0 || len(model) > MaxModel {
		return nil, Invalid("model must name the model")
	}
	r.Model, r.Stream = string(model), string(span.Member(body, "stream")) == "true"
	return body, nil
}

// AddTool takes a tool. One beyond the bound is an error.
func (r *Reader) AddTool(t Tool) error {
	if len(r.Tools) >= MaxTools {
		return Invalid("there are too many tools")
	}
	r.Tools = append(r.Tools, t)
	return nil
}

// Add takes a step of the conversation. Empty turns are none.
func (r *Reader) Add(s Step) error {
	if s.Kind == User && strings.TrimSpace(s.Text) == "" {
		return nil
	}
	if len(r.Steps) >= MaxSteps {
		return Invalid("there are too many messages")
	}
	r.Steps = append(r.Steps, s)
	return nil
}

// Parts returns the texts of a content: a text, or a list of parts of the given types. other reports whether it holds
// parts of other types.
func Parts(content []byte, types ...string) (texts []string, other bool) {
	if text, ok := span.Text(content); ok {
		return []string{string(text)}, false
	}
	for el := span.Elements(content); el.Next(); {
		typ, _ := span.Text(span.Member(el.Value, "type"))
		text, ok := span.Text(span.Member(el.Value, "text"))
		known := false
		for _, t := range types {
			known = known || string(typ) == t
		}
		if ok && known {
			texts = append(texts, string(text))
		} else {
			other = true
		}
	}
	return texts, other
}

// Text returns a member's text, empty where it is none.
func Text(object []byte, name string) string {
	text, _ := span.Text(span.Member(object, name))
	return string(text)
}
