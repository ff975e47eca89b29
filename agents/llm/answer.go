package llm

import (
	"errors"
	"strconv"
	"strings"
)

// answer is a completion while it is read.
type answer struct {
	*document
	Response
	said, refused strings.Builder // content and refusals that came in parts
	failed        bool            // an error stands in it
	code          string          // of that error
	choiceCode    string          // of the first choice's
}

// decodeAnswer reads a success. Beside an error, the Response holds the part of the answer
// that decode could read.
//
// decode passes over names that the API doesn't have, at every level: servers add
// some. It reads these names, which must be of the API's type or null:
//
//   - id, model, choices, usage, and error, which is an error unless it is null;
//   - of the first choice: index, which is 0, finish_reason, message, error;
//   - of its message: role, which is assistant, content, refusal, tool_calls,
//     and function_call, which no request asks for;
//   - of a tool call: id, type, which is function, and its function's name and
//     arguments. Arguments that are an object instead of a string are refused:
//     rewriting them would make them something the model didn't say.
//
// A server may send several choices though the request asks for one. decode takes the
// first and counts the others, unread, in Response.Choices.
func decodeAnswer(body []byte, ended func() bool) (Response, *Error) {
	a := answer{document: newDocument(body, ended)}
	a.readObject(a.readTopField)
	a.checkEnd()
	a.Content += a.said.String()
	a.Refusal += a.refused.String()
	return a.Response, a.checkAnswer()
}

// checkAnswer returns what is wrong with the answer, nil if it can be used.
func (a *answer) checkAnswer() *Error {
	bad := func(code, msg string) *Error { return &Error{Kind: KindBadResponse, Code: code, msg: msg} }
	switch {
	case errors.Is(a.err, errEnded):
		return &Error{Kind: KindConnect, msg: "the answer could not be read in time"}
	case errors.Is(a.err, errDocument):
		return &Error{Kind: KindNotJSON, msg: "the answer is not one valid JSON document"}
	case a.err != nil:
		return bad(CodeShape, "the answer is nested too deeply or has too many names")
	case a.failed:
		if a.code == "" {
			a.code = a.choiceCode
		}
		return bad(a.code, "the server reported an error within a success")
	case a.odd:
		return bad(CodeShape, "the answer has another shape than a chat completion")
	case a.Choices == 0:
		return bad(CodeNoChoices, "the answer has no choices")
	case a.Content != "" || a.Refusal != "" || len(a.ToolCalls) > 0:
		return nil
	case a.FinishReason == CodeLength || a.FinishReason == CodeContentFilter:
		return bad(a.FinishReason, "the answer holds neither content nor a tool call")
	}
	return bad(CodeEmpty, "the answer holds neither content nor a tool call")
}

// readTopField reads one field of the answer.
func (a *answer) readTopField(name string) {
	switch name {
	case "id":
		a.ID, _ = a.readText()
	case "model":
		a.Model, _ = a.readText()
	case "choices":
		a.readArray(a.readChoice)
	case "usage":
		a.readObject(a.readUsageField)
	case "error":
		a.readServerError(&a.code)
	default:
		a.skipValue()
	}
}

// readChoice reads the first choice and counts the others.
func (a *answer) readChoice(i int) {
	a.Choices = i + 1
	switch {
	case i > 0:
		a.skipValue()
	case a.peekKind() != '{':
		a.skipOddValue()
	default:
		a.readObject(a.readChoiceField)
	}
}

// readChoiceField reads one field of the first choice.
func (a *answer) readChoiceField(name string) {
	switch name {
	case "index":
		if n, ok := a.readNumber(); ok && n != "0" {
			a.odd = true
		}
	case "finish_reason":
		a.FinishReason, _ = a.readText()
	case "message":
		a.readObject(a.readMessageField)
	case "error":
		a.readServerError(&a.choiceCode)
	default:
		a.skipValue()
	}
}

