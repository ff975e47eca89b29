package llm

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

// plain is a whole answer as the largest server of them sends it.
const plain = `{"id":"chatcmpl-9fZ0c1","object":"chat.completion","created":1764000000,"model":"gpt-5-mini-2025-08-07",` +
	`"choices":[{"index":0,` +
	`"message":{"role":"assistant","content":"{\"decision\":\"approve\",\"reason\":\"The user asked for exactly this.\"}","refusal":null,` +
	`"annotations":[]},` +
	`"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":512,"completion_tokens":31,"total_tokens":543,` +
	`"prompt_tokens_details":{"cached_tokens":384,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0}},` +
	`"service_tier":"default","system_fingerprint":"fp_44709d6fcb"}`

// Reading stops when its time is over, well before the end of a long document.
func TestReadingStopsInTime(t *testing.T) {
	body := []byte(`{"choices":[{"message":{"content":"hi"}}],"x":[` + strings.Repeat("0,", 1<<20) + `0]}`)
	asked := 0
	_, e := decodeAnswer(body, func() bool { asked++; return asked == 3 })
	require.Equal(t, KindConnect, e.Kind)
	require.Equal(t, 3, asked)
	_, e = decodeAnswer(body, func() bool { asked++; return false })
	require.Nil(t, e)
	require.Greater(t, asked, 1000)
}

// What a server adds costs no memory beside its bytes, whatever it is.
func TestMemoryOfHostileAnswers(t *testing.T) {
	const size = 1 << 20
	var keys strings.Builder
	for i := 0; keys.Len() < size; i++ {
		fmt.Fprintf(&keys, `"%x":0,`, i)
	}
	for name, x := range map[string]string{
		"names":   `{` + keys.String() + `"z":0}`,
		"objects": `[` + strings.Repeat("{},", size/3) + `{}]`,
		"a text":  `"` + strings.Repeat(`\u00e9`, size/6) + `"`,
	} {
		t.Run(name, func(t *testing.T) {
			body := []byte(`{"choices":[{"message":{"content":"hi","x":` + x + `}}],"x":` + x + `}`)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			resp, e := decodeAnswer(body, nil)
			runtime.ReadMemStats(&after)
			require.Nil(t, e)
			require.Equal(t, "hi", resp.Content)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<10))
		})
	}
}

// readAt is where a document is read by name.
var readAt = regexp.MustCompile(`^(/choices/0(/message(/content/\d+|/tool_calls/\d+(/function)?)?|/error)?|/usage|/error)?$`)

// open is an object that is read: where its first member goes, and its names.
type open struct {
	at    int
	path  string
	names []string
}

// opened finds the objects that are read, with a second reader.
func opened(body string) []open {
	var out []open
	d := jsontext.NewDecoder(strings.NewReader(body), jsontext.AllowDuplicateNames(true))
	for {
		kind, n := d.StackIndex(d.StackDepth())
		key := kind == '{' && n%2 == 0
		t, err := d.ReadToken()
		if err != nil {
			return out
		}
		path := string(d.StackPointer())
		switch {
		case t.Kind() == '{' && readAt.MatchString(path):
			out = append(out, open{at: int(d.InputOffset()), path: path})
		case key && t.Kind() == '"':
			parent := path[:strings.LastIndexByte(path, '/')]
			for i := range out {
				if out[i].path == parent {
					out[i].names = append(out[i].names, t.String())
				}
			}
		}
	}
}

// with puts a member before the others of an object.
func (o open) with(body, name, value string) string {
	if len(o.names) > 0 {
		value += ","
	}
	return body[:o.at] + `"` + name + `":` + value + body[o.at:]
}

// others are names of the API in other letters that encoding/json takes for them.
var others = func() []string {
	var out []string
	for _, name := range []string{"id", "model", "choices", "usage", "error", "index", "finish_reason", "message", "role", "content",
		"refusal",
		"tool_calls", "function_call", "type", "text", "function", "name", "arguments", "prompt_tokens", "completion_tokens", "total_tokens",
		"code"} {
		out = append(out, strings.ToUpper(name), strings.ToUpper(name[:1])+name[1:])
		for _, fold := range []string{strings.Replace(name, "s", "ſ", 1), strings.Replace(name, "k", "\u212a", 1)} {
			if fold != name {
				out = append(out, fold)
			}
		}
	}
	return append(out, "MultiContent", "multicontent")
}()

