package agents

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/loop"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/internal/textcut"
	"github.com/vedette-dev/vedette/skills"
)

// Recaller is an Invoker that knows what became of the calls of an earlier
// process. An agent with Rounds asks it about calls whose secret arguments were
// not kept, rather than propose them without: shown are the arguments with what
// was secret hidden. Recall runs nothing. It stands for the call's proposal: it
// takes its number and answers like Invoke, with an error that tells the model
// to propose the call again where it was never decided.
type Recaller interface {
	Recall(ctx context.Context, skill string, shown json.RawMessage) (skills.Result, error)
}

// recallCall asks the Invoker about a call that can't be proposed any more.
func recallCall(ctx context.Context, inv Invoker, name string, shown []byte) (skills.Result, error) {
	if r, ok := inv.(Recaller); ok {
		return r.Recall(ctx, name, shown)
	}
	return skills.Result{}, &skills.Failure{
		Code: "interrupted", Unknown: true, Err: errors.New("the process ended while the call was under way"),
	}
}

// RefuseCalls implements loop.Tools.
func (w *worker) RefuseCalls() string {
	switch {
	case w.interrupted != "":
		return loop.DescribeFailure("not_proposed", "The agent was interrupted; the call was not proposed.")
	case w.loop.WithoutTools:
		return loop.DescribeFailure("not_proposed", "The budget is spent; the call was not proposed.")
	}
	return ""
}

// ListPrejudged implements loop.Tools: as many calls as the budget has room for and up to a
// call for help, which may change what the agent holds.
func (w *worker) ListPrejudged(calls []llm.ToolCall) (list []skills.Proposed) {
	for _, k := range calls[:min(len(calls), max(0, w.a.o.Calls-w.loop.Proposed))] {
		if k.Name == ToolRequestHelp {
			break
		}
		if k.Name != ToolUseSkill {
			continue // of a tool that doesn't exist
		}
		if skill, args, err := readProposal(k.Arguments); err == nil {
			list = append(list, skills.Proposed{Skill: skill, Args: json.RawMessage(args)})
		}
	}
	return list
}

// RunCall implements loop.Tools.
func (w *worker) RunCall(c *otp.Context) {
	if w.loop.Call.Name == ToolRequestHelp {
		w.requestHelp(c)
		return
	}
	w.proposeCall(c)
}

// gateApproval refuses with the kind budget where too many calls wait for a
// person: the agent may still do what needs no person.
const gateApproval = "approval"

// invoked is what came of a call.
type invoked struct {
	res skills.Result
	err error
}

// proposeCall hands a call to the desk. A tool that doesn't exist is proposed
// under its own name: the checkpoint refuses it and the refusal is on record.
func (w *worker) proposeCall(c *otp.Context) {
	call := &w.loop.Call
	name, args := call.Name, []byte(call.Arguments)
	if name == ToolUseSkill {
		if skill, part, err := readProposal(call.Arguments); err != nil {
			name = ""
		} else {
			name, args = skill, part
		}
	}
	call.Arguments = "" // only the id is needed from here on
	shown, _ := loop.Redact(agentSkills{w}, name, args)
	w.loop.Proposed++
	if w.current = textcut.Head(name, 64); w.current == "" {
		w.current = "(none)"
	}
	w.addTranscriptEntry(Entry{Kind: "call", Skill: w.current, Text: string(shown[:min(len(shown), maxEntryText+1)])})
	w.publishSnapshot("", "")
	inv, hidden := w.a.o.Invoker, w.loop.IsHidden()
	w.loop.Start(c, loop.TaskCall, func(ctx context.Context) (any, error) {
		if hidden {
			res, err := recallCall(ctx, inv, name, args)
			return invoked{res, err}, nil
		}
		res, err := inv.Invoke(ctx, name, json.RawMessage(args))
		return invoked{res, err}, nil
	})
}

// OnCallEnd implements loop.Tools. After the first refusal of a spent budget the model is
// asked once more, without tools.
func (w *worker) OnCallEnd(c *otp.Context, m otp.TaskResult) {
	v, ok := m.Value.(invoked)
	if !ok { // the desk itself broke
		v.err = m.Err
	}
	skill := w.current
	w.current = ""
	if w.state == AwaitingApproval {
		w.resumeWork(c)
	}
	text, kind := describeCall(v.res, v.err)
	w.addTranscriptEntry(Entry{Kind: kind, Skill: skill, Text: text})
	var no *skills.Refusal
	if errors.As(v.err, &no) && no.Kind == skills.KindBudget && no.Gate != gateApproval || w.loop.Proposed > w.a.o.Calls {
		w.loop.WithoutTools = true
	}
	w.loop.Answer(c, text)
}

