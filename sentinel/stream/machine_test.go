package stream_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/stream"
)

func begin(n int, name string) stream.Event {
	return stream.Event{Kind: stream.Begin, Call: n, Start: stream.Start{Name: name}}
}

func grow(n int, args string) stream.Event {
	return stream.Event{Kind: stream.Grow, Call: n, Args: []byte(args)}
}

func closeCall(n int) stream.Event { return stream.Event{Kind: stream.Close, Call: n} }
func pass(s string) stream.Event   { return stream.Event{Kind: stream.Pass, Raw: []byte(s)} }

// push sends events and returns the kinds of what leaves, and the last step.
func push(m *stream.Machine, events ...stream.Event) (kinds []stream.Kind, last stream.Step) {
	for _, e := range events {
		last = m.Push(e)
		for _, o := range last.Out {
			kinds = append(kinds, o.Kind)
		}
	}
	return kinds, last
}

// Decisions come in any order; what leaves is in the upstream's.
func TestDecisionsInAnyOrder(t *testing.T) {
	m := stream.NewMachine(options(t, stream.Continue), false)
	kinds, _ := push(m, pass("a"), begin(0, "ok"), begin(1, "ok"), grow(1, "{}"), closeCall(1), pass("b"), grow(0, "{}"), closeCall(0))
	require.Equal(t, []stream.Kind{stream.Pass}, kinds)
	require.Equal(t, 2, m.Waiting())
	s, err := m.Decide(1, stream.Decision{Allow: true})
	require.NoError(t, err)
	require.Empty(t, s.Out, "the first call isn't decided")
	s, err = m.Decide(0, stream.Decision{})
	require.NoError(t, err)
	require.Equal(t, []stream.Kind{stream.Notice, stream.Forward, stream.Pass}, []stream.Kind{s.Out[0].Kind, s.Out[1].Kind, s.Out[2].Kind})
	require.Zero(t, m.Buffered())
	require.Zero(t, m.Waiting())
}

// A Decision counts once, and only for a call that was offered.
func TestDecideOnce(t *testing.T) {
	m := stream.NewMachine(options(t, stream.Continue), false)
	push(m, begin(0, "ok"), begin(1, "ok"), grow(1, "{}"), closeCall(1))
	for _, n := range []int{-1, 0, 2} {
		s, err := m.Decide(n, stream.Decision{Allow: true})
		require.ErrorIs(t, err, stream.ErrNoCall)
		require.Empty(t, s.Out)
	}
	_, err := m.Decide(1, stream.Decision{})
	require.NoError(t, err)
	_, err = m.Decide(1, stream.Decision{Allow: true})
	require.ErrorIs(t, err, stream.ErrDecided)
	s := m.Push(stream.Event{Kind: stream.End})
	require.Equal(t, stream.Notice, s.Out[0].Kind)
	require.NotContains(t, kindsOf(s), stream.Forward)
}

func kindsOf(s stream.Step) (kinds []stream.Kind) {
	for _, o := range s.Out {
		kinds = append(kinds, o.Kind)
	}
	return kinds
}

// Without a check no call is offered or forwarded.
func TestZeroOptionsBlock(t *testing.T) {
	m := stream.NewMachine(stream.Options{}, false)
	kinds, last := push(m, begin(0, "ok"), grow(0, "{}"), closeCall(0))
	require.Equal(t, []stream.Kind{stream.Notice, stream.End}, kinds)
	require.Equal(t, stream.CodeUnchecked, last.Refused[0].Code)
	require.True(t, last.Done)
}

