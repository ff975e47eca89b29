package agents

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/skills"
)

// A mission is calls, their results and an answer; every result is read once.
func TestMission(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		m := script(calls(use("1", "sheep.count", `{"n":1}`)), calls(use("2", "sheep.shear", `{"n":2}`)), says("two sheep"))
		d := &desk{}
		a, res := r.run(Options{Model: m, Invoker: d})
		require.Equal(t, Completed, res.State)
		require.Equal(t, "two sheep", res.Answer)
		require.Empty(t, res.Reason)
		require.Equal(t, 2, res.Calls)
		require.Equal(t, []proposed{{"sheep.count", `{"n":1}`}, {"sheep.shear", `{"n":2}`}}, d.proposals())
		last := m.requests()[2]
		require.Len(t, last.Messages, 6)
		require.JSONEq(t, `{"ok":true,"result":"done sheep.shear"}`, last.Messages[5].Content)
		var kinds []string
		for _, e := range a.Snapshot().Transcript {
			kinds = append(kinds, e.Kind)
		}
		require.Equal(t, []string{"mission", "call", "result", "call", "result", "thought"}, kinds)
	})
}

// Calls of one answer are proposed in order, one at a time, and each is
// answered by exactly one tool message under an id of its own, over the whole
// conversation.
func TestParallelCalls(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var running atomic.Int32
		d := &desk{invoke: func(_ context.Context, s string, _ json.RawMessage) (skills.Result, error) {
			if running.Add(1) != 1 {
				return skills.Result{}, errors.New("two at a time")
			}
			defer running.Add(-1)
			return skills.Result{Content: s}, nil
		}}
		m := script(
			responds(llm.Response{Content: "I will do it all.", FinishReason: "stop", ToolCalls: []llm.ToolCall{
				use("x", "sheep.count", `{}`), use("x", "sheep.shear", `{}`), use("", "sheep.count", `{"n":3}`)}}),
			calls(use("x", "sheep.count", `{"n":4}`)),
			says("done"))
		a, res := r.run(Options{Model: m, Invoker: d})
		require.Equal(t, Completed, res.State, res.Reason)
		require.Equal(t, []proposed{{"sheep.count", `{}`}, {"sheep.shear", `{}`}, {"sheep.count", `{"n":3}`}, {"sheep.count", `{"n":4}`}},
			d.proposals())
		var ids []string
		open := map[string]bool{}
		for _, msg := range m.requests()[2].Messages {
			for _, k := range msg.ToolCalls {
				require.NotEmpty(t, k.ID)
				require.False(t, open[k.ID], "an id is used twice")
				open[k.ID] = true
				ids = append(ids, k.ID)
			}
		}
		results := toolMessages(m.requests()[2])
		require.Len(t, results, 4)
		for i, msg := range results {
			require.Equal(t, ids[i], msg.ToolCallID)
			require.Equal(t, true, answered(t, msg)["ok"], msg.Content)
		}
		require.Equal(t, "I will do it all.", m.requests()[1].Messages[2].Content)
		require.Equal(t, Entry{Kind: "thought", Text: "I will do it all."}, a.Snapshot().Transcript[1])
	})
}

// An answer with nothing is asked for again once, also where the client
// reports it as an error; then the agent has failed.
func TestEmptyAnswer(t *testing.T) {
	nothing := func(context.Context, llm.Request) (llm.Response, error) {
		return llm.Response{}, &llm.Error{Kind: llm.KindBadResponse, Code: llm.CodeEmpty}
	}
	for name, tc := range map[string]struct {
		steps []modelFunc
		state State
	}{
		"recovers":       {[]modelFunc{says(""), says("ok")}, Completed},
		"recovers error": {[]modelFunc{nothing, says("ok")}, Completed},
		"twice":          {[]modelFunc{says(""), says(""), says("too late")}, Failed},
		"twice error":    {[]modelFunc{nothing, nothing, says("too late")}, Failed},
		"later":          {[]modelFunc{says(""), calls(use("1", "sheep.count", `{}`)), says(""), says("too late")}, Failed},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				_, res := r.run(Options{Model: script(tc.steps...)})
				require.Equal(t, tc.state, res.State)
				if tc.state == Failed {
					require.Equal(t, "the model answered with nothing", res.Reason)
				}
			})
		})
	}
}

