package demo

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
)

// screen prints the demo, one line a decision. It is safe for concurrent use.
type screen struct {
	out    io.Writer
	colour bool

	mu     sync.Mutex
	c      tally
	denied string
}

type tally struct{ decisions, allowed, asked int }

func (s *screen) printf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = fmt.Fprintf(s.out, format, args...)
}

func (s *screen) countsSoFar() tally {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.c
}

// findExampleID returns the id of a decision worth looking at.
func (s *screen) findExampleID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.denied
}

// onEvent prints a decision: call, outcome, gate, why, time.
func (s *screen) onEvent(e sentinel.Event) {
	d := e.Decision
	who, skill := e.Call.Grant().Agent(), e.Call.Name()
	if e.Call.Skill() == nil {
		skill = "(no skill)"
	}
	switch e.Kind {
	case sentinel.RecordHeld:
		s.printDecision("ask", who, skill, d.BlockedBy, d.Reason, d.Elapsed)
	case sentinel.RecordDecision, sentinel.RecordRefused:
		s.mu.Lock()
		s.c.decisions++
		if d.Outcome == sentinel.Allow {
			s.c.allowed++
		} else if d.BlockedBy == sentinel.GateReview {
			s.denied = e.Decision.ID
		}
		v, _ := d.Verdict(sentinel.GateApproval)
		if v.State == sentinel.Judged {
			s.c.asked++
		}
		s.mu.Unlock()
		gate, why := d.BlockedBy, d.Explanation()
		if d.Outcome == sentinel.Allow {
			gate, why = "", explainAllowed(d)
		}
		s.printDecision(d.Outcome.String(), who, skill, gate, why, d.Elapsed)
	case sentinel.RecordOutcome:
		if e.Status != sentinel.StatusOK {
			s.printDecision(e.Status, who, skill, "", "the skill ended with "+e.Code, e.Elapsed)
		}
	}
}

func explainAllowed(d sentinel.Decision) string {
	var parts []string
	if v, ok := d.Verdict(sentinel.GateJudge); ok && v.HasScore {
		parts = append(parts, fmt.Sprintf("score %d.%02d", v.Score/100, v.Score%100))
	}
	if v, ok := d.Verdict(sentinel.GateReview); ok && v.State == sentinel.Judged {
		parts = append(parts, "review approves")
	}
	if v, ok := d.Verdict(sentinel.GateApproval); ok && v.State == sentinel.Judged {
		parts = append(parts, v.Reason)
	}
	return strings.Join(parts, ", ")
}

var colours = map[string]string{"allow": "32", "deny": "31", "ask": "33", "defer": "33", "failed": "31", "unknown": "31"}

func (s *screen) printDecision(outcome, who, skill, gate, why string, took time.Duration) {
	word := fmt.Sprintf("%-5s", outcome)
	if s.colour {
		word = "\x1b[" + colours[outcome] + "m" + word + "\x1b[0m"
	}
	if gate != "" {
		why = gate + ": " + why
	}
	s.printf("   %s  %-12s %-14s %6.1f ms  %s\n", word, cleanLine(who), cleanLine(skill), float64(took.Microseconds())/1000, cleanLine(why))
}

// cleanLine makes one harmless line of a text that a model may have written.
func cleanLine(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.Join(strings.Fields(text), " "))
}

// onAgent prints the start and the end of an agent.
func (s *screen) onAgent(_ string, r agents.Result) {
	r.Agent, r.Reason = cleanLine(r.Agent), cleanLine(r.Reason)
	switch {
	case r.State == agents.Pending || !r.State.Done():
		s.printf("   %-5s  %-12s starts\n", "·", r.Agent)
	case r.Reason != "":
		s.printf("   %-5s  %-12s %s: %s\n", "·", r.Agent, r.State, r.Reason)
	default:
		s.printf("   %-5s  %-12s %s after %d calls, %s\n", "·", r.Agent, r.State, r.Calls, r.Took.Round(time.Millisecond))
	}
}

// wrapText breaks a text into lines of about 90 characters.
func wrapText(text, indent string) string {
	var b strings.Builder
	n := 0
	for w := range strings.FieldsSeq(cleanLine(text)) {
		if n > 0 && n+len(w) > 90 {
			b.WriteString("\n" + indent)
			n = 0
		} else if n > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w)
		n += len(w) + 1
	}
	return b.String()
}

// newApprover is the person at the terminal, or a script that says that it is one.
func newApprover(o Options, s *screen) sentinel.Approver {
	if o.In != nil {
		return approval.NewTerminal(approval.TerminalOptions{In: o.In, Out: locked{s}, Timeout: 2 * time.Minute})
	}
	return scriptedPerson{s}
}

// locked lets the approver print between the demo's own lines.
type locked struct{ s *screen }

// Write prints p.
func (l locked) Write(p []byte) (int, error) {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	return l.s.out.Write(p)
}

// scriptedPerson approves what the demo's user would: mail they asked for.
type scriptedPerson struct{ s *screen }

// Approve answers at once and says that no person did.
func (p scriptedPerson) Approve(_ context.Context, c sentinel.Call, _ sentinel.Decision) (sentinel.Verdict, error) {
	v := sentinel.Refuse(approval.CodeDenied, "declined by the demo's script, as no person is at a terminal")
	if c.Name() == "email.send" {
		v = sentinel.Pass()
		v.Reason = "approved by the demo's script, as no person is at a terminal"
	}
	v.Meta = map[string]string{"by": "demo script", "via": "script"}
	return v, nil
}
