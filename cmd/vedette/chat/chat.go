package chat

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/vedette-dev/vedette/internal/ids"
	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/sentinel/approval"
)

// Options shape a chat.
type Options struct {
	Peer Peer
	In   io.Reader
	Out  io.Writer
	// AtTerminal says that a person is at In and Out, who can be asked.
	AtTerminal bool
	Colour     bool
	// PrintCard prints a question with all that a person must see.
	PrintCard func(io.Writer, approval.Card) error
	// Signals are those that the process gets. An interrupt stops the request first.
	Signals <-chan os.Signal
}

// The ends of a chat that are no mistakes.
var (
	// ErrInterrupted is a chat that a signal ended.
	ErrInterrupted = errors.New("the chat was interrupted")
	// ErrUnanswered is a chat without a person in which a message has no answer.
	ErrUnanswered = errors.New("a message has no answer; what is printed says why")
)

// session is one chat.
type session struct {
	Options
	screen
	ctx    context.Context //nolint:containedctx // it lives as long as the session
	reader reader
	place  Place

	turn   *turn
	asks   questions
	why    []*Step // the last refusals
	leaves bool    // an interrupt was the last that was heard
	failed bool    // a message has no answer
	over   error   // why it ends; errLeft where the person said so
}

// turn is a request that is under way.
type turn struct {
	id        string
	events    <-chan happened
	agents    []*Agent
	cancelled bool
}

// happened is an event, or the error in place of one.
type happened struct {
	event Event
	err   error
}

var errLeft = errors.New("the person left")

// Run talks until the person leaves, the input ends or a signal comes. It closes the peer.
func Run(ctx context.Context, o Options) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &session{Options: o, ctx: ctx, place: o.Peer.Describe()}
	s.screen = screen{out: o.Out, colour: o.Colour, columns: countColumnsOf(o.Out)}
	defer func() { err = errors.Join(err, s.end()) }()
	if s.reader, err = openReader(&s.Options); err != nil {
		return err
	}
	defer s.reader.close()
	if err := s.greet(); err != nil {
		return err
	}
	for s.over == nil {
		s.showPrompt()
		s.onNext()
		if s.err != nil {
			s.over = s.err
		}
	}
	switch {
	case !errors.Is(s.over, errLeft):
		return s.over
	case s.failed && !s.AtTerminal:
		return ErrUnanswered
	}
	return nil
}

// openReader returns what reads the person's lines. Without a keyboard no question is asked.
func openReader(o *Options) (reader, error) {
	if o.AtTerminal {
		k, err := openKeyboard(o.In)
		if k != nil || err != nil {
			return k, err
		}
		o.AtTerminal = false
	}
	return openPipe(o.In), nil
}

// countColumnsOf returns how wide a screen is, each time it is asked: windows change.
func countColumnsOf(out io.Writer) func() int {
	f, ok := out.(*os.File)
	return func() int {
		if !ok {
			return 0
		}
		columns, _, err := terminal.Size(f)
		if err != nil {
			return 0
		}
		return columns
	}
}

// onNext handles what comes next.
func (s *session) onNext() {
	lines := s.reader.lines()
	var events <-chan happened
	if s.turn != nil {
		events = s.turn.events
		if !s.AtTerminal { // a message at a time
			lines = nil
		}
	}
	select {
	case l := <-lines:
		s.onLine(l)
	case h, more := <-events:
		s.onHappened(h, more)
	case sig := <-s.Signals:
		s.onSignal(sig)
	case <-s.asks.look:
		s.asks.look = nil
		s.openNext()
	}
}

// greet says where the person is, and goes on with what is under way.
func (s *session) greet() error {
	at := "this process"
	if s.place.At != "" {
		at = s.place.At
	}
	s.tell("conversation %s of %s, at %s; /help lists the commands", s.place.Conversation, s.place.User, at)
	ctx, cancel := context.WithTimeout(s.ctx, answerTime)
	defer cancel()
	list, err := s.Peer.List(ctx)
	if err != nil {
		return err
	}
	for _, m := range list {
		switch {
		case m.Role == orchestrator.MessageOfUser:
			s.tell("%s: %s", s.place.User, m.Text)
		case m.Error != nil:
			s.tell("  %-6s %s", "failed", m.Error.Message)
		default:
			s.quote(m.Text)
		}
	}
	if n := len(list); n > 0 && list[n-1].Role == orchestrator.MessageOfUser && list[n-1].Request != "" {
		s.tell("  %-6s the last message is being worked on", "·")
		s.follow(list[n-1].Request, list[n-1].Text)
	}
	return nil
}

