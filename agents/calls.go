package agents

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/vedette-dev/vedette/internal/textcut"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/skills"
)

// next proposes the next call of the answer, or goes back to the model.
func (w *worker) next(c *otp.Context) {
	switch {
	case w.interrupted != "":
		w.drop("not_proposed", "The agent was interrupted; the call was not proposed.")
	case w.last:
		w.drop("not_proposed", "The budget is spent; the call was not proposed.")
	}
	if w.fresh {
		w.fresh = false
		w.prejudgeCalls(c)
	}
	// A loop, since a call for help that is refused goes on without a message.
	for len(w.queue) > 0 {
		w.call, w.queue = w.queue[0], w.queue[1:]
		if w.call.Name != ToolRequestHelp {
			w.propose(c)
			return
		}
		if w.wantHelp(c) {
			return
		}
	}
	w.queue = nil
	w.ask(c)
}

// drop answers the calls that are left instead of proposing them.
func (w *worker) drop(code, why string) {
	for _, k := range w.queue {
		w.reply(k, failed(code, why))
	}
	w.omitted += len(w.queue)
	w.queue = nil
}

// gateApproval refuses with the kind budget where too many calls wait for a
// person: the agent may still do what needs no person.
const gateApproval = "approval"

type invoked struct {
	res skills.Result
	err error
}

// propose hands a call to the desk. A tool that doesn't exist is proposed
// under its own name: the checkpoint refuses it and the refusal is on record.
func (w *worker) propose(c *otp.Context) {
	name, args := w.call.Name, []byte(w.call.Arguments)
	if name == ToolUseSkill {
		if skill, part, err := proposal(w.call.Arguments); err != nil {
			name = ""
		} else {
			name, args = skill, part
		}
	}
	w.call.Arguments = "" // only the id is needed from here on
	shown, _ := w.redact(name, args)
	w.calls++
	if w.current = textcut.Head(name, 64); w.current == "" {
		w.current = "(none)"
	}
	w.note(Entry{Kind: "call", Skill: w.current, Text: string(shown[:min(len(shown), maxEntryText+1)])})
	w.publish("", "")
	inv, gone := w.a.o.Invoker, slices.Contains(w.hidden, w.call.ID)
	w.start(c, func(ctx context.Context) (any, error) {
		if gone {
			res, err := recall(ctx, inv, name, args)
			return invoked{res, err}, nil
		}
		res, err := inv.Invoke(ctx, name, json.RawMessage(args))
		return invoked{res, err}, nil
	})
}

// invoked takes what came of a call.
func (w *worker) invoked(c *otp.Context, v invoked) {
	skill := w.current
	w.current = ""
	if w.state == AwaitingApproval {
		w.proceed(c)
	}
	text, kind := answer(v.res, v.err)
	w.note(Entry{Kind: kind, Skill: skill, Text: text})
	w.reply(w.call, text)
	var no *skills.Refusal
	if errors.As(v.err, &no) && no.Kind == skills.KindBudget && no.Gate != gateApproval || w.calls > w.a.o.Calls {
		w.last = true
	}
	w.next(c)
}

func (w *worker) reply(k llm.ToolCall, text string) {
	w.say(llm.Message{Role: llm.RoleTool, ToolCallID: k.ID, Content: w.room.Fit(text)})
}

// say adds a message to the conversation with the model.
func (w *worker) say(m llm.Message) {
	w.room.Take(m)
	w.messages = append(w.messages, m)
}

// wantHelp pauses the agent until the orchestrator answers. It reports false
// when there is nothing to wait for; the call is answered then.
func (w *worker) wantHelp(c *otp.Context) bool {
	h, err := readHelp(w.call.Arguments)
	switch {
	case err != nil:
		w.reply(w.call, failed("invalid", "request_help needs a reason in words."))
		return false
	case w.helps >= maxHelp || w.a.o.Parent.IsZero():
		w.reply(w.call, failed("no_answer", "The orchestrator can't be asked any more. Go on without."))
		return false
	}
	w.helps++
	w.note(Entry{Kind: "help", Text: h.Reason})
	if len(w.early) > 0 { // it was answered before the process ended
		a := w.early[0]
		w.early = w.early[1:]
		w.took(a.ID)
		w.reply(w.call, answerText(a.Text, len(a.Skills)))
		return false
	}
	w.help = h.Reason
	w.pause(c, AwaitingOrchestrator)
	w.waiting = c.SendAfter(w.a.o.HelpTimeout, noHelp{})
	w.a.o.Parent.Send(HelpWanted{Agent: w.a.o.ID, Reason: h.Reason, Skills: h.Skills})
	return true
}

// answered takes the orchestrator's answer, also one that comes too late.
func (w *worker) answered(c *otp.Context, m Answer) {
	added := w.add(m.Skills)
	switch {
	case !w.told(m.ID):
	case w.state == AwaitingOrchestrator:
		w.took(m.ID)
		w.resume(c, answerText(m.Text, added))
	case w.saves > 0 && w.saves == len(w.a.o.Rounds) && w.helpAhead():
		w.early = append(w.early, m)
	default:
		w.update(Update{m.ID, m.Text})
	}
}

func answerText(text string, added int) string {
	return encode(map[string]any{"ok": true, "answer": text, "skills_added": added})
}

// resume ends the wait for the orchestrator with text as the call's answer.
func (w *worker) resume(c *otp.Context, text string) {
	if w.state != AwaitingOrchestrator {
		return
	}
	c.CancelTimer(w.waiting)
	w.proceed(c)
	w.a.o.Parent.Send(HelpOver{w.a.o.ID})
	w.reply(w.call, text)
	w.next(c)
}
