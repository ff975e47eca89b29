package review

import (
	"encoding/json"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/internal/runes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/vedette-dev/vedette/agents/llm"
)

// answer is a judgement. Its zero value rejects.
type answer struct {
	approve bool
	reason  string
	// score is how likely a graded answer takes the call to be right, in hundredths, rounded down.
	score  int
	graded bool
	// unsure marks an approval that is none, because score is too low.
	unsure bool
}

const (
	maxReason     = 300      // bytes of a reason that are kept
	maxReasoning  = 4000     // characters that a reasoning may have
	maxAnswer     = 64 << 10 // bytes of an answer that are looked at
	maxConfidence = 32       // bytes that should_run may be written in
	// maxResponse bounds a model's whole response, in bytes: an answer, and room
	// for what servers add to it, such as the model's reasoning.
	maxResponse = 256 << 10
)

// readJudgement takes the decision out of a response that arrived whole. The second
// value is empty only where the first is a decision.
func (f form) readJudgement(r llm.Response) (answer, Failure) {
	switch {
	case r.FinishReason == llm.CodeContentFilter:
		return answer{}, ContentFilter
	case r.Refusal != "":
		return answer{}, Refusal
	case r.FinishReason == llm.CodeLength:
		return answer{}, Length
	case r.Choices > 1 || !f.isWholeEnd(r.FinishReason):
		return answer{}, BadShape
	}
	content, kind := f.readContent(r)
	if kind != "" {
		return answer{}, kind
	}
	a, kind := f.shape.parseAnswer(content)
	if kind != "" {
		return answer{}, kind
	}
	if a.contradictsItself(f.rejectBelow) {
		return answer{}, Contradiction
	}
	if a.graded && a.approve && a.score < f.rejectBelow {
		a.approve, a.unsure = false, true
	}
	return a, ""
}

// isWholeEnd reports whether an answer ended as one does that is whole. A forced call
// ends with either word, depending on the server.
func (f form) isWholeEnd(reason string) bool {
	return reason == "stop" || reason == "" || reason == "tool_calls" && f.way == llm.ViaTool
}

// readContent is the text that the answer stands in: the content, or the arguments
// of exactly one call of the function that was asked for.
func (f form) readContent(r llm.Response) (string, Failure) {
	switch {
	case f.way != llm.ViaTool && len(r.ToolCalls) > 0:
		return "", BadShape
	case f.way != llm.ViaTool:
		return r.Content, ""
	case len(r.ToolCalls) > 1:
		return "", TwoObjects
	case len(r.ToolCalls) == 1 && strings.TrimSpace(r.Content) != "":
		return "", Prose
	case len(r.ToolCalls) == 1 && r.ToolCalls[0].Name == schemaName:
		return r.ToolCalls[0].Arguments, ""
	case len(r.ToolCalls) == 0 && strings.TrimSpace(r.Content) == "":
		return "", Empty
	}
	return "", BadShape
}

// parseAnswer accepts one JSON object with exactly the shape's fields and only white
// space around it.
func (s shape) parseAnswer(content string) (answer, Failure) {
	text := strings.Trim(content, " \t\r\n")
	switch {
	case text == "":
		return answer{}, Empty
	case len(text) > maxAnswer:
		return answer{}, BadShape
	case text[0] != '{':
		return answer{}, failureOfText(text)
	}
	src := strings.NewReader(text)
	dec := jsontext.NewDecoder(src)
	obj, err := dec.ReadValue()
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return answer{}, Fields
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
	return s.readFields(obj)
}

func failureOfText(text string) Failure {
	switch {
	case jsontext.Value(text).IsValid():
		return BadShape
	case strings.HasPrefix(text, "```"):
		return Fenced
	case strings.Contains(text, "{"):
		return Prose
	}
	return NotJSON
}

// readFields reads by exact name: encoding/json would fold case.
func (s shape) readFields(obj jsontext.Value) (answer, Failure) {
	names := []string{"decision", "reason"}
	if s.graded {
		names = append(names, "should_run")
	}
	if s.reasoning {
		names = append(names, "reasoning")
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(obj, &m) != nil || len(m) != len(names) {
		return answer{}, Fields
	}
	for _, n := range names {
		if _, ok := m[n]; !ok {
			return answer{}, Fields
		}
	}
	return s.readValues(m)
}

// readValues reads the fields of an answer that has them all and no other.
func (s shape) readValues(m map[string]json.RawMessage) (answer, Failure) {
	a := answer{graded: s.graded}
	if s.reasoning { // bounded and not kept: it was for the model itself
		if words, ok := readString(m["reasoning"]); !ok || utf8.RuneCountInString(words) > maxReasoning {
			return answer{}, Value
		}
	}
	if s.graded {
		score, ok := parseHundredths(string(m["should_run"]))
		if !ok {
			return answer{}, Value
		}
		a.score = score
	}
	decision, ok := readString(m["decision"])
	reason, also := readString(m["reason"])
	if !ok || !also || decision != "approve" && decision != "reject" {
		return answer{}, Value
	}
	a.approve, a.reason = decision == "approve", oneLine(reason)
	return a, ""
}

// evenOdds is where a graded answer turns from a rejection into an approval, in hundredths.
const evenOdds = 50

// contradictsItself reports whether the number of a graded answer speaks against its decision:
// models have given how sure they are of their own decision where they were asked of the call.
// An operator's bound below even odds holds for approvals.
func (a answer) contradictsItself(rejectBelow int) bool {
	return a.graded && (a.approve && a.score < min(evenOdds, rejectBelow) || !a.approve && a.score > evenOdds)
}

// parseHundredths reads a number from 0 to 1, digit by digit: what is beyond two
// decimals is dropped, so a score is never above what the model said. Exponents
// are refused.
func parseHundredths(number string) (int, bool) {
	whole, fraction, point := strings.Cut(number, ".")
	if len(number) > maxConfidence || whole != "0" && whole != "1" || point && fraction == "" {
		return 0, false
	}
	if strings.Trim(fraction, "0123456789") != "" || whole == "1" && strings.Trim(fraction, "0") != "" {
		return 0, false
	}
	digits := (fraction + "00")[:2]
	return int(whole[0]-'0')*100 + int(digits[0]-'0')*10 + int(digits[1]-'0'), true
}

// readString returns a JSON string; null, a number or nothing is none.
func readString(raw json.RawMessage) (string, bool) {
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
		if unicode.IsControl(r) || runes.IsInvisible(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, s)
	clean = strings.Join(strings.Fields(clean), " ")
	if len(clean) <= maxReason {
		return clean
	}
	return clean[:runeBoundary(clean, maxReason-len("…"))] + "…"
}

// runeBoundary returns the greatest index up to i that does not split a character.
func runeBoundary(s string, i int) int {
	for i > 0 && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

func (a answer) decisionWord() string {
	if a.approve {
		return "approve"
	}
	return "reject"
}
