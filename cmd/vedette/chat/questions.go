package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/sentinel/approval"
)

// questions are the calls of this request that wait for a person.
type questions struct {
	waiting []string // ids, the oldest first
	later   []string // ids that the person leaves for now
	place   int      // how many of this batch were asked
	open    *question
	look    <-chan time.Time // when to look for the next again
}

// question is the one that stands on the screen.
type question struct {
	card   approval.Card
	number int    // lines that answer it have it
	wants  string // wantFeedback or wantEdit, empty for yes or no
	of     int
}

// What a question wants besides yes and no.
const (
	wantFeedback = "feedback"
	wantEdit     = "edit"
)

// lookAgain is when a question that isn't written down yet is looked for again.
const lookAgain = 50 * time.Millisecond

// prompt is what stands before the answer.
func (q *questions) prompt() string {
	switch q.open.wants {
	case wantFeedback:
		return "why not? the agent reads it (empty: go back)> "
	case wantEdit:
		return "all arguments, as one JSON object (empty: go back)> "
	}
	return fmt.Sprintf("approval %d of %d: run this call? [y/n/edit/feedback/later] ", q.place, q.open.of)
}

// onApproval takes up a question, or drops one that is over.
func (s *session) onApproval(e *Event) {
	if e.Step == nil || e.Approval == "" {
		return
	}
	if e.Step.Outcome != "ask" {
		s.dropQuestion(e.Approval)
		return
	}
	s.tellStep(e.Step, "ask")
	if !s.AtTerminal {
		s.tellElsewhere(e.Approval, e.Link)
		return
	}
	if !s.asks.knows(e.Approval) {
		s.asks.waiting = append(s.asks.waiting, e.Approval)
	}
	s.openNext()
}

// knows reports whether a question waits, is open or was left for later.
func (q *questions) knows(id string) bool {
	return q.open != nil && q.open.card.ID == id || slices.Contains(q.waiting, id) || slices.Contains(q.later, id)
}

// tellElsewhere says where a question can be answered that isn't asked here.
func (s *session) tellElsewhere(id, link string) {
	s.tellWhole("         it waits for a person, and stays open: %s", s.nameAnswer(id, link))
}

// nameAnswer is where a question is answered.
func (s *session) nameAnswer(id, link string) string {
	if s.place.Approvals == "" {
		if link == "" {
			link = s.place.At + "/approvals/" + id
		}
		return link
	}
	return s.place.Approvals + " show " + id
}

// dropQuestion ends a question that was answered, here or elsewhere, or that is over.
func (s *session) dropQuestion(id string) {
	a := &s.asks
	a.waiting = slices.DeleteFunc(a.waiting, func(w string) bool { return w == id })
	a.later = slices.DeleteFunc(a.later, func(w string) bool { return w == id })
	if a.open != nil && a.open.card.ID == id {
		s.closeQuestion()
		s.tell("  %-6s this question is over: it was answered elsewhere, or its time or its request ended", "·")
	}
	s.openNext()
}

// dropQuestions ends all: their request has.
func (s *session) dropQuestions() {
	if s.asks.open != nil {
		s.closeQuestion()
	}
	s.asks = questions{}
}

func (s *session) closeQuestion() {
	s.reader.closeQuestion()
	s.asks.open = nil
}

// openNext asks the next question, where none is open.
func (s *session) openNext() {
	a := &s.asks
	for a.open == nil && len(a.waiting) > 0 {
		id := a.waiting[0]
		ctx, cancel := context.WithTimeout(s.ctx, answerTime)
		card, err := s.Peer.Show(ctx, id)
		cancel()
		switch {
		case errors.Is(err, approval.ErrUnknown): // it is about to be written down
			a.look = time.After(lookAgain)
			return
		case err != nil:
			a.waiting = a.waiting[1:]
			s.tell("  %-6s not asked here: %v", "·", err)
			s.tellElsewhere(id, "")
		case card.State != approval.StatePending:
			a.waiting = a.waiting[1:]
		default:
			a.waiting = a.waiting[1:]
			s.openQuestion(card)
		}
	}
	if a.open == nil && len(a.waiting) == 0 && len(a.later) == 0 {
		a.place = 0
	}
}

