package stream_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/stream"
)

var formats = []string{"chat", "messages", "responses"}

// Text, a call that is allowed, text, a call that is blocked: the seed's first case. The end is at
// the blocked call.
func TestBufferStateMachineSimple(t *testing.T) {
	for _, format := range formats {
		t.Run(format, func(t *testing.T) {
			in := upstream(format, txt("one "), call("1", "ok_a", `{"q":"first"}`), txt("two "), call("2", "bad_b", `{"q":"secret-value"}`),
				txt("three"))
			a, h := hear(t, format, options(t, stream.Terminate), in)
			require.Equal(t, "one two <blocked bad_b by permission: not for you; d-1>", a.text[0])
			require.Equal(t, []said{{"1", "ok_a", `{"q":"first"}`}}, a.calls[0])
			require.NotContains(t, h.out, "secret-value")
			require.NotContains(t, h.out, "three")
			require.True(t, a.ended)
			require.Len(t, h.judged, 2)
		})
	}
}

// Calls and texts in turn, all of them allowed: the seed's second case. Everything arrives.
func TestInterleavedToolCallsAndText(t *testing.T) {
	for _, format := range formats {
		t.Run(format, func(t *testing.T) {
			want := []said{{"1", "ok_a", `{"n":1}`}, {"2", "ok_b", `{"n":2}`}, {"3", "ok_c", `{"n":3}`}}
			in := upstream(format, call("1", "ok_a", `{"n":1}`), txt("x "), call("2", "ok_b", `{"n":2}`), txt("y "), call("3", "ok_c", `{"n":3}`))
			a, h := hear(t, format, options(t, stream.Terminate), in)
			require.Equal(t, want, a.calls[0])
			require.Equal(t, "x y ", a.text[0])
			require.True(t, a.usage)
			require.Empty(t, h.refused)
		})
	}
}
