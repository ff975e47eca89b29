package chat

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/internal/terminal"
)

// screen prints, from one goroutine. Everything that it is given is escaped.
type screen struct {
	out     io.Writer
	columns func() int // zero where rows aren't cut
	colour  bool
	answer  *terminal.Quoter // of the answer that streams, nil for none
	said    strings.Builder  // what it has said
	prompt  string           // that stands at the cursor; empty for none
	err     error            // of the first write that failed
}

// answerMark begins each row of an answer.
const answerMark = "  | "

func (s *screen) write(text string) {
	if _, err := io.WriteString(s.out, text); err != nil && s.err == nil {
		s.err = fmt.Errorf("write to the screen: %w", err)
	}
}

// leaveRow makes sure that the next row of ours begins at the left.
func (s *screen) leaveRow() {
	if s.prompt != "" {
		s.write("\n")
		s.prompt = ""
	}
	if s.answer != nil {
		_ = s.answer.End() // the next write fails too
		s.answer = nil
	}
}

// tell prints a line of ours, cut to the screen.
func (s *screen) tell(format string, args ...any) {
	s.leaveRow()
	s.write(terminal.FitLine(terminal.Clean(fmt.Sprintf(format, args...)), s.columns()) + "\n")
}

// tellWhole prints a line of ours that must be read whole.
func (s *screen) tellWhole(format string, args ...any) {
	s.leaveRow()
	s.write(terminal.Clean(fmt.Sprintf(format, args...)) + "\n")
}

// ask prints a prompt, where none stands there.
func (s *screen) ask(prompt string) {
	if s.prompt == prompt {
		return
	}
	s.leaveRow()
	s.write(prompt)
	s.prompt = prompt
}

// tookLine says that the person ended the row of the prompt.
func (s *screen) tookLine() { s.prompt = "" }

// quote prints a text that others wrote.
func (s *screen) quote(text string) {
	s.leaveRow()
	q := s.newQuoter()
	_, _ = q.WriteText(text), q.End() // the next write fails too
}

func (s *screen) newQuoter() *terminal.Quoter {
	return &terminal.Quoter{Out: s.out, Mark: answerMark, Columns: s.columns()}
}

// stream prints the next piece of the answer.
func (s *screen) stream(piece string) {
	if s.answer == nil {
		s.leaveRow()
		s.answer = s.newQuoter()
	}
	_ = s.answer.WriteText(piece) // the next write fails too
	s.said.WriteString(piece)
}

// withdraw ends what has streamed: it is not the answer.
func (s *screen) withdraw() {
	if s.said.Len() > 0 {
		s.tell("  %-6s the model went on: this is not its answer yet", "·")
	}
	s.said.Reset()
}

// endAnswer prints the answer, where it has not streamed as it is.
func (s *screen) endAnswer(text string) {
	if s.said.String() != text {
		if s.said.Len() > 0 {
			s.tell("  %-6s not all of the answer came as it was written; this is the whole", "·")
		}
		s.quote(text)
	}
	s.leaveRow()
	s.said.Reset()
}

var outcomeColours = map[string]string{"allow": "32", "ok": "32", "deny": "31", "failed": "31", "unknown": "31", "ask": "33", "defer": "33"}

// tellStep prints what became of a call.
func (s *screen) tellStep(st *Step, word string) {
	why := ""
	if r := st.Refusal; r != nil {
		why = strings.TrimPrefix(r.Gate+": "+r.Why, ": ")
	}
	switch {
	case why == "" && st.Approver != "":
		why = "approved by " + st.Approver
	case st.Degraded:
		why = strings.TrimSpace("degraded " + why)
	}
	s.tellRow(word, st.Agent, cmp.Or(st.Skill, "(no skill)"), why)
}

// tellRow prints a row about an agent.
func (s *screen) tellRow(word, agent, what, why string) {
	row := fmt.Sprintf("%-12s %-14s %s", terminal.Clean(agent), terminal.Clean(what), terminal.Clean(why))
	row = strings.TrimRight(row, " ")
	head := fmt.Sprintf("%-6s", terminal.Clean(word))
	if code := outcomeColours[word]; s.colour && code != "" {
		head = "\x1b[" + code + "m" + head + "\x1b[0m"
	}
	s.leaveRow()
	s.write(terminal.FitLine("  "+head+" "+row, s.columns()) + "\n")
}

// tellAgent prints the start or the end of an agent.
func (s *screen) tellAgent(a *Agent) {
	switch {
	case a.State == "pending" || a.State == "running":
		s.tellRow("·", a.Agent, "starts", "")
	case a.Reason != "":
		s.tellRow("·", a.Agent, a.State, a.Reason)
	default:
		s.tellRow("·", a.Agent, a.State, fmt.Sprintf("%s, %s", count(a.Calls, "call"), formatTook(a.TookMS)))
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func formatTook(ms int64) string { return (time.Duration(ms) * time.Millisecond).String() }
