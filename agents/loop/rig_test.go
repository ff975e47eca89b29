package loop

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/skills"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// step is one answer of a model.
type step func(ctx context.Context, r llm.Request) (llm.Response, error)

func responds(r llm.Response) step {
	return func(context.Context, llm.Request) (llm.Response, error) { return r, nil }
}

func says(text string) step { return responds(llm.Response{Content: text, FinishReason: "stop"}) }

func calls(ids ...string) step {
	r := llm.Response{FinishReason: "tool_calls"}
	for _, id := range ids {
		r.ToolCalls = append(r.ToolCalls, llm.ToolCall{ID: id, Name: "tool", Arguments: `{"of":"` + id + `"}`})
	}
	return responds(r)
}

func fails(err error) step {
	return func(context.Context, llm.Request) (llm.Response, error) { return llm.Response{}, err }
}

// hang is a question that ends with its context.
func hang(ctx context.Context, _ llm.Request) (llm.Response, error) {
	<-ctx.Done()
	return llm.Response{}, context.Cause(ctx)
}

// caller is the smallest owner: a process whose model follows a script and whose calls
// return their own ids.
type caller struct {
	rules   Rules
	steps   []step
	restore func(l *Loop) // in place of the first question
	refuse  func(l *Loop) string
	call    func(ctx context.Context, k llm.ToolCall) (string, error)
	write   func(ctx context.Context, r Round) error // nil: no journal
	message func(c *otp.Context, l *Loop, msg any)

	loop   Loop
	next   int // step
	mu     sync.Mutex
	asked  []llm.Request
	rounds []Round
	events []string // in the order in which they came
	failed error
	done   chan struct{}
}

func (o *caller) tell(format string, args ...any) {
	o.events = append(o.events, fmt.Sprintf(format, args...))
}

func (o *caller) Init(c *otp.Context) error {
	if o.rules.LastQuestion == 0 {
		o.rules.LastQuestion = 10
	}
	if o.rules.IsWhole == nil {
		o.rules.IsWhole = func(finish string) bool { return finish != "length" }
	}
	o.loop = New(o, o.rules)
	if o.restore != nil {
		o.restore(&o.loop)
		o.loop.Next(c)
		return nil
	}
	o.loop.Say(llm.Message{Role: llm.RoleUser, Content: "go"})
	o.loop.Ask(c)
	return nil
}

func (o *caller) Handle(c *otp.Context, msg any) {
	m, ok := msg.(otp.TaskResult)
	if !ok {
		o.message(c, &o.loop, msg)
		return
	}
	if kind := o.loop.TakeEnd(m.Ref); kind != TaskNone {
		o.loop.OnTaskEnd(c, kind, m)
	}
}

func (o *caller) Terminate(*otp.Context, otp.Reason) { close(o.done) }

func (o *caller) PrepareQuestion() Question {
	r := llm.Request{Messages: o.loop.EchoMessages()}
	if !o.loop.WithoutTools {
		r.Tools = []llm.Tool{{Name: "tool"}}
	}
	n := o.next
	o.next++
	o.tell("ask")
	return Question{Request: r, Chat: func(ctx context.Context, r llm.Request) (llm.Response, error) {
		o.mu.Lock()
		o.asked = append(o.asked, r)
		o.mu.Unlock()
		if n >= len(o.steps) {
			return llm.Response{}, fmt.Errorf("the script has no step %d", n)
		}
		return o.steps[n](ctx, r)
	}}
}

func (o *caller) NoteAnswer(r llm.Response) { o.tell("hear %q", r.Content) }

func (o *caller) RefuseCalls() string {
	if o.refuse == nil {
		return ""
	}
	return o.refuse(&o.loop)
}

func (o *caller) ListPrejudged(list []llm.ToolCall) (out []skills.Proposed) {
	for _, k := range list {
		out = append(out, skills.Proposed{Skill: k.ID})
	}
	return out
}

func (o *caller) RunCall(c *otp.Context) {
	k := o.loop.Call
	o.tell("call %s", k.ID)
	o.loop.Proposed++
	o.loop.Start(c, TaskCall, func(ctx context.Context) (any, error) {
		if o.call == nil {
			return "of " + k.ID, nil
		}
		return o.call(ctx, k)
	})
}

func (o *caller) OnCallEnd(c *otp.Context, m otp.TaskResult) {
	text, ok := m.Value.(string)
	if !ok {
		text = "broken"
	}
	o.loop.Answer(c, text)
}

func (o *caller) Conclude(c *otp.Context, r llm.Response) {
	o.tell("conclude %q %s", r.Content, r.FinishReason)
	c.Stop(otp.Normal())
}

func (o *caller) Fail(c *otp.Context, why error) {
	o.failed = why
	o.tell("fail")
	c.Stop(otp.Normal())
}

func (o *caller) PrepareRound(r Round) func(context.Context) error {
	if o.write == nil {
		return nil
	}
	o.tell("write %d", r.Records)
	o.rounds = append(o.rounds, r)
	return func(ctx context.Context) error { return o.write(ctx, r) }
}

// start starts the owner in a tree of its own, on a clock that jumps.
func (o *caller) start(t *testing.T) otp.PID {
	t.Helper()
	o.done = make(chan struct{})
	sys := otp.NewSystem(otp.SystemOptions{})
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	t.Cleanup(func() {
		require.NoError(t, sys.Stop(ctx))
		cancel()
		time.Sleep(time.Second) // lets the bubble's clock pass a timer of Proto.Actor's dead letters
	})
	pid, err := sys.Start(ctx, otp.ChildSpec{ID: "owner", Restart: otp.Temporary, Start: func() otp.Server { return o }})
	require.NoError(t, err)
	return pid
}

// run runs the owner to its end.
func (o *caller) run(t *testing.T) {
	t.Helper()
	o.start(t)
	<-o.done
}

func bubble(t *testing.T, fn func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, fn)
}

func keep(context.Context, Round) error { return nil }

// contents are the texts of messages, each behind its role.
func contents(list []llm.Message) (out []string) {
	for _, m := range list {
		out = append(out, m.Role+": "+m.Content+m.ToolCallID)
	}
	return out
}
