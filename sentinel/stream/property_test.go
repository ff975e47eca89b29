package stream_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/vedette-dev/vedette/sentinel/stream"
)

// secret is in the arguments of each call that is to be blocked, in a form that no text has.
const secret = "SECRET"

var texts = []string{"a", "ein Wort", "\"quoted\"", "日本語", "{\"tool_calls\":[1]}", "line\nline", "\u2028", "data: x", "", "\\", "🙂"}

// drawParts draws an answer.
func drawParts(t *rapid.T) []part {
	var parts []part
	for n := range rapid.IntRange(0, 6).Draw(t, "parts") {
		if rapid.Bool().Draw(t, "isText") {
			parts = append(parts, txt(rapid.SampledFrom(texts).Draw(t, "text")))
			continue
		}
		args := rapid.SampledFrom([]string{`{}`, `{"a":"` + "%s" + `"}`, `{ "a" : [1,2,{"b":"%s\n\"é🙂"}] }`, ``,
			`{"a":1,"a":"%s"}`, `{"n":9007199254740993,"s":"%s"}`, `{"a":"%s`, `{"A":1,"a":"%s"}`, `["%s"]`,
			`{"u":"\ud800 %s"}`}).Draw(t, "args")
		name := rapid.SampledFrom([]string{"ok_a", "ok_b", "bad_a"}).Draw(t, "name")
		value := fmt.Sprintf("%s%d", secret, n)
		if strings.Count(args, "%s") == 1 {
			args = fmt.Sprintf(args, value)
		}
		parts = append(parts, call(fmt.Sprintf("id%d", n), name, args))
	}
	return parts
}

// isSound says which of the drawn arguments are one plain object.
func isSound(args string) bool {
	for _, odd := range []string{`"a":1,"a"`, "900719", `"A":1`, `["`, `\ud800`} {
		if strings.Contains(args, odd) {
			return false
		}
	}
	return args == "" || strings.HasSuffix(strings.TrimSpace(args), "}")
}

// merge mixes the frames of calls that stand side by side, each in its own order.
func merge(t *rapid.T, f frames, parts []part) []string {
	list := slices.Clone(f.head)
	for i := 0; i < len(parts); {
		j := i + 1
		for parts[i].call != nil && j < len(parts) && parts[j].call != nil {
			j++
		}
		group := slices.Clone(f.parts[i:j])
		begun := 1
		for left := true; left; {
			left = false
			k := rapid.IntRange(0, begun-1).Draw(t, "next")
			for range group {
				if len(group[k]) > 0 {
					break
				}
				k = (k + 1) % len(group)
			}
			if len(group[k]) > 0 {
				list = append(list, group[k][0])
				group[k] = group[k][1:]
				begun = min(len(group), max(begun, k+1)+rapid.IntRange(0, 1).Draw(t, "begin"))
				for n := range begun { // calls begin in their order
					if n > k && len(group[n]) == len(f.parts[i+n]) {
						list = append(list, group[n][0])
						group[n] = group[n][1:]
					}
				}
			}
			for _, g := range group {
				left = left || len(g) > 0
			}
		}
		i = j
	}
	return append(list, f.tail...)
}

// expect is what a client must end up with.
func expect(parts []part, onBlock stream.OnBlock) (text string, calls []said) {
	for _, p := range parts {
		switch {
		case p.call == nil:
			text += p.text
			continue
		case isSound(p.call.args) && strings.HasPrefix(p.call.name, "ok"):
			calls = append(calls, *p.call)
			continue
		case isSound(p.call.args):
			text += "<blocked " + p.call.name + " by permission: not for you; d-1>"
		default:
			text += "<blocked " + p.call.name + " by stream: " + stream.DescribeCode(stream.CodeArguments) + "; no decision>"
		}
		if onBlock == stream.Terminate {
			break
		}
	}
	return text, calls
}

// playLate sends a stream in random pieces and decides the calls late and in any order.
func playLate(t *rapid.T, codec stream.Codec, opts stream.Options, in string) heard {
	relay := stream.NewRelay(codec, opts)
	var h heard
	var waiting []stream.Call
	settle := func(p stream.Progress) {
		h.take(p)
		for _, r := range p.Refused {
			waiting = slices.DeleteFunc(waiting, func(c stream.Call) bool { return c.Number == r.Call })
		}
		waiting = append(waiting, p.Judge...)
	}
	rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	decideOne := func() {
		i := rnd.IntN(len(waiting))
		c := waiting[i]
		waiting = slices.Delete(waiting, i, i+1)
		p, err := relay.Decide(c.Number, byName(c))
		require.NoError(t, err)
		h.judged = append(h.judged, c)
		settle(p)
	}
	for len(in) > 0 {
		n := min(len(in), 1+rnd.IntN(40))
		if rnd.IntN(4) == 0 {
			n = 1
		}
		settle(relay.Write([]byte(in[:n])))
		in = in[n:]
		if len(waiting) > 0 && rnd.IntN(3) == 0 {
			decideOne()
		}
	}
	settle(relay.Close())
	for len(waiting) > 0 && !h.done {
		decideOne()
	}
	return h
}

// For every answer, every mixture of its calls, every cut of its bytes and every order of
// Decisions: allowed calls arrive whole and unchanged, no byte of a blocked call's arguments does,
// the text is the upstream's text in order, and a strict client reads the output.
func TestEveryStreamKeepsThePromise(t *testing.T) {
	for _, format := range formats {
		t.Run(format, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				parts := drawParts(t)
				onBlock := stream.OnBlock(rapid.IntRange(0, 1).Draw(t, "onBlock"))
				in := join(merge(t, write(format, parts), parts))
				if rapid.Bool().Draw(t, "crlf") {
					in = strings.ReplaceAll(in, "\n", "\r\n")
				}
				if rapid.Bool().Draw(t, "comments") {
					in = ": hello\n\n" + strings.ReplaceAll(in, "\n\nevent", "\n\n: busy\n\nevent")
				}
				opts := options(t, onBlock)
				h := playLate(t, codecs[format](), opts, in)
				a, err := readers[format](h.out)
				require.NoError(t, err, "%s\n---\n%s", in, h.out)
				text, calls := expect(parts, onBlock)
				require.NoError(t, h.err)
				require.Equal(t, text, a.text[0], in)
				require.Len(t, a.calls[0], len(calls))
				for i := range calls {
					require.Equal(t, calls[i], a.calls[0][i])
				}
				holdsSecret(t, parts, calls, h.out)
			})
		})
	}
}

// holdsSecret fails where a value of a call that wasn't allowed is in the output.
func holdsSecret(t require.TestingT, parts []part, calls []said, out string) {
	for _, p := range parts {
		if p.call != nil && !slices.Contains(calls, *p.call) {
			require.NotContains(t, out, secret+p.call.id[len("id"):])
		}
	}
}
