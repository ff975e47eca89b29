// Package approval asks people about calls whose outcome is Ask. Terminal asks
// at a terminal; other ways implement sentinel.Approver too.
//
// An approver sees the call as it will run: the canonical arguments, what they
// would touch, and every reason for asking. x-secret values are hidden. What
// is shown comes from models and tools, so it is escaped: it can't move the
// cursor, forge a line, or answer the question.
//
// What not to do: don't answer Allow for a call without having shown it; don't
// take a timeout or a closed input for a yes.
package approval

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/touch"
)

// The codes of an approval verdict.
const (
	CodeDenied  = "approval.denied"  // a person said no
	CodeExpired = "approval.expired" // nobody answered in time
	CodeNobody  = "approval.nobody"  // there is nobody to ask
)

// DefaultTimeout is how long a person has to answer.
const DefaultTimeout = 5 * time.Minute

// Nobody refuses every call that needs a person: for programs that have none.
type Nobody struct{}

// Approve says that nobody can approve.
func (Nobody) Approve(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, error) {
	v := sentinel.Refuse(CodeNobody, "the call needs a person's approval and nobody can give it")
	v.WhatYouCanDo = "Tell the user what needs their approval."
	return v, nil
}

// TerminalOptions are the parts of a Terminal.
type TerminalOptions struct {
	In  io.Reader
	Out io.Writer
	// Timeout is how long a person has; zero means DefaultTimeout.
	Timeout time.Duration
	// Who is recorded as the one who decided; empty means "terminal".
	Who string
}

// Terminal asks one question at a time at a terminal: y approves, anything
// else refuses, and the end of the input refuses. It is safe for concurrent
// use. The goroutine that reads In ends with In.
type Terminal struct {
	o     TerminalOptions
	turn  chan struct{}
	once  sync.Once
	lines chan string
}

// NewTerminal returns an approver that reads answers from o.In.
func NewTerminal(o TerminalOptions) *Terminal {
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Who == "" {
		o.Who = "terminal"
	}
	return &Terminal{o: o, turn: make(chan struct{}, 1), lines: make(chan string)}
}

// Approve shows the call and waits for an answer. Time spent waiting for
// another question to be answered counts.
func (t *Terminal) Approve(ctx context.Context, c sentinel.Call, d sentinel.Decision) (sentinel.Verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, t.o.Timeout)
	defer cancel()
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return t.late(ctx), nil
	}
	if _, err := io.WriteString(t.o.Out, Describe(c, d)+"approve this call? [y/N] "); err != nil {
		return sentinel.Verdict{}, err
	}
	t.once.Do(func() { go t.read() })
	select {
	case line, ok := <-t.lines:
		return t.answer(line, ok), nil
	case <-ctx.Done():
		_, _ = io.WriteString(t.o.Out, "\n") // the question stays open on the screen otherwise
		return t.late(ctx), nil
	}
}

// read hands lines over only while somebody asks, so that what was typed
// before a question does not answer it.
func (t *Terminal) read() {
	defer close(t.lines)
	r := bufio.NewReaderSize(t.o.In, 4096)
	for {
		line, err := r.ReadString('\n')
		if line != "" {
			select {
			case t.lines <- line:
			case <-time.After(time.Second): // nobody is asking any more
			}
		}
		if err != nil {
			return
		}
	}
}

func (t *Terminal) answer(line string, ok bool) sentinel.Verdict {
	v := sentinel.Pass()
	v.Meta = map[string]string{"by": t.o.Who, "via": "terminal"}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		if ok {
			v.Reason = "approved by " + t.o.Who
			return v
		}
	}
	no := sentinel.Refuse(CodeDenied, "refused by "+t.o.Who)
	if !ok {
		no = sentinel.Refuse(CodeNobody, "the terminal was closed before anybody answered")
	}
	no.Meta = v.Meta
	return no
}

func (t *Terminal) late(ctx context.Context) sentinel.Verdict {
	if ctx.Err() == context.Canceled {
		return sentinel.Refuse("approval.canceled", "the agent gave up while the call was waiting for a person")
	}
	return sentinel.Refuse(CodeExpired, "nobody answered within "+t.o.Timeout.String())
}

// Describe puts a call and the reasons for asking into lines for a person.
// Everything from outside is quoted.
func Describe(c sentinel.Call, d sentinel.Decision) string {
	var b strings.Builder
	g := c.Grant()
	fmt.Fprintf(&b, "\n  skill    %s (%s%s)\n", c.Name(), c.Effect(), outward(c))
	fmt.Fprintf(&b, "  agent    %s, for user %s\n", quote(g.Agent()), quote(g.User()))
	fmt.Fprintf(&b, "  mission  %s\n", quote(g.Mission()))
	for _, k := range sortedKeys(c) {
		fmt.Fprintf(&b, "  %-8s %s\n", clip(k, 24), shown(c, k))
	}
	if m, ok := c.Modified(); ok {
		fmt.Fprintf(&b, "  changed  %s, by the rules %s\n", quote(strings.Join(m.Args, ", ")), quote(strings.Join(m.Rules, ", ")))
	}
	for _, f := range c.Flags() {
		fmt.Fprintf(&b, "  unseen   %s characters in %s\n", f.Code, quote(strings.Join(f.Args, ", ")))
	}
	for _, p := range c.Touch().Paths {
		if !p.Access.Has(touch.Mention) {
			fmt.Fprintf(&b, "  touches  %s\n", quote(p.Clean))
		}
	}
	for _, v := range d.Verdicts {
		if v.Counts() && v.Outcome == sentinel.Ask {
			fmt.Fprintf(&b, "  asks     %s: %s\n", v.Gate, printable(v.Reason))
			if v.Detail != "" {
				fmt.Fprintf(&b, "           %s\n", quote(v.Detail))
			}
		}
	}
	if c.Tainted() {
		b.WriteString("  note     the agent has read text that others could have written\n")
	}
	return b.String()
}

func outward(c sentinel.Call) string {
	if c.Outward() {
		return ", reaches others"
	}
	return ""
}

func sortedKeys(c sentinel.Call) []string {
	var m map[string]json.RawMessage
	if json.Unmarshal([]byte(c.Args()), &m) != nil {
		return nil
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func shown(c sentinel.Call, key string) string {
	v := c.Parsed()[key]
	if s := c.Skill(); s != nil {
		v = s.WithoutSecrets(c.Parsed())[key]
	}
	if s, ok := v.(string); ok {
		return quote(s)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return "(can't be shown)"
	}
	return clip(printable(string(b)), maxShown)
}
