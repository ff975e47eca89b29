package stream_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
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

// fuzzFormat gives a format's attacks as a corpus, and holds what holds for any bytes.
func fuzzFormat(f *testing.F, format string) {
	for _, in := range corpus(f, format) {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) <= 64<<10 {
			holdsForAny(t, format, in)
		}
	})
}

func corpus(t require.TestingT, format string) []string {
	list := []string{upstream(format, txt("a"), call("1", "ok", `{"a":1}`), txt("b"), call("2", "bad", `{"b":2}`))}
	for _, in := range attacks(t)[format] {
		list = append(list, join([]string{begins[format], in}))
	}
	slices.Sort(list)
	return list
}

// holdsForAny holds for any bytes: nothing panics, no call is in the output where each is denied,
// each call in it was offered where each is allowed, and where the bytes are cut makes no
// difference.
func holdsForAny(t testing.TB, format string, in []byte) {
	opts := options(t, stream.Continue)
	opts.MaxBuffered, opts.MaxCalls = 1<<16, 16
	h := play(t, codecs[format](), opts, deny, string(in))
	require.Empty(t, callsOf(format, h.out), "every call is denied:\n%q\n%s", in, h.out)
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
	require.Equal(t, held.out, split.out, "cut into bytes: %q", in)
}

// Parts of attacks, cut, repeated, swapped and changed in single bytes, come to nothing either.
// With VEDETTE_LONG there are many.
func TestMixedAttacks(t *testing.T) {
	rounds := 100
	if os.Getenv("VEDETTE_LONG") != "" {
		rounds = 200_000
	}
	rnd := rand.New(rand.NewPCG(7, 7))
	for _, format := range formats {
		list := corpus(t, format)
		var frames []string
		for _, in := range list {
			frames = append(frames, strings.SplitAfter(in, "\n\n")...)
		}
		for range rounds {
			var b strings.Builder
			b.WriteString(begins[format])
			for range 1 + rnd.IntN(6) {
				b.WriteString(frames[rnd.IntN(len(frames))])
			}
			in := []byte(b.String())
			for range rnd.IntN(4) {
				at := rnd.IntN(len(in))
				switch rnd.IntN(4) {
				case 0:
					in[at] = "\"{}[],:\\\r\n aA0"[rnd.IntN(14)]
				case 1:
					in = slices.Delete(in, at, at+1)
				case 2:
					in = slices.Insert(in, at, in[rnd.IntN(len(in))])
				case 3:
					from := rnd.IntN(len(in))
					in = slices.Concat(in[:at], in[from:min(len(in), from+rnd.IntN(60))], in[at:])
				}
			}
			holdsForAny(t, format, in)
		}
	}
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
