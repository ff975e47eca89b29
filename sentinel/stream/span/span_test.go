package span_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/stream/span"
)

func TestIsObject(t *testing.T) {
	for in, want := range map[string]bool{
		`{}`: true, `{"a":[1,{"b":null}]}`: true,
		`[]`: false, ``: false, `{"a":1,"a":2}`: false, `{"a":1} {}`: false, "{\"a\":\"\xff\"}": false, `{"a":"\ud800"}`: false,
		`{"a":1,}`: false, `{"a":{"b":1,"\u0062":2}}`: false, strings.Repeat(`{"a":`, 300) + "1" + strings.Repeat("}", 300): false,
	} {
		require.Equal(t, want, span.IsObject([]byte(in)), in)
	}
}

// Members and elements are parts of the text, and names are decoded.
func TestWalk(t *testing.T) {
	in := []byte(`{ "a" : "x\"}" , "\u0062":[1, {"c":2},"]"],"d":{} }`)
	var got []string
	for it := span.Members(in); it.Next(); {
		require.Equal(t, string(it.Value), string(in[it.From:it.From+len(it.Value)]))
		got = append(got, string(it.Key)+"="+string(it.Value))
	}
	require.Equal(t, []string{`a="x\"}"`, `b=[1, {"c":2},"]"]`, `d={}`}, got)
	var list []string
	for it := span.Elements(span.Member(in, "b")); it.Next(); {
		list = append(list, string(it.Value))
	}
	require.Equal(t, []string{"1", `{"c":2}`, `"]"`}, list)
}

func TestMayCarryCall(t *testing.T) {
	for in, want := range map[string]bool{
		`{"tool_calls":[1]}`: true, `{"Tool-Calls":[1]}`: true, `{"tool_callſ":[1]}`: true, `{"a":[{"functionCall":1}]}`: true,
		`{"x":{"type":"tool_use"}}`: true, `{"x":{"type":"function"}}`: true, `{"\u0074ool":1}`: true, `{"invoKe":1}`: true,
		`{"tool_calls":[]}`: false, `{"function_call":null}`: false, `{"reasoning":"tool"}`: false, `{"a":{"type":"text"}}`: false,
		`{"citations":["http://tool"]}`: false,
	} {
		require.Equal(t, want, span.HoldsCall([]byte(in)), in)
	}
	require.True(t, span.Resembles([]byte("choiceſ"), "choices"))
	require.True(t, span.Counts([]byte(`{"server_tool_use":{"web_search_requests":1},"service_tier":null}`)))
	require.False(t, span.Counts([]byte(`{"tool_calls":[{"x":"y"}]}`)))
}

func TestNumber(t *testing.T) {
	for in, want := range map[string]int{"0": 0, "12": 12, "-1": -1, "01": -1, "1.0": -1, "1e1": -1, `"1"`: -1, "": -1, "1234567890": -1} {
		n, ok := span.Number([]byte(in))
		require.Equal(t, want >= 0, ok, in)
		if ok {
			require.Equal(t, want, n)
		}
	}
}

// What Edit writes has the members that are left, in their order, as they were.
func TestEdit(t *testing.T) {
	out := span.Edit(nil, []byte(`{"a": 1.0, "b":"\u00e9","c":[]}`), func(key string, value []byte) []byte {
		if key == "c" {
			return nil
		}
		return value
	})
	require.Equal(t, `{"a":1.0,"b":"\u00e9"}`, string(out))
	require.True(t, json.Valid(span.Edit(nil, []byte(`{}`), nil)))
	require.Equal(t, `"a\"\n`+"\ufffd"+`"`, string(span.AppendQuote(nil, "a\"\n\xff")))
}