// Whatever comes behind a call that was offered blocks it, and behind one that has left ends all.
func TestLateArguments(t *testing.T) {
	for _, e := range []stream.Event{grow(0, "x"), closeCall(0), {Kind: stream.Spoil, Call: 0, Code: stream.CodeMismatch}} {
		m := stream.NewMachine(options(t, stream.Continue), false)
		push(m, begin(0, "ok"), grow(0, "{}"), closeCall(0))
		s := m.Push(e)
		require.Len(t, s.Refused, 1)
		_, err := m.Decide(0, stream.Decision{Allow: true})
		require.ErrorIs(t, err, stream.ErrDecided)

		m = stream.NewMachine(options(t, stream.Continue), false)
		push(m, begin(0, "ok"), grow(0, "{}"), closeCall(0))
		_, err = m.Decide(0, stream.Decision{Allow: true})
		require.NoError(t, err)
		s = m.Push(e)
		require.Equal(t, &stream.Error{Code: stream.CodeLate}, s.Err)

		m = stream.NewMachine(options(t, stream.Continue), true) // kept for the end
		push(m, begin(0, "ok"), grow(0, "{}"), closeCall(0))
		_, err = m.Decide(0, stream.Decision{Allow: true})
		require.NoError(t, err)
		s = m.Push(e)
		require.Equal(t, []stream.Kind{stream.Failure}, kindsOf(s))
	}
}

// An upstream that fails within a call never releases what is held.
func TestFaultDropsWhatIsHeld(t *testing.T) {
	m := stream.NewMachine(options(t, stream.Continue), false)
	push(m, begin(0, "ok"), grow(0, "{}"), closeCall(0), pass("later"))
	s := m.Push(stream.Event{Kind: stream.Fault, Raw: []byte("fault")})
	require.Equal(t, []stream.Kind{stream.Fault}, kindsOf(s))
	s, err := m.Decide(0, stream.Decision{Allow: true})
	require.NoError(t, err)
	require.Empty(t, s.Out)
	require.True(t, s.Done)
}

// Calls that have no end when the answer has are blocked, or judged where they are whole.
func TestIncompleteCalls(t *testing.T) {
	opts := options(t, stream.Continue)
	m := stream.NewMachine(opts, false)
	_, last := push(m, begin(0, "ok"), grow(0, "{}"), stream.Event{Kind: stream.Cut})
	require.Equal(t, stream.CodeIncomplete, last.Refused[0].Code)
	require.Equal(t, []stream.Kind{stream.Notice, stream.Failure}, kindsOf(last))

	opts.Incomplete = stream.JudgeIncomplete
	m = stream.NewMachine(opts, false)
	_, last = push(m, begin(0, "ok"), grow(0, "{}"), begin(1, "ok"), grow(1, `{"a":`), stream.Event{Kind: stream.Cut})
	require.Len(t, last.Judge, 1)
	require.Equal(t, stream.CodeIncomplete, last.Refused[0].Code)
	s, err := m.Decide(0, stream.Decision{Allow: true})
	require.NoError(t, err)
	require.Equal(t, []stream.Kind{stream.Forward, stream.Notice, stream.End}, kindsOf(s))
}

// Each bound is held: arguments block their call, all else ends the stream with its code.
func TestBounds(t *testing.T) {
	opts := options(t, stream.Continue)
	opts.MaxArgs, opts.MaxBuffered, opts.MaxCalls = 100, 1000, 3
	m := stream.NewMachine(opts, false)
	_, last := push(m, begin(0, "ok"), grow(0, strings.Repeat("x", 60)), grow(0, strings.Repeat("x", 60)))
	require.Equal(t, stream.CodeTooLarge, last.Refused[0].Code)
	require.Zero(t, m.Buffered())

	_, last = push(m, begin(1, "ok"), begin(2, "ok"), begin(3, "ok"))
	require.Equal(t, &stream.Error{Code: stream.CodeTooMany}, last.Err)

	m = stream.NewMachine(opts, false)
	_, last = push(m, begin(0, "ok"), pass(strings.Repeat("x", 500)), pass(strings.Repeat("x", 500)))
	require.Equal(t, &stream.Error{Code: stream.CodeTooLarge}, last.Err)
	require.Equal(t, []stream.Kind{stream.Failure}, kindsOf(last))
	require.Zero(t, m.Buffered())
}

