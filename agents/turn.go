package agents

import (
	"context"
	"errors"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/otp"
)

// ask calls the model. After the budget is spent it is asked once without
// tools, so that it can report what it has.
func (w *worker) ask(c *otp.Context) {
	w.stopPrejudging(c)
	if w.rounds++; w.rounds > 2*w.a.o.Calls+6 || w.room.Spent() {
		w.last = true
	}
	for _, a := range w.early { // to calls for help that were not made again
		w.update(Update{a.ID, a.Text})
	}
	w.early = nil
	for _, u := range w.updates {
		w.say(llm.Message{Role: llm.RoleUser, Content: encode(map[string]string{"update_from_orchestrator": w.room.Fit(u.Text)})})
		w.note(Entry{Kind: "update", Text: u.Text})
		w.took(u.ID)
	}
	w.updates = nil
	r := llm.Request{Messages: append([]llm.Message{w.system()}, w.messages...)}
	if !w.last {
		r.Tools = tools(w.skills)
	}
	w.publish("", "")
	model := w.a.o.Model
	w.start(c, func(ctx context.Context) (any, error) { return model.Chat(ctx, r) })
}

// start runs a task without a timeout of its own: the agent's clock ends it.
func (w *worker) start(c *otp.Context, fn func(context.Context) (any, error)) {
	w.task = c.Async(0, fn)
}

// ended is told how the model call or the skill call ended.
func (w *worker) ended(c *otp.Context, m otp.TaskResult) {
	if w.saving {
		w.savedRound(c, m)
		return
	}
	switch v := m.Value.(type) {
	case llm.Response:
		w.said(c, v)
		return
	case invoked:
		w.invoked(c, v)
		return
	}
	var e *llm.Error
	switch {
	case w.current != "": // the desk itself broke
		w.invoked(c, invoked{err: m.Err})
	case errors.As(m.Err, &e) && e.Kind == llm.KindBadResponse && e.Code == llm.CodeEmpty:
		w.empty(c)
	case errors.As(m.Err, &e) && e.Kind == llm.KindBudget && e.Code == llm.CodeOwnBudget && !w.last:
		w.last = true // one question is left to it, without tools
		w.ask(c)
	default:
		w.finish(c, Failed, "", "the model could not be asked: "+modelFault(m.Err))
	}
}

// modelFault names a model's failure without its text, which may quote what
// was sent.
func modelFault(err error) string {
	var e *llm.Error
	switch {
	case crashed(err):
		return "the client crashed"
	case errors.As(err, &e):
		return string(e.Kind)
	}
	return "unavailable"
}

// said takes the model's answer: text ends the mission, calls are proposed.
func (w *worker) said(c *otp.Context, r llm.Response) {
	long := len(r.Content) > MaxAnswer
	r.Content = Cut(r.Content, MaxAnswer)
	if r.Content != "" {
		w.note(Entry{Kind: "thought", Text: r.Content})
	}
	if len(r.ToolCalls) == 0 || w.last {
		if long {
			r.FinishReason = "length"
		}
		w.concluded(c, r)
		return
	}
	calls, left := HearCalls(r.ToolCalls, w.messages)
	w.omitted += left
	w.say(llm.Message{Role: llm.RoleAssistant, Content: r.Content, ToolCalls: w.room.FitCalls(echoed(calls))})
	w.queue, w.fresh = calls, true
	if !complete(r.FinishReason) {
		w.drop("cut_off", "Your answer was cut off, so none of its calls was proposed. Send a shorter one.")
	}
	w.save(c)
}

// complete reports whether an answer is whole, so that its calls are what the
// model meant. Some servers that answer in one piece give no reason at all.
func complete(finish string) bool {
	switch finish {
	case "stop", "tool_calls", "function_call", "":
		return true
	}
	return false
}

func (w *worker) concluded(c *otp.Context, r llm.Response) {
	switch {
	case r.Content != "" && len(w.updates) > 0 && !w.last:
		// The orchestrator was told that its update is on the way.
		w.say(llm.Message{Role: llm.RoleAssistant, Content: r.Content})
		w.ask(c)
	case r.Content != "" && w.interrupted == "" && !complete(r.FinishReason):
		w.finish(c, Completed, r.Content, "the model's answer was cut off")
	case r.Content != "":
		w.finish(c, Completed, r.Content, w.interrupted)
	case r.Refusal != "":
		w.finish(c, Failed, "", "the model refused the mission")
	default:
		w.empty(c)
	}
}

// empty takes an answer with nothing in it: once it is asked again.
func (w *worker) empty(c *otp.Context) {
	if w.nudged || w.last {
		w.finish(c, Failed, "", "the model answered with nothing")
		return
	}
	w.nudged = true
	w.say(llm.Message{Role: llm.RoleUser, Content: "Your answer was empty. Call a tool, or report in plain text."})
	w.ask(c)
}
