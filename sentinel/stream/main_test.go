package stream_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/stream"
	"github.com/vedette-dev/vedette/sentinel/stream/chat"
	"github.com/vedette-dev/vedette/sentinel/stream/messages"
	"github.com/vedette-dev/vedette/sentinel/stream/responses"
)

// options are those of most tests: the checkpoint's own check, and a notice that is easy to find.
func options(t require.TestingT, onBlock stream.OnBlock) stream.Options {
	n, err := stream.ParseNotice("<blocked {tool} by {gate}: {reason}; {decision_id}>")
	require.NoError(t, err)
	return stream.Options{OnBlock: onBlock, Notice: n, Check: sentinel.CheckArguments}
}

// byName allows the calls whose name doesn't begin with "bad".
func byName(c stream.Call) stream.Decision {
	if strings.HasPrefix(c.Name, "bad") {
		return stream.Decision{Gate: "permission", Reason: "not for you", ID: "d-1"}
	}
	return stream.Decision{Allow: true}
}

// heard is what one way through a relay came to.
type heard struct {
	out     string
	judged  []stream.Call
	refused []stream.Refusal
	err     error
	done    bool
}

func (h *heard) take(p stream.Progress) {
	h.out += string(p.Bytes)
	h.refused = append(h.refused, p.Refused...)
	h.done = h.done || p.Done
	if p.Err != nil {
		h.err = p.Err
	}
}

// play sends pieces through a relay and decides each call at once.
func play(t testing.TB, codec stream.Codec, opts stream.Options, decide func(stream.Call) stream.Decision, pieces ...string) heard {
	t.Helper()
	relay := stream.NewRelay(codec, opts)
	var h heard
	settle := func(p stream.Progress) {
		h.take(p)
		for judge := slices.Clone(p.Judge); len(judge) > 0; judge = judge[1:] {
			h.judged = append(h.judged, judge[0])
			p, err := relay.Decide(judge[0].Number, decide(judge[0]))
			require.NoError(t, err)
			h.take(p)
			judge = append(judge, p.Judge...)
		}
	}
	for _, piece := range pieces {
		settle(relay.Write([]byte(piece)))
	}
	settle(relay.Close())
	require.Zero(t, relay.Waiting()*btoi(!h.done), "nothing waits at the end")
	return h
}

// playHeld sends pieces through a relay and decides the calls when all has come.
func playHeld(t testing.TB, codec stream.Codec, opts stream.Options, decide func(stream.Call) stream.Decision, pieces ...string) heard {
	t.Helper()
	relay := stream.NewRelay(codec, opts)
	var h heard
	for _, piece := range pieces {
		p := relay.Write([]byte(piece))
		h.take(p)
		h.judged = append(h.judged, p.Judge...)
	}
	p := relay.Close()
	h.take(p)
	h.judged = append(h.judged, p.Judge...)
	for _, c := range h.judged {
		p, err := relay.Decide(c.Number, decide(c))
		if err != nil { // it was blocked after it had been offered
			require.ErrorIs(t, err, stream.ErrDecided)
			require.True(t, slices.ContainsFunc(h.refused, func(r stream.Refusal) bool { return r.Call == c.Number }))
		}
		h.take(p)
	}
	return h
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// said is a call as a client has it in the end.
type said struct{ id, name, args string }

// answer is what a strict client makes of a stream.
type answer struct {
	text   map[int]string
	calls  map[int][]said
	reason map[int]string
	usage  bool
	fault  string
	ended  bool
}

func newAnswer() answer {
	return answer{text: map[int]string{}, calls: map[int][]said{}, reason: map[int]string{}}
}

// event is one event of a stream as a strict client cuts it.
type event struct {
	name string
	data string
}

// cut splits a stream. Anything but comments, event lines and single data lines is an error.
func cut(out string) ([]event, error) {
	var events []event
	out = strings.ReplaceAll(out, "\r\n", "\n")
	for block := range strings.SplitSeq(out, "\n\n") {
		var e event
		for line := range strings.SplitSeq(block, "\n") {
			switch {
			case line == "" || strings.HasPrefix(line, ":"):
			case strings.HasPrefix(line, "event: ") && e.name == "":
				e.name = line[len("event: "):]
			case strings.HasPrefix(line, "data:") && e.data == "":
				e.data = strings.TrimPrefix(line[len("data:"):], " ")
			default:
				return nil, fmt.Errorf("line %q", line)
			}
		}
		if e.data != "" {
			events = append(events, e)
		} else if e.name != "" {
			return nil, fmt.Errorf("event %q without data", e.name)
		}
	}
	return events, nil
}

func decode(data string, to any) error {
	d := json.NewDecoder(bytes.NewReader([]byte(data)))
	if err := d.Decode(to); err != nil {
		return fmt.Errorf("%w: %s", err, data)
	}
	return nil
}

var codecs = map[string]func() stream.Codec{
	"chat":      func() stream.Codec { return chat.New() },
	"messages":  func() stream.Codec { return messages.New() },
	"responses": func() stream.Codec { return responses.New() },
}

// readers are the strict clients of each format.
var readers = map[string]func(string) (answer, error){
	"chat": readChat, "messages": readMessages, "responses": readResponses,
}

// hear plays a stream and has the format's strict client read what comes out.
func hear(t testing.TB, format string, opts stream.Options, pieces ...string) (answer, heard) {
	t.Helper()
	h := play(t, codecs[format](), opts, byName, pieces...)
	a, err := readers[format](h.out)
	require.NoError(t, err, h.out)
	require.True(t, h.done, "the answer has an end: %s", h.out)
	return a, h
}
