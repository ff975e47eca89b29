package scripted

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/internal/plainjson"
)

// reply is what a rule sends: an answer, a failure, or nothing.
type reply struct {
	Content      *string           `yaml:"content"`
	Refusal      string            `yaml:"refusal"`
	ToolCalls    []toolReply       `yaml:"tool_calls"`
	FinishReason string            `yaml:"finish_reason"`
	Usage        *usage            `yaml:"usage"`
	Status       int               `yaml:"status"`
	Body         *string           `yaml:"body"`
	ContentType  string            `yaml:"content_type"`
	Headers      map[string]string `yaml:"headers"`
	Delay        time.Duration     `yaml:"delay"`
	Hang         bool              `yaml:"hang"`
	Fault        Fault             `yaml:"fault"`

	content, refusal, body *text
}

// toolReply is one tool call of a reply.
type toolReply struct {
	ID        string `yaml:"id"`
	Name      string `yaml:"name"`
	Arguments any    `yaml:"arguments"`

	id, name  *text
	arguments any // a *text that is sent as it is, or a tree with *text leaves
}

// usage counts tokens, in a script and on the wire.
type usage struct {
	Prompt     int `yaml:"prompt_tokens" json:"prompt_tokens"`
	Completion int `yaml:"completion_tokens" json:"completion_tokens"`
	Total      int `yaml:"total_tokens" json:"total_tokens"`
}

// checkReply notes as mistakes what contradicts itself: an answer, a failure and silence
// exclude each other.
func (r *reply) checkReply(f *mistakes) {
	answers := r.Content != nil || r.Refusal != "" || len(r.ToolCalls) > 0
	fails := r.Status != 0 || r.Body != nil || r.ContentType != ""
	switch {
	case r.Hang && (answers || fails):
		f.add("reply.hang", "stands beside something to say")
	case answers && fails:
		f.add("reply", "holds an answer (content, refusal, tool_calls) and a failure (status, body, content_type); choose one")
	case r.Fault != "" && (fails || r.Hang):
		f.add("reply.fault", "stands beside a status, a body or hang; it spoils an answer, or comes alone")
	case !answers && !fails && !r.Hang && r.Fault == "":
		f.add("reply", "is empty; give content, tool_calls, status, body, hang or fault")
	case !answers && (r.FinishReason != "" || r.Usage != nil):
		f.add("reply", "has a finish_reason or usage without an answer")
	}
	if _, ok := misdeeds[r.Fault]; !ok && r.Fault != "" {
		f.add("reply.fault", "is not known; use one of %s", joinNames(Faults()))
	}
	if r.Status != 0 && (r.Status < 200 || r.Status > 599) {
		f.add("reply.status", "is not between 200 and 599")
	}
	if r.Status/100 == 2 && r.Body == nil {
		f.add("reply.status", "is a success without a body; use content or tool_calls")
	}
	if r.Delay < 0 || r.Delay > maxDelay {
		f.add("reply.delay", "is not between 0s and %s", maxDelay)
	}
	for i, tc := range r.ToolCalls {
		if tc.Name == "" {
			f.add(fmt.Sprintf("reply.tool_calls[%d].name", i), "missing")
		}
	}
	if !slices.Contains([]string{"", "stop", "length", "tool_calls", "content_filter"}, r.FinishReason) {
		f.add("reply.finish_reason", "is not known; use stop, length, tool_calls or content_filter")
	}
}

// compileTexts turns the texts of a reply into templates.
func (r *reply) compileTexts(f *mistakes) {
	compiled := func(key, s string) *text {
		t, err := compileText(s)
		if err != nil {
			f.add("reply."+key, "%v", err)
		}
		return t
	}
	if r.Content != nil {
		r.content = compiled("content", *r.Content)
	}
	if r.Body != nil {
		r.body = compiled("body", *r.Body)
	}
	r.refusal = compiled("refusal", r.Refusal)
	for i := range r.ToolCalls {
		tc := &r.ToolCalls[i]
		path := fmt.Sprintf("tool_calls[%d]", i)
		tc.id, tc.name = compiled(path+".id", tc.ID), compiled(path+".name", tc.Name)
		nodes := 0
		tree, err := compileTree(tc.Arguments, &nodes, 0)
		if err != nil {
			f.add("reply."+path+".arguments", "%v", err)
		}
		tc.arguments = tree
	}
}

