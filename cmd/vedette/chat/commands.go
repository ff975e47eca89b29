package chat

import (
	"context"
	"os"
	"strings"
)

// onLine handles a line of the person.
func (s *session) onLine(l line) {
	s.tookLine()
	s.leaves = false
	text := strings.TrimSpace(l.text)
	switch {
	case l.end:
		s.over = errLeft
	case strings.HasPrefix(text, "/"):
		s.onCommand(text)
	case s.asks.open != nil:
		s.onAnswer(l)
	case text == "":
	case s.turn != nil:
		s.tell("  %-6s not sent: a request is under way; /cancel stops it", "·")
	default:
		s.send(text)
	}
}

const help = `  /agents   the agents of this request, and what they are at
  /why      the last refusals: who stopped the call, why, and what can be done
  /cancel   stop the request that is under way
  /quit     leave; so does Ctrl-D
  Ctrl-C stops the request first and leaves at the second time. Everything else is a message. Lines
  that are pasted together are one message. A question is answered with y, n, edit, feedback or later.
`

func (s *session) onCommand(text string) {
	switch name, _, _ := strings.Cut(text, " "); name {
	case "/help", "/?":
		s.leaveRow()
		s.write(help)
	case "/quit", "/exit":
		s.over = errLeft
	case "/cancel":
		s.cancel()
	case "/agents":
		s.tellAgents()
	case "/why":
		s.tellWhy()
	default:
		s.tell("  %-6s %s is no command; /help lists them", "·", name)
	}
}

// cancel stops the request.
func (s *session) cancel() {
	if s.turn == nil {
		s.tell("  %-6s no request is under way", "·")
		return
	}
	ctx, cancel := context.WithTimeout(s.ctx, answerTime)
	defer cancel()
	if err := s.Peer.Cancel(ctx, s.turn.id); err != nil {
		s.tell("  %-6s the request can't be stopped: %v", "·", err)
		return
	}
	s.turn.cancelled = true
	s.tell("  %-6s the request is being stopped", "·")
}

func (s *session) tellAgents() {
	if s.turn == nil || len(s.turn.agents) == 0 {
		s.tell("  %-6s no agent is at work", "·")
		return
	}
	for _, a := range s.turn.agents {
		s.tellAgent(a)
	}
}

func (s *session) tellWhy() {
	if len(s.why) == 0 {
		s.tell("  %-6s nothing was refused here", "·")
	}
	for _, st := range s.why {
		s.tellStep(st, st.Outcome)
		s.tellWhole("         code      %s", st.Refusal.Code)
		s.tellWhole("         why       %s", st.Refusal.Why)
		s.tellWhole("         what now  %s", st.Refusal.Do)
		s.tellWhole("         decision  %s", st.Decision)
	}
}

// onSignal stops the request at the first interrupt, and leaves at the second.
func (s *session) onSignal(sig os.Signal) {
	switch {
	case sig != os.Interrupt || s.leaves:
		s.over = ErrInterrupted
		return
	case s.turn != nil && !s.turn.cancelled:
		s.cancel()
	}
	s.leaves = true
	s.tell("  %-6s Ctrl-C again leaves", "·")
}

// showPrompt shows what the person can do now, where there is one.
func (s *session) showPrompt() {
	switch {
	case !s.AtTerminal || s.over != nil:
	case s.asks.open != nil:
		s.ask(s.asks.prompt())
	case s.turn == nil:
		s.ask(s.place.User + "> ")
	}
}
