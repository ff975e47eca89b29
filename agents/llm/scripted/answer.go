package scripted

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/vedette-dev/vedette/internal/plainjson"
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

// answerRequest finds the rule for a request and plays its reply, or the fault that was
// asked for. It returns the status, 0 where the client was told none.
func (s *Server) answerRequest(t *turn, ex *Exchange) int {
	req, err := parseRequest(t.body)
	if err != nil {
		e := &badRequest{msg: "the request can't be read"}
		_ = errors.As(err, &e) // parse returns nothing else; if it did, its words stay here
		return sendError(t.w, http.StatusBadRequest, apiError{Type: typeRequest, Code: e.code, Param: e.param, Message: e.msg})
	}
	ex.Model = req.Model
	asked := s.noteRequest(t, req)
	if len(s.script.models) > 0 && !slices.Contains(s.script.models, req.Model) {
		return sendError(t.w, http.StatusNotFound, unknownModel)
	}
	f := Fault("")
	if t.r.URL.Path != redirected {
		f = s.takeDueFault(asked)
	}
	if m := misdeeds[f]; m.instead != nil {
		ex.Fault = f
		return m.instead(t)
	}
	v := newView(req)
	rule := s.pickRule(v)
	if rule == nil {
		return sendError(t.w, http.StatusInternalServerError,
			apiError{Type: "server_error", Code: "no_rule", Message: fmt.Sprintf("no rule matches request %d: %s", ex.Number, v.describeRequest())})
	}
	ex.Rule = rule.Name
	if !awaitDelay(t.r, rule.Reply.Delay, rule.Reply.Hang) {
		return sendError(t.w, http.StatusServiceUnavailable, apiError{Type: "server_error", Message: "the server or the client went away"})
	}
	for key, value := range rule.Reply.Headers {
		t.w.Header().Set(key, value)
	}
	if f == "" {
		f = rule.Reply.Fault
	}
	ex.Fault = f
	status, err := s.playReply(t, rule, v, f)
	if err != nil {
		// The words of a template's error can hold values of the request.
		said := fmt.Sprintf("a template of rule %q failed on request %d", rule.Name, ex.Number)
		return sendError(t.w, http.StatusInternalServerError, apiError{Type: "server_error", Code: "template", Message: said})
	}
	return status
}

// awaitDelay waits as long as a reply says. It reports false when the client has gone.
func awaitDelay(r *http.Request, delay time.Duration, hang bool) bool {
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

// playReply renders a reply and sends it, with a fault if there is one.
func (s *Server) playReply(t *turn, rule *rule, v *view, f Fault) (int, error) {
	reply, m := &rule.Reply, misdeeds[f]
	switch {
	case m.streams && !v.request.Stream:
		said := "the fault " + string(f) + " is for streams, and the request asked for none"
		return sendError(t.w, http.StatusInternalServerError, apiError{Type: "server_error", Code: "fault", Message: said}), nil
	case m.instead != nil:
		return m.instead(t), nil
	case f == "" && !reply.isAnswer():
		return reply.sendRaw(t, v)
	}
	msg, err := reply.renderMessage(v, t.number)
	if err != nil {
		return 0, err
	}
	c := completion{
		ID: "chatcmpl-" + strconv.Itoa(t.number), Object: "chat.completion", Created: s.opts.Now().Unix(), Model: v.Model,
		Choices: []choice{{Message: msg, FinishReason: reply.finishReason(v)}}, Usage: reply.countUsage(msg, len(t.body)),
	}
	if m.spoil != nil {
		m.spoil(&c)
	}
	a, err := c.encodeAnswer(v.request)
	if err != nil {
		return 0, err
	}
	if m.send != nil {
		return m.send(t, a), nil
	}
	return t.sendAnswer(a), nil
}

// encodeAnswer writes an answer down as its request asked for it.
func (c *completion) encodeAnswer(r *chatRequest) (wireAnswer, error) {
	if r.Stream {
		parts, err := c.encodeEvents(r.StreamOptions != nil && r.StreamOptions.IncludeUsage)
		return wireAnswer{eventStream, parts}, err
	}
	b, err := plainjson.Marshal(c)
	return wireAnswer{"application/json", [][]byte{b}}, err
}

// isAnswer reports whether a model says something.
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

// finishReason is what the script says. The services say stop, too, of a call that
// the request forced by its name.
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

// countUsage is what the script says, or a token for every four bytes.
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

// apiError is the error object of the services. Empty Type, Param and Code are
// null.
type apiError struct{ Message, Type, Param, Code string }

// MarshalJSON writes the four fields in the services' order.
func (e apiError) MarshalJSON() ([]byte, error) {
	orNull := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	return plainjson.Marshal(struct {
		Message string  `json:"message"`
		Type    *string `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	}{e.Message, orNull(e.Type), orNull(e.Param), orNull(e.Code)})
}

// typeRequest is the type of errors that are the client's.
const typeRequest = "invalid_request_error"

var unknownModel = apiError{
	Type: typeRequest, Code: "model_not_found",
	Message: "the model does not exist or you do not have access to it: the script has no such model",
}

// newStatusError is the error that services send with a status.
func newStatusError(status int) apiError {
	e := apiError{Type: typeRequest, Message: fmt.Sprintf("scripted status %d", status)}
	switch {
	case status == http.StatusTooManyRequests:
		e.Type, e.Code = "requests", "rate_limit_exceeded"
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		e.Code = "invalid_api_key"
	case status >= 500:
		e.Type = "server_error"
	}
	return e
}

// sendError sends an error in the services' form and returns the status.
func sendError(w http.ResponseWriter, status int, e apiError) int {
	return sendJSON(w, status, map[string]any{"error": e})
}

func sendJSON(w http.ResponseWriter, status int, v any) int {
	b, err := plainjson.Marshal(v)
	if err != nil {
		http.Error(w, "the scripted server can't write its answer", http.StatusInternalServerError)
		return http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b) // a client that went away is its own affair
	return status
}
