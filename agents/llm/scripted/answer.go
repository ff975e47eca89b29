package scripted

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

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
