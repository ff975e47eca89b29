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

// decode reads a success. Beside an error, the Response holds the part of the answer
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
func decode(body []byte, ended func() bool) (Response, *Error) {
	a := answer{document: newDocument(body, ended)}
	a.object(a.top)
	a.end()
	a.Content += a.said.String()
	a.Refusal += a.refused.String()
	return a.Response, a.verdict()
}

// verdict is what is wrong with the answer, nil if nothing is.
func (a *answer) verdict() *Error {
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

func (a *answer) top(name string) {
	switch name {
	case "id":
		a.ID, _ = a.text()
	case "model":
		a.Model, _ = a.text()
	case "choices":
		a.array(a.choices)
	case "usage":
		a.object(a.usage)
	case "error":
		a.fault(&a.code)
	default:
		a.skip()
	}
}

func (a *answer) choices(i int) {
	a.Choices = i + 1
	switch {
	case i > 0:
		a.skip()
	case a.next() != '{':
		a.other()
	default:
		a.object(a.choice)
	}
}

func (a *answer) choice(name string) {
	switch name {
	case "index":
		if n, ok := a.number(); ok && n != "0" {
			a.odd = true
		}
	case "finish_reason":
		a.FinishReason, _ = a.text()
	case "message":
		a.object(a.message)
	case "error":
		a.fault(&a.choiceCode)
	default:
		a.skip()
	}
}

func (a *answer) message(name string) {
	switch name {
	case "role":
		a.only(RoleAssistant)
	case "content":
		if a.next() == '[' {
			a.array(func(int) { a.part() })
			return
		}
		a.Content, _ = a.text()
	case "refusal":
		a.Refusal, _ = a.text()
	case "tool_calls":
		a.array(func(int) { a.toolCall() })
	case "function_call":
		if !a.null() {
			a.other()
		}
	default:
		a.skip()
	}
}

// only reads a word that has one value where it stands at all.
func (a *answer) only(word string) {
	if s, ok := a.text(); ok && s != word {
		a.odd = true
	}
}

// part reads one part of a content. A model's reasoning is no answer; a part
// of a type that is not known could be one that changes what the others mean.
func (a *answer) part() {
	if a.next() != '{' {
		a.other()
		return
	}
	var kind string
	var text, refusal words
	a.object(func(name string) {
		switch name {
		case "type":
			kind, _ = a.text()
		case "text":
			text = a.words()
		case "refusal":
			refusal = a.words()
		default:
			a.skip()
		}
	})
	switch {
	case kind == "reasoning" || kind == "thinking":
	case kind == "text" && text.said && refusal.absent():
		a.said.WriteString(text.string)
	case kind == "refusal" && refusal.string != "" && text.absent():
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

func (w words) absent() bool { return !w.said && !w.other }

func (a *answer) words() words {
	if k := a.next(); k != '"' && k != 'n' {
		a.skip()
		return words{other: true}
	}
	s, ok := a.text()
	return words{string: s, said: ok}
}

func (a *answer) toolCall() {
	if a.next() != '{' {
		a.other()
		return
	}
	var call ToolCall
	named := false
	a.object(func(name string) {
		switch name {
		case "id":
			call.ID, _ = a.text()
		case "type":
			a.only("function")
		case "function":
			a.object(func(name string) {
				switch name {
				case "name":
					call.Name, named = a.text()
				case "arguments":
					call.Arguments, _ = a.text()
				default:
					a.skip()
				}
			})
		default:
			a.skip()
		}
	})
	a.odd = a.odd || !named
	a.ToolCalls = append(a.ToolCalls, call)
}

// maxUsage is more tokens than any answer costs. Sums of what a server claims
// must not overflow.
const maxUsage = 1 << 30

func (a *answer) usage(name string) {
	switch name {
	case "prompt_tokens":
		a.Usage.Prompt = a.tokens()
	case "completion_tokens":
		a.Usage.Completion = a.tokens()
	case "total_tokens":
		a.Usage.Total = a.tokens()
	default:
		a.skip()
	}
}

// tokens reads a count, however large or small the number is that a server
// claims: a claim is no reason to lose the answer.
func (a *answer) tokens() int {
	n, _ := a.number()
	if i, err := strconv.Atoi(n); err == nil {
		return min(max(i, 0), maxUsage)
	}
	f, _ := strconv.ParseFloat(n, 64) // beyond its range it is infinite
	return int(min(max(f, 0), maxUsage))
}

// fault reads an error, which is one unless it is null.
func (a *answer) fault(code *string) {
	if a.null() {
		return
	}
	a.failed = true
	*code = a.errorCode("")
}
