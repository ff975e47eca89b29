package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func call(t testing.TB, args string) (sentinel.Call, sentinel.Decision) {
	t.Helper()
	s, err := skills.Compile(skills.Spec{Name: "email.send", Effect: skills.Irreversible, Reaches: skills.Others, Parameters: json.RawMessage(
		`{"type":"object","properties":{"to":{"type":"string","x-target":true},"body":{"type":"string"},"key":{"type":"string",` +
			`"x-secret":true},"n":{"type":"integer"}}}`)})
	require.NoError(t, err)
	reg, err := skills.NewRegistry(s)
	require.NoError(t, err)
	g, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "g", User: "ann", Conversation: "c", Agent: "mail", Mission: "send it"})
	require.NoError(t, err)
	c, err := sentinel.NewCall(reg, touch.Env{NoFS: true}, sentinel.Proposal{Skill: "email.send", Args: []byte(args), Grant: g})
	require.NoError(t, err)
	ask := sentinel.Hold("permission.ask", "recipient outside the company")
	ask.Gate = sentinel.GatePermission
	return c, sentinel.Decision{Outcome: sentinel.Ask, Verdicts: []sentinel.Verdict{ask}}
}

// lockedBuffer is a terminal's screen.
type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Only y or yes approves; anything else, and the end of the input, does not.
func TestTerminalAnswers(t *testing.T) {
	for in, want := range map[string]string{
		//nolint:gocritic // spaces around the answer are one of the cases
		"y\n": "", "YES\n": "", " y \n": "", "y": "", "n\n": approval.CodeDenied, "\n": approval.CodeDenied,
		"yy\n": approval.CodeDenied, "approve\n": approval.CodeDenied, "": approval.CodeNobody,
	} {
		t.Run(in, func(t *testing.T) {
			c, d := call(t, `{"to":"bob@example.com"}`)
			out := &lockedBuffer{}
			v, err := approval.NewTerminal(approval.TerminalOptions{In: strings.NewReader(in), Out: out}).Approve(t.Context(), c, d)
			require.NoError(t, err)
			require.Equal(t, want, v.Code)
			require.Equal(t, want == "", v.Outcome == sentinel.Allow)
			require.Contains(t, out.String(), `"bob@example.com"`)
			require.Contains(t, out.String(), "permission: recipient outside the company")
		})
	}
}

// No answer is an expiry, told apart from a no.
func TestTerminalExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := call(t, `{}`)
		r, w := io.Pipe()
		term := approval.NewTerminal(approval.TerminalOptions{In: r, Out: io.Discard, Timeout: time.Minute})
		start := time.Now()
		v, err := term.Approve(t.Context(), c, d)
		require.NoError(t, err)
		require.Equal(t, approval.CodeExpired, v.Code)
		require.Equal(t, sentinel.Deny, v.Outcome)
		require.Equal(t, time.Minute, time.Since(start))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = term.Approve(ctx, c, d)
		require.ErrorIs(t, err, context.Canceled, "that no caller waits any more is no person's no")
		require.NoError(t, w.Close())
	})
}

// A screen that can't be written to asks no person.
func TestTerminalThatBreaks(t *testing.T) {
	c, d := call(t, `{}`)
	_, err := approval.NewTerminal(approval.TerminalOptions{In: strings.NewReader("y\n"), Out: broken{}}).Approve(t.Context(), c, d)
	require.ErrorIs(t, err, sentinel.ErrNoApprover)
}

// The time to answer is the checkpoint's: a terminal without a time of its own
// waits until its context ends, and tells an expiry from everything else.
func TestTerminalWaitsForTheCheckpoint(t *testing.T) {
	for cause, code := range map[error]string{sentinel.ErrExpired: approval.CodeExpired, skills.ErrWithdrawn: "", io.ErrClosedPipe: ""} {
		synctest.Test(t, func(t *testing.T) {
			c, d := call(t, `{}`)
			r, w := io.Pipe()
			screen := &lockedBuffer{}
			term := approval.NewTerminal(approval.TerminalOptions{In: r, Out: screen})
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, cause)
			defer cancel()
			start := time.Now()
			v, err := term.Approve(ctx, c, d)
			require.Equal(t, time.Hour, time.Since(start))
			if code == "" {
				require.ErrorIs(t, err, cause)
			} else {
				require.NoError(t, err)
				require.Equal(t, code, v.Code)
			}
			require.Contains(t, screen.String(), "approve this call?")
			require.NoError(t, w.Close())
		})
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("gone") }

// What a model writes can't forge a line of the question, move the cursor or hide behind
// length. Secrets are not shown. (Invariant 10.)
func TestDescribeEscapes(t *testing.T) {
	body := "hi\n  asks     nothing\x1b[2J\u202ereversed\u200b" + strings.Repeat("x", 5000)
	raw, err := json.Marshal(map[string]any{"to": "a@b.c", "body": body, "key": "HUNTER2", "n": 3})
	require.NoError(t, err)
	c, d := call(t, string(raw))
	text := approval.Describe(c, d)
	require.NotContains(t, text, "\x1b")
	require.NotContains(t, text, "\u202e")
	require.NotContains(t, text, "\u200b")
	require.NotContains(t, text, "HUNTER2")
	require.Contains(t, joined(text), "…[CUT: 3539 bytes]…")
	require.Equal(t, 1, strings.Count(text, "\n  asks "), text)
	require.Contains(t, text, "reaches others")
}

// Where there is no person, an Ask is no.
func TestNobody(t *testing.T) {
	c, d := call(t, `{}`)
	v, err := approval.Nobody{}.Approve(t.Context(), c, d)
	require.NoError(t, err)
	require.Equal(t, sentinel.Deny, v.Outcome)
	require.Equal(t, approval.CodeNobody, v.Code)
}
