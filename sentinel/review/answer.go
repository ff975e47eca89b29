package review

import (
	"encoding/json"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/vedette-dev/vedette/agents/llm"
)

// answer is a judgement. Its zero value rejects.
type answer struct {
	approve bool
	reason  string
}

const (
	maxReason = 300      // bytes of a reason that are kept
	maxAnswer = 64 << 10 // bytes of an answer that are looked at
)

// judgement takes the decision out of a response that arrived whole. The second
// value is empty only where the first is a decision.
func judgement(r llm.Response) (answer, Failure) {
	switch {
	case r.FinishReason == llm.CodeContentFilter:
		return answer{}, ContentFilter
	case r.Refusal != "":
		return answer{}, Refusal
	case r.FinishReason == llm.CodeLength:
		return answer{}, Length
	case r.FinishReason != "stop" && r.FinishReason != "", len(r.ToolCalls) > 0, r.Choices > 1:
		return answer{}, BadShape
	}
	return parse(r.Content)
}

// parse accepts one JSON object with exactly the fields decision and reason and
// only white space around it.
func parse(content string) (answer, Failure) {
	text := strings.Trim(content, " \t\r\n")
	switch {
	case text == "":
		return answer{}, Empty
	case len(text) > maxAnswer:
		return answer{}, BadShape
	case text[0] != '{':
		return answer{}, noObject(text)
	}
	src := strings.NewReader(text)
	dec := jsontext.NewDecoder(src)
	obj, err := dec.ReadValue()
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return answer{}, BadShape
	}
	if err != nil {
		return answer{}, NotJSON
	}
	if rest := strings.TrimLeft(text[dec.InputOffset():], " \t\r\n"); rest != "" {
		if rest[0] == '{' {
			return answer{}, TwoObjects
		}
		return answer{}, Prose
	}
	return fields(obj)
}

func noObject(text string) Failure {
	switch {
	case jsontext.Value(text).IsValid():
		return BadShape
	case strings.Contains(text, "{"):
		return Prose
	}
	return NotJSON
}

// fields reads by exact name: encoding/json would fold case.
func fields(obj jsontext.Value) (answer, Failure) {
	var m map[string]json.RawMessage
	if json.Unmarshal(obj, &m) != nil || len(m) != 2 {
		return answer{}, BadShape
	}
	decision, ok := text(m["decision"])
	reason, also := text(m["reason"])
	if !ok || !also {
		return answer{}, BadShape
	}
	switch decision {
	case "approve":
		return answer{approve: true, reason: oneLine(reason)}, ""
	case "reject":
		return answer{reason: oneLine(reason)}, ""
	}
	return answer{}, BadShape
}

// text returns a JSON string; null, a number or nothing is none.
func text(raw json.RawMessage) (string, bool) {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

// oneLine makes a model's text safe to stand on one line: white space, control
// and formatting characters collapse into single spaces.
func oneLine(s string) string {
	if len(s) > 8*maxReason {
		s = s[:8*maxReason]
	}
	clean := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, s)
	clean = strings.Join(strings.Fields(clean), " ")
	if len(clean) <= maxReason {
		return clean
	}
	return clean[:boundary(clean, maxReason-len("…"))] + "…"
}

// boundary returns the greatest index up to i that does not split a character.
func boundary(s string, i int) int {
	for i > 0 && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}