// openQuestion shows a question. Lines count as its answer that are typed from its prompt on.
func (s *session) openQuestion(card approval.Card) {
	ctx, cancel := context.WithTimeout(s.ctx, answerTime)
	defer cancel()
	others := 1
	if list, err := s.Peer.Pending(ctx); err == nil {
		list = slices.DeleteFunc(list, func(id string) bool { return slices.Contains(s.asks.later, id) })
		others = max(1, len(list))
	}
	s.leaveRow()
	s.write("\n")
	if err := s.PrintCard(s.out, card); err != nil {
		s.over = err
		return
	}
	s.asks.place++
	s.asks.open = &question{card: card, of: s.asks.place - 1 + others}
	s.askAgain("")
}

// askAgain asks for a yes or no, or for more. What was typed until now is no answer to it.
func (s *session) askAgain(wants string) {
	s.asks.open.wants = wants
	s.asks.open.number = s.reader.openQuestion()
}

// onAnswer handles a line while a question is open.
func (s *session) onAnswer(l line) {
	q := s.asks.open
	if l.question != q.number {
		s.tell("  %-6s that line was written before the question, so it does not answer it", "·")
		return
	}
	text := strings.TrimSpace(l.text)
	switch {
	case q.wants != "" && text == "":
		s.askAgain("")
	case q.wants == wantFeedback:
		s.answer(approval.Answer{Word: approval.No, Feedback: text})
	case q.wants == wantEdit:
		s.answerEdited(text)
	default:
		s.onWord(strings.ToLower(text))
	}
}

// onWord handles the answer to a yes or no.
func (s *session) onWord(word string) {
	q := s.asks.open
	switch word {
	case "y", "yes":
		s.answer(approval.Answer{Word: approval.Yes})
	case "n", "no":
		s.answer(approval.Answer{Word: approval.No})
	case "f", "feedback":
		s.askAgain(wantFeedback)
	case "e", "edit":
		if sheet := q.card.Sheet; sheet != nil && len(sheet.Args) > 0 {
			s.tellWhole("  now: %s", sheet.Args)
		}
		s.askAgain(wantEdit)
	case "l", "later":
		id := q.card.ID
		s.asks.later = append(s.asks.later, id)
		s.closeQuestion()
		s.tellElsewhere(id, "")
		s.openNext()
	default:
		s.tell("  %-6s say y, n, edit, feedback or later", "·")
	}
}

// answerEdited says yes to the call with other arguments.
func (s *session) answerEdited(text string) {
	if !json.Valid([]byte(text)) {
		s.tell("  %-6s that is no JSON object", "·")
		s.askAgain(wantEdit)
		return
	}
	s.answer(approval.Answer{Word: approval.Yes, Edit: json.RawMessage(text)})
}

// answer gives an answer, to exactly what was shown.
func (s *session) answer(a approval.Answer) {
	q := s.asks.open
	a.Approval, a.Digest = q.card.ID, q.card.Digest
	ctx, cancel := context.WithTimeout(s.ctx, answerTime)
	defer cancel()
	item, err := s.Peer.Answer(ctx, a)
	switch {
	case errors.Is(err, approval.ErrAnswer):
		s.tell("  %-6s not taken: %v", "·", err)
		s.askAgain("")
		return
	case err != nil:
		s.tell("  %-6s not taken: %v", "·", err)
		s.tellAdvice(err)
	case item.State == approval.StatePending:
		s.tell("  %-6s yes, %d of the %d people who are needed", "·", item.Yes, item.Needed)
	}
	s.closeQuestion()
	if errors.Is(err, approval.ErrStale) {
		s.asks.waiting = append([]string{a.Approval}, s.asks.waiting...)
	}
	s.openNext()
}
