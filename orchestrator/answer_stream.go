package orchestrator

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/loop"
)

// textFlow defangs a text that comes in pieces: answers.Flow.
type textFlow interface {
	Write(piece string) string
	Close() string
}

// answerStream tells readers the text of a turn's answer while its model writes it. The text
// is told in the goroutine of the question, and settled by the turn when it is over.
//
// Whether an answer is the last is known at its end: a model may write a remark and then
// call a tool. Holding all text back until then would be no stream, so a text that turns out to be
// a remark is withdrawn. What stands at the end is the Text of the reply, byte for byte.
type answerStream struct {
	log  *eventLog
	turn string

	mu       sync.Mutex
	question int // the pieces of an earlier one are dropped
	newFlow  func() textFlow
	flow     textFlow // nil where the text stays as it is
	taken    int      // bytes of the model's text
	told     strings.Builder
	full     bool // the rest is told with the reply
}

// beginQuestion returns what is told of the answer to the next question. newFlow makes what
// defangs it, nil where nothing does.
func (s *answerStream) beginQuestion(newFlow func() textFlow) func(llm.Piece) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.question++
	s.newFlow = newFlow
	s.withdraw()
	own := s.question
	return func(p llm.Piece) { s.takePiece(own, p) }
}

// takePiece tells a piece of the answer to a question.
func (s *answerStream) takePiece(question int, p llm.Piece) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case question != s.question || s.full && !p.Withdrawn:
		return
	case p.Withdrawn:
		s.withdraw()
		return
	case s.taken+len(p.Text) > loop.MaxAnswer-utf8.UTFMax: // the reply may be cut there
		s.full = true
		return
	}
	s.taken += len(p.Text)
	text := p.Text
	if s.flow != nil {
		text = s.flow.Write(text)
	}
	s.tell(text)
}

// tell tells a piece of text.
func (s *answerStream) tell(text string) {
	if text == "" {
		return
	}
	s.told.WriteString(text)
	s.log.addEvent(Event{Kind: EventText, Turn: s.turn, Text: text})
}

// withdraw takes back what was told, and begins a new text.
func (s *answerStream) withdraw() {
	if s.told.Len() > 0 {
		s.log.addEvent(Event{Kind: EventWithdrawn, Turn: s.turn})
	}
	s.told.Reset()
	s.taken, s.full, s.flow = 0, false, nil
	if s.newFlow != nil {
		s.flow = s.newFlow()
	}
}

// settle ends the text: what was told is completed to be that of the reply. Nothing is
// told afterwards.
func (s *answerStream) settle(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.question++
	if !strings.HasPrefix(text, s.told.String()) {
		s.withdraw()
	}
	if s.told.Len() > 0 || s.log.isRead() {
		s.tell(text[s.told.Len():])
	}
}