// Fifty megabytes of arguments block their call, and only the bound of them is held.
func TestHugeArguments(t *testing.T) {
	m := stream.NewMachine(options(t, stream.Continue), false)
	m.Push(begin(0, "ok"))
	piece := strings.Repeat("x", 1<<16)
	most := 0
	for range 50 << 20 >> 16 {
		m.Push(grow(0, piece))
		most = max(most, m.Buffered())
	}
	require.Less(t, most, 2<<20)
	require.False(t, m.Over())
}

// Numbers that a codec must not give end the stream.
func TestNumbersOfCalls(t *testing.T) {
	for _, e := range []stream.Event{begin(1, "ok"), grow(0, "x"), closeCall(-1), {Kind: 99}} {
		m := stream.NewMachine(options(t, stream.Continue), false)
		require.ErrorAs(t, m.Push(e).Err, new(*stream.Error))
		require.True(t, m.Over())
		require.Empty(t, m.Push(pass("x")).Out)
	}
}

// A template is checked when it is read, and no value of the arguments gets into a notice.
func TestNotice(t *testing.T) {
	for _, bad := range []string{"", " ", "{argument}", "{tool", "{}", "\xff", strings.Repeat("x", 5000)} {
		_, err := stream.ParseNotice(bad)
		require.ErrorIs(t, err, stream.ErrNotice, bad)
	}
	opts := options(t, stream.Continue)
	for reason, want := range map[string]string{
		"not in the request":                 "not in the request",
		"sends SECRET-VALUE out":             "the call isn't allowed",
		"sends secret-value out":             "the call isn't allowed",
		"12345 is too much":                  "the call isn't allowed",
		"two\nlines\u202e":                   "two lines",
		"":                                   "the call isn't allowed",
		"\xff":                               "the call isn't allowed",
		strings.Repeat("long ", 200):         strings.Repeat("long ", 80) + "…",
		"{tool} and {gate} are not replaced": "{tool} and {gate} are not replaced",
	} {
		m := stream.NewMachine(opts, false)
		push(m, begin(0, "files.write"), grow(0, `{"a":"SECRET-VALUE","n":[12345],"b":"x"}`), closeCall(0))
		s, err := m.Decide(0, stream.Decision{Gate: "guard", Reason: reason, ID: "d-7"})
		require.NoError(t, err)
		require.Equal(t, "<blocked files.write by guard: "+want+"; d-7>", s.Out[0].Text)
	}
	for _, name := range []string{"SECRET-VALUE", "rm -rf", strings.Repeat("n", 200), "a\nb"} {
		m := stream.NewMachine(opts, false)
		push(m, begin(0, name), grow(0, `{"a":"SECRET-VALUE"}`), closeCall(0))
		s, err := m.Decide(0, stream.Decision{})
		require.NoError(t, err)
		require.Equal(t, "<blocked a tool by policy: the call isn't allowed; no decision>", s.Out[0].Text)
	}
}

// The check sees the very bytes that are offered and forwarded.
func TestWhatIsJudgedIsForwarded(t *testing.T) {
	opts := options(t, stream.Continue)
	var seen []string
	opts.Check = func(args []byte) error {
		seen = append(seen, string(args))
		if strings.Contains(string(args), "no") {
			return errors.New("no")
		}
		return nil
	}
	m := stream.NewMachine(opts, false)
	piece := []byte(`{"a":1}`)
	m.Push(begin(0, "ok"))
	m.Push(stream.Event{Kind: stream.Grow, Call: 0, Args: piece})
	offered := slices.Clone(m.Push(closeCall(0)).Judge)
	copy(piece, "XXXXXXX") // the codec's room is used for the next frame
	s, err := m.Decide(0, stream.Decision{Allow: true})
	require.NoError(t, err)
	require.Equal(t, `{"a":1}`, string(offered[0].Args))
	require.Equal(t, `{"a":1}`, string(s.Out[0].Call.Args))
	require.Equal(t, []string{`{"a":1}`}, seen)
}
