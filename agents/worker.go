package agents

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/skills"
)

// worker is the agent's process: a state machine that talks to the model and
// proposes calls, one at a time, each in a supervised goroutine.
type worker struct {
	a      *Agent
	skills []*skills.Skill

	messages []llm.Message
	entries  []Entry
	queue    []llm.ToolCall // calls of the last answer that are still to be proposed
	updates  []string

	task    otp.Ref // the model call or skill call under way
	busy    bool
	call    llm.ToolCall
	current string

	state   State
	help    string
	started time.Time
	left    time.Duration // of the agent's time, while its clock stands still
	armed   time.Time
	timer   otp.Ref
	waiting otp.Ref // for the orchestrator

	calls, rounds int
	nudged, last  bool
	interrupted   string
}

type (
	deadline struct{}
	noHelp   struct{}
)

// Init starts the agent's clock and asks the model for the first time.
func (w *worker) Init(c *otp.Context) error {
	w.skills = slices.Clone(w.a.o.Skills)
	w.started, w.left, w.state = time.Now(), w.a.o.Timeout, Running
	w.messages = w.opening()
	w.note(Entry{Kind: "mission", Text: w.a.o.Mission})
	w.arm(c)
	w.ask(c)
	return nil
}

// Handle takes the parent's messages, timers and the ends of calls.
func (w *worker) Handle(c *otp.Context, msg any) {
	switch m := msg.(type) {
	case otp.TaskResult:
		if w.busy && m.Ref == w.task {
			w.busy = false
			w.ended(c, m)
		}
	case deadline:
		w.finish(c, TimedOut, "", "the agent's time of "+w.a.o.Timeout.String()+" is over")
	case noHelp:
		w.resume(c, `{"ok":false,"error":"no_answer","reason":"The orchestrator did not answer. Go on without."}`)
	case Cancel:
		w.finish(c, Cancelled, "", m.Reason)
	case Interrupt:
		w.interrupt(c, m)
	case Update:
		w.updates = append(w.updates, m.Text)
	case Answer:
		w.answered(c, m)
	case Held:
		w.pause(c, AwaitingApproval)
	case Released:
		if w.state == AwaitingApproval {
			w.proceed(c)
		}
	}
}

// Terminate leaves a final state behind when the agent is stopped from above.
func (w *worker) Terminate(_ *otp.Context, r otp.Reason) {
	if w.state.Done() {
		return
	}
	w.state = Cancelled
	reason := "the agent was stopped"
	if r.Kind == otp.KindCrash {
		w.state, reason = Failed, "the agent crashed"
	}
	w.publish("", reason)
}

// arm starts the clock for what is left of the agent's time.
func (w *worker) arm(c *otp.Context) {
	w.armed = time.Now()
	w.timer = c.SendAfter(w.left, deadline{})
}

// pause stops the clock: waiting for people is not the agent's time.
func (w *worker) pause(c *otp.Context, s State) {
	if w.state != Running {
		return
	}
	c.CancelTimer(w.timer)
	w.left = max(w.left-time.Since(w.armed), time.Second)
	w.state = s
	w.publish("", "")
}

func (w *worker) proceed(c *otp.Context) {
	w.state, w.help = Running, ""
	w.arm(c)
	w.publish("", "")
}

// ask calls the model. After the budget is spent it is asked once without
// tools, so that it can report what it has.
func (w *worker) ask(c *otp.Context) {
	if w.rounds++; w.rounds > 2*w.a.o.Calls+6 {
		w.last = true
	}
	for _, u := range w.updates {
		w.messages = append(w.messages, llm.Message{Role: llm.RoleUser, Content: encode(map[string]string{"update_from_orchestrator": u})})
	}
	w.updates = nil
	r := llm.Request{Messages: slices.Clone(w.messages)}
	if !w.last {
		r.Tools = tools(w.skills)
	}
	w.current = ""
	w.publish("", "")
	w.start(c, func(ctx context.Context) (any, error) { return w.a.o.Model.Chat(ctx, r) })
}

