package scripted

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// completion is the body of an answer.
type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   usage    `json:"usage"`
}

type choice struct {
	Index        int       `json:"index"`
	Message      spoken    `json:"message"`
	Logprobs     *struct{} `json:"logprobs"`
	FinishReason string    `json:"finish_reason"`
}

type spoken struct {
	Role      string       `json:"role"`
	Content   *string      `json:"content"`
	Refusal   *string      `json:"refusal"`
	ToolCalls []calledTool `json:"tool_calls,omitempty"`
}

type calledTool struct {
	ID       string         `json:"id"`
	Type     string         `json:"type"`
	Function calledFunction `json:"function"`
}

type calledFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// answer finds the rule for a request and plays its reply. It returns the status.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, body []byte, ex *Exchange) int {
	req, err := parse(body)
	if err != nil {
		f := &fault{code: "invalid_request_error", msg: "the request can't be read"}
		_ = errors.As(err, &f) // parse returns nothing else; if it did, its words stay here
		return fail(w, http.StatusBadRequest, f.code, f.msg)
	}
	ex.Model = req.Model
	if len(s.script.models) > 0 && !slices.Contains(s.script.models, req.Model) {
		return fail(w, http.StatusNotFound, "model_not_found", "the script has no such model")
	}
	v := newView(req)
	rule := s.pick(v)
	if rule == nil {
		return fail(w, http.StatusInternalServerError, "no_rule", fmt.Sprintf("no rule matches request %d: %s", ex.Number, v.summary()))
	}
	ex.Rule = rule.Name
	if !hold(r, rule.Reply.Delay, rule.Reply.Hang) {
		return fail(w, http.StatusServiceUnavailable, "server_error", "the server or the client went away")
	}
	for key, value := range rule.Reply.Headers {
		w.Header().Set(key, value)
	}
	status, err := s.play(w, rule, v, ex.Number, len(body))
	if err != nil {
		// The words of a template's error can hold values of the request.
		return fail(w, http.StatusInternalServerError, "template", fmt.Sprintf("a template of rule %q failed on request %d", rule.Name, ex.Number))
	}
	return status
}

// hold waits as long as a reply says. False means that nobody waits any more.
func hold(r *http.Request, delay time.Duration, hang bool) bool {
	if hang {
		<-r.Context().Done()
		return false
	}
	if delay == 0 {
		return true
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

// play renders a reply and sends it.
func (s *Server) play(w http.ResponseWriter, rule *rule, v *view, number, size int) (int, error) {
	reply := &rule.Reply
	if reply.content != nil || reply.Refusal != "" || len(reply.ToolCalls) > 0 {
		msg, err := reply.speak(v, number)
		if err != nil {
			return 0, err
		}
		return send(w, http.StatusOK, completion{
			ID: "chatcmpl-" + strconv.Itoa(number), Object: "chat.completion", Created: s.opts.Now().Unix(), Model: v.Model,
			Choices: []choice{{Message: msg, FinishReason: reply.finish()}}, Usage: reply.usage(msg, size),
		}), nil
	}
	status := max(reply.Status, http.StatusOK)
	if reply.body == nil {
		return fail(w, status, codeFor(status), fmt.Sprintf("scripted status %d", status)), nil
	}
	text, err := reply.body.render(v)
	if err != nil {
		return 0, err
	}
	kind := reply.ContentType
	if kind == "" {
		kind = "application/json"
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // a client that went away is its own affair
	return status, nil
}

// speak renders the message of an answer. A call without an id gets one that is
// unique on this server.
func (r *reply) speak(v *view, number int) (spoken, error) {
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
		args, err3 := tc.render(v)
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

func (r *reply) finish() string {
	switch {
	case r.FinishReason != "":
		return r.FinishReason
	case len(r.ToolCalls) > 0:
		return "tool_calls"
	}
	return "stop"
}

// usage is what the script says, or a token for every four bytes.
func (r *reply) usage(msg spoken, size int) usage {
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

// codeFor is the code that services send with a status.
func codeFor(status int) string {
	switch {
	case status == http.StatusTooManyRequests:
		return "rate_limit_exceeded"
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return "invalid_api_key"
	case status >= 500:
		return "server_error"
	}
	return "invalid_request_error"
}

// fail sends an error in the services' form and returns the status.
func fail(w http.ResponseWriter, status int, code, msg string) int {
	return send(w, status, map[string]any{"error": map[string]any{"message": msg, "type": "scripted", "param": nil, "code": code}})
}

func send(w http.ResponseWriter, status int, v any) int {
	b, err := marshal(v)
	if err != nil {
		http.Error(w, "the scripted server can't write its answer", http.StatusInternalServerError)
		return http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b) // a client that went away is its own affair
	return status
}
