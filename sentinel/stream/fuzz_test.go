package stream_test

import (
	"encoding/json"
	"strings"
	"testing"

	openai "github.com/sashabaranov/go-openai"
	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/stream"
)

// callsOf finds calls in an output as the most generous client would: any line, any letter case,
// any place.
func callsOf(format, out string) []said {
	var calls []said
	for line := range strings.SplitSeq(strings.NewReplacer("\r", "\n", "\u2028", "\n").Replace(out), "\n") {
		data, ok := strings.CutPrefix(line, "data:")
		if !ok {
			continue
		}
		switch format {
		case "chat":
			var c openai.ChatCompletionStreamResponse
			if json.Unmarshal([]byte(data), &c) != nil {
				continue
			}
			for _, ch := range c.Choices {
				for _, tc := range ch.Delta.ToolCalls {
					calls = append(calls, said{name: tc.Function.Name, args: tc.Function.Arguments})
				}
				if f := ch.Delta.FunctionCall; f != nil {
					calls = append(calls, said{name: f.Name, args: f.Arguments})
				}
			}
		case "messages":
			var m messageEvent
			if json.Unmarshal([]byte(data), &m) == nil && m.ContentBlock.Type == "tool_use" {
				calls = append(calls, said{name: m.ContentBlock.Name, args: string(m.ContentBlock.Input)})
			}
		default:
			var m responseEvent
			if json.Unmarshal([]byte(data), &m) == nil {
				for _, it := range append(m.Response.Output, m.Item) {
					if it.Type == "function_call" && it.Arguments != "" {
						calls = append(calls, said{name: it.Name, args: it.Arguments})
					}
				}
			}
		}
	}
	return calls
}

// fuzzFormat holds for any bytes: nothing panics, the output is events, no call is in it where
// each is denied, and each call in it was offered where each is allowed.
func fuzzFormat(f *testing.F, format string) {
	for _, in := range attacks(f)[format] {
		f.Add([]byte(join([]string{begins[format], in})))
	}
	f.Add([]byte(upstream(format, txt("a"), call("1", "ok", `{"a":1}`), txt("b"), call("2", "bad", `{"b":2}`))))
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) > 64<<10 {
			return
		}
		opts := options(t, stream.Continue)
		opts.MaxBuffered, opts.MaxCalls = 1<<16, 16
		h := play(t, codecs[format](), opts, deny, string(in))
		require.Empty(t, callsOf(format, h.out), "every call is denied:\n%s", h.out)
		h = play(t, codecs[format](), opts, func(stream.Call) stream.Decision { return stream.Decision{Allow: true} }, string(in))
		offered := map[string]bool{"": true}
		for _, c := range h.judged {
			offered[c.Name] = true
		}
		for _, c := range callsOf(format, h.out) {
			require.True(t, offered[c.name], "%q was never offered", c.name)
		}
		held := playHeld(t, codecs[format](), opts, deny, string(in))
		split := playHeld(t, codecs[format](), opts, deny, splitBytes(in)...)
		require.Equal(t, held.out, split.out, "cut into bytes")
	})
}

func splitBytes(in []byte) []string {
	out := make([]string, len(in))
	for i := range in {
		out[i] = string(in[i : i+1])
	}
	return out
}

func FuzzChat(f *testing.F)      { fuzzFormat(f, "chat") }
func FuzzMessages(f *testing.F)  { fuzzFormat(f, "messages") }
func FuzzResponses(f *testing.F) { fuzzFormat(f, "responses") }