// A model that refuses the mission has failed, and its words are not the reason.
func TestModelRefusal(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		_, res := r.run(Options{Model: script(responds(llm.Response{Refusal: "CANARY", FinishReason: "stop"}))})
		require.Equal(t, Failed, res.State)
		require.Equal(t, "the model refused the mission", res.Reason)
	})
}

// What is no proper call is proposed all the same, as what it is, so that it is
// refused on the record, and the conversation that goes back stays well-formed.
func TestStrangeCalls(t *testing.T) {
	const twice = `{"n":1,"n":2}`
	big := `{"text":"` + strings.Repeat("x", 10<<20) + `"}`
	for name, tc := range map[string]struct {
		call llm.ToolCall
		want proposed
		echo string // of the arguments, where they differ
	}{
		"unknown tool": {llm.ToolCall{Name: "rm -rf", Arguments: `{"a":1}`}, proposed{"rm -rf", `{"a":1}`}, ""},
		"empty tool":   {llm.ToolCall{Arguments: `{"a":1}`}, proposed{"", `{"a":1}`}, ""},
		"no arguments": {llm.ToolCall{Name: "zap", Arguments: ""}, proposed{"zap", ""}, "{}"},
		"no object":    {llm.ToolCall{Name: ToolUseSkill, Arguments: `[1,2]`}, proposed{"", `[1,2]`}, `{"malformed":"[1,2]"}`},
		"malformed": {llm.ToolCall{Name: ToolUseSkill, Arguments: `{"skill":"sheep.count`}, proposed{"", `{"skill":"sheep.count`},
			`{"malformed":"{\"skill\":\"sheep.count"}`},
		"two skills": {llm.ToolCall{Name: ToolUseSkill, Arguments: `{"skill":"a.b","skill":"c.d","arguments":{}}`},
			proposed{"", `{"skill":"a.b","skill":"c.d","arguments":{}}`}, ""},
		"skill null": {llm.ToolCall{Name: ToolUseSkill, Arguments: `{"skill":null,"arguments":{}}`},
			proposed{"", `{"skill":null,"arguments":{}}`}, ""},
		"other key": {llm.ToolCall{Name: ToolUseSkill, Arguments: `{"skill":"a.b","arguments":{},"sudo":true}`},
			proposed{"", `{"skill":"a.b","arguments":{},"sudo":true}`}, ""},
		"two values": {llm.ToolCall{Name: ToolUseSkill, Arguments: `{"skill":"a.b"} {}`}, proposed{"", `{"skill":"a.b"} {}`},
			`{"malformed":"{\"skill\":\"a.b\"} {}"}`},
		"no args at all":     {llm.ToolCall{Name: ToolUseSkill, Arguments: `{"skill":"a.b"}`}, proposed{"a.b", ""}, ""},
		"args no object":     {use("1", "sheep.count", `[1, 2]`), proposed{"sheep.count", `[1, 2]`}, ""},
		"duplicate keys":     {use("1", "sheep.count", twice), proposed{"sheep.count", twice}, ""},
		"spaces stay":        {use("1", "sheep.count", `{ "n" : 1.0e0 }`), proposed{"sheep.count", `{ "n" : 1.0e0 }`}, ""},
		"JSON in a string":   {use("1", "sheep.count", `"{\"n\": 1, \"n\": 2}"`), proposed{"sheep.count", `{"n": 1, "n": 2}`}, ""},
		"text in a string":   {use("1", "sheep.count", `"seven"`), proposed{"sheep.count", `"seven"`}, ""},
		"outside the scope":  {use("1", "bank.pay", `{}`), proposed{"bank.pay", `{}`}, ""},
		"10 MB of arguments": {use("1", "sheep.count", big), proposed{"sheep.count", big}, `{"omitted_bytes":10485807}`},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				d := refuses(skills.Refusal{Kind: skills.KindInvalid, Gate: "parse", Code: "call.bad", Reason: "no"})
				m := script(calls(tc.call), says("gave up"))
				a, res := r.run(Options{Model: m, Invoker: d})
				require.Equal(t, Completed, res.State)
				require.Equal(t, 1, res.Calls)
				require.Len(t, d.proposals(), 1)
				require.Equal(t, tc.want, d.proposals()[0], "proposed as something else")
				echo := m.requests()[1].Messages[2].ToolCalls[0]
				require.Regexp(t, `^[a-zA-Z0-9_-]{1,64}$`, echo.Name)
				if tc.echo == "" {
					tc.echo = tc.call.Arguments
				}
				require.Equal(t, tc.echo, echo.Arguments)
				for _, e := range a.Snapshot().Transcript {
					require.LessOrEqual(t, len(e.Text), maxEntryText+len("…"))
				}
			})
		})
	}
}

