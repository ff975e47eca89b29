package agents

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/skills"
)

// counted is a model that calls twice and then answers, by what it is sent.
func counted(_ context.Context, r llm.Request) (llm.Response, error) {
	if n := len(r.Messages); n < 6 {
		return llm.Response{ToolCalls: []llm.ToolCall{{ID: strconv.Itoa(n), Name: ToolUseSkill,
			Arguments: `{"skill":"sheep.count","arguments":{"n":1}}`}}}, nil
	}
	return llm.Response{Content: "two"}, nil
}

var quick = &fixed{}

type fixed struct{}

func (*fixed) Invoke(context.Context, string, json.RawMessage) (skills.Result, error) {
	return skills.Result{Content: "1", Trust: skills.Trusted}, nil
}

// BenchmarkLife is an agent's whole life: start, three model calls, two skill
// calls, end. BenchmarkFirst is its beginning alone, from New to the first
// question to its model. The twins make the same calls in one goroutine.
func BenchmarkLife(b *testing.B) {
	list := []*skills.Skill{skill(b, "sheep.count")}
	r := newRig(b)
	done := make(chan string)
	beside(b, func() {
		r.begin(Options{Model: modelFunc(counted), Invoker: quick, Skills: list})
		if f := (<-r.got).(Finished); f.Result.State != Completed || f.Result.Calls != 2 {
			b.Fatal(f.Result)
		}
	}, func() {
		go func() { done <- bareLife(b.Context(), counted) }()
		if text := <-done; text != "two" {
			b.Fatal(text)
		}
	}, func() {})
}

// BenchmarkFirst is told of with BenchmarkLife.
func BenchmarkFirst(b *testing.B) {
	list := []*skills.Skill{skill(b, "sheep.count")}
	r := newRig(b)
	asked, finish := make(chan struct{}), make(chan struct{})
	m := modelFunc(func(context.Context, llm.Request) (llm.Response, error) {
		asked <- struct{}{}
		<-finish
		return llm.Response{Content: "done"}, nil
	})
	var twins sync.WaitGroup
	beside(b, func() {
		go r.begin(Options{Model: m, Invoker: quick, Skills: list})
		<-asked
	}, func() {
		twins.Go(func() { bareLife(b.Context(), m) })
		<-asked
	}, func() {
		finish <- struct{}{}
		finish <- struct{}{}
		<-r.got
		twins.Wait()
	})
}

// begin starts an agent as a conversation does.
func (r *rig) begin(o Options) {
	o.ID, o.Mission, o.Parent = "a1", "m", r.parent
	a, err := New(o)
	if err == nil {
		_, err = otp.StartChild(r.ctx, r.sup, a.Spec())
	}
	if err != nil {
		r.t.Error(err)
	}
}

// beside takes samples of ours and twin in turns and reports median, 99th
// percentile and worst of both, and the ratio of the medians. after runs after
// each pair and counts for neither.
func beside(b *testing.B, ours, twin, after func()) {
	var a, t []time.Duration
	sample := func(fn func()) time.Duration {
		began := time.Now()
		fn()
		return time.Since(began)
	}
	for b.Loop() {
		a, t = append(a, sample(ours)), append(t, sample(twin))
		after()
	}
	for who, list := range map[string][]time.Duration{"": a, "twin-": t} {
		slices.Sort(list)
		for what, i := range map[string]int{"p50-µs": len(list) / 2, "p99-µs": len(list) * 99 / 100, "max-µs": len(list) - 1} {
			b.ReportMetric(float64(list[i])/1e3, who+what)
		}
	}
	b.ReportMetric(float64(a[len(a)/2])/float64(max(1, t[len(t)/2])), "ratio")
	b.ReportMetric(0, "ns/op")
}

// bareLife is the loop of an agent with nothing around it.
func bareLife(ctx context.Context, m modelFunc) string {
	msgs := []llm.Message{{Role: llm.RoleSystem, Content: instructions}, {Role: llm.RoleUser, Content: "m"}}
	for {
		resp, err := m(ctx, llm.Request{Messages: msgs})
		if err != nil || len(resp.ToolCalls) == 0 {
			return resp.Content
		}
		msgs = append(msgs, llm.Message{Role: llm.RoleAssistant, ToolCalls: resp.ToolCalls})
		for _, k := range resp.ToolCalls {
			name, args, _ := readProposal(k.Arguments)
			res, err := quick.Invoke(ctx, name, args)
			text, _ := describeCall(res, err)
			msgs = append(msgs, llm.Message{Role: llm.RoleTool, ToolCallID: k.ID, Content: text})
		}
	}
}
