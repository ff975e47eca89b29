package loop

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/skills"
)

// An answer with calls is written down before the first of them is made. They are made one
// at a time, in order, and each is answered under its id before the model is asked again.
func TestCallsAreMadeInOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		o := &caller{steps: []step{calls("a", "b"), calls("c"), says("done")}, write: keep}
		o.run(t)
		require.Equal(t, []string{
			"ask", `hear ""`, "write 1", "call a", "call b", "ask", `hear ""`, "write 2", "call c", "ask", `hear "done"`, `conclude "done" stop`,
		}, o.events)
		require.Equal(t, []string{"user: go", "assistant: ", "tool: of aa", "tool: of bb", "assistant: ", "tool: of cc"},
			contents(o.asked[2].Messages))
		require.Equal(t, Counts{Questions: 3, Records: 2, Proposed: 3}, o.loop.Counts)
		require.Zero(t, o.loop.Call)

		require.Equal(t, []string{"user: go", "assistant: "}, contents(o.rounds[0].Messages))
		require.Equal(t, []string{"tool: of aa", "tool: of bb", "assistant: "}, contents(o.rounds[1].Messages),
			"what the first round doesn't have")
		require.Equal(t, Counts{Questions: 2, Records: 2, Proposed: 2}, o.rounds[1].Counts)
		require.Equal(t, "c", o.rounds[1].Calls[0].ID)
	})
}

// The calls of a round that can't be written down are not made.
func TestRoundFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		full := errors.New("the disk is full")
		o := &caller{steps: []step{calls("a")}, write: func(context.Context, Round) error { return full }}
		o.run(t)
		var kept *RoundError
		require.ErrorAs(t, o.failed, &kept)
		require.ErrorIs(t, o.failed, full)
		require.Equal(t, []string{"ask", `hear ""`, "write 1", "fail"}, o.events)

		o = &caller{steps: []step{calls("a")}, write: func(context.Context, Round) error { panic("x") }}
		o.run(t)
		require.ErrorAs(t, o.failed, &kept, "a journal that panics is one that failed")
	})
}

// Without a journal nothing is written, and nothing is counted as written.
func TestLoopWithoutJournal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		o := &caller{steps: []step{calls("a"), says("done")}}
		o.run(t)
		require.Zero(t, o.loop.Records)
		require.Equal(t, []string{"ask", `hear ""`, "call a", "ask", `hear "done"`, `conclude "done" stop`}, o.events)
	})
}

// What ends a loop is told by kind; an answer that is empty, as a text or as an error, is
// asked for again once.
func TestEndings(t *testing.T) {
	empty, unreachable := &llm.Error{Kind: llm.KindBadResponse, Code: llm.CodeEmpty}, &llm.Error{Kind: llm.KindConnect}
	for name, row := range map[string]struct {
		steps []step
		rules Rules
		want  error // nil: it concludes
		asked int
	}{
		"a text":              {steps: []step{says("x")}, asked: 1},
		"a refusal":           {steps: []step{responds(llm.Response{Refusal: "no"})}, want: ErrRefused, asked: 1},
		"an error":            {steps: []step{fails(unreachable)}, want: unreachable, asked: 1},
		"empty, then a text":  {steps: []step{says(""), says("x")}, asked: 2},
		"an empty error":      {steps: []step{fails(empty), says("x")}, asked: 2},
		"empty twice":         {steps: []step{says(""), fails(empty)}, want: ErrEmpty, asked: 2},
		"empty after a round": {steps: []step{says(""), calls("a"), says("")}, want: ErrEmpty, asked: 3},
		"empty at last":       {steps: []step{says("")}, rules: Rules{LastQuestion: 1}, want: ErrEmpty, asked: 1},
		"nudged at last":      {steps: []step{says(""), says("x")}, rules: Rules{LastQuestion: 1, NudgeWithoutTools: true}, asked: 2},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				o := &caller{steps: row.steps, rules: row.rules}
				o.run(t)
				require.ErrorIs(t, o.failed, row.want)
				require.Len(t, o.asked, row.asked)
			})
		})
	}
}

// A nudge is a message that stays, or stands behind one question.
func TestNudge(t *testing.T) {
	for name, kept := range map[string]bool{"kept": true, "said once": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				o := &caller{steps: []step{says(""), calls("a"), says("x")}, rules: Rules{Nudge: "say something", NudgeIsKept: kept}, write: keep}
				o.run(t)
				require.Equal(t, []string{"user: go", "user: say something"}, contents(o.asked[1].Messages))
				want := []string{"user: go", "user: say something", "assistant: ", "tool: of aa"}
				if !kept {
					want = append(want[:1], want[2:]...)
				}
				require.Equal(t, want, contents(o.asked[2].Messages))
				require.Equal(t, want[:len(want)-1], contents(o.rounds[0].Messages))
				require.True(t, o.rounds[0].Nudged)
			})
		})
	}
}

