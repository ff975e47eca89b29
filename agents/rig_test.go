package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/loop"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/skills"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// modelFunc is a model as a function.
type modelFunc func(ctx context.Context, r llm.Request) (llm.Response, error)

func (f modelFunc) Chat(ctx context.Context, r llm.Request) (llm.Response, error) { return f(ctx, r) }

// lines is a model that answers with one step after the other and remembers
// what it was asked.
type lines struct {
	mu    sync.Mutex
	steps []modelFunc
	asked []llm.Request
}

func (l *lines) Chat(ctx context.Context, r llm.Request) (llm.Response, error) {
	l.mu.Lock()
	l.asked = append(l.asked, r)
	n := len(l.asked)
	l.mu.Unlock()
	if n > len(l.steps) {
		return llm.Response{}, fmt.Errorf("the script has no step %d", n)
	}
	return l.steps[n-1](ctx, r)
}

func (l *lines) requests() []llm.Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]llm.Request(nil), l.asked...)
}

func script(steps ...modelFunc) *lines { return &lines{steps: steps} }

func responds(r llm.Response) modelFunc {
	return func(context.Context, llm.Request) (llm.Response, error) { return r, nil }
}

func says(text string) modelFunc {
	return responds(llm.Response{Content: text, FinishReason: "stop"})
}

func calls(list ...llm.ToolCall) modelFunc {
	return responds(llm.Response{ToolCalls: list, FinishReason: "tool_calls"})
}

func use(id, skill, args string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: ToolUseSkill, Arguments: fmt.Sprintf(`{"skill":%q,"arguments":%s}`, skill, args)}
}

func help(reason string) llm.ToolCall {
	return llm.ToolCall{ID: "h", Name: ToolRequestHelp,
		Arguments: loop.EncodeJSON(map[string]any{"reason": reason, "skills": []string{"mail.send"}})}
}

// hang is a model call that ends with its context.
func hang(ctx context.Context, _ llm.Request) (llm.Response, error) {
	<-ctx.Done()
	return llm.Response{}, ctx.Err()
}

// desk is an Invoker of one function that remembers what was proposed.
type desk struct {
	invoke func(ctx context.Context, skill string, args json.RawMessage) (skills.Result, error)
	mu     sync.Mutex
	seen   []proposed
}

type proposed struct{ Skill, Args string }

func (d *desk) Invoke(ctx context.Context, skill string, args json.RawMessage) (skills.Result, error) {
	d.mu.Lock()
	d.seen = append(d.seen, proposed{skill, string(args)})
	d.mu.Unlock()
	if d.invoke == nil {
		return skills.Result{Content: "done " + skill, Trust: skills.Trusted}, nil
	}
	return d.invoke(ctx, skill, args)
}

func (d *desk) proposals() []proposed {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]proposed(nil), d.seen...)
}

func refuses(r skills.Refusal) *desk {
	return &desk{invoke: func(context.Context, string, json.RawMessage) (skills.Result, error) { return skills.Result{}, &r }}
}