// readMessageField reads one field of the first choice's message.
func (a *answer) readMessageField(name string) {
	switch name {
	case "role":
		a.readFixedWord(RoleAssistant)
	case "content":
		if a.peekKind() == '[' {
			a.readArray(func(int) { a.readContentPart() })
			return
		}
		a.Content, _ = a.readText()
	case "refusal":
		a.Refusal, _ = a.readText()
	case "tool_calls":
		a.readArray(func(int) { a.readToolCall() })
	case "function_call":
		if !a.skipNull() {
			a.skipOddValue()
		}
	default:
		a.skipValue()
	}
}

// readFixedWord reads a field that has one possible value, where the field is there at
// all.
func (a *answer) readFixedWord(word string) {
	if s, ok := a.readText(); ok && s != word {
		a.odd = true
	}
}

// readContentPart reads one part of a content. A model's reasoning is no answer; a part
// of a type that is not known could be one that changes what the others mean.
func (a *answer) readContentPart() {
	if a.peekKind() != '{' {
		a.skipOddValue()
		return
	}
	var kind string
	var text, refusal words
	a.readObject(func(name string) {
		switch name {
		case "type":
			kind, _ = a.readText()
		case "text":
			text = a.readWords()
		case "refusal":
			refusal = a.readWords()
		default:
			a.skipValue()
		}
	})
	switch {
	case kind == "reasoning" || kind == "thinking":
	case kind == "text" && text.said && refusal.isAbsent():
		a.said.WriteString(text.string)
	case kind == "refusal" && refusal.string != "" && text.isAbsent():
		a.refused.WriteString(refusal.string)
	default:
		a.odd = true
	}
}

// words are a string of a part, whose type may not be known yet.
type words struct {
	string
	said, other bool
}

// isAbsent reports whether a part doesn't have the field.
func (w words) isAbsent() bool { return !w.said && !w.other }

// readWords reads a string, and notes a value of another type instead of refusing it.
func (a *answer) readWords() words {
	if k := a.peekKind(); k != '"' && k != 'n' {
		a.skipValue()
		return words{other: true}
	}
	s, ok := a.readText()
	return words{string: s, said: ok}
}

// readToolCall reads one tool call of the message.
func (a *answer) readToolCall() {
	if a.peekKind() != '{' {
		a.skipOddValue()
		return
	}
	var call ToolCall
	named := false
	a.readObject(func(name string) {
		switch name {
		case "id":
			call.ID, _ = a.readText()
		case "type":
			a.readFixedWord("function")
		case "function":
			a.readObject(func(name string) {
				switch name {
				case "name":
					call.Name, named = a.readText()
				case "arguments":
					call.Arguments, _ = a.readText()
				default:
					a.skipValue()
				}
			})
		default:
			a.skipValue()
		}
	})
	a.odd = a.odd || !named
	a.ToolCalls = append(a.ToolCalls, call)
}

// maxUsage is more tokens than any answer costs. Sums of what a server claims
// must not overflow.
const maxUsage = 1 << 30

// readUsageField reads one count of the usage.
func (a *answer) readUsageField(name string) {
	switch name {
	case "prompt_tokens":
		a.Usage.Prompt = a.readTokens()
	case "completion_tokens":
		a.Usage.Completion = a.readTokens()
	case "total_tokens":
		a.Usage.Total = a.readTokens()
	default:
		a.skipValue()
	}
}

// readTokens reads a count, however large or small a number the server claims. A claim is
// no reason to lose the answer.
func (a *answer) readTokens() int {
	n, _ := a.readNumber()
	if i, err := strconv.Atoi(n); err == nil {
		return min(max(i, 0), maxUsage)
	}
	f, _ := strconv.ParseFloat(n, 64) // beyond its range it is infinite
	return int(min(max(f, 0), maxUsage))
}

// readServerError reads the error field, which is an error unless it is null.
func (a *answer) readServerError(code *string) {
	if a.skipNull() {
		return
	}
	a.failed = true
	*code = a.readErrorCode("")
}