// An answer that was cut off has no calls: either each is answered with a text, or it is
// the last answer.
func TestCutOffAnswers(t *testing.T) {
	answer := llm.Response{Content: "half", FinishReason: "length",
		ToolCalls: []llm.ToolCall{{ID: "a", Name: "tool"}, {ID: "b", Name: "tool"}}}
	bubble(t, func(t *testing.T) {
		o := &caller{steps: []step{responds(answer), says("x")}, rules: Rules{CutOff: "cut"}, write: keep}
		o.run(t)
		require.Equal(t, []string{"user: go", "assistant: half", "tool: cuta", "tool: cutb"}, contents(o.asked[1].Messages))
		require.Equal(t, Counts{Questions: 2, Records: 1, Omitted: 2}, o.loop.Counts)
		require.Empty(t, o.rounds[0].Calls)

		o = &caller{steps: []step{responds(answer)}, write: keep}
		o.run(t)
		require.Equal(t, []string{"ask", `hear "half"`, `conclude "half" length`}, o.events)
	})
}

// A text that is longer than what is kept is cut, and counts as cut off.
func TestLongAnswers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		o := &caller{steps: []step{says(strings.Repeat("x", MaxAnswer+1))}}
		o.run(t)
		require.Len(t, o.events, 3)
		require.True(t, strings.HasSuffix(o.events[2], `[cut here: the text was too long]" length`))
	})
}

// The last question has no tools, and calls in its answer are not made. It comes when the
// questions are spent, or the room.
func TestLastQuestion(t *testing.T) {
	bubble(t, func(t *testing.T) {
		both := llm.Response{Content: "x", ToolCalls: []llm.ToolCall{{ID: "b", Name: "tool"}}}
		o := &caller{steps: []step{calls("a"), responds(both)}, rules: Rules{LastQuestion: 2}}
		o.run(t)
		require.NotEmpty(t, o.asked[0].Tools)
		require.Empty(t, o.asked[1].Tools)
		require.Equal(t, 1, o.loop.Proposed)

		o = &caller{steps: []step{calls("a"), says("x")}}
		o.call = func(context.Context, llm.ToolCall) (string, error) { return strings.Repeat("r", 5<<20), nil }
		o.run(t)
		require.Empty(t, o.asked[1].Tools)
		require.Contains(t, o.asked[1].Messages[2].Content, "[cut here")
	})
}

// Calls that the owner refuses are answered, counted and not made.
func TestRefusedCalls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		o := &caller{steps: []step{calls("a", "b", "c"), says("x")}, refuse: func(l *Loop) string {
			if l.Proposed == 0 {
				return ""
			}
			return "spent"
		}}
		o.run(t)
		require.Equal(t, []string{"tool: of aa", "tool: spentb", "tool: spentc"}, contents(o.asked[1].Messages[2:]))
		require.Equal(t, 2, o.loop.Omitted)
	})
}

// Of one answer so many calls are heard; the others count as omitted.
func TestManyCalls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		o := &caller{steps: []step{calls(make([]string, MaxCallsHeard+3)...), says("x")}}
		o.run(t)
		require.Equal(t, [2]int{MaxCallsHeard, 3}, [2]int{o.loop.Proposed, o.loop.Omitted})
	})
}

// A call whose goroutine broke is the owner's to answer.
func TestCallBreaks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		o := &caller{steps: []step{calls("a"), says("x")}, call: func(context.Context, llm.ToolCall) (string, error) { panic("x") }}
		o.run(t)
		require.Equal(t, "broken", o.asked[1].Messages[2].Content)
	})
}

// The order in which calls are made may be another than the model's; its answer isn't changed.
func TestOrderOfCalls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		backwards := func(list []llm.ToolCall) []llm.ToolCall { return []llm.ToolCall{list[1], list[0]} }
		o := &caller{steps: []step{calls("a", "b"), says("x")}, rules: Rules{OrderCalls: backwards}, write: keep}
		o.run(t)
		require.Equal(t, []string{"call b", "call a"}, o.events[3:5])
		require.Equal(t, "a", o.asked[1].Messages[1].ToolCalls[0].ID)
		require.Equal(t, "b", o.rounds[0].Calls[0].ID)
	})
}