func skill(t testing.TB, name string) *skills.Skill {
	s, err := skills.Compile(skills.Spec{
		Name: name, Description: "does\n" + name, Effect: skills.Read, Run: skills.Run{Kind: "template"},
		Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`),
	})
	require.NoError(t, err)
	return s
}

// rig is a supervision tree with a parent process that passes on what it gets.
type rig struct {
	t      testing.TB
	ctx    context.Context
	sys    *otp.System
	sup    otp.PID
	parent otp.PID
	got    chan any
	asking bool // the agent waits for the parent, as that was told
}

// parentServer runs functions and passes on everything else.
type parentServer struct{ got chan any }

func (p *parentServer) Init(*otp.Context) error { return nil }
func (p *parentServer) Handle(c *otp.Context, msg any) {
	if do, ok := msg.(func(*otp.Context)); ok {
		do(c)
		return
	}
	p.got <- msg
}
func (p *parentServer) Terminate(*otp.Context, otp.Reason) {}

func newRig(t testing.TB) *rig {
	ctx, cancel := context.WithTimeout(context.Background(), 24*time.Hour)
	r := &rig{t: t, ctx: ctx, sys: otp.NewSystem(otp.SystemOptions{}), got: make(chan any, 1000)}
	t.Cleanup(func() {
		defer cancel()
		require.NoError(t, r.sys.Stop(ctx))
	})
	var err error
	r.parent, err = r.sys.Start(ctx, otp.ChildSpec{ID: "parent", Start: func() otp.Server { return &parentServer{r.got} }})
	require.NoError(t, err)
	r.sup, err = r.sys.Start(ctx, otp.DynamicSupervisorSpec("agents", otp.DynamicSupervisorOptions{}))
	require.NoError(t, err)
	return r
}

// start fills in what a test did not care for.
func (r *rig) start(o Options) (*Agent, otp.PID) {
	r.t.Helper()
	if o.ID == "" {
		o.ID = "a1"
	}
	if o.Mission == "" {
		o.Mission = "count the sheep"
	}
	if o.Invoker == nil {
		o.Invoker = &desk{}
	}
	if o.Skills == nil {
		o.Skills = []*skills.Skill{skill(r.t, "sheep.count"), skill(r.t, "sheep.shear")}
	}
	o.Parent = r.parent
	a, err := New(o)
	require.NoError(r.t, err)
	pid, err := otp.StartChild(r.ctx, r.sup, a.Spec())
	require.NoError(r.t, err)
	return a, pid
}

// run runs an agent to its end. The result is what the parent was told, once.
func (r *rig) run(o Options) (*Agent, Result) {
	r.t.Helper()
	a, pid := r.start(o)
	return a, r.result(a, pid)
}

func (r *rig) result(a *Agent, pid otp.PID) Result {
	r.t.Helper()
	reason, err := otp.Wait(r.ctx, pid)
	require.NoError(r.t, err)
	require.Equal(r.t, otp.KindNormal, reason.Kind, reason.Stack())
	f, ok := r.next().(Finished)
	require.True(r.t, ok, "the parent was told something else than the end")
	require.Equal(r.t, f.Result, a.Snapshot().Result)
	require.False(r.t, r.asking && f.Result.State == Completed, "it went on, and its parent wasn't told")
	r.quiet()
	return f.Result
}

// next returns the next message that the parent got. Of a wait for help it
// returns the beginning, and sees to it that each has one end.
func (r *rig) next() any {
	r.t.Helper()
	for {
		select {
		case m := <-r.got:
			switch m := m.(type) {
			case HelpWanted:
				require.False(r.t, r.asking, "it asks again, and its parent wasn't told that it went on")
				r.asking = true
			case HelpOver:
				require.Equal(r.t, HelpOver{"a1"}, m)
				require.True(r.t, r.asking, "the end of nothing")
				r.asking = false
				continue
			}
			return m
		case <-r.ctx.Done():
			require.FailNow(r.t, "the parent was told nothing")
			return nil
		}
	}
}

// quiet says that the parent has got nothing more. The call is answered after
// everything that was sent before it.
func (r *rig) quiet() {
	r.t.Helper()
	ready := make(chan struct{})
	r.parent.Send(func(*otp.Context) { close(ready) })
	<-ready
	require.Empty(r.t, r.got)
}

// bubble runs a test on a clock that jumps when everybody waits.
func bubble(t *testing.T, fn func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		// Lets the bubble's clock pass a timer of Proto.Actor's dead letters.
		t.Cleanup(func() { time.Sleep(time.Second) })
		fn(t, newRig(t))
	})
}

// toolMessages returns the tool messages of a request, in order.
func toolMessages(r llm.Request) (out []llm.Message) {
	for _, m := range r.Messages {
		if m.Role == llm.RoleTool {
			out = append(out, m)
		}
	}
	return out
}

// answered decodes a tool message.
func answered(t testing.TB, m llm.Message) map[string]any {
	t.Helper()
	var v map[string]any
	require.NoError(t, json.Unmarshal([]byte(m.Content), &v))
	return v
}