// oracle says what an answer that was accepted says, by encoding/json's maps,
// which know no case folding either.
func oracle(t *testing.T, body string) Response {
	var doc map[string]any
	require.NoError(t, json.Unmarshal([]byte(body), &doc))
	require.Nil(t, doc["error"])
	list := doc["choices"].([]any)
	first := list[0].(map[string]any)
	require.Nil(t, first["error"])
	require.Contains(t, []any{nil, float64(0)}, first["index"])
	m := first["message"].(map[string]any)
	require.Contains(t, []any{nil, "assistant"}, m["role"])
	require.Nil(t, m["function_call"])
	r := Response{ID: str(doc["id"]), Model: str(doc["model"]), Choices: len(list), FinishReason: str(first["finish_reason"]),
		Refusal: str(m["refusal"])}
	if parts, ok := m["content"].([]any); ok {
		for _, p := range parts {
			switch p := p.(map[string]any); p["type"] {
			case "text":
				r.Content += p["text"].(string)
			case "refusal":
				r.Refusal += p["refusal"].(string)
			default:
				require.Contains(t, []any{"reasoning", "thinking"}, p["type"])
			}
		}
	} else {
		r.Content = str(m["content"])
	}
	calls, _ := m["tool_calls"].([]any)
	for _, c := range calls {
		call := c.(map[string]any)
		require.Contains(t, []any{nil, "function"}, call["type"])
		f := call["function"].(map[string]any)
		r.ToolCalls = append(r.ToolCalls, ToolCall{ID: str(call["id"]), Name: f["name"].(string), Arguments: str(f["arguments"])})
	}
	return r
}

// str is a string or nothing; of another type it would not have been accepted.
func str(v any) string {
	if v == nil {
		return ""
	}
	return v.(string)
}

// What is accepted says the same to a second reader. A name of the API in other
// letters changes nothing wherever it is put in, a name twice ends it.
func FuzzDecode(f *testing.F) {
	for i, body := range []string{
		plain,
		`{"choices":[{"message":{"content":[{"type":"text","text":"a"},{"type":"reasoning","text":"b"},{"type":"refusal","refusal":"c"}]},` +
			`"finish_reason":"length"}]}`,
		`{"choices":[{"index":0,"message":{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f",` +
			`"arguments":"{"}},{"function":{"name":"\u0000"}}]}},{}]}`,
		`{"choices":[{"error":{"code":"server_error"},"message":{"content":"a"}}],"usage":{"total_tokens":1e400}}`,
		`{"choices":[{"message":{"content":"a","refusal":"b"}}],"usage":null,"x":{"a":1,"a":[]}}`,
		"null", `{"choices":[]}`, `{"choices":[{}]}`, `[`, `{"choices":[{"message":{"content":"a","content":"b"}}]}`,
	} {
		f.Add(body, uint(i), uint(3*i))
	}
	f.Fuzz(func(t *testing.T, body string, place, name uint) {
		got, e := decodeAnswer([]byte(body), nil)
		if e == nil {
			want := oracle(t, body)
			want.Usage = got.Usage
			require.Equal(t, want, got)
			for _, n := range []int{got.Usage.Prompt, got.Usage.Completion, got.Usage.Total} {
				require.True(t, n >= 0 && n <= maxUsage)
			}
		}
		objects := opened(body)
		if len(objects) == 0 || e != nil && e.Kind == KindNotJSON {
			return
		}
		o := objects[place%uint(len(objects))]
		fold := others[name%uint(len(others))]
		if len(o.names) < maxNames && !slices.Contains(o.names, fold) {
			unmoved(t, body, o, fold)
		}
		for _, o := range objects {
			for _, twice := range o.names {
				spelt, err := json.Marshal(twice)
				require.NoError(t, err)
				_, fault := decodeAnswer([]byte(o.with(body, string(spelt[1:len(spelt)-1]), "null")), nil)
				require.NotNil(t, fault, "%q at %q", twice, o.path)
				if e == nil {
					require.Equal(t, KindNotJSON, fault.Kind, "%q at %q", twice, o.path)
				}
			}
		}
	})
}

// unmoved asserts that a name in other letters changes nothing, whatever stands there.
func unmoved(t *testing.T, body string, o open, fold string) {
	got, e := decodeAnswer([]byte(body), nil)
	for _, poison := range []string{`"no"`, `null`, `[{"message":{"content":"no"},"type":"text","text":"no"}]`,
		`{"code":"no","content":"no"}`} {
		again, fault := decodeAnswer([]byte(o.with(body, fold, poison)), nil)
		require.Equal(t, got, again, "%s at %q", fold, o.path)
		require.Equal(t, e, fault, "%s at %q", fold, o.path)
	}
}

// BenchmarkDecode measures what happens to an answer between the transport and
// the caller.
func BenchmarkDecode(b *testing.B) {
	b.ReportAllocs()
	b.SetBytes(int64(len(plain)))
	for b.Loop() {
		x := &exchange{limit: math.MaxInt32}
		res := &http.Response{StatusCode: 200, ContentLength: int64(len(plain)), Body: io.NopCloser(strings.NewReader(plain))}
		if e := x.readSuccess(b.Context(), res); e != nil || x.answer.Content == "" {
			b.Fatal(e)
		}
	}
}