// send sends a message of the person.
func (s *session) send(text string) {
	if !s.AtTerminal { // it stands on the screen already where there is one
		s.tell("%s: %s", s.place.User, text)
	}
	s.follow(ids.New(), text)
}

// follow sends a message, or follows one that was sent.
func (s *session) follow(id, text string) {
	events := make(chan happened)
	s.turn = &turn{id: id, events: events}
	s.said.Reset()
	go func() {
		defer close(events)
		for e, err := range s.Peer.Send(s.ctx, id, text) {
			select {
			case events <- happened{e, err}:
			case <-s.ctx.Done():
				return
			}
		}
	}()
}

// onHappened shows what happened.
func (s *session) onHappened(h happened, more bool) {
	switch {
	case !more && s.turn != nil:
		s.endTurn("the request's events ended before it did")
	case !more:
	case h.err != nil:
		s.endTurn(h.err.Error())
		s.tellAdvice(h.err)
	default:
		s.onEvent(&h.event)
	}
}

func (s *session) onEvent(e *Event) {
	switch e.Kind {
	case orchestrator.EventText:
		s.stream(e.Text)
	case orchestrator.EventWithdrawn:
		s.withdraw()
	case orchestrator.EventAgent:
		if e.Agent != nil {
			s.noteAgent(e.Agent)
			s.tellAgent(e.Agent)
		}
	case orchestrator.EventCall:
		s.onCall(e.Step)
	case orchestrator.EventOutcome:
		if e.Step != nil && e.Step.Status != "ok" {
			s.tellStep(e.Step, e.Step.Status)
		}
	case orchestrator.EventApproval:
		s.onApproval(e)
	case orchestrator.EventReply:
		if e.Reply != nil {
			s.endAnswer(e.Reply.Text)
			s.tell("  %-6s %s, %s%s", "·", formatTook(e.Reply.TookMS), count(int(e.Reply.Tokens), "token"), noteOn(e.Reply))
		}
		s.endTurn("")
	case orchestrator.EventFailure:
		s.endTurn(explainFailure(e.Error))
	case orchestrator.EventGap:
		s.tell("  %-6s some steps are missing here; what was decided is in the ledger", "·")
	}
}

// onCall shows a decision, and keeps a refusal for /why.
func (s *session) onCall(st *Step) {
	if st == nil {
		return
	}
	s.tellStep(st, st.Outcome)
	if st.Refusal != nil {
		s.why = append(s.why, st)
		s.why = s.why[max(0, len(s.why)-maxWhy):]
	}
}

// maxWhy is how many refusals /why shows.
const maxWhy = 5

// noteAgent keeps an agent's state for /agents.
func (s *session) noteAgent(a *Agent) {
	for i, known := range s.turn.agents {
		if known.Agent == a.Agent {
			s.turn.agents[i] = a
			return
		}
	}
	s.turn.agents = append(s.turn.agents, a)
}

// noteOn says what a reader must know of an answer.
func noteOn(r *Reply) (note string) {
	if r.Tainted {
		note += "; it rests on texts that others could have written"
	}
	if r.Links > 0 {
		note += "; links became text: " + count(r.Links, "link")
	}
	return note
}

func explainFailure(f *Failure) string {
	if f == nil {
		return "the request ended without an answer"
	}
	return f.Message
}

// endTurn ends the request. A failure is why it has no answer.
func (s *session) endTurn(failure string) {
	if failure != "" {
		s.leaveRow()
		s.tell("  %-6s %s", "failed", failure)
		s.failed = true
	}
	s.said.Reset()
	s.dropQuestions()
	s.turn = nil
}

// tellAdvice says what can be done about an error.
func (s *session) tellAdvice(err error) {
	var advised interface{ Advice() string }
	if errors.As(err, &advised) && advised.Advice() != "" {
		s.tellWhole("         %s", advised.Advice())
	}
}

// closeTime bounds the end of the peer.
const closeTime = 10 * time.Second

// end closes the peer and says what goes on.
func (s *session) end() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), closeTime)
	defer cancel()
	underWay := s.turn != nil
	s.leaveRow()
	cut, err := s.Peer.Close(ctx)
	switch {
	case cut != "":
		s.tell("the request was not finished; the next start over the same database goes on with it")
	case underWay && s.place.At != "":
		s.tell("the request goes on at the server")
	}
	if s.AtTerminal {
		s.tellWhole("come back with: %s", s.place.Resume)
	}
	return err
}