// isAnswer reports whether the reply is an answer of a model and no failure.
func (r *reply) isAnswer() bool { return r.content != nil || r.Refusal != "" || len(r.ToolCalls) > 0 }

// sendRaw sends the status and body of a reply that is no answer.
func (r *reply) sendRaw(t *turn, v *view) (int, error) {
	status := max(r.Status, http.StatusOK)
	if r.body == nil {
		return sendError(t.w, status, newStatusError(status)), nil
	}
	text, err := r.body.render(v)
	if err != nil {
		return 0, err
	}
	kind := r.ContentType
	if kind == "" {
		kind = "application/json"
	}
	t.w.Header().Set("Content-Type", kind)
	t.w.WriteHeader(status)
	_, _ = t.w.Write([]byte(text)) // a client that went away is its own affair
	return status, nil
}

// renderMessage renders the message of an answer. A call without an id gets one that is
// unique on this server.
func (r *reply) renderMessage(v *view, number int) (spoken, error) {
	msg := spoken{Role: "assistant"}
	if r.content != nil {
		text, err := r.content.render(v)
		if err != nil {
			return msg, err
		}
		msg.Content = &text
	}
	if r.Refusal != "" {
		text, err := r.refusal.render(v)
		if err != nil {
			return msg, err
		}
		msg.Refusal = &text
	}
	for i := range r.ToolCalls {
		tc := &r.ToolCalls[i]
		id, err1 := tc.id.render(v)
		name, err2 := tc.name.render(v)
		args, err3 := tc.renderArguments(v)
		if err := errors.Join(err1, err2, err3); err != nil {
			return msg, err
		}
		if id == "" {
			id = fmt.Sprintf("call_%d_%d", number, i)
		}
		msg.ToolCalls = append(msg.ToolCalls, calledTool{ID: id, Type: "function", Function: calledFunction{Name: name, Arguments: args}})
	}
	return msg, nil
}

// renderArguments renders the arguments of a call. A top-level string goes as it is,
// anything else as JSON, nothing as an empty object.
func (tc *toolReply) renderArguments(v *view) (string, error) {
	switch a := tc.arguments.(type) {
	case nil:
		return "{}", nil
	case *text:
		return a.render(v)
	}
	tree, err := renderTree(tc.arguments, v)
	if err != nil {
		return "", err
	}
	b, err := plainjson.Marshal(tree)
	return string(b), err
}

// finishReason returns the script's finish reason, or the one that services send. They
// say stop, too, of a call that the request forced by its name.
func (r *reply) finishReason(v *view) string {
	switch {
	case r.FinishReason != "":
		return r.FinishReason
	case v.request.forcedTool() != "":
		return "stop"
	case len(r.ToolCalls) > 0:
		return "tool_calls"
	}
	return "stop"
}

// countUsage returns the script's usage, or counts a token for every four bytes.
func (r *reply) countUsage(msg spoken, size int) usage {
	if r.Usage != nil {
		u := *r.Usage
		if u.Total == 0 {
			u.Total = u.Prompt + u.Completion
		}
		return u
	}
	said := 0
	for _, s := range []*string{msg.Content, msg.Refusal} {
		if s != nil {
			said += len(*s)
		}
	}
	for _, tc := range msg.ToolCalls {
		said += len(tc.Function.Name) + len(tc.Function.Arguments)
	}
	u := usage{Prompt: (size + 3) / 4, Completion: (said + 3) / 4}
	u.Total = u.Prompt + u.Completion
	return u
}