func (w *worker) start(c *otp.Context, fn func(context.Context) (any, error)) {
	w.task, w.busy = c.Async(0, fn), true
}

// ended is told how the model call or the skill call ended.
func (w *worker) ended(c *otp.Context, m otp.TaskResult) {
	if m.Ref != w.task {
		return
	}
	switch v := m.Value.(type) {
	case llm.Response:
		if m.Err == nil {
			w.said(c, v)
			return
		}
	case invoked:
		w.invoked(c, v)
		return
	}
	if w.current != "" { // the desk itself broke: the call counts as not run
		w.invoked(c, invoked{err: m.Err})
		return
	}
	w.finish(c, Failed, "", "the model could not be asked: "+modelFault(m.Err))
}

// modelFault names a model's failure without its text, which may quote what
// was sent.
func modelFault(err error) string {
	var e *llm.Error
	if errors.As(err, &e) {
		return string(e.Kind)
	}
	var x *otp.Exit
	if errors.As(err, &x) {
		return "the client crashed"
	}
	return "unavailable"
}

// said takes the model's answer: text ends the mission, calls are proposed.
func (w *worker) said(c *otp.Context, r llm.Response) {
	calls := uniqueIDs(r.ToolCalls)
	if w.last {
		calls = nil
	}
	if r.Content != "" {
		w.note(Entry{Kind: "thought", Text: r.Content})
	}
	if len(calls) == 0 {
		w.concluded(c, r)
		return
	}
	w.messages = append(w.messages, llm.Message{Role: llm.RoleAssistant, Content: r.Content, ToolCalls: calls})
	if r.FinishReason == "length" || r.FinishReason == "content_filter" {
		for _, k := range calls {
			w.reply(k, `{"ok":false,"error":"cut_off","reason":"Your answer was cut off, so the call was not proposed. Send a shorter one."}`)
		}
		w.ask(c)
		return
	}
	w.queue = calls
	w.next(c)
}

func (w *worker) concluded(c *otp.Context, r llm.Response) {
	switch {
	case r.Content != "":
		if w.interrupted != "" {
			w.finish(c, Completed, r.Content, w.interrupted)
			return
		}
		w.finish(c, Completed, r.Content, "")
	case r.Refusal != "":
		w.finish(c, Failed, "", "the model refused the mission")
	case !w.nudged:
		w.nudged = true
		w.messages = append(w.messages, llm.Message{Role: llm.RoleUser, Content: "Your answer was empty. Call a tool, or report in plain text."})
		w.ask(c)
	default:
		w.finish(c, Failed, "", "the model answered with nothing")
	}
}

// next proposes the next call of the answer, or goes back to the model.
func (w *worker) next(c *otp.Context) {
	if w.interrupted != "" {
		w.drop("The agent was interrupted; the call was not proposed.")
	}
	if w.last {
		w.drop("The budget is spent; the call was not proposed.")
	}
	if len(w.queue) == 0 {
		w.ask(c)
		return
	}
	w.call, w.queue = w.queue[0], w.queue[1:]
	if w.call.Name == ToolRequestHelp {
		w.wantHelp(c)
		return
	}
	w.propose(c)
}

func (w *worker) drop(why string) {
	for _, k := range w.queue {
		w.reply(k, encode(map[string]any{"ok": false, "error": "not_proposed", "reason": why}))
	}
	w.queue = nil
}

type invoked struct {
	res skills.Result
	err error
}

// propose hands a call to the desk. A tool that doesn't exist is proposed
// under its own name: the checkpoint refuses it and the refusal is on record.
func (w *worker) propose(c *otp.Context) {
	name, args := w.call.Name, []byte(w.call.Arguments)
	if name == ToolUseSkill {
		var err error
		if name, args, err = proposal(w.call.Arguments); err != nil {
			name, args = "", []byte(w.call.Arguments)
		}
	}
	w.calls++
	w.current = name
	if w.current == "" {
		w.current = "(none)"
	}
	w.note(Entry{Kind: "call", Skill: clip(w.current, 64), Text: string(args)})
	w.publish("", "")
	inv := w.a.o.Invoker
	w.start(c, func(ctx context.Context) (any, error) {
		res, err := inv.Invoke(ctx, name, json.RawMessage(args))
		return invoked{res, err}, nil
	})
}