// requestHelp pauses the agent until the orchestrator answers. Where there is nothing to
// wait for the call is answered at once.
func (w *worker) requestHelp(c *otp.Context) {
	h, err := readHelp(w.loop.Call.Arguments)
	switch {
	case err != nil:
		w.loop.Answer(c, loop.DescribeFailure("invalid", "request_help needs a reason in words."))
		return
	case w.helps >= maxHelp || w.a.o.Parent.IsZero():
		w.loop.Answer(c, loop.DescribeFailure("no_answer", "The orchestrator can't be asked any more. Go on without."))
		return
	}
	w.helps++
	w.addTranscriptEntry(Entry{Kind: "help", Text: h.Reason})
	if len(w.early) > 0 { // it was answered before the process ended
		a := w.early[0]
		w.early = w.early[1:]
		w.markWordsRead(a.ID)
		w.loop.Answer(c, describeHelpAnswer(a.Text, len(a.Skills)))
		return
	}
	w.help = h.Reason
	w.pauseWork(c, AwaitingOrchestrator)
	w.waiting = c.SendAfter(w.a.o.HelpTimeout, noHelp{})
	w.a.o.Parent.Send(HelpWanted{Agent: w.a.o.ID, Reason: h.Reason, Skills: h.Skills})
}

// onHelpAnswer takes the orchestrator's answer to a call for help, and adds its skills. A
// repeated answer does nothing more. After a restart an answer may come before the call that
// it answers: the answer waits for that call. A late one is read as an update.
func (w *worker) onHelpAnswer(c *otp.Context, m Answer) {
	added := w.addSkills(m.Skills)
	switch {
	case !w.rememberWords(m.ID):
	case w.state == AwaitingOrchestrator:
		w.markWordsRead(m.ID)
		w.endHelpWait(c, describeHelpAnswer(m.Text, added))
	case w.loop.Records > 0 && w.loop.Records == len(w.a.o.Rounds) && w.hasHelpAhead():
		w.early = append(w.early, m)
	default:
		w.queueUpdate(Update{m.ID, m.Text})
	}
}

// endHelpWait ends the wait for the orchestrator with text as the call's answer.
func (w *worker) endHelpWait(c *otp.Context, text string) {
	if w.state != AwaitingOrchestrator {
		return
	}
	c.CancelTimer(w.waiting)
	w.resumeWork(c)
	w.a.o.Parent.Send(HelpOver{w.a.o.ID})
	w.loop.Answer(c, text)
}

// agentSkills are the skills that an agent's calls may name.
type agentSkills struct{ w *worker }

// FindSkill implements loop.SecretSkills.
func (s agentSkills) FindSkill(name string) (*skills.Skill, bool) {
	for _, k := range s.w.skills {
		if k.Name() == name {
			return k, true
		}
	}
	if s.w.a.o.Lookup == nil {
		return nil, false
	}
	return s.w.a.o.Lookup(name)
}

// TakeSecrets implements loop.SecretSkills.
func (s agentSkills) TakeSecrets() bool {
	return slices.ContainsFunc(s.w.skills, (*skills.Skill).Secretive)
}

// hideCallSecrets returns a call as the journal may have it.
func (w *worker) hideCallSecrets(k llm.ToolCall) (kept llm.ToolCall, hidden bool) {
	name := k.Name
	switch name {
	case ToolRequestHelp:
		return k, false
	case ToolUseSkill:
		if name, args, err := readProposal(k.Arguments); err == nil {
			shown, hidden := loop.Redact(agentSkills{w}, name, args)
			if hidden {
				k.Arguments = loop.EncodeJSON(map[string]any{"skill": name, "arguments": json.RawMessage(shown)})
			}
			return k, hidden
		}
		name = "" // what can't be read is proposed under no name
	}
	shown, hidden := loop.Redact(agentSkills{w}, name, []byte(k.Arguments))
	if hidden {
		k.Arguments = string(shown)
	}
	return k, hidden
}