// Of an answer that was cut short no call is proposed; each is told why.
func TestCutOff(t *testing.T) {
	for _, finish := range []string{"length", "content_filter", "SAFETY"} {
		t.Run(finish, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				m := script(responds(llm.Response{FinishReason: finish, ToolCalls: []llm.ToolCall{
					use("1", "sheep.shear", `{}`), help("h")}}), says("ok"))
				d := &desk{}
				_, res := r.run(Options{Model: m, Invoker: d})
				require.Equal(t, Completed, res.State)
				require.Empty(t, d.proposals())
				require.Zero(t, res.Calls)
				for _, msg := range toolMessages(m.requests()[1]) {
					require.Equal(t, "cut_off", answered(t, msg)["error"])
				}
				require.Len(t, toolMessages(m.requests()[1]), 2)
			})
		})
	}
	bubble(t, func(t *testing.T, r *rig) {
		_, res := r.run(Options{Model: script(responds(llm.Response{Content: "half an ans", FinishReason: "length"}))})
		require.Equal(t, Completed, res.State)
		require.Equal(t, "the model's answer was cut off", res.Reason)
	})
}

// A model that never stops calling is stopped, whatever its desk allows: by
// the number of its proposals, of calls in one answer, and of rounds.
func TestEndlessModel(t *testing.T) {
	for name, answer := range map[string]func() llm.Response{
		"one at a time": func() llm.Response { return llm.Response{ToolCalls: []llm.ToolCall{use("", "sheep.count", `{}`)}} },
		"ten thousand at once": func() llm.Response {
			list := make([]llm.ToolCall, 10_000)
			for i := range list {
				list[i] = use("same", "sheep.count", `{}`)
			}
			return llm.Response{ToolCalls: list}
		},
		"never one whole": func() llm.Response {
			return llm.Response{FinishReason: "length", ToolCalls: []llm.ToolCall{use("", "sheep.count", `{}`)}}
		},
		"help without a reason": func() llm.Response {
			return llm.Response{ToolCalls: []llm.ToolCall{{Name: ToolRequestHelp, Arguments: `{}`}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				var asked atomic.Int32
				m := modelFunc(func(_ context.Context, q llm.Request) (llm.Response, error) {
					if asked.Add(1); len(q.Tools) == 0 {
						return llm.Response{Content: "stopped"}, nil
					}
					return answer(), nil
				})
				d := &desk{}
				_, res := r.run(Options{Model: m, Invoker: d, Calls: 3})
				require.Equal(t, Completed, res.State, res.Reason)
				require.Equal(t, "stopped", res.Answer)
				require.LessOrEqual(t, len(d.proposals()), 4)
				require.LessOrEqual(t, int(asked.Load()), 13)
			})
		})
	}
}

// What can't work is refused at once, all of it.
func TestNewRefuses(t *testing.T) {
	ok := Options{ID: "a", Mission: "m", Model: script(), Invoker: &desk{}}
	for name, change := range map[string]func(*Options){
		"no id": func(o *Options) { o.ID = "" }, "no mission": func(o *Options) { o.Mission = "" },
		"no model": func(o *Options) { o.Model = nil }, "no invoker": func(o *Options) { o.Invoker = nil },
		"calls": func(o *Options) { o.Calls = MaxCalls + 1 }, "negative calls": func(o *Options) { o.Calls = -1 },
		"timeout": func(o *Options) { o.Timeout = -1 }, "help timeout": func(o *Options) { o.HelpTimeout = -1 },
		"nil skill": func(o *Options) { o.Skills = []*skills.Skill{nil} },
	} {
		o := ok
		change(&o)
		a, err := New(o)
		require.Error(t, err, name)
		require.Nil(t, a, name)
	}
	_, err := New(Options{Calls: 99, Timeout: -1})
	require.Len(t, strings.Split(err.Error(), "\n"), 4)
	a, err := New(ok)
	require.NoError(t, err)
	require.Equal(t, Snapshot{Result: Result{Agent: "a", State: Pending}}, a.Snapshot())
}