// invoked takes what came of a call.
func (w *worker) invoked(c *otp.Context, v invoked) {
	if w.state == AwaitingApproval {
		w.proceed(c)
	}
	text, kind := answer(v.res, v.err)
	w.note(Entry{Kind: kind, Skill: clip(w.current, 64), Text: text})
	w.reply(w.call, text)
	var no *skills.Refusal
	if errors.As(v.err, &no) && no.Kind == skills.KindBudget {
		w.last = true
	}
	w.current = ""
	w.next(c)
}

func (w *worker) reply(k llm.ToolCall, text string) {
	w.messages = append(w.messages, llm.Message{Role: llm.RoleTool, ToolCallID: k.ID, Content: text})
}

// wantHelp pauses the agent until the orchestrator answers.
func (w *worker) wantHelp(c *otp.Context) {
	var h helpArgs
	if err := json.Unmarshal([]byte(w.call.Arguments), &h); err != nil || h.Reason == "" {
		w.reply(w.call, `{"ok":false,"error":"invalid","reason":"request_help needs a reason in words."}`)
		w.next(c)
		return
	}
	w.help = clip(h.Reason, maxEntryText)
	w.note(Entry{Kind: "help", Text: h.Reason})
	w.pause(c, AwaitingOrchestrator)
	w.waiting = c.SendAfter(w.a.o.HelpTimeout, noHelp{})
	w.a.o.Parent.Send(HelpWanted{Agent: w.a.o.ID, Reason: w.help, Skills: h.Skills})
}

func (w *worker) answered(c *otp.Context, m Answer) {
	for _, s := range m.Skills {
		if !slices.ContainsFunc(w.skills, func(x *skills.Skill) bool { return x.Name() == s.Name() }) {
			w.skills = append(w.skills, s)
		}
	}
	if len(m.Skills) > 0 {
		w.messages[0].Content = instructions + w.skillList()
	}
	if w.state != AwaitingOrchestrator {
		w.updates = append(w.updates, m.Text)
		return
	}
	c.CancelTimer(w.waiting)
	w.resume(c, encode(map[string]any{"ok": true, "answer": m.Text, "skills_added": len(m.Skills)}))
}

func (w *worker) resume(c *otp.Context, text string) {
	if w.state != AwaitingOrchestrator {
		return
	}
	w.proceed(c)
	w.reply(w.call, text)
	w.next(c)
}

// interrupt ends the agent with what it has, after the call under way.
func (w *worker) interrupt(c *otp.Context, m Interrupt) {
	w.interrupted, w.last = m.Reason, true
	if w.interrupted == "" {
		w.interrupted = "the agent was interrupted"
	}
	switch {
	case w.state == AwaitingOrchestrator:
		c.CancelTimer(w.waiting)
		w.resume(c, `{"ok":false,"error":"interrupted","reason":"Report what you have."}`)
	case w.current == "": // the model is being asked: ask it again, for a report
		c.CancelTask(w.task)
		w.busy = false
		w.ask(c)
	}
}

func (w *worker) note(e Entry) {
	e.Text = clip(e.Text, maxEntryText)
	if len(w.entries) >= maxEntries {
		w.entries = slices.Clone(w.entries[1:])
	}
	w.entries = append(w.entries, e)
}

// finish publishes the result, tells the parent and ends the process.
func (w *worker) finish(c *otp.Context, s State, text, reason string) {
	w.state = s
	r := w.publish(text, reason)
	w.a.o.Parent.Send(Finished{r})
	c.Stop(otp.Normal())
}

// publish stores a snapshot for whoever looks at the agent.
func (w *worker) publish(text, reason string) Result {
	r := Result{Agent: w.a.o.ID, State: w.state, Answer: text, Reason: reason, Calls: w.calls, Took: time.Since(w.started)}
	w.a.snap.Store(&Snapshot{Result: r, Current: w.current, Help: w.help, Transcript: slices.Clip(w.entries)})
	return r
}