// The messages hold calls as the model wrote them, or as servers take them. The model is
// sent the latter either way.
func TestEchoIsKept(t *testing.T) {
	for _, kept := range []bool{true, false} {
		bubble(t, func(t *testing.T) {
			odd := responds(llm.Response{ToolCalls: []llm.ToolCall{{ID: "a", Name: "no tool", Arguments: "[1]"}}})
			var made llm.ToolCall
			o := &caller{steps: []step{odd, says("x")}, rules: Rules{EchoIsKept: kept}, write: keep}
			o.call = func(_ context.Context, k llm.ToolCall) (string, error) { made = k; return "", nil }
			o.run(t)
			echo := llm.ToolCall{ID: "a", Name: "unknown_tool", Arguments: `{"malformed":"[1]"}`}
			written := llm.ToolCall{ID: "a", Name: "no tool", Arguments: "[1]"}
			require.Equal(t, written, made, "what is made is what the model wrote")
			require.Equal(t, echo, o.asked[1].Messages[1].ToolCalls[0])
			if kept {
				written = echo
			}
			require.Equal(t, written, o.rounds[0].Messages[1].ToolCalls[0])
		})
	}
}

// A loop that is put to where another's rounds ended goes on as that one: it makes the
// calls of the last round and asks what the other asked.
func TestRestore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		script := []step{calls("a", "b"), calls("c"), says("done")}
		whole := &caller{steps: script, write: keep}
		whole.run(t)
		for n, r := range whole.rounds {
			var list []llm.Message
			for _, before := range whole.rounds[:n+1] {
				list = append(list, before.Messages...)
			}
			o := &caller{steps: script[n+1:], write: keep, restore: func(l *Loop) {
				l.Restore(Round{Counts: r.Counts, Messages: list, Calls: r.Calls}, []string{"b"})
			}}
			o.call = func(_ context.Context, k llm.ToolCall) (string, error) {
				require.Equal(t, k.ID == "b", o.loop.IsHidden())
				return "of " + k.ID, nil
			}
			o.run(t)
			require.Equal(t, whole.asked[n+1:], o.asked)
			require.Equal(t, whole.loop.Counts, o.loop.Counts)
			require.Equal(t, whole.rounds[n+1:], append([]Round{}, o.rounds...))
		}
	})
}

// desk is told of calls ahead, and judges until it is stopped.
type desk struct {
	told  chan []skills.Proposed
	ended chan error
}

func (d *desk) Prejudge(ctx context.Context, list []skills.Proposed) {
	d.told <- list
	<-ctx.Done()
	d.ended <- ctx.Err()
}

// The desk is told of two calls and more while the first is under way, and what it judges
// ahead ends with the answer. Restored calls were told of before.
func TestPrejudging(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := &desk{make(chan []skills.Proposed, 9), make(chan error, 9)}
		o := &caller{steps: []step{calls("a"), calls("b", "c"), says("x")}, rules: Rules{Prejudger: d}}
		o.call = func(_ context.Context, k llm.ToolCall) (string, error) {
			if k.ID == "b" {
				require.Equal(t, []skills.Proposed{{Skill: "b"}, {Skill: "c"}}, <-d.told)
			}
			return "", nil
		}
		o.run(t)
		require.ErrorIs(t, <-d.ended, context.Canceled)
		require.Empty(t, d.told)

		o = &caller{steps: []step{says("x")}, rules: Rules{Prejudger: d}, restore: func(l *Loop) {
			l.Restore(Round{Calls: []llm.ToolCall{{ID: "a"}, {ID: "b"}}}, nil)
		}}
		o.run(t)
		require.Equal(t, 2, o.loop.Proposed)
		require.Empty(t, d.told)
	})
}

// A task that was given up says nothing any more: another question takes its place, or
// its owner wants nothing of it.
func TestTasksAreGivenUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		o := &caller{steps: []step{hang, says("x")}}
		o.message = func(c *otp.Context, l *Loop, _ any) {
			require.Equal(t, TaskModel, l.Task())
			l.AskInstead(c)
		}
		o.start(t).Send("ask instead")
		<-o.done
		require.Equal(t, []string{"ask", "ask", `hear "x"`, `conclude "x" stop`}, o.events)

		cause := make(chan error, 1)
		o = &caller{steps: []step{func(ctx context.Context, r llm.Request) (llm.Response, error) {
			<-ctx.Done()
			cause <- context.Cause(ctx)
			return llm.Response{}, ctx.Err()
		}}}
		o.message = func(c *otp.Context, l *Loop, _ any) {
			l.Withdraw(c)
			require.Equal(t, TaskNone, l.Task())
			l.Withdraw(c)
			c.Stop(otp.Normal())
		}
		o.start(t).Send("withdraw")
		<-o.done
		require.ErrorIs(t, <-cause, skills.ErrWithdrawn)
		require.Equal(t, []string{"ask"}, o.events)
	})
}
