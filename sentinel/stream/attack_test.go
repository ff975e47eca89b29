package stream_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/stream"
)

// canary stands where a client would read a call that must not arrive.
const canary = "CANARY"

const (
	evil     = `{\"x\":\"CANARY\"}`
	evilCall = `{"index":0,"id":"c","type":"function","function":{"name":"t","arguments":"` + evil + `"}}`
)

const evilUse = `{"type":"tool_use","id":"t","name":"t","input":{"x":"CANARY"}}`

const evilItem = `{"id":"f","type":"function_call","call_id":"c","name":"t","arguments":"` + evil + `"}`

func added(item string) string {
	return numbered("response.output_item.added", `,"output_index":0,"item":`+item)
}

func itemDone(item string) string {
	return numbered("response.output_item.done", `,"output_index":0,"item":`+item)
}

func completed(output string) string {
	return numbered("response.completed", `,"response":{"id":"r","object":"response","output":[`+output+`]}`)
}

// attacks are the chunks of testdata/attacks.json, by format and name: each tries to get a call to
// a client without a Decision. @SEQ stands for a number of the Responses format.
func attacks(t require.TestingT) map[string]map[string]string {
	raw, err := os.ReadFile("testdata/attacks.json")
	require.NoError(t, err)
	var all map[string]map[string]string
	require.NoError(t, json.Unmarshal(raw, &all))
	all["chat"]["invalid UTF-8"] = chatLine("{\"content\":\"\xff\",\"tool_calls\":[" + evilCall + "]}")
	for _, list := range all {
		require.Greater(t, len(list), 20)
	}
	return all
}

// begins is how each format's answers begin.
var begins = map[string]string{
	"chat":      chatRole,
	"messages":  sent("message_start", messageStart),
	"responses": numbered("response.created", `,"response":{"id":"r","object":"response","output":[]}`),
}

func deny(stream.Call) stream.Decision { return stream.Decision{} }

// No chunk gets a byte of a call past a Decision that blocks.
func TestNothingGetsPast(t *testing.T) {
	all := attacks(t)
	for _, format := range formats {
		for name, in := range all[format] {
			t.Run(format+"/"+name, func(t *testing.T) {
				for _, onBlock := range []stream.OnBlock{stream.Terminate, stream.Continue} {
					for _, begin := range []string{"", begins[format]} {
						h := play(t, codecs[format](), options(t, onBlock), deny, join([]string{begin, in}))
						require.NotContains(t, h.out, canary)
						require.True(t, h.done)
						_, err := cut(h.out)
						require.NoError(t, err)
					}
				}
			})
		}
	}
}

// The same chunks one byte at a time come to the same output.
func TestEverySplitGivesOneResult(t *testing.T) {
	all := attacks(t)
	for _, format := range formats {
		for name, in := range all[format] {
			in = join([]string{begins[format], in})
			whole := playHeld(t, codecs[format](), options(t, stream.Continue), deny, in)
			split := playHeld(t, codecs[format](), options(t, stream.Continue), deny, strings.Split(in, "")...)
			require.Equal(t, whole.out, split.out, "%s %s", format, name)
			require.Equal(t, whole.refused, split.refused)
		}
	}
}

// A stream that is cut at any byte never yields a call that isn't whole. Without VEDETTE_LONG it
// is cut at every eleventh.
func TestCutAtEveryByte(t *testing.T) {
	step := 37
	if os.Getenv("VEDETTE_LONG") != "" {
		step = 1
	}
	for _, format := range formats {
		in := upstream(format, txt("a"), call("1", "ok_a", `{"q":"first"}`), call("2", "ok_b", `{"q":"é second"}`))
		for n := 0; n < len(in); n += step {
			h := play(t, codecs[format](), options(t, stream.Continue), byName, in[:n])
			a, err := readers[format](h.out)
			require.NoError(t, err, "%s\n%s", in[:n], h.out)
			for i, c := range a.calls[0] {
				require.Equal(t, []said{{"1", "ok_a", `{"q":"first"}`}, {"2", "ok_b", `{"q":"é second"}`}}[i], c)
			}
			require.True(t, h.done)
		}
	}
}
